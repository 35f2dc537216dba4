//! Messages too long to be copied through cells.
//!
//! They go through a ring ([`RingId`]) of the sender's, or the receiver reads them straight from the
//! sender's memory ([`single_copy`]), if the kernel permits that; if it does not, or no longer, the rest
//! goes through a ring. Each pair finds out by trying. A sender that waits for such a read writes a part
//! of the message into the receiver's memory meanwhile ([`cooperative`]).

pub(crate) mod claims;
pub mod cooperative;
pub(crate) mod pace;
pub(crate) mod ring;
pub mod single_copy;

pub use ring::{Pulled, Pushed, RingId, Stretch};
