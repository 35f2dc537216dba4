//! What can go wrong, as one sentence each.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;

use mq_trace::TraceError;

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Error {
    /// A trace could not be read.
    Trace(TraceError),
    /// An output could not be written.
    Write {
        /// The file, or `standard output`.
        name: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A directory could not be listed.
    List {
        /// The directory.
        name: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The processes of a program could not be started, for a reason other than the program.
    Launch(String),
    /// A command ran and left no trace behind.
    Untraced(String),
    /// The reader of standard output has closed it: an end, not a failure.
    ClosedPipe,
    /// Options that contradict each other or ask for too much.
    Usage(String),
    /// A plot could not be drawn.
    Plot(String),
}

impl Error {
    /// A failure to write standard output.
    pub(crate) fn stdout(source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            let name = "standard output".into();
            Self::Write { name, source }
        }
    }

    /// A failure to list a directory.
    pub(crate) fn list(path: &Path, source: io::Error) -> Self {
        let name = path.display().to_string();
        Self::List { name, source }
    }

    /// A failure to write a file.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let name = path.display().to_string();
        Self::Write { name, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Write { name, source } => write!(f, "{name}: cannot write: {source}"),
            Self::List { name, source } => write!(f, "{name}: cannot read the directory: {source}"),
            Self::Launch(reason) => write!(f, "the processes cannot be started: {reason}"),
            Self::ClosedPipe => f.write_str("standard output was closed"),
            Self::Usage(message) | Self::Untraced(message) => f.write_str(message),
            Self::Plot(message) => write!(f, "the plot could not be drawn: {message}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Trace(error) => Some(error),
            Self::Write { source, .. } | Self::List { source, .. } => Some(source),
            Self::ClosedPipe
            | Self::Launch(_)
            | Self::Usage(_)
            | Self::Untraced(_)
            | Self::Plot(_) => None,
        }
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

/// Why a program could not be started.
pub(crate) fn not_started(program: &OsStr, error: &io::Error) -> String {
    let name = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound if names_a_file(program) => format!(
            "{name}: is there, but not what is to run it: the interpreter that a script's first line names, or the \
             loader that a program was linked for (`file {name}` names either)"
        ),
        io::ErrorKind::NotFound => format!(
            "{name}: there is no such program, or it is a script whose first line names an interpreter \
             that does not exist"
        ),
        io::ErrorKind::PermissionDenied if Path::new(program).is_dir() => {
            format!("{name}: is a directory, not a program")
        }
        io::ErrorKind::PermissionDenied if is_closed(Path::new(program)) => format!(
            "{name}: this user may not execute it, and `chmod +x` would not help: the file system may be mounted \
             noexec, or the file, a directory in its path or the interpreter that its first line names may be \
             closed to this user"
        ),
        io::ErrorKind::PermissionDenied => {
            format!(
                "{name}: is not an executable file (if it is a program, `chmod +x` makes it one)"
            )
        }
        _ => format!("{name}: cannot be executed: {error}"),
    }
}

/// Whether a program is named by the path of a file that exists.
fn names_a_file(program: &OsStr) -> bool {
    let path = Path::new(program);
    path.components().count() > 1 && path.exists()
}

/// Whether a file that may not be executed is executable for somebody, or cannot even be looked at.
#[cfg(unix)]
fn is_closed(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    // A plain name is looked up in PATH.
    if program.components().count() == 1 {
        return false;
    }
    match program.metadata() {
        Ok(found) => found.is_file() && found.permissions().mode() & 0o111 != 0,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

#[cfg(not(unix))]
fn is_closed(_: &Path) -> bool {
    false
}
