//! [`Mismatch`]: where a trace and a structure differ.

use core::fmt;

use crate::trace::Operation;

/// An operation whose outcome differs from the recorded one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// The line of the trace.
    pub line: u32,
    /// The operation.
    pub operation: Operation,
    /// What the trace says was matched.
    pub expected: Option<u32>,
    /// What the structure matched.
    pub got: Option<u32>,
    /// The structure refused the operation, or a receive to be cancelled was not queued.
    pub refused: bool,
}

impl Mismatch {
    /// What the trace says, in words, such as `receive 1` or `no message`.
    #[must_use]
    pub fn recorded(&self) -> String {
        match self.operation {
            Operation::Cancel { receive } => format!("the cancel of receive {receive}"),
            _ => self.matched(self.expected),
        }
    }

    /// What the structure did, in words, such as `receive 0` or `no message`.
    #[must_use]
    pub fn found(&self) -> String {
        match self.operation {
            Operation::Cancel { .. } => "no such receive in the queue".into(),
            _ if self.refused => "a refusal".into(),
            _ => self.matched(self.got),
        }
    }

    fn matched(&self, number: Option<u32>) -> String {
        let what = match self.operation {
            Operation::Post { .. } | Operation::Probe { .. } => "message",
            Operation::Arrive { .. } | Operation::Cancel { .. } => "receive",
        };
        match number {
            Some(number) => format!("{what} {number}"),
            None => format!("no {what}"),
        }
    }
}

/// Blames neither side: a replay through one structure cannot tell which is wrong.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (recorded, found) = (self.recorded(), self.found());
        write!(
            f,
            "line {}: recorded {recorded}, replayed {found}",
            self.line
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;
    use crate::trace::Trace;

    #[test]
    fn what_was_recorded_and_what_was_found_are_told_of_every_operation() {
        let line = Line::parse("p 0 1 5").expect("valid");
        let post = Trace::from_lines("test", &[line]).operations()[0];
        let told = |operation, expected, got, refused| {
            let mismatch = Mismatch {
                line: 9,
                operation,
                expected,
                got,
                refused,
            };
            (mismatch.recorded(), mismatch.found())
        };
        let texts = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        let post_told = told(post, Some(3), None, false);
        assert_eq!(post_told, texts("message 3", "no message"));
        let refused = told(post, None, None, true);
        assert_eq!(refused, texts("no message", "a refusal"));
        let cancel = told(Operation::Cancel { receive: 2 }, None, None, true);
        let none = "no such receive in the queue";
        assert_eq!(cancel, texts("the cancel of receive 2", none));
    }
}
