//! Requests: operations that have begun, in a pool, and the sets in which they are waited for.
//!
//! A request is a slot of the pool, named by its number and the slot's generation; the name of a request that
//! is over names nothing. Slots are reused, so nothing is allocated once the pool is as large as the program
//! needs.
//!
//! Balaji et al. found that the time of `MPI_Waitany` grows with the number of requests even if the first is
//! complete, because libraries look at each. Here a request in a [set](sets) that completes moves to the end
//! of the set's ready list, and waiting for any takes the first of that list.
//!
//! # How requests end
//!
//! `Core::cancel`, `give_up` and `abandon` are in `protocol/ending.rs`.
//!
//! | by | a receive that nothing has matched | a send, or a receive with its message | one that is done |
//! | --- | --- | --- | --- |
//! | `Request::wait`, `finish` | waits | waits | released, its buffer given back |
//! | `Request::cancel` | `Core::cancel`, released | refused | refused; released if it took nothing |
//! | a dropped handle, of memory of its own | `abandon`: cancelled | `drop_handle`: goes on, for nobody | released |
//! | a dropped handle, of a scope's | `leave_to_set`: the scope waits for it | the same | released when the set ends |
//! | the end of a set or scope | `abandon`: cancelled | `abandon`, then `see_off` while its memory is lent | released |
//! | a start that failed | `give_up`: cancelled, its buffer returned | a receive goes on; a send as on the left | goes on |
//! | a blocking call that failed | `abandon`, `see_off` | the same | its result is returned |
//! | the death of the other end | `Outcome::NobodyLeft` | `Outcome::Gone` or `Outcome::Cut` | stays as it is |
//!
//! An abandoned request whose memory is its own, or that is given some, is in no set and has no handle:
//! `complete` releases it. An announced send of lent memory keeps that memory until the receiver has answered
//! the withdrawal, which is what `see_off` waits for; a receive that has not begun to fetch is released, and
//! its sender told.

mod completion;
mod handle;
mod lists;
mod pool;
mod scoped;
mod sets;
mod slot;
mod waits;

pub use completion::{Completion, Completions};
pub use handle::{Request, RequestId};
pub(crate) use pool::{NONE, New, Requests};
pub use scoped::ScopedRequest;
pub use sets::RequestSet;
pub(crate) use slot::{ANYONE, Name, NoRing, Outcome, Slot, Stage};
pub(crate) use waits::Handles;
