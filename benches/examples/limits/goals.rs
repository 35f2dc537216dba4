//! The goals, and whether `indexed` meets them.

use mq_core::structures::Kind;

use crate::timing::Cost;

/// A goal for the default structure, in the unit of its row.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    None,
    /// As little as `list`.
    List,
    AtMost(f64),
}

/// What stands beside the measured figures of a row.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// The matching code of existing C engines, extracted, calls inlined: the best of them.
    pub(crate) best_c: &'static str,
    pub(crate) goal: Goal,
}

impl Target {
    pub(crate) const NONE: Self = Self::new("", Goal::None);

    pub(crate) const fn new(best_c: &'static str, goal: Goal) -> Self {
        Self { best_c, goal }
    }

    /// The names of the columns that [`cells`](Self::cells) fills.
    pub(crate) const HEADINGS: [&'static str; 3] = ["best C engine", "goal", "met"];

    /// The best of the C engines, the goal, and whether it is met by the medians of these
    /// structures, or only by their best repetitions, as which the C engines were measured.
    pub(crate) fn cells(self, kinds: &[Kind], measured: &[Measured]) -> [String; 3] {
        let of = |wanted| {
            let mut both = kinds.iter().zip(measured);
            both.find(|&(&kind, _)| kind == wanted)
                .map(|(_, &measured)| measured)
        };
        let (text, goal) = match self.goal {
            Goal::None => (String::new(), None),
            Goal::List => ("`list`".to_owned(), of(Kind::List)),
            Goal::AtMost(most) => (most.to_string(), Some(Measured::once(most))),
        };
        let verdict = match (of(Kind::Indexed), goal) {
            (Some(indexed), Some(goal)) => verdict(indexed, goal),
            _ => String::new(),
        };
        [self.best_c.to_owned(), text, verdict]
    }
}

/// What was measured of a structure.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) median: f64,
    pub(crate) best: f64,
}

impl From<&Cost> for Measured {
    fn from(cost: &Cost) -> Self {
        Self {
            median: cost.median,
            best: cost.best,
        }
    }
}

impl Measured {
    /// One figure.
    pub(crate) const fn once(figure: f64) -> Self {
        Self {
            median: figure,
            best: figure,
        }
    }
}

/// Whether a goal is met, by the figures as they were measured, and by how much it is missed.
fn verdict(measured: Measured, goal: Measured) -> String {
    if measured.median <= goal.median {
        "met".to_owned()
    } else if measured.best <= goal.best {
        "met by the best".to_owned()
    } else {
        format!("missed, {:.2} times", measured.median / goal.median)
    }
}
