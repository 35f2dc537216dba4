//! Requests: operations that have begun, in a pool, and the sets in which they are waited for.
//!
//! A request is a slot of the pool, named by its number and the slot's generation; a name whose
//! request is over names nothing. Slots are used again, so that nothing is allocated once the pool
//! is as large as the program needs it.
//!
//! Balaji et al. found the time of `MPI_Waitany` to grow with the number of requests even if the
//! first is complete, as libraries look at each. Here a request in a [set](sets) that completes
//! moves to the end of the set's ready list, and waiting for any takes the first of that list.

mod handle;
mod lists;
mod pool;
mod sets;
mod slot;

pub use handle::{Request, RequestId};
pub(crate) use pool::{NONE, New, Requests};
pub use sets::{Completion, RequestSet};
pub(crate) use slot::{ANYONE, Name, NoRing, Outcome, Stage};
