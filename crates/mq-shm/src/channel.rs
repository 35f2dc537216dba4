//! Which buffers an eager message uses: the channels of the MVAPICH memory study (Sur, Koop, Panda,
//! SC 2006) in shared memory.
//!
//! The study compares receive buffers per pair (send and receive), rings per pair that are made once
//! the pair has exchanged some messages (RDMA), and one pool for all (shared receive queue) that is
//! refilled when it falls below a low-water mark. Here buffers belong to the sender, as in Nemesis, so
//! none is lost with a dead receiver; the sender's pool is divided or shared, and it grows when it
//! falls below the mark.
//!
//! | policy | cells | fastbox of a pair |
//! | --- | --- | --- |
//! | [`Policy::PerPeer`] | at most [`credits`](Tuning::credits) with each peer at a time | with the first message |
//! | [`Policy::AdaptivePerPeer`] | at most [`credits`](Tuning::credits) with each peer at a time | after some messages |
//! | [`Policy::AdaptiveShared`] | one pool, any share of it | after some messages |
//! | [`Policy::Shared`] | one pool, any share of it | never |
//!
//! In the study, the buffers of a pair are there for as long as the pair is. Here they are taken from the pool when
//! they are used, and a pool has at most [`Geometry::CELLS`](crate::Geometry::CELLS) cells: where many peers take
//! nothing out, the last of them get fewer than their credits, or none.
//!
//! `adaptive+per-peer`, `adaptive+shared` and `shared` are the study's channels. `per-peer` is none of them: a fastbox
//! with the first message is RDMA for every pair, which the study leaves out as not scalable. And a pair's share is
//! fixed here, where it grows there, from two or three buffers to 64 once the pair has exchanged much.

mod counters;

use core::fmt;
use core::str::FromStr;

pub use counters::{CLASSES, Counters, Growth};

/// Which buffers an eager message uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// Every pair has its own share of the cells, and a fastbox: fastest at first contact, memory for each pair.
    PerPeer,
    /// Every pair has its own share of the cells; a busy pair also has a fastbox.
    AdaptivePerPeer,
    /// One pool of cells, and a fastbox for each busy pair.
    #[default]
    AdaptiveShared,
    /// One pool of cells: the same memory for any number of peers.
    Shared,
}

impl Policy {
    /// Every policy.
    pub const ALL: &[Self] = &[
        Self::PerPeer,
        Self::AdaptivePerPeer,
        Self::AdaptiveShared,
        Self::Shared,
    ];

    /// The policy's name, as [`FromStr`] reads it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerPeer => "per-peer",
            Self::AdaptivePerPeer => "adaptive+per-peer",
            Self::AdaptiveShared => "adaptive+shared",
            Self::Shared => "shared",
        }
    }

    /// Whether each pair has a quota of cells.
    pub(crate) const fn divides_cells(self) -> bool {
        matches!(self, Self::PerPeer | Self::AdaptivePerPeer)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No policy has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no policy {0:?}; expected per-peer, adaptive+per-peer, adaptive+shared or shared"
)]
pub struct NoSuchPolicy(String);

impl FromStr for Policy {
    type Err = NoSuchPolicy;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut policies = Self::ALL.iter().copied();
        policies
            .find(|policy| policy.name() == name)
            .ok_or_else(|| NoSuchPolicy(name.to_owned()))
    }
}

/// A policy and its parameters, as users write them: the policy's name, then any of the fields of [`Tuning`] that it
/// uses, each as `:NAME=VALUE`. Those that are not named have their defaults.
///
/// ```
/// use mq_shm::Policy;
/// use mq_shm::channel::Channel;
///
/// let channel: Channel = "per-peer:credits=8:grow=16".parse()?;
/// assert_eq!((channel.policy, channel.tuning.credits), (Policy::PerPeer, 8));
/// assert_eq!(channel.to_string(), "per-peer:credits=8:grow=16");
/// # Ok::<(), mq_shm::channel::NoSuchChannel>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::exhaustive_structs, reason = "these two are what a channel is")]
pub struct Channel {
    /// The policy.
    pub policy: Policy,
    /// Its parameters.
    pub tuning: Tuning,
}

impl From<Policy> for Channel {
    fn from(policy: Policy) -> Self {
        Self {
            policy,
            tuning: Tuning::default(),
        }
    }
}

impl FromStr for Channel {
    type Err = NoSuchChannel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(':');
        let policy: Policy = parts.next().unwrap_or_default().parse()?;
        let mut tuning = Tuning::default();
        let mut set: Vec<&str> = Vec::new();
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let parameter = || name.to_owned();
            let mut fields = tuning.fields(policy);
            let Some((_, field)) = fields.iter_mut().find(|(known, _)| *known == name) else {
                let name = parameter();
                return Err(NoSuchChannel::Parameter { policy, name });
            };
            if set.contains(&name) {
                let parameter = parameter();
                return Err(NoSuchChannel::Twice { parameter });
            }
            set.push(name);
            **field = value.parse().map_err(|_| NoSuchChannel::Value {
                parameter: parameter(),
                value: value.to_owned(),
            })?;
        }
        Ok(Self { policy, tuning })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy.name())?;
        let (mut defaults, mut tuning) = (Tuning::default(), self.tuning);
        let defaults = defaults.fields(self.policy);
        for ((name, value), (_, default)) in tuning.fields(self.policy).into_iter().zip(defaults) {
            if value != default {
                write!(f, ":{name}={value}")?;
            }
        }
        Ok(())
    }
}

/// Why a text is no [`Channel`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSuchChannel {
    /// No policy has that name.
    Policy(NoSuchPolicy),
    /// The policy has no such parameter.
    Parameter {
        /// The policy.
        policy: Policy,
        /// The name that it does not know.
        name: String,
    },
    /// A parameter was named more than once.
    Twice {
        /// Its name.
        parameter: String,
    },
    /// The parameter cannot have that value.
    Value {
        /// Its name.
        parameter: String,
        /// The value, empty if there was none.
        value: String,
    },
}

impl NoSuchChannel {
    /// What would have been right, for a sentence that begins with "expected".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Policy(_) => {
                let names: Vec<_> = Policy::ALL.iter().map(|policy| policy.name()).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Parameter { policy, .. } => {
                let mut tuning = Tuning::default();
                let fields = tuning.fields(*policy);
                let forms: Vec<String> = fields
                    .iter()
                    .map(|(name, _)| format!("{name}=NUMBER"))
                    .collect();
                format!("some of {} after `{policy}:`", forms.join(", "))
            }
            Self::Twice { parameter } => format!("{parameter} once"),
            Self::Value { parameter, .. } => format!("a whole number for {parameter}"),
        }
    }
}

impl fmt::Display for NoSuchChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(unknown) => return unknown.fmt(f),
            Self::Parameter { policy, name } => write!(f, "`{policy}` has no parameter `{name}`")?,
            Self::Twice { parameter } => write!(f, "`{parameter}` is named twice")?,
            Self::Value { parameter, value } => write!(f, "`{parameter}` cannot be `{value}`")?,
        }
        write!(f, "; expected {}", self.expected())
    }
}

impl core::error::Error for NoSuchChannel {}

impl From<NoSuchPolicy> for NoSuchChannel {
    fn from(unknown: NoSuchPolicy) -> Self {
        Self::Policy(unknown)
    }
}

/// Parameters of the policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Cells sent to a peer before it gets a fastbox, under an adaptive policy. A message in parts
    /// counts once for each part.
    pub box_after: u32,
    /// The most cells in transit to a peer or with it, under a policy that divides them; 0 counts as 1. One that is
    /// lent to it for its answer is not counted.
    pub credits: u32,
    /// Cells by which a pool grows; 0 counts as 1.
    pub grow: u32,
    /// A pool, shared or divided, grows when this many cells or fewer are free.
    pub low_water: u32,
}

impl Tuning {
    /// Those that a policy uses, by name.
    fn fields(&mut self, policy: Policy) -> Vec<(&'static str, &mut u32)> {
        let mut fields = Vec::new();
        if matches!(policy, Policy::AdaptivePerPeer | Policy::AdaptiveShared) {
            fields.push(("box_after", &mut self.box_after));
        }
        if policy.divides_cells() {
            fields.push(("credits", &mut self.credits));
        }
        fields.push(("grow", &mut self.grow));
        fields.push(("low_water", &mut self.low_water));
        fields
    }

    /// A changed copy: `Tuning::default().with(|t| t.box_after = 1)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            box_after: 16,
            credits: 4,
            grow: 8,
            low_water: 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for &policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let error = "srq".parse::<Policy>().unwrap_err().to_string();
        assert!(
            error.contains("srq") && error.contains("adaptive+shared"),
            "{error}"
        );
    }

    #[test]
    fn parameters_are_read_as_they_are_written() {
        for text in [
            "shared",
            "per-peer:credits=9",
            "adaptive+shared:box_after=1:grow=2:low_water=3",
        ] {
            let channel: Channel = text.parse().expect("known");
            assert_eq!(channel.to_string(), text);
        }
        let default: Channel = "per-peer:credits=4".parse().expect("known");
        assert_eq!(
            (default.tuning, &*default.to_string()),
            (Tuning::default(), "per-peer")
        );
        for (text, wrong) in [
            ("srq:grow=1", "expected per-peer, adaptive+per-peer"),
            ("shared:", "`shared` has no parameter ``"),
            (
                "shared:credits=8",
                "has no parameter `credits`; expected some of grow=NUMBER, low_water=NUMBER after",
            ),
            (
                "per-peer:box_after=3",
                "`per-peer` has no parameter `box_after`",
            ),
            (
                "shared:grow",
                "`grow` cannot be ``; expected a whole number for grow",
            ),
            ("shared:grow=-1", "`grow` cannot be `-1`"),
            (
                "shared:grow=1:grow=1",
                "`grow` is named twice; expected grow once",
            ),
        ] {
            let error = text.parse::<Channel>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }
}
