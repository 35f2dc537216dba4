//! Files that are whole or not there.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Finds out before any work is done whether a file can be written where it is wanted. What is
/// there stays as it is; nothing is left where nothing was.
pub(crate) fn prepare(path: &Path) -> Result<(), Error> {
    // Who reads a pipe would take the look for all there is.
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    let made = match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).open(path).map(drop)
        }
        Err(error) => Err(error),
        Ok(_) => fs::remove_file(path),
    };
    // It is written beside its place first.
    let made = made.and_then(|()| {
        let beside = beside(&path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        File::create_new(&beside).and_then(|_| fs::remove_file(&beside))
    });
    made.map_err(|error| Error::write(path, error))
}

/// Writes a file by `write`, which is given a path beside it: what has the file's own name is never a
/// part of it, whenever the process is stopped, or the disc is full. Where there is something that is
/// no file, as a device, that itself is written.
pub(crate) fn write(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    // A link stays one.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        return write(path);
    }
    let beside = beside(&target);
    let written = write(&beside).and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
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
}
