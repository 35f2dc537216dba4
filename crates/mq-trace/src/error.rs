//! Errors of reading a trace: one sentence each, with file name and line number where there are any.

use core::fmt;
use std::io;

use crate::gzip;

/// Why a trace could not be read.
///
/// `Display` gives one sentence: the name of the file or stream, the line number if there is one, and
/// the reason, as in ``x.mqt.gz:17: unknown operation `q`; expected c, p, a, b or x``. It includes the
/// operating system's message, so printing only this error loses nothing; `source()` returns the
/// [`io::Error`] too.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file could not be opened, or its first bytes could not be read.
    #[error("{name}: cannot open the trace: {source}")]
    Open {
        /// The file's path as it was given.
        name: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Reading stopped before the end: a device error, or a gzip stream that is cut short or
    /// damaged.
    #[error("{name}:{line}: {}", describe_read(*.gzip, .source))]
    Read {
        /// The file or stream.
        name: String,
        /// The line that was being read, from 1; every line before it was read whole.
        line: u64,
        /// Whether the input was being decompressed.
        gzip: bool,
        /// What the operating system or the decompressor said.
        source: io::Error,
    },
    /// A line is not what the format allows, or contradicts an earlier line.
    #[error("{name}:{line}: {reason}")]
    Malformed {
        /// The file or stream.
        name: String,
        /// The refused line, from 1.
        line: u64,
        /// What is wrong with it, without a full stop.
        reason: String,
    },
    /// There is not enough memory for the rest of the trace: 12 bytes per operation to check it, and 48 to
    /// hold it, and as many again while it is read.
    #[error(
        "{name}:{line}: not enough memory from this line on; give the process more, or use a shorter trace"
    )]
    Memory {
        /// The file or stream.
        name: String,
        /// The first line for which there is no memory, from 1.
        line: u64,
    },
}

/// The sentence: a `main` that returns the error prints that.
impl fmt::Debug for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TraceError {
    /// The path that was opened, as it was given, or the name given to the stream.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Open { name, .. }
            | Self::Read { name, .. }
            | Self::Malformed { name, .. }
            | Self::Memory { name, .. } => name,
        }
    }

    /// The line number, from 1 (the header); `None` if the file could not be opened.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Open { .. } => None,
            Self::Read { line, .. } | Self::Malformed { line, .. } | Self::Memory { line, .. } => {
                Some(*line)
            }
        }
    }

    /// Whether the trace's content is to blame, as opposed to the file system or the compression
    /// around it.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self, Self::Malformed { .. })
    }
}

/// The sentence for a failed read.
fn describe_read(gzip: bool, error: &io::Error) -> String {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if gzip::is_followed(error) {
        return "bytes follow the end of the gzip stream; cut them off, or copy or record the trace \
                again"
            .to_owned();
    }
    match error.kind() {
        UnexpectedEof if gzip => {
            "the gzip stream ends early; the trace is incomplete, copy or record it again"
                .to_owned()
        }
        InvalidData | InvalidInput if gzip => {
            format!("the gzip stream is damaged ({error}); copy or record the trace again")
        }
        _ => format!("reading failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    fn read_error(gzip: bool, kind: io::ErrorKind) -> TraceError {
        TraceError::Read {
            name: "t.mqt.gz".into(),
            line: 9,
            gzip,
            source: io::Error::new(kind, "why"),
        }
    }

    #[test]
    fn each_kind_is_one_sentence_with_its_place() {
        let open = TraceError::Open {
            name: "t".into(),
            source: io::Error::other("why"),
        };
        assert_eq!(open.to_string(), "t: cannot open the trace: why");
        assert_eq!(
            (open.name(), open.line(), open.is_malformed()),
            ("t", None, false)
        );

        let malformed = TraceError::Malformed {
            name: "t".into(),
            line: 17,
            reason: "odd".into(),
        };
        assert_eq!(malformed.to_string(), "t:17: odd");
        assert_eq!(
            (malformed.name(), malformed.line(), malformed.is_malformed()),
            ("t", Some(17), true)
        );
        assert!(malformed.source().is_none());
    }

    #[test]
    fn a_failed_read_says_whether_the_compression_is_to_blame() {
        let text = |gzip, kind| read_error(gzip, kind).to_string();
        assert_eq!(
            text(true, io::ErrorKind::UnexpectedEof),
            "t.mqt.gz:9: the gzip stream ends early; the trace is incomplete, copy or record it again"
        );
        assert_eq!(
            text(true, io::ErrorKind::InvalidInput),
            "t.mqt.gz:9: the gzip stream is damaged (why); copy or record the trace again"
        );
        assert_eq!(
            text(true, io::ErrorKind::Other),
            "t.mqt.gz:9: reading failed: why"
        );
        assert_eq!(
            text(false, io::ErrorKind::UnexpectedEof),
            "t.mqt.gz:9: reading failed: why"
        );
    }

    #[test]
    fn the_io_error_is_the_source() {
        let error = read_error(true, io::ErrorKind::UnexpectedEof);
        assert_eq!(
            error
                .source()
                .expect("a read error has a source")
                .to_string(),
            "why"
        );
        assert_eq!((error.line(), error.is_malformed()), (Some(9), false));
    }
}
