//! Files that are whole or not there.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Links that lead from one to the next, before they are taken for a circle: as many as Linux follows.
const LINKS: usize = 40;

/// Finds out before any work is done whether a file can be written where it is wanted. What is
/// there stays as it is; nothing is left where nothing was.
pub(crate) fn prepare(path: &Path) -> Result<(), Error> {
    let target = target(path);
    // Who reads a pipe would take the look for all there is.
    if fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    let made = match File::create_new(&target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).open(&target).map(drop)
        }
        Err(error) => Err(error),
        Ok(_) => fs::remove_file(&target),
    };
    // It is written beside its place first.
    let made = made.and_then(|()| {
        let beside = beside(&target);
        File::create_new(&beside).and_then(|_| fs::remove_file(&beside))
    });
    made.map_err(|error| Error::write(path, error))
}

/// Writes a file by `write`, which is given a path beside it: what has the file's own name is never a
/// part of it, whenever the process is stopped, or the disc is full. One that was there keeps its mode.
/// Where there is something that is no file, as a device, that itself is written.
pub(crate) fn write(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    // A link stays one.
    let target = target(path);
    let found = fs::metadata(&target).ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return write(path);
    }
    let beside = beside(&target);
    let written = found
        .map_or(Ok(()), |found| empty(&beside, found.permissions()))
        .and_then(|()| write(&beside))
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Makes an empty file of this mode: before there is anything in it that is not for all to read.
fn empty(path: &Path, mode: Permissions) -> io::Result<()> {
    File::create(path)?.set_permissions(mode)
}

/// Where a file is, or will be, that may be named by links: of links to what is not there yet, too.
fn target(path: &Path) -> PathBuf {
    if let Ok(found) = fs::metadata(path) {
        // A link to what is open already, as `/dev/stdout` to a pipe, leads where no path does.
        let whole = path.canonicalize().ok().filter(|_| found.is_file());
        return whole.unwrap_or_else(|| path.to_owned());
    }
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&target) else {
            break;
        };
        // Unless it says where it leads from the root, it does so from where it is.
        target.pop();
        target.push(next);
    }
    target
}

/// A name of this process's own in the same directory. It ends in `.gz` if the file's does, and is
/// none of those that traces have.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-part", std::process::id()));
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
    {
        name.push(".gz");
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in a folder.
    fn names(folder: &Path) -> Vec<OsString> {
        let entries = folder.read_dir().expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect()
    }

    #[test]
    fn a_look_whether_a_file_can_be_written_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new.svg");
        prepare(&path).expect("it can be written");
        assert!(!path.exists());
        fs::write(&path, "<svg>").expect("written");
        prepare(&path).expect("it can be written over");
        assert_eq!(fs::read_to_string(&path).expect("there"), "<svg>");
        let error = prepare(&folder.path().join("none/new.svg")).expect_err("no folder");
        assert!(error.to_string().contains("none/new.svg: cannot write: "));
        assert_eq!(names(folder.path()), ["new.svg"]);
    }

    #[test]
    fn what_can_be_written_and_not_beside_is_found_out_too() {
        let folder = tempfile::tempdir().expect("a folder");
        // Names have 255 bytes at most, and that of the file beside it has more.
        let path = folder.path().join(format!("{}.svg", "a".repeat(250)));
        fs::write(&path, "<svg>").expect("written");
        prepare(&path).expect_err("there is no name beside it");
        assert_eq!(fs::read_to_string(&path).expect("there"), "<svg>");
    }

    #[test]
    fn what_could_not_be_finished_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.mqt.gz");
        let full = |beside: &Path| {
            assert!(beside.extension().is_some_and(|ending| ending == "gz"));
            assert!(!beside.to_string_lossy().ends_with(".mqt.gz"));
            fs::write(beside, "a part")?;
            Err(io::Error::other("the disc is full"))
        };
        write(&path, full).expect_err("it failed");
        assert_eq!(names(folder.path()), [""; 0]);
        write(&path, |beside| fs::write(beside, "old")).expect("written");
        write(&path, full).expect_err("it failed");
        assert_eq!(fs::read_to_string(&path).expect("there"), "old");
        assert_eq!(names(folder.path()), ["t.mqt.gz"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        write(&link, |beside| fs::write(beside, "new")).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&target).expect("there"), "new");
        write(Path::new("/dev/null"), |device| {
            assert_eq!(device, Path::new("/dev/null"));
            fs::write(device, "lost")
        })
        .expect("written");
    }
    #[cfg(unix)]
    #[test]
    fn a_link_to_what_is_not_there_yet_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name));
        fs::create_dir(at("deep")).expect("made");
        link("deep/second", "first").expect("linked");
        link("../new.svg", "deep/second").expect("linked");
        prepare(&at("first")).expect("it can be written");
        assert!(!at("new.svg").exists());
        write(&at("first"), |beside| fs::write(beside, "<svg>")).expect("written");
        assert!(at("first").is_symlink() && at("deep/second").is_symlink());
        assert_eq!(fs::read_to_string(at("new.svg")).expect("there"), "<svg>");
        link("none/new.svg", "nowhere").expect("linked");
        prepare(&at("nowhere")).expect_err("there is no such folder");
        link("circle", "circle").expect("linked");
        prepare(&at("circle")).expect_err("it leads nowhere");
        assert!(at("circle").is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_there_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.svg");
        let mode = |path: &Path| {
            let found = fs::metadata(path).expect("there");
            found.permissions().mode() & 0o777
        };
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
        let private = |beside: &Path| {
            assert_eq!(mode(beside), 0o600, "nobody else reads a part either");
            fs::write(beside, "new")
        };
        write(&path, private).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "new");
        assert_eq!(mode(&path), 0o600);
    }
}
