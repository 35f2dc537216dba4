//! Reading a line: its fields from left to right, each refusal with a reason.

use std::str::Split;

use super::{Line, SourceField, TagField, check_rank};
use crate::parse_error::quoted;

pub(super) const SPACING: &str =
    "fields must be separated by single spaces, with none before the first or after the last";

/// A line without its ending, or what is wrong with it.
pub(super) fn read(text: &str) -> Result<Line, String> {
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
            Ok(Line::Post {
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
            Ok(Line::Probe {
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
