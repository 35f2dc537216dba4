//! The table of the parameters that users can set by name.

use core::fmt;
use core::ops::RangeInclusive;

use super::Kind;
use crate::config::Tuning;

/// A parameter of one structure or more that users can set by name, in a [`Choice`](super::Choice).
///
/// Its name is that of the field of [`Tuning`]. The groups of `clusters` are the one field that no text sets.
#[derive(Debug)]
pub struct Parameter {
    name: &'static str,
    kinds: &'static [Kind],
    allowed: &'static str,
    meaning: &'static str,
    value: fn(&Tuning) -> Value,
    set: fn(&mut Tuning, &str) -> Option<()>,
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
            allowed: "a number from 1 on",
            meaning: "4d from this many ranks on for each step of its longest search",
            value: |tuning| Value::Number(tuning.adjustment),
            set: |tuning, text| number(text, 1.0).map(|value| tuning.adjustment = value),
        },
        Self {
            name: "bins",
            kinds: &[Kind::Bins, Kind::Adaptive],
            allowed: "a whole number from 1 to 16777216",
            meaning: "number of lists, rounded up to a power of two",
            value: |tuning| Value::Whole(tuning.bins),
            set: |tuning, text| whole(text, 1..=1 << 24).map(|value| tuning.bins = value),
        },
        Self {
            name: "adaptive_search",
            kinds: &[Kind::Adaptive],
            allowed: "a whole number from 0 to 4294967295",
            meaning: "entries that a search may compare before the list becomes bins",
            value: |tuning| Value::Whole(tuning.adaptive_search),
            set: |tuning, text| {
                whole(text, 0..=u32::MAX).map(|value| tuning.adaptive_search = value)
            },
        },
        Self {
            name: "partner_threshold",
            kinds: &[Kind::Pnp, Kind::ColPnp],
            allowed: "a whole number from 1 to 4294967295",
            meaning: "length of a shared queue at which senders get their own",
            value: |tuning| Value::Whole(tuning.partner_threshold),
            set: |tuning, text| {
                whole(text, 1..=u32::MAX).map(|value| tuning.partner_threshold = value)
            },
        },
        Self {
            name: "point_to_point_k",
            kinds: &[Kind::Pnp, Kind::ColPnp],
            allowed: "a number from 0 on",
            meaning: "at most this times the square root of the ranks have their own queue",
            value: |tuning| Value::Number(tuning.point_to_point_k),
            set: |tuning, text| number(text, 0.0).map(|value| tuning.point_to_point_k = value),
        },
        Self {
            name: "collective_k",
            kinds: &[Kind::Col, Kind::ColPnp],
            allowed: "a number from 0 on",
            meaning: "at most this times the square root of the ranks have their own queue in one collective operation",
            value: |tuning| Value::Number(tuning.collective_k),
            set: |tuning, text| number(text, 0.0).map(|value| tuning.collective_k = value),
        },
        Self {
            name: "scan_limit",
            kinds: &[Kind::Indexed],
            allowed: "a whole number from 1 to 255",
            meaning: "entries that a search may visit before its queue is hashed",
            value: |tuning| Value::Whole(tuning.scan_limit),
            set: |tuning, text| whole(text, 1..=255).map(|value| tuning.scan_limit = value),
        },
        Self {
            name: "short_limit",
            kinds: &[Kind::Indexed],
            allowed: "a whole number from 0 to 4096",
            meaning: "entries that both queues may hold before they are kept in the form for long queues",
            value: |tuning| Value::Whole(tuning.short_limit),
            set: |tuning, text| whole(text, 0..=4096).map(|value| tuning.short_limit = value),
        },
        Self {
            name: "hash_seed",
            kinds: &[Kind::Indexed],
            allowed: "a whole number from 0 to 4294967295",
            meaning: "seed of the hash, so that runs can be compared; with 0 each context draws its own",
            value: |tuning| Value::Whole(tuning.hash_seed.unwrap_or(0)),
            set: |tuning, text| {
                whole(text, 0..=u32::MAX)
                    .map(|seed| tuning.hash_seed = Some(seed).filter(|&seed| seed > 0))
            },
        },
    ];

    /// The name, as users write it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The structures that use it.
    pub const fn kinds(&self) -> &'static [Kind] {
        self.kinds
    }

    /// In words, the values that it may have.
    pub const fn allowed(&self) -> &'static str {
        self.allowed
    }

    /// In words, what it decides.
    pub const fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Its value in `tuning`.
    pub fn value(&self, tuning: &Tuning) -> impl fmt::Display + use<> {
        (self.value)(tuning)
    }

    /// Whether both have the same value.
    pub(super) fn is_same(&self, one: &Tuning, other: &Tuning) -> bool {
        (self.value)(one) == (self.value)(other)
    }

    /// Sets it; none, with nothing changed, if the text is not an allowed value.
    pub(super) fn set(&self, tuning: &mut Tuning, text: &str) -> Option<()> {
        (self.set)(tuning, text)
    }
}

impl Kind {
    /// The parameters that users can set for this structure.
    pub fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let all = Parameter::ALL.iter();
        all.filter(move |parameter| parameter.kinds.contains(&self))
    }
}

fn whole(text: &str, allowed: RangeInclusive<u32>) -> Option<u32> {
    let value = text.parse().ok();
    value.filter(|value| allowed.contains(value))
}

fn number(text: &str, least: f64) -> Option<f64> {
    let value = text.parse().ok();
    value.filter(|&value: &f64| value.is_finite() && value >= least)
}
