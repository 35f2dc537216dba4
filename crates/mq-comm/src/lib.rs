//! Messages between the processes of one machine, as MPI has them: communicators, wildcards,
//! requests, probes, barrier and broadcast; without `unsafe` in programs, over the shared memory of
//! [`mq_shm`] and the matching engine of [`mq_core`].
//!
//! ```
//! use mq_comm::{Error, Source, World};
//!
//! // Here the processes are threads. A program that `mq run`, `mpirun` or `srun` starts calls `World::run`.
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
//! # Progress
//! There is no thread behind it: what a message needs of a process is done while that is in a call, any
//! of this crate that looks for messages, or [`Communicator::progress`]. Short messages are on their way
//! when `send` or `isend` returns, unless the buffers to that receiver are full. A large one is
//! announced; that its receiver copies it, out of the sender's memory or a shared buffer, needs the
//! receiver alone, and that it goes through a ring, or is copied by both, needs the two in calls at the
//! same time. (Of up to 64 KiB those that follow one that was waited for may go into a ring at once,
//! where the receiver finds them.) Deaths are noticed in calls too. So who computes for long between
//! `isend` and `wait` calls `progress` now and then.
//!
//! # Memory of what nobody waits for
//! A message that comes before its receive is kept by the process that it came to, short ones with
//! their bytes, and there is no limit: who sends without end to a process that waits for another fills its
//! memory. Programs that have many senders post receives, or let senders wait for an answer.
//!
//! # Memory in flight
//! A request either owns its memory or borrows it for a scope that can not end before the request
//! does. No user of this crate needs `unsafe`, but for who writes a [`transport`] for it; why that
//! is sound is written in `buffer.rs`, `scope.rs` and `shared_buffer.rs`.
//!
//! # What of MPI is here
//! Blocking and non-blocking sends and receives of contiguous elements, wildcards, probes and matched
//! probes, `sendrecv`, cancelled receives, any, some and all of a set, `dup`, `split`, barrier and
//! broadcast, and of ULFM the acknowledgement of deaths, `agree` and `shrink`. Not here: synchronous,
//! buffered and persistent sends, `MPI_PROC_NULL`, datatypes, reductions and other collective operations,
//! one-sided communication, files, and more than one machine.
//!
//! # Entering and leaving
//! A world is entered once in each place that a launcher gives. Under `mq run` a second
//! [`World::init`] of the process, of a program that it starts, or of one that follows it finds the place
//! taken. Under `mpirun` and `srun`, where processes meet at a name, programs may follow each other in all
//! of them; a single one waits there for the others, in vain. A world is left when it and all that was made from
//! it are dropped, or by [`World::finalize`], which says what went wrong. A process that ends otherwise, by
//! `std::process::exit` too, has died for the others, with what it had announced. A panic inside of a
//! blocking send or receive, or of the end of a scope, which only a transport of one's own can cause, ends
//! the process.
//!
//! # Deaths
//! When a process ends, everything it had sent whole is received. A message of which a part was still to
//! come keeps its place: the receive that finds it fails with [`Error::Gone`], and takes none behind it.
//! Then receives that name the process, and sends to it, fail so; everything else goes on. So do
//! receives and probes from any source that find nothing, where a rank of their communicator has died: it
//! may be what they wait for. They fail until the program [says](Communicator::acknowledge_deaths) that it knows. A
//! receive that fails so is over, and took nothing. A process that has left properly disturbs
//! receives and probes from any source only when nobody else is left, and only those that wait: a `test` or an
//! `iprobe` finds nothing then, for ever, and [`ended`](Communicator::ended) says why. Once one is known to
//! have ended, in whatever way, all receives go by the engine, as with `MQ_BYPASS=0`. A collective operation fails at
//! the ranks that find one gone; those that live all come to its end, and to the next one. So it may have failed
//! at some of them only; they find out by [`Communicator::agree`], and go on among themselves in a communicator
//! that [`Communicator::shrink`] makes, whoever dies meanwhile.

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
