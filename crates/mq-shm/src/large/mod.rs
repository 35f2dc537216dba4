//! Messages too long to be copied through cells.
//!
//! The receiver reads them straight from the sender's memory ([`single_copy`]), where the kernel permits
//! that; if it does not, or no longer, the rest goes through a ring ([`RingId`]) of the sender's. Which of the two
//! is found out for each pair, by trying.

pub(crate) mod ring;
pub mod single_copy;

pub use ring::{Pulled, Pushed, RingId};
