//! [`Written`]: what a process has written of a trace.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use mq_trace::{TraceError, TraceReader};

/// No line of a trace is longer.
const LONGEST_LINE: u64 = 4096;

/// A file as long as it was when it was first looked at, up to its last whole line: a process that is killed may
/// leave part of one behind it.
#[derive(Debug)]
pub(super) struct Written {
    path: PathBuf,
    bytes: u64,
    whole: u64,
}

impl Written {
    pub(super) fn of(path: &Path) -> Result<Self, TraceError> {
        let lengths = || -> io::Result<(u64, u64)> {
            let mut file = File::open(path)?;
            let bytes = file.metadata()?.len();
            let from = bytes.saturating_sub(LONGEST_LINE + 1);
            file.seek(SeekFrom::Start(from))?;
            let mut end = Vec::new();
            file.take(bytes - from).read_to_end(&mut end)?;
            let last = end.iter().rposition(|&byte| byte == b'\n');
            // Without any, the reader says what is wrong.
            Ok((bytes, last.map_or(bytes, |last| from + last as u64 + 1)))
        };
        let (bytes, whole) = lengths().map_err(|source| TraceError::Open {
            name: path.display().to_string(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
            whole,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn ends_within_a_line(&self) -> bool {
        self.whole < self.bytes
    }

    /// Whether a process may still be writing it: it has become longer, or a process of this machine has it open.
    pub(super) fn is_being_written(&self) -> bool {
        let has_grown = std::fs::metadata(&self.path).is_ok_and(|now| now.len() != self.bytes);
        has_grown || is_open(&self.path)
    }

    /// A reader of the whole lines.
    pub(super) fn reader(&self) -> Result<TraceReader<BufReader<Take<File>>>, TraceError> {
        let name = self.path.display().to_string();
        match File::open(&self.path) {
            Ok(file) => TraceReader::new(name, BufReader::new(file.take(self.whole))),
            Err(source) => Err(TraceError::Open { name, source }),
        }
    }
}

/// Whether another process of this machine has a file open, as far as this user may see.
fn is_open(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let entries = |folder: &Path| folder.read_dir().into_iter().flatten().flatten();
    // Others have names like `self`.
    let is_other = |name: std::ffi::OsString| {
        let number = name.to_str().and_then(|name| name.parse().ok());
        number.is_some_and(|number: u32| number != std::process::id())
    };
    entries(Path::new("/proc"))
        .filter(|process| is_other(process.file_name()))
        .flat_map(|process| entries(&process.path().join("fd")))
        .any(|file| file.path().read_link().is_ok_and(|to| to == path))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What is in the reader's trace of a file with this text.
    fn lines_of(text: &str) -> (usize, bool, bool) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("room");
        let written = Written::of(file.path()).expect("it is there");
        let mut reader = written.reader().expect("a header");
        let lines = reader.by_ref().filter(Result::is_ok).count();
        let before = written.is_being_written();
        file.write_all(b"p 0 1 5\n").expect("room");
        assert!(!before && written.is_being_written());
        let again = written.reader().expect("a header").count();
        (lines, written.ends_within_a_line(), again == lines)
    }

    #[test]
    fn a_line_that_was_not_finished_is_left_out_and_so_is_what_comes_later() {
        let whole = format!("# mqtrace 1\n{}", "p 0 1 5\n".repeat(2_000));
        assert_eq!(lines_of(&whole), (2_000, false, true));
        assert_eq!(lines_of(&format!("{whole}p 0 1")), (2_000, true, true));
        assert_eq!(lines_of("# mqtrace 1\np"), (0, true, true));
    }
}
