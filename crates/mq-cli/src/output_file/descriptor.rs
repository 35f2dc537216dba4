//! Paths that name open files by their numbers.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::{LINKS, folder_of, follow};

/// Whether a path names standard output, as `/dev/stdout` and `/dev/fd/1` do.
pub(crate) fn is_stdout(path: &Path) -> bool {
    Descriptor::of(path) == Some(Descriptor::Stdout)
}

/// An open file that a path names by its number: whoever opened it may have written there before, and may go on after
/// this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Descriptor {
    Stdout,
    Stderr,
    /// Of another number, or of another process.
    Other,
}

impl Descriptor {
    /// The descriptor to which a path leads, if it leads to one: `/dev/stdout` is a link to it.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let folder = folder_of(&path).canonicalize().ok()?;
            if has_descriptors(&folder) {
                return Some(match path.file_name()?.to_str() {
                    Some("1") if is_own(&folder) => Self::Stdout,
                    Some("2") if is_own(&folder) => Self::Stderr,
                    _ => Self::Other,
                });
            }
            if !follow(&mut path) {
                return None;
            }
        }
        None
    }

    /// The open file. To open `path` itself would be to begin at the start of a file, and not where the descriptor
    /// stands; of others than these two, the end of the file is all that can be had.
    #[cfg(unix)]
    pub(super) fn open(self, path: &Path) -> io::Result<File> {
        use std::os::fd::AsFd;
        match self {
            Self::Stdout => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Self::Stderr => io::stderr().as_fd().try_clone_to_owned().map(File::from),
            Self::Other => OpenOptions::new().append(true).open(path),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn open(self, path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).open(path)
    }
}

/// Whether a folder, without links in its path, is one of open files.
fn has_descriptors(folder: &Path) -> bool {
    folder == Path::new("/dev/fd") || folder.starts_with("/proc") && folder.ends_with("fd")
}

/// Whether it is one of those of this process.
fn is_own(folder: &Path) -> bool {
    let own = Path::new("/proc/self").canonicalize();
    folder == Path::new("/dev/fd") || own.is_ok_and(|own| folder.starts_with(own))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::prepare;
    use super::*;

    #[test]
    fn what_leads_to_a_descriptor_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("/dev/stderr", at("link.svg")).expect("linked");
        let of = |path: &str| Descriptor::of(&at(path));
        for path in [
            "/dev/stdout",
            "/dev/fd/1",
            "/proc/self/fd/1",
            "/proc/thread-self/fd/1",
        ] {
            assert_eq!(of(path), Some(Descriptor::Stdout), "{path}");
        }
        for path in ["/dev/stderr", "/dev/fd/2", "link.svg"] {
            assert_eq!(of(path), Some(Descriptor::Stderr), "{path}");
        }
        for path in ["/dev/fd/77", "/proc/1/fd/1"] {
            // What another process has open, not all may know.
            let other = of(path).is_none_or(|other| other == Descriptor::Other);
            assert!(other, "{path}");
        }
        for path in ["/dev/null", "new", "none/new", "/dev/fd", "/"] {
            assert_eq!(of(path), None, "{path}");
        }
        prepare(Path::new("/dev/fd/77")).expect_err("it is not open");
    }
}
