//! [`Model`]: the applications whose processes are generated.

use core::fmt;
use core::str::FromStr;

use super::depth::{Filled, Order};
use super::halo::Neighbors;
use super::names::unknown;
use super::radix::Keys;
use crate::parse_error::ParseError;

/// An application, or a pattern that is common in them.
///
/// Its text form is the name, and for each parameter a colon, its name and its value. Those that are left out
/// have the values of `mq generate`.
///
/// ```
/// use mq_trace::generate::{Filled, Model, Order};
///
/// let late = Model::Gather { order: Order::Reverse, filled: Filled::Unexpected };
/// assert_eq!(late.to_string(), "gather:order=reverse:queue=unexpected");
/// assert_eq!("gather:queue=unexpected:order=reverse".parse(), Ok(late));
/// assert_eq!("radix".parse::<Model>()?.to_string(), "radix:keys=n28");
/// # Ok::<(), mq_trace::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Model {
    /// Borders are exchanged with neighbours in a grid: shallow queues, at any number of processes.
    Halo(Neighbors),
    /// Rank 0 receives a message from every other rank; the others only send.
    Gather {
        /// The order in which the queue is drained.
        order: Order,
        /// Which queue is filled.
        filled: Filled,
    },
    /// A simulation of particles in which each process receives from every other: a PRQ as long as there are
    /// processes, searched at its head.
    Nbody,
    /// A radix sort of this many keys: a UMQ on rank 0 that is several times as long as there are processes, and
    /// searched in its middle.
    Radix(Keys),
    /// A stencil with adaptive mesh refinement, mostly collective traffic: searches of medium length.
    Amr,
    /// The Fire Dynamics Simulator: all send to rank 0, in gathers and point to point.
    Fds,
}

impl Model {
    /// Each model, with the parameters that `mq generate` gives it.
    const ALL: [Self; 6] = [
        Self::Halo(Neighbors::All),
        Self::Gather {
            order: Order::Random,
            filled: Filled::Posted,
        },
        Self::Nbody,
        Self::Radix(Keys::N28),
        Self::Amr,
        Self::Fds,
    ];

    /// The name, as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halo(_) => "halo",
            Self::Gather { .. } => "gather",
            Self::Nbody => "nbody",
            Self::Radix(_) => "radix",
            Self::Amr => "amr",
            Self::Fds => "fds",
        }
    }

    /// What else the model depends on: names and values, as users write them.
    pub fn parameters(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let parameters = match self {
            Self::Halo(neighbors) => [Some(("neighbors", neighbors.name())), None],
            Self::Gather { order, filled } => [
                Some(("order", order.name())),
                Some(("queue", filled.name())),
            ],
            Self::Radix(keys) => [Some(("keys", keys.name())), None],
            Self::Nbody | Self::Amr | Self::Fds => [None, None],
        };
        parameters.into_iter().flatten()
    }
}

impl Model {
    /// Sets the parameter of this name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match (&mut *self, name) {
            (Self::Halo(neighbors), "neighbors") => *neighbors = value.parse()?,
            (Self::Gather { order, .. }, "order") => *order = value.parse()?,
            (Self::Gather { filled, .. }, "queue") => *filled = value.parse()?,
            (Self::Radix(keys), "keys") => *keys = value.parse()?,
            _ => {
                let model = self.name();
                return Err(ParseError::new(format!(
                    "`{model}` has no parameter `{name}`"
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.parameters()
            .try_for_each(|(name, value)| write!(f, ":{name}={value}"))
    }
}

impl FromStr for Model {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let known = Self::ALL.into_iter().find(|model| model.name() == name);
        let names = Self::ALL.iter().map(|model| model.name());
        let mut model = known.ok_or_else(|| unknown(name, names))?;
        let mut set: Vec<&str> = Vec::new();
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            model.set(name, value)?;
            if set.contains(&name) {
                return Err(ParseError::new(format!("`{name}` is given twice")));
            }
            set.push(name);
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_refused_by_name() {
        for (text, reason) in [
            (
                "sort",
                "`sort` is not one of halo, gather, nbody, radix, amr, fds",
            ),
            ("nbody:keys=n28", "`nbody` has no parameter `keys`"),
            ("radix:keys", "`` is not one of n28, n29, n30"),
            ("radix:keys=n28:keys=n29", "`keys` is given twice"),
            (
                "gather:queue=both",
                "`both` is not one of posted, unexpected",
            ),
        ] {
            let refused = text.parse::<Model>().expect_err(text);
            assert_eq!(refused.to_string(), reason);
        }
    }
}
