//! An installed MPI library, and the environment in which programs use it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Where an MPI library is installed.
pub(super) struct Prefix {
    root: PathBuf,
}

impl Prefix {
    /// Looks for what an MPI library has: `bin/mpirun` and `lib/libmpi*`.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(path).map_err(|error| Error::list(path, error))?;
        let prefix = Self { root };
        let mpirun = prefix.bin().join("mpirun");
        if !mpirun.is_file() {
            return Err(Error::Usage(format!(
                "{} is not there; --prefix names the directory where the patched MPI library is \
                 installed",
                mpirun.display()
            )));
        }
        if !prefix.has_library("libmpi") {
            return Err(Error::Usage(format!(
                "{} has no libmpi*; --prefix names the directory where the patched MPI library is \
                 installed",
                prefix.lib().display()
            )));
        }
        Ok(prefix)
    }

    fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    fn has_library(&self, beginning: &str) -> bool {
        let Ok(mut entries) = self.lib().read_dir() else {
            return false;
        };
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
        })
    }

    /// The program that a word names: the library's own `mpirun` or `mpiexec`, for instance, if the
    /// word is no path.
    pub(super) fn program(&self, name: &OsStr) -> OsString {
        let own = self.bin().join(name);
        if Path::new(name).components().count() == 1 && own.is_file() {
            own.into()
        } else {
            name.into()
        }
    }

    /// What has to be set for a program to find the library, before anything else of that name.
    pub(super) fn environment(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let mut variables = vec![
            ("PATH", before(self.bin(), "PATH")?),
            ("LD_LIBRARY_PATH", before(self.lib(), "LD_LIBRARY_PATH")?),
        ];
        // Open MPI finds its own files by this if it was moved after it was installed.
        if self.has_library("libopen-pal.so") {
            variables.push(("OPAL_PREFIX", self.root.clone().into()));
        }
        Ok(variables)
    }
}

/// The directory list `variable` with a directory put in front.
fn before(directory: PathBuf, variable: &str) -> Result<OsString, Error> {
    let inherited = std::env::var_os(variable).unwrap_or_default();
    // An empty element would stand for the working directory.
    let others = std::env::split_paths(&inherited).filter(|path| !path.as_os_str().is_empty());
    let name = directory.display().to_string();
    std::env::join_paths(std::iter::once(directory).chain(others))
        .map_err(|error| Error::Usage(format!("{name}: cannot stand in {variable}: {error}")))
}
