//! The table of the parameters that users can set by name.

use core::fmt;
use core::ops::RangeInclusive;

use super::Kind;
use crate::config::Tuning;

/// A parameter of one structure or more that users can set by name, in a [`Choice`](super::Choice).
///
/// Its name is that of the field of [`Tuning`]. The groups of `clusters`, and `own`, are the fields that no
/// text sets.
#[derive(Debug)]
pub struct Parameter {
    name: &'static str,
    kinds: &'static [Kind],
    meaning: &'static str,
    field: Field,
}

/// The field of a parameter, with the values that it may have.
#[derive(Debug)]
enum Field {
    Whole(RangeInclusive<u32>, fn(&mut Tuning) -> &mut u32),
    /// A number that is not below this.
    Number(f64, fn(&mut Tuning) -> &mut f64),
    /// Any whole number; 0 is none.
    Seed(fn(&mut Tuning) -> &mut Option<u32>),
}

/// The value of a parameter, to be printed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Whole(u32),
    Number(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
        }
    }
}

impl Parameter {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self {
            name: "adjustment",
            kinds: &[Kind::Threshold],
            meaning: "4d from this many ranks on for each step of its longest search",
            field: Field::Number(1.0, |tuning| &mut tuning.adjustment),
        },
        Self {
            name: "bins",
            kinds: &[Kind::Bins, Kind::Adaptive],
            meaning: "number of lists, rounded up to a power of two",
            field: Field::Whole(1..=1 << 24, |tuning| &mut tuning.bins),
        },
        Self {
            name: "adaptive_search",
            kinds: &[Kind::Adaptive],
            meaning: "entries that a search may compare before the list becomes bins",
            field: Field::Whole(0..=u32::MAX, |tuning| &mut tuning.adaptive_search),
        },
        Self {
            name: "partner_threshold",
            kinds: &[Kind::Pnp, Kind::ColPnp],
            meaning: "length of a shared queue at which senders get their own",
            field: Field::Whole(1..=u32::MAX, |tuning| &mut tuning.partner_threshold),
        },
        Self {
            name: "point_to_point_k",
            kinds: &[Kind::Pnp, Kind::ColPnp],
            meaning: "at most this times the square root of the ranks have their own queue",
            field: Field::Number(0.0, |tuning| &mut tuning.point_to_point_k),
        },
        Self {
            name: "collective_k",
            kinds: &[Kind::Col, Kind::ColPnp],
            meaning: "queues of all collective operations together: at most this times the square root of the ranks",
            field: Field::Number(0.0, |tuning| &mut tuning.collective_k),
        },
        Self {
            name: "scan_limit",
            kinds: &[Kind::Indexed],
            meaning: "entries that a search may visit before its queue is hashed",
            field: Field::Whole(1..=255, |tuning| &mut tuning.scan_limit),
        },
        Self {
            name: "short_limit",
            kinds: &[Kind::Indexed],
            meaning: "entries that both queues may hold before they are kept in the form for long queues",
            field: Field::Whole(0..=4096, |tuning| &mut tuning.short_limit),
        },
        Self {
            name: "hash_seed",
            kinds: &[Kind::Indexed],
            meaning: "seed of the hash, so that runs can be compared; with 0 each context draws its own",
            field: Field::Seed(|tuning| &mut tuning.hash_seed),
        },
    ];

    /// The name, as users write it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The structures that use it.
    #[must_use]
    pub const fn kinds(&self) -> &'static [Kind] {
        self.kinds
    }

    /// In words, the values that it may have.
    #[must_use]
    pub fn allowed(&self) -> String {
        let whole = |least, most| format!("a whole number from {least} to {most}");
        match &self.field {
            Field::Whole(allowed, _) => whole(*allowed.start(), *allowed.end()),
            Field::Number(least, _) => format!("a number from {least} on"),
            Field::Seed(_) => whole(0, u32::MAX),
        }
    }

    /// In words, what it decides.
    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Its value in `tuning`.
    #[must_use]
    pub fn value(&self, tuning: &Tuning) -> impl fmt::Display + use<> {
        self.value_in(tuning)
    }

    fn value_in(&self, tuning: &Tuning) -> Value {
        let mut tuning = tuning.clone();
        match self.field {
            Field::Whole(_, field) => Value::Whole(*field(&mut tuning)),
            Field::Number(_, field) => Value::Number(*field(&mut tuning)),
            Field::Seed(field) => Value::Whole(field(&mut tuning).unwrap_or(0)),
        }
    }

    /// Whether both have the same value.
    pub(super) fn is_same(&self, one: &Tuning, other: &Tuning) -> bool {
        self.value_in(one) == self.value_in(other)
    }

    /// Sets it; none, with nothing changed, if the text is not an allowed value.
    pub(super) fn set(&self, tuning: &mut Tuning, text: &str) -> Option<()> {
        match &self.field {
            Field::Whole(allowed, field) => {
                let value = text.parse().ok()?;
                *field(tuning) = allowed.contains(&value).then_some(value)?;
            }
            Field::Number(least, field) => {
                let value: f64 = text.parse().ok()?;
                *field(tuning) = (value.is_finite() && value >= *least).then_some(value)?;
            }
            Field::Seed(field) => {
                let seed = text.parse().ok()?;
                *field(tuning) = Some(seed).filter(|&seed| seed > 0);
            }
        }
        Some(())
    }
}

impl Kind {
    /// The parameters that users can set for this structure.
    pub fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let all = Parameter::ALL.iter();
        all.filter(move |parameter| parameter.kinds.contains(&self))
    }
}
