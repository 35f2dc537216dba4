//! Messages between the processes of one machine, as MPI has them: communicators, wildcards,
//! requests, probes, barrier and broadcast; without `unsafe` in programs, over the shared memory of
//! [`mq_shm`] and the matching engine of [`mq_core`].
//!
//! ```
//! use mq_comm::{Error, Source, World};
//!
//! // Here the processes are threads. A program that `mq run`, `mpirun` or `srun` starts calls `World::init()`.
//! let sums = World::threads(2, |world| {
//!     if world.rank() == 0 {
//!         world.send(&[1.5, 2.5], 1, 7)?;
//!         Ok(0.0)
//!     } else {
//!         let mut numbers = [0.0_f64; 2];
//!         let status = world.recv(&mut numbers, Source::Any, 7)?;
//!         assert_eq!((status.source(), status.count::<f64>()?), (0, 2));
//!         Ok(numbers.iter().sum())
//!     }
//! })?;
//! assert_eq!(sums, [0.0, 4.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where things are
//! - [`World`]: this process among those started with it; [`Options`]: how it goes about it.
//! - [`Communicator`]: sending, receiving, probing, collectives, new communicators.
//! - [`Scope`]: non-blocking operations on borrowed memory; [`Request`], [`RequestSet`]: on
//!   vectors.
//! - [`SharedBuffer`]: memory that receivers read large messages out of themselves, with one copy.
//! - [`Profile`]: what was sent and received, and how.
//! - [`transport`]: what the protocol needs of whatever moves the bytes.
//!
//! # Threads
//! A world and all that is made from it stay in the thread that entered it (they are not `Send`), as
//! under `MPI_THREAD_FUNNELED`. Other threads may compute.
//!
//! # Memory in flight
//! A request either owns its memory or borrows it for a scope that can not end before the request
//! does. No user of this crate needs `unsafe`, but for who writes a [`transport`] for it; why that
//! is sound is written in `buffer.rs`, `scope.rs` and `shared_buffer.rs`.
//!
//! # Deaths
//! When a process ends, everything it had sent whole is received. A message of which a part was still to
//! come keeps its place: the receive that finds it fails with [`Error::Gone`], and takes none behind it.
//! Then receives that name the process, and sends to it, fail so; everything else goes on. So do
//! receives and probes from any source that find nothing, where a rank of their communicator has died: it
//! may be what they wait for. They fail until the program [says](Communicator::acknowledge_deaths) that it knows. A
//! receive that fails so is over, and took nothing. A process that has left properly disturbs
//! receives from any source only when nobody else is left. A collective operation fails at the
//! ranks that find one gone; those that live all come to its end, and to the next one. So it may have
//! failed at some of them only; they find out by [`Communicator::agree`], and go on among themselves
//! in a communicator that [`Communicator::shrink`] makes, whoever dies meanwhile.

#[cfg(not(target_os = "linux"))]
compile_error!("mq-comm is for Linux: what moves its messages, mq-shm, is empty elsewhere");

mod buffer;
mod collective;
mod communicator;
mod error;
mod header;
mod messages;
mod options;
mod plain;
mod profile;
mod progress;
mod protocol;
mod request;
mod say;
mod scope;
mod shared_buffer;
mod status;
mod steps;
pub mod transport;
mod world;

pub use buffer::Content;
pub use communicator::{Communicator, Matched, Refused};
pub use error::Error;
pub use mq_core::mpi::TagSelector;
/// The structures that an engine may match with, for [`Options`].
pub use mq_core::structures::Kind;
pub use mq_core::{Rank, Source, Tag};
pub use mq_shm::liveness::Gone;
pub use mq_shm::wait::Patience;
pub use mq_shm::{Policy, ShmError};
pub use options::{Options, parse_bytes};
pub use plain::Plain;
pub use profile::Profile;
pub use request::{Completion, Completions, Request, RequestId, RequestSet};
pub use scope::Scope;
pub use shared_buffer::{Owned, SharedBuffer};
pub use status::Status;
#[cfg(feature = "steps")]
pub use steps::STEPS;
pub use world::{Seat, World};
/// The crate whose derive macros make a type [`Plain`].
pub use zerocopy;

/// The README's examples are compiled and run with the doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
