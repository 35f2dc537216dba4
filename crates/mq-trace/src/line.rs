//! One line of a trace as plain data: parsed from text, printed back as the same text.

use std::fmt;
use std::str::FromStr;

use crate::parse_error::ParseError;

mod read;

/// The longest line that is read, in bytes without its line feed; the longest operation has 47 bytes.
pub(crate) const MAX_LINE_BYTES: usize = 4096;

/// The source of a posted receive or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceField {
    /// `*`: any source (`MPI_ANY_SOURCE`).
    Any,
    /// One rank of the communicator, from 0.
    Rank(u32),
}

/// The tag of a posted receive or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagField {
    /// `*`: any tag (`MPI_ANY_TAG`), which means any tag of 0 or above.
    Any,
    /// One tag; those below 0 are the MPI library's own.
    Tag(i32),
}

/// One line after the header: what the process did, and the outcome in the MPI library.
///
/// Receives and messages are numbered from 0, each in the order of their own lines. The
/// [`Validator`](crate::Validator) decides whether a number fits the lines before it; a `Line` knows
/// only itself.
///
/// A later version of the format may have further lines, of which not all would be operations: a program that
/// matches on this decides what to do about a line that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Line {
    /// `c COMM SIZE MYRANK`: a communicator has `SIZE` ranks, and the traced process is rank `MYRANK`.
    Communicator {
        /// The communicator's number within this trace, not a context id.
        comm: u32,
        /// Its number of ranks, at least 1; for an intercommunicator, those of the local group.
        size: u32,
        /// The traced process's rank in it, below `size`.
        my_rank: u32,
    },
    /// `p COMM SRC TAG [=n]`: a receive was posted.
    Post {
        /// The communicator.
        comm: u32,
        /// The sources it accepts.
        source: SourceField,
        /// The tags it accepts.
        tag: TagField,
        /// The unexpected message it took; `None` if it was queued.
        matched: Option<u32>,
    },
    /// `a COMM SRC TAG [=n]`: a message arrived.
    Arrive {
        /// The communicator.
        comm: u32,
        /// The rank that sent it; in an intercommunicator a rank of the remote group, which may exceed
        /// the communicator's size.
        source: u32,
        /// Its tag.
        tag: i32,
        /// The posted receive it took; `None` if it became unexpected.
        matched: Option<u32>,
    },
    /// `b COMM SRC TAG [=n]`: a probe, which removes nothing.
    Probe {
        /// The communicator.
        comm: u32,
        /// The sources it accepts.
        source: SourceField,
        /// The tags it accepts.
        tag: TagField,
        /// The unexpected message it saw; `None` if it saw none.
        matched: Option<u32>,
    },
    /// `x n`: a queued receive was cancelled.
    Cancel {
        /// The receive's number.
        receive: u32,
    },
}

impl Line {
    /// Reads one line without its line feed; one carriage return at its end is ignored.
    ///
    /// ```
    /// use mq_trace::{Line, SourceField, TagField};
    /// let line = Line::parse("p 1 * -16 =7")?;
    /// assert_eq!(
    ///     line,
    ///     Line::Post { comm: 1, source: SourceField::Any, tag: TagField::Tag(-16), matched: Some(7) }
    /// );
    /// assert_eq!(line.to_string(), "p 1 * -16 =7");
    /// # Ok::<(), mq_trace::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// The text is not a line of the format, or cannot be one anywhere in a trace.
    ///
    /// # Cost
    /// One pass over the text; allocates only for an error.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let text = text.strip_suffix('\r').unwrap_or(text);
        read::read(text).map_err(ParseError::new)
    }
}

/// As [`Line::parse`].
impl FromStr for Line {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl Line {
    /// Whether the line is valid in itself, wherever it is: what [`parse`](Self::parse) would check.
    pub(crate) fn check(&self) -> Result<(), String> {
        match *self {
            Self::Communicator { comm, size: 0, .. } => {
                Err(format!("communicator {comm} has size 0; the least is 1"))
            }
            Self::Communicator {
                comm,
                size,
                my_rank,
            } if my_rank >= size => Err(format!(
                "own rank {my_rank} is not below the size of communicator {comm}, {size}"
            )),
            Self::Arrive { source, .. } => check_rank(source),
            Self::Post { source, .. } | Self::Probe { source, .. } => match source {
                SourceField::Any => Ok(()),
                SourceField::Rank(rank) => check_rank(rank),
            },
            Self::Communicator { .. } | Self::Cancel { .. } => Ok(()),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matched = match *self {
            Self::Communicator {
                comm,
                size,
                my_rank,
            } => return write!(f, "c {comm} {size} {my_rank}"),
            Self::Cancel { receive } => return write!(f, "x {receive}"),
            Self::Post {
                comm,
                source,
                tag,
                matched,
            } => {
                write!(f, "p {comm} {source} {tag}")?;
                matched
            }
            Self::Arrive {
                comm,
                source,
                tag,
                matched,
            } => {
                write!(f, "a {comm} {source} {tag}")?;
                matched
            }
            Self::Probe {
                comm,
                source,
                tag,
                matched,
            } => {
                write!(f, "b {comm} {source} {tag}")?;
                matched
            }
        };
        matched.map_or(Ok(()), |number| write!(f, " ={number}"))
    }
}

impl fmt::Display for SourceField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Rank(rank) => write!(f, "{rank}"),
        }
    }
}

impl fmt::Display for TagField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Tag(tag) => write!(f, "{tag}"),
        }
    }
}

fn check_rank(rank: u32) -> Result<(), String> {
    if rank > i32::MAX.cast_unsigned() {
        return Err(format!(
            "source {rank} is above {}, the largest rank",
            i32::MAX
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
