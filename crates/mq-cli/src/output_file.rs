//! Files that are complete or absent.

mod descriptor;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use self::descriptor::is_stdout;

use self::descriptor::Descriptor;
use crate::error::Error;
use crate::stopping;

/// The longest chain of links that is not taken for a cycle: as many as Linux follows.
const LINKS: usize = 40;

/// Checks before any work is done whether a file can be written in its place. An existing file stays
/// as it is; no file is left where none was.
pub(crate) fn prepare(path: &Path) -> Result<(), Error> {
    if Descriptor::of(path).is_some() {
        return fs::metadata(path)
            .map(drop)
            .map_err(|error| Error::write(path, error));
    }
    let target = target(path);
    // The reader of a pipe would take the check for the whole output.
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
    made.map_err(|error| Error::write(path, error))?;
    // The file is first written next to its place.
    let beside = beside(&target, path);
    let made = File::create_new(&beside).and_then(|_| fs::remove_file(&beside));
    made.map_err(|error| Error::write(folder_of(&beside), error))
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes a file by `write`, which gets one next to it: the file's own name never holds a partial file,
/// whenever the process is stopped or the disc is full. A file that is replaced keeps its mode. If the path
/// is something other than a file, such as a device, that is written directly, and so is a file that the path
/// names by a descriptor.
pub(crate) fn write(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    if let Some(descriptor) = Descriptor::of(path) {
        return write(descriptor.open(path)?);
    }
    // A link stays a link.
    let target = target(path);
    let found = fs::metadata(&target).ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return write(File::create(path)?);
    }
    let beside = beside(&target, path);
    let part = Part::begin(beside.clone());
    let written = begin(&beside, found.map(|found| found.permissions())).and_then(write);
    part.end(|| {
        let written = written.and_then(|()| fs::rename(&beside, &target));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    })
}

/// The file that is being written; while there is one, Ctrl-C and the like remove it before they end the process.
struct Part;

static PART: Mutex<Option<PathBuf>> = Mutex::new(None);

impl Part {
    fn begin(path: PathBuf) -> Self {
        stopping::watch();
        *part() = Some(path);
        Self
    }

    /// Puts the file in its place, or gives it up.
    fn end<T>(self, end: impl FnOnce() -> T) -> T {
        let mut part = part();
        *part = None;
        end()
    }
}

/// Removes the file that is being written, if there is one. Nothing is put in its place while the guard is held.
pub(crate) fn give_up() -> MutexGuard<'static, Option<PathBuf>> {
    let mut part = part();
    if let Some(path) = part.take() {
        let _ = fs::remove_file(path);
    }
    part
}

fn part() -> MutexGuard<'static, Option<PathBuf>> {
    PART.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an empty file, of this mode before it has any content that not all may read.
fn begin(path: &Path, mode: Option<Permissions>) -> io::Result<File> {
    let file = File::create(path)?;
    mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
    Ok(file)
}

/// Puts the target of a link in its place; false if it is no link.
fn follow(link: &mut PathBuf) -> bool {
    let Ok(next) = fs::read_link(&*link) else {
        return false;
    };
    // A relative target starts from the link's directory.
    link.pop();
    link.push(next);
    true
}

/// The target of a file name that may be a link, even to a file that does not exist yet.
fn target(path: &Path) -> PathBuf {
    if let Ok(found) = fs::metadata(path) {
        // A link to an open file, such as `/dev/stdout` to a pipe, leads to something without a path.
        let whole = path.canonicalize().ok().filter(|_| found.is_file());
        return whole.unwrap_or_else(|| path.to_owned());
    }
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        if !follow(&mut target) {
            break;
        }
    }
    target
}

/// A name of this process's own in the directory of a file. It ends in `.gz` if the name does by which the file was
/// asked for, which may be a link's, and is not a name that traces have.
pub(crate) fn beside(file: &Path, asked_for: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(short(file.file_name().unwrap_or_default()));
    name.push(format!(".{}-part", std::process::id()));
    if asked_for
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
    {
        name.push(".gz");
    }
    file.with_file_name(name)
}

/// A file's name or, if little may be added to it, a part and a number that tells it from others.
fn short(name: &OsStr) -> Cow<'_, OsStr> {
    // File systems allow 255 bytes.
    const LONGEST: usize = 220;
    if name.len() <= LONGEST {
        return Cow::Borrowed(name);
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let begin: String = name.to_string_lossy().chars().take(LONGEST / 4).collect();
    Cow::Owned(format!("{begin}-{:x}", hasher.finish()).into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

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
        let path = folder.path().join("old.svg");
        fs::write(&path, "<svg>").expect("written");
        // As in a folder where this user may not make files.
        fs::create_dir(beside(&path, &path)).expect("made");
        let error = prepare(&path).expect_err("there is no place beside it");
        let begin = format!("{}: cannot write: ", folder.path().display());
        assert!(error.to_string().starts_with(&begin), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("there"), "<svg>");
    }

    #[test]
    fn what_could_not_be_finished_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.mqt.gz");
        let full = |mut part: File| {
            part.write_all(b"a part")?;
            Err(io::Error::other("the disc is full"))
        };
        write(&path, full).expect_err("it failed");
        assert_eq!(names(folder.path()), [""; 0]);
        write(&path, |mut part| part.write_all(b"old")).expect("written");
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
        write(&link, |mut part| part.write_all(b"new")).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&target).expect("there"), "new");
        write(Path::new("/dev/null"), |mut device| {
            assert!(!device.metadata()?.is_file());
            device.write_all(b"lost")
        })
        .expect("written");
    }

    #[test]
    fn a_part_is_compressed_as_its_file_and_is_no_trace() {
        for (file, asked_for, is_packed) in [("a", "l.mqt.gz", true), ("b.mqt.gz", "l", false)] {
            let part = beside(Path::new(file), Path::new(asked_for));
            assert_eq!(part.extension().is_some_and(|end| end == "gz"), is_packed);
            assert!(!part.to_string_lossy().ends_with(".mqt.gz"));
        }
    }

    #[test]
    fn a_name_as_long_as_a_file_system_allows_is_not_too_long() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["n".repeat(255), "\u{e4}".repeat(127)] {
            let path = folder.path().join(&name);
            prepare(&path).expect("it can be written");
            write(&path, |mut part| part.write_all(b"all")).expect("there is room");
            assert_eq!(fs::read_to_string(path).expect("it is there"), "all");
        }
        assert_eq!(names(folder.path()).len(), 2);
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
        write(&at("first"), |mut part| part.write_all(b"<svg>")).expect("written");
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
        let private = |mut part: File| {
            let mode = part.metadata()?.permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "nobody else reads a part either");
            part.write_all(b"new")
        };
        write(&path, private).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "new");
        assert_eq!(mode(&path), 0o600);
    }
}
