//! Messages too long to be copied through cells.
//!
//! They go through a ring ([`RingId`]) of the sender's, or the receiver reads them straight from
//! the sender's memory ([`single_copy`]), where the kernel permits that; if it does not, or no
//! longer, the rest goes through a ring. Whether it does is found out for each pair, by trying. A sender
//! that waits for that writes a part of it into the receiver's memory meanwhile ([`cooperative`]).

pub(crate) mod claims;
pub mod cooperative;
pub(crate) mod pace;
pub(crate) mod ring;
pub mod single_copy;

pub use ring::{Pulled, Pushed, RingId, Stretch};
