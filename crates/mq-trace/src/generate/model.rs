//! [`Model`]: the applications whose processes are generated.

use super::depth::{Filled, Order};
use super::halo::Neighbors;
use super::radix::Keys;

/// An application, or a pattern that is common in them.
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
    /// A radix sort of so many keys: a UMQ on rank 0 that is several times as long as there are processes, and
    /// searched in its middle.
    Radix(Keys),
    /// A stencil with adaptive mesh refinement, mostly collective traffic: searches of medium length.
    Amr,
    /// The Fire Dynamics Simulator: all send to rank 0, in gathers and point to point.
    Fds,
}

impl Model {
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
