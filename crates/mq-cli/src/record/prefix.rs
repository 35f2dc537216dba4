//! An installed MPI library, and the environment for programs that use it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Where an MPI library is installed.
pub(super) struct Prefix {
    root: PathBuf,
}

impl Prefix {
    /// Checks for the files of an MPI library: `bin/mpirun` and `libmpi*` in `lib64` or `lib`.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(path).map_err(|error| Error::list(path, error))?;
        let prefix = Self { root };
        let mpirun = prefix.bin().join("mpirun");
        if !mpirun.is_file() {
            return Err(Error::Usage(format!(
                "{} does not exist; --prefix names the directory where the patched MPI library is \
                 installed",
                mpirun.display()
            )));
        }
        if !has_library(&prefix.lib(), "libmpi") {
            return Err(Error::Usage(format!(
                "{} has no libmpi* in lib64 or lib; --prefix names the directory where the patched MPI library is \
                 installed",
                prefix.root.display()
            )));
        }
        Ok(prefix)
    }

    fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Where its libraries are.
    fn lib(&self) -> PathBuf {
        let wide = self.root.join("lib64");
        if has_library(&wide, "libmpi") {
            wide
        } else {
            self.root.join("lib")
        }
    }

    /// The program that a word names: for instance the library's own `mpirun` or `mpiexec`, if the word is
    /// not a path.
    pub(super) fn program(&self, name: &OsStr) -> OsString {
        let own = self.bin().join(name);
        if Path::new(name).components().count() == 1 && own.is_file() {
            own.into()
        } else {
            name.into()
        }
    }

    /// The variables that make a program find this library before any other of its name.
    pub(super) fn environment(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let mut variables = vec![
            ("PATH", before(self.bin(), "PATH")?),
            ("LD_LIBRARY_PATH", before(self.lib(), "LD_LIBRARY_PATH")?),
        ];
        // Open MPI finds its own files by this variable if it was moved after its installation.
        if has_library(&self.lib(), "libopen-pal.so") {
            variables.push(("OPAL_PREFIX", self.root.clone().into()));
        }
        Ok(variables)
    }
}

fn has_library(directory: &Path, beginning: &str) -> bool {
    let Ok(mut entries) = directory.read_dir() else {
        return false;
    };
    entries.any(|entry| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
    })
}

/// The directory list `variable` with a directory put in front.
fn before(directory: PathBuf, variable: &str) -> Result<OsString, Error> {
    let inherited = std::env::var_os(variable).unwrap_or_default();
    // An empty element would mean the working directory.
    let others = std::env::split_paths(&inherited).filter(|path| !path.as_os_str().is_empty());
    let name = directory.display().to_string();
    std::env::join_paths(std::iter::once(directory).chain(others))
        .map_err(|error| Error::Usage(format!("{name}: cannot be used in {variable}: {error}")))
}
