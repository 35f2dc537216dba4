//! Messages between the processes of one machine, through shared memory.
//!
//! Every process has one lock-free receive queue, into which all others put *cells*, buffers of 20
//! KiB that belong to their sender, as in Nemesis (Buntinas, Mercier, Gropp, EuroPVM/MPI 2006). A
//! pair of processes that talks often gets a [`fastbox`], a ring of pairs of cache lines that
//! bypasses the queue. Large messages go through a ring of buffers. Or the receiver reads them
//! straight out of the sender's memory, if the kernel permits it, or out of [`buffers`] that all
//! can see; a sender that waits meanwhile writes a part of them into the receiver's memory. There
//! is no lock in the shared memory: a process may be killed at any instruction, and the others
//! neither wait for it nor read half a message.
//!
//! ```
//! use mq_shm::{Arrival, Endpoint, Geometry, Heap, Options, Process};
//!
//! // On the heap, as in tests, both processes are in this one.
//! let segment = Heap::new(Geometry::new(2)?);
//! let mut alice = Endpoint::join(segment.clone(), Process(0), Options::default())?;
//! let mut bob = Endpoint::join(segment, Process(1), Options::default())?;
//!
//! alice.try_send(Process(1), [7, 0], b"hello", 0)?;
//! let arrived = bob.poll()?;
//! assert!(matches!(arrived, Some(Arrival::Message(message)) if message.source() == Process(0)));
//! # Ok::<(), mq_shm::ShmError>(())
//! ```
//!
//! `examples/two_processes.rs` in the repository does it with a parent and its child, and sends a long message
//! through a ring: announced, asked for, pushed, pulled and acknowledged.
//!
//! | module | holds |
//! | --- | --- |
//! | [`segment`] | the shared memory: made, opened, checked; a heap form for tests |
//! | [`layout`] | where everything is in it, and [`Geometry`], which determines that |
//! | [`endpoint`] | [`Endpoint`]: how one process sends and receives |
//! | [`channel`] | [`Policy`]: which buffers an eager message uses, and [`Counters`] |
//! | [`large`] | messages too long for a cell |
//! | [`buffers`] | memory of a process from which the others can read messages |
//! | [`liveness`] | which processes are alive |
//! | [`wait`] | what a process does while nothing arrives |
//!
//! Inside: `place` (a process's entry), `cell`, `chain` (the queue), `pool` (a process's own cells), `copy`
//! (ways of copying), `sleeper` (sleeping and waking), `cores` (who shares a core), `estate` (what the dead
//! leave), `segment_ref` and `ids` (addresses and names, checked), `origin` (a process, and not its children),
//! `sync` (every atomic), `steps` (where tests kill), `models` (for loom), `words` (for tests).
//! `endpoint/send.rs`, `short.rs` and `receive.rs` are the way of a message.
//!
//! A process that replaces its program (`exec`) must drop its endpoint before: see [`liveness`].
//!
//! The crate relies on Linux features: memory files, futexes, process descriptors. On other systems it
//! is empty.
//!
//! The protocol between processes, edge by edge, is in `docs/memory-model.md` in the repository.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    reason = "the lint sees through the names of sync.rs; ci/lint.sh checks that they are used"
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("mq-shm needs 64-bit pointers: a segment does not fit in a smaller address space");

pub mod buffers;
mod cell;
mod chain;
pub mod channel;
mod copy;
#[cfg(not(mq_loom))]
mod cores;
pub mod endpoint;
mod error;
mod estate;
pub mod fastbox;
mod ids;
pub mod large;
pub mod layout;
pub mod liveness;
#[cfg(all(mq_loom, test))]
mod models;
mod origin;
mod place;
mod pool;
pub mod segment;
mod segment_ref;
mod sleeper;
mod steps;
mod sync;
#[cfg(all(test, not(mq_loom)))]
mod untried;
pub mod wait;
#[cfg(not(mq_loom))]
mod words;

pub use buffers::Block;
pub use cell::CELL_PAYLOAD;
pub use channel::{Counters, Policy};
pub use endpoint::{Arrival, Endpoint, Incoming, Options, Peeked, Sent, Short};
pub use error::ShmError;
pub use ids::Process;
pub use large::single_copy::{Copied, Remote, permit as permit_single_copy};
pub use large::{Pulled, Pushed, RingId, Stretch};
pub use layout::Geometry;
pub use origin::Origin;
pub use segment::{Heap, Host, Mapped};
#[cfg(feature = "_steps")]
pub use steps::{STEPS, at_step};
#[cfg(not(mq_loom))]
#[doc(hidden)]
pub use words::words_of;
