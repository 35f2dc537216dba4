//! The directory of the traces, and the directory inside it where they are written.

use std::io;
use std::path::{Path, PathBuf};

use mq_trace::RECORDING;

use crate::error::Error;
use crate::{input, report};

/// Where the processes of one run write: a new directory in the output directory. It is removed when
/// this is dropped, unless something is left in it; so are the output directory and its parents, if
/// they were made for it.
pub(super) struct Scratch {
    path: PathBuf,
    /// The output directory and its parents that did not exist, innermost first.
    made: Vec<PathBuf>,
}

/// Makes the output directory and one for this run in it; refuses an output directory that has traces,
/// unless `force` is given.
pub(super) fn prepare(output: &Path, force: bool) -> Result<Scratch, Error> {
    let failed = |error| Error::write(output, error);
    if output.exists() && !output.is_dir() {
        let output = output.display();
        return Err(Error::Usage(format!("{output}: is not a directory")));
    }
    let missing = output
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let made = missing.map(Path::to_owned).collect();
    std::fs::create_dir_all(output).map_err(failed)?;
    let present = input::traces_in(output).map_err(|error| Error::list(output, error))?;
    if let Some(first) = present.first()
        && !force
    {
        let more = match present.len() - 1 {
            0 => String::new(),
            more => format!(" (and {} more)", report::count(more)),
        };
        return Err(Error::Usage(format!(
            "{} already exists{more}; name another directory with --output, or add to this one with \
             --force",
            first.display()
        )));
    }
    let path = create(output).map_err(failed)?;
    Ok(Scratch { path, made })
}

/// Process numbers are reused, so an earlier run may have left a directory with this one's.
fn create(output: &Path) -> io::Result<PathBuf> {
    let process = std::process::id();
    let mut path = output.join(format!("{RECORDING}{process}"));
    let mut attempt = 1;
    loop {
        match std::fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                attempt += 1;
                path = output.join(format!("{RECORDING}{process}-{attempt}"));
            }
            made => return made.map(|()| path),
        }
    }
}

impl Scratch {
    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path, for processes that may have another working directory.
    pub(super) fn absolute(&self) -> Result<PathBuf, Error> {
        std::path::absolute(&self.path).map_err(|error| Error::write(&self.path, error))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Fails if something is left in it, as it should.
        let _ = std::fs::remove_dir(&self.path);
        for made in &self.made {
            let _ = std::fs::remove_dir(made);
        }
    }
}
