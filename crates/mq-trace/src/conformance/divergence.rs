//! [`Divergence`]: where a structure differs from the oracle.

use core::fmt;

use super::step::Step;
use super::subject::Outcome;

/// Two answers that should have been the same.
///
/// Prints the steps that lead there: as a trace with the right outcomes, at which `mq replay` reports
/// a mismatch, if a trace can hold all the steps; otherwise in the text form of [`Step`].
#[derive(Clone, Debug)]
pub struct Divergence {
    pub(super) steps: Vec<Step>,
    /// The oracle's answer to each step, as far as a trace records it.
    pub(super) outcomes: Vec<Recorded>,
    pub(super) expected: String,
    pub(super) got: String,
}

/// What a trace records of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recorded {
    /// The number of the partner.
    Matched(u32),
    /// A receive or message was queued, a probe saw nothing, a receive was cancelled.
    Done,
    /// The step changed nothing, and a trace has no line for it.
    Nothing,
    /// A budget had no room for a message, which a trace cannot express.
    Refused,
}

impl Recorded {
    pub(super) fn of(step: &Step, outcome: &Outcome) -> Self {
        match (step, outcome) {
            (_, Outcome::Matched(number, _)) => Self::Matched(*number),
            (Step::Cancel(_), Outcome::Nothing) => Self::Nothing,
            (_, Outcome::Refused(..)) => Self::Refused,
            _ => Self::Done,
        }
    }
}

impl Divergence {
    /// The steps up to and including the one with different answers.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The steps as a trace with the right outcomes, if a trace can hold them.
    #[must_use]
    pub fn trace(&self) -> Option<String> {
        let mut text = String::from("# mqtrace 1 source=conformance\n");
        for (step, outcome) in self.steps.iter().zip(&self.outcomes) {
            if !step.is_trace_line() || *outcome == Recorded::Refused {
                return None;
            }
            match outcome {
                Recorded::Matched(number) => text.push_str(&format!("{step} ={number}\n")),
                Recorded::Done => text.push_str(&format!("{step}\n")),
                Recorded::Nothing | Recorded::Refused => {}
            }
        }
        Some(text)
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            steps,
            expected,
            got,
            ..
        } = self;
        let number = steps.len();
        writeln!(f, "step {number} should give {expected} but gave {got}")?;
        match self.trace() {
            Some(trace) => write!(f, "a trace for `mq replay`:\n{trace}"),
            None => {
                writeln!(f, "the steps:")?;
                steps.iter().try_for_each(|step| writeln!(f, "{step}"))
            }
        }
    }
}

impl std::error::Error for Divergence {}
