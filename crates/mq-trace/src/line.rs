//! One line of a trace as plain data: parsed from text, printed back as the same text.

use std::fmt;
use std::str::Split;

use crate::error::quoted;

const SPACING: &str =
    "fields must be separated by single spaces, with none before the first or after the last";

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
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with the line, as one sentence without a full stop.
    ///
    /// # Cost
    /// One pass over the text; allocates only for an error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let mut words = text.split(' ');
        match words.next().unwrap_or_default() {
            "c" => Fields {
                form: "c COMM SIZE MYRANK",
                words,
            }
            .communicator(),
            "p" => {
                let (comm, source, tag, matched) = Fields {
                    form: "p COMM SRC TAG [=n]",
                    words,
                }
                .pattern()?;
                Ok(Self::Post {
                    comm,
                    source,
                    tag,
                    matched,
                })
            }
            "a" => Fields {
                form: "a COMM SRC TAG [=n]",
                words,
            }
            .arrival(),
            "b" => {
                let (comm, source, tag, matched) = Fields {
                    form: "b COMM SRC TAG [=n]",
                    words,
                }
                .pattern()?;
                Ok(Self::Probe {
                    comm,
                    source,
                    tag,
                    matched,
                })
            }
            "x" => Fields { form: "x n", words }.cancellation(),
            operation => Err(refuse_operation(text, operation)),
        }
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

/// The fields after the operation, taken from left to right.
struct Fields<'a> {
    /// The whole line as the format gives it, for messages.
    form: &'static str,
    words: Split<'a, char>,
}

impl<'a> Fields<'a> {
    fn communicator(mut self) -> Result<Line, String> {
        let comm = unsigned(self.next("COMM")?, "communicator")?;
        let size = unsigned(self.next("SIZE")?, "size")?;
        let my_rank = unsigned(self.next("MYRANK")?, "own rank")?;
        self.end()?;
        let line = Line::Communicator {
            comm,
            size,
            my_rank,
        };
        line.check().map(|()| line)
    }

    /// The fields of a posted receive or a probe.
    fn pattern(mut self) -> Result<(u32, SourceField, TagField, Option<u32>), String> {
        let comm = unsigned(self.next("COMM")?, "communicator")?;
        let source = match self.next("SRC")? {
            "*" => SourceField::Any,
            word => SourceField::Rank(rank(word)?),
        };
        let tag = match self.next("TAG")? {
            "*" => TagField::Any,
            tag => TagField::Tag(signed(tag, "tag")?),
        };
        let matched = self.matched("message number")?;
        self.end()?;
        Ok((comm, source, tag, matched))
    }

    fn arrival(mut self) -> Result<Line, String> {
        let comm = unsigned(self.next("COMM")?, "communicator")?;
        let source = match self.next("SRC")? {
            "*" => {
                return Err(
                    "a message that arrived has one source; `*` is for receives and probes".into(),
                );
            }
            word => rank(word)?,
        };
        let tag = match self.next("TAG")? {
            "*" => {
                return Err(
                    "a message that arrived has one tag; `*` is for receives and probes".into(),
                );
            }
            tag => signed(tag, "tag")?,
        };
        let matched = self.matched("receive number")?;
        self.end()?;
        Ok(Line::Arrive {
            comm,
            source,
            tag,
            matched,
        })
    }

    fn cancellation(mut self) -> Result<Line, String> {
        let receive = unsigned(self.next("n")?, "receive number")?;
        self.end()?;
        Ok(Line::Cancel { receive })
    }

    fn next(&mut self, field: &str) -> Result<&'a str, String> {
        match self.words.next() {
            None => Err(format!("{field} is missing; expected `{}`", self.form)),
            Some("") => Err(SPACING.into()),
            Some(word) => Ok(word),
        }
    }

    /// The optional `=n`.
    fn matched(&mut self, what: &str) -> Result<Option<u32>, String> {
        match self.words.next() {
            None => Ok(None),
            Some("") => Err(SPACING.into()),
            Some(word) => match word.strip_prefix('=') {
                Some(number) => unsigned(number, what).map(Some),
                None => Err(format!(
                    "{} follows the tag; expected `{}`",
                    quoted(word),
                    self.form
                )),
            },
        }
    }

    fn end(&mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some("") => Err(SPACING.into()),
            Some(word) => Err(format!(
                "{} is one field too many; expected `{}`",
                quoted(word),
                self.form
            )),
        }
    }
}

#[cold]
fn refuse_operation(text: &str, operation: &str) -> String {
    if text.is_empty() {
        "the line is empty; every line after the header is an operation".into()
    } else if text.starts_with('#') {
        "only the first line may begin with `#`".into()
    } else if operation.is_empty() {
        SPACING.into()
    } else {
        format!(
            "unknown operation {}; expected c, p, a, b or x",
            quoted(operation)
        )
    }
}

/// Whether the text is only decimal digits; the standard parsers would accept a `+`.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A sender's rank; MPI counts ranks in a C `int`.
fn rank(word: &str) -> Result<u32, String> {
    let rank = unsigned(word, "source")?;
    check_rank(rank).map(|()| rank)
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

fn unsigned(word: &str, what: &str) -> Result<u32, String> {
    if is_digits(word) {
        return word
            .parse()
            .map_err(|_| format!("{what} {} does not fit in 32 bits", quoted(word)));
    }
    Err(match word.strip_prefix('-') {
        // Short enough to show unquoted, as a number.
        Some(digits) if is_digits(digits) && digits.len() <= 20 => {
            format!("{what} {word} is negative")
        }
        _ => format!("{what} {} is not a decimal number", quoted(word)),
    })
}

fn signed(word: &str, what: &str) -> Result<i32, String> {
    if !is_digits(word.strip_prefix('-').unwrap_or(word)) {
        return Err(format!("{what} {} is not a decimal number", quoted(word)));
    }
    word.parse().map_err(|_| {
        format!(
            "{what} {} does not fit in a signed 32-bit integer",
            quoted(word)
        )
    })
}

#[cfg(test)]
mod tests;
