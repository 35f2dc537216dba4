//! Messages between the processes of one machine, as MPI has them: communicators, wildcards,
//! requests, probes, barrier and broadcast; without `unsafe` in programs, over the shared memory of
//! [`mq_shm`] and the matching engine of [`mq_core`].
//!
//! ```
//! use mq_comm::{Error, Source, World};
//!
//! // Here the processes are threads. A program that `mq run`, `mpirun`, `srun` or `flux run` starts calls
//! // `World::run`.
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
//! - [`World`]: this process among those started with it; [`Options`]: its settings.
//! - [`Communicator`]: sending, receiving, probing, collectives, new communicators.
//! - [`Scope`]: non-blocking operations on borrowed memory; [`Request`], [`RequestSet`]: on
//!   vectors, and sends of elements with [several owners](Sendable).
//! - [`SharedBuffer`]: memory that receivers read large messages from directly, with one copy.
//! - [`Profile`]: what was sent and received, and how; [`Counters`]: through which buffers. With `MQ_STATS=1`, or
//!   [`Options::statistics`], each process prints both when it leaves.
//! - [`transport`]: what the protocol needs of whatever moves the bytes.
//!
//! The repository's `examples/` has whole programs: a halo exchange, task farms with and without deaths,
//! survivors that go on among themselves, shared buffers, a reduction.
//!
//! # Threads
//! A world and all that is made from it stay in the thread that entered it (they are not `Send`), as
//! under `MPI_THREAD_FUNNELED`. Other threads may compute.
//!
//! # Progress
//! There is no progress thread: a process makes progress only inside calls of this crate that look for messages, or
//! [`Communicator::progress`]. A short message has left when `send` or `isend` returns, unless its receiver has not
//! taken in the last six to thirty (by their length), or has too many unexpected messages. A large one is announced
//! (rendezvous). If its receiver copies it from the sender's memory or from a shared buffer, only the receiver has to
//! make progress; if it goes through a ring, or both processes copy, both have to be in calls at the same time. (Up
//! to 64 KiB, a message that follows one which was waited for may be put into a ring immediately, where the receiver
//! finds it.) Deaths, too, are noticed in calls. So a process that computes for long between `isend` and `wait` calls
//! `progress` now and then.
//!
//! Receivers that make no calls can keep others waiting. A process has 32 [cells](Options::cells) for all receivers
//! together, and four rings. Once receivers that take nothing in have all cells, its next message waits, whoever it is
//! for, unless it fits in the box that it has with its receiver (584 bytes); once four of them have a ring each that
//! they do not empty, large messages through rings wait. Both go on when one of these receivers makes a call.
//!
//! # Memory of unexpected messages
//! Unexpected messages are kept at the receiver, short ones with their data. When they take more than
//! [`Options::unexpected_limit`] (1 GiB unless set), their senders are asked to announce even short ones, and
//! a blocking `send` to that process then waits for its receive. [`Communicator::unexpected_bytes`] gives the
//! memory that is taken, [`Profile::held_back`] the sends that were held back. Announcements themselves, of some
//! 200 bytes, are not limited: a program that begins one send after the other waits for some now and then.
//!
//! # Memory in flight
//! A request either owns its memory or borrows it for a scope that cannot end before the request
//! does. Programs need no `unsafe`, except to implement a [`transport`]; why that is sound is written in
//! `buffer.rs`, `scope.rs` and `shared_buffer.rs`.
//!
//! # What of MPI is here
//! Blocking and non-blocking sends and receives of contiguous elements, wildcards, probes and matched
//! probes, `sendrecv`, cancelled receives, waiting for any, some or all requests of a set, `dup`, `split`,
//! barrier and broadcast, and of ULFM the acknowledgement of deaths, `revoke`, `agree` and `shrink`. Not
//! here: synchronous, buffered and persistent sends, `MPI_PROC_NULL`, datatypes, reductions and other
//! collective operations, groups, topologies, intercommunicators, abort, one-sided communication, files,
//! and more than one machine.
//!
//! # Entering and leaving
//! A world is entered once in each place that a launcher provides. Under `mq run`, a second [`World::init`] in the
//! process, in a program that it starts, or in one that follows it finds the place taken. Under `mpirun`, `srun`
//! and `flux run`, where processes meet at a name, programs may follow each other as long as all processes run each
//! of them; one process alone waits for the others until the [time](Options::start_within) is over. A world is left
//! when it and all that was made from it are dropped, or by [`World::finalize`], which returns what went wrong. A
//! process that ends in any other way, including `std::process::exit`, has died as far as the others can tell, and
//! its announced messages are lost. If a [transport] of one's own panics inside a blocking send or receive, or at
//! the end of a scope, the process aborts.
//!
//! # Deaths
//! When a process ends, everything that it had sent completely is received. A message of which a part is
//! missing keeps its place: the receive that finds it fails with [`Error::Gone`], and takes no later one.
//! After that, receives that name the process, and sends to it, fail in the same way; everything else
//! continues. What a [scope](Communicator::scope) that ends with an error has taken back was never sent, though, and
//! keeps no place, whether its process then ends or not.
//!
//! Once a rank of the communicator has died, receives and probes from any source that find nothing fail as
//! well, because the dead may be whom they wait for, until the program
//! [acknowledges](Communicator::acknowledge_deaths) the death. A receive that fails so is over, and took
//! nothing.
//!
//! A process that has left properly matters to receives and probes from any source only if nobody else is left, and
//! only to those that wait: `test` and `iprobe` then find nothing, forever, and [`ended`](Communicator::ended) tells
//! why. Once any process is known to have ended, and while there is a revoked communicator, receives take longer:
//! those that are posted wait in the engine, as with `MQ_BYPASS=0`, and blocking ones look there first.
//!
//! A collective operation fails at the ranks that find a member gone; all survivors complete it, and can
//! go on to the next. So it may fail at some ranks only: they find out by [`Communicator::agree`], and
//! continue in a communicator of the survivors made by [`Communicator::shrink`], whoever dies meanwhile. A
//! rank that cannot go on, while others wait for its messages, ends their waiting by [`Communicator::revoke`].
//!
//! A launcher may end all processes when one dies: `mq run` does without `--keep-going`, and exits with the
//! status of the process that failed first in either case.

#[cfg(not(target_os = "linux"))]
compile_error!("mq-comm is for Linux: what moves its messages, mq-shm, is empty elsewhere");

mod abort;
mod buffer;
mod collective;
mod communicator;
mod counted;
mod error;
mod header;
mod messages;
mod options;
mod plain;
mod profile;
mod protocol;
mod request;
mod say;
mod scope;
mod shared_buffer;
mod statistics;
mod status;
mod steps;
pub mod transport;
mod world;

pub use buffer::Content;
pub use communicator::{Communicator, Matched, Refused};
pub use error::{Error, NoticedBy, StartCause};
/// Messages of this crate have tags of 0 or more: a receive of exactly a negative one is refused with
/// [`Error::Tag`].
pub use mq_core::mpi::TagSelector;
/// The structures that an engine may match with, for [`Options`].
pub use mq_core::structures::{Choice, Kind};
pub use mq_core::{Rank, Source, Tag};
pub use mq_shm::channel::{Channel, Counters};
pub use mq_shm::liveness::Gone;
pub use mq_shm::wait::Patience;
pub use mq_shm::{Policy, Process, ShmError};
pub use options::{Ignored, Options, parse_bytes};
pub use plain::Plain;
pub use profile::Profile;
pub use request::{Completion, Completions, Request, RequestId, RequestSet, ScopedRequest};
pub use scope::Scope;
pub use shared_buffer::{Owned, Sendable, SharedBuffer};
pub use status::Status;
#[cfg(feature = "_steps")]
pub use steps::STEPS;
pub use world::{Seat, World};
/// The crate whose derive macros make a type [`Plain`].
pub use zerocopy;
/// The crates whose other types appear here: parameters of structures and of policies, errors of parsing them, and
/// what a [`Transport`](transport::Transport) is made of.
pub use {mq_core, mq_shm};
