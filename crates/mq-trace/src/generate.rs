//! Generated traces: patterns of queue depth, and applications whose queues were measured.
//!
//! - A [`DepthPattern`] fills one queue to a depth and drains it, round after round.
//! - A [`Workload`] makes the operations of one process of an application. A [`Fit`] compares the
//!   [`Statistics`] of its queues with those that were published of the application.
//!
//! The outcomes are those of the matching rules, so a generated trace can be checked like a recorded one.

mod amr;
mod depth;
mod fds;
mod fit;
mod gather;
mod halo;
mod model;
mod names;
mod nbody;
mod outcomes;
mod process;
mod published;
mod radix;
mod statistics;
mod stream;
#[cfg(test)]
mod tests;
mod workload;

pub use self::depth::{DepthPattern, Filled, KeyedBy, Order};
pub use self::fit::{Fit, Published, Row, Run};
pub use self::halo::Neighbors;
pub use self::model::Model;
pub use self::radix::Keys;
pub use self::statistics::{Counts, QueueStatistics, Statistics};
pub use self::workload::{MAX_RANKS, Workload};
