//! MPI message matching: posted and unexpected queues behind one safe API.
//!
//! When a message arrives, an MPI library must find the receive that was posted for it; when a receive is
//! posted, it must find the message that already arrived. This crate does both, with eleven structures of MPI
//! libraries and of the literature, and a default, [`structures::Indexed`], that needs no tuning.
//!
//! ```
//! use mq_core::mpi::{MpiEnvelope, MpiPattern};
//! use mq_core::structures::Indexed;
//! use mq_core::{ContextOptions, Engine, Matched, Post, Source};
//!
//! let mut engine: Engine<Indexed<MpiPattern, &str, &[u8]>> = Engine::new();
//! engine.create_context(0, ContextOptions::new().size(4))?;
//!
//! let queued = engine.post(MpiPattern::new(0, Source::Any, 7), "from anyone")?;
//! assert!(matches!(queued, Post::Queued(_)));
//! let arrived = engine.arrive(MpiEnvelope::new(0, 3, 7), b"hello")?;
//! let Matched { receive, message, .. } = arrived.matched().expect("a receive was posted");
//! assert_eq!((receive, message), ("from anyone", &b"hello"[..]));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where things are
//! - [`Envelope`], [`Pattern`], [`matches()`]: what matches what. Ready-made families: [`mpi`],
//!   [`tagged`].
//! - [`MatchQueues`]: the operations of every structure; [`structures`]: the table of them.
//! - [`Engine`]: contexts (communicators), each with its size, its promises (MPI's info assertions) and its structure,
//!   and budgets for unexpected messages.
//! - `SharedEngine`, with the feature `shared` (on by default): an engine for many threads. Its operations search and
//!   queue in one step, without the halves that an [`Engine`] has (`find`, `queue_receive`, `queue_message`), since
//!   another thread could come in between. A closure sees a message that stays queued, while a lock is held.
//! - For a structure of your own: [`Routed`](structures::Routed) if it only chooses the list that a sender's
//!   entries go to; [`Layered`](structures::Layered) if it learns from traffic which lists they go to;
//!   [`Arrangement`](arrangement::Arrangement) if it links entries in its own way, in the
//!   common storage and order; [`MatchQueues`] to start from scratch.
//! - [`Meter`], [`Footprint`]: the cost of a search, the memory of a structure.
//!
//! # Threads and features
//! An [`Engine`] is for one thread at a time: its operations take `&mut self`. For many threads there is
//! `SharedEngine`. The feature `shared` brings that, and the dependencies `parking_lot` and `crossbeam-utils`;
//! `default-features = false` leaves all three out. The crate uses the standard library, does no I/O and starts no
//! thread.

pub mod arrangement;
mod collective;
pub mod config;
mod engine;
mod envelope;
mod error;
pub mod fifo;
mod handle;
mod hash;
mod memory;
mod meter;
pub mod mpi;
mod own;
mod pattern;
mod profile;
mod queues;
#[cfg(feature = "shared")]
pub mod shared;
pub mod slab;
pub mod structures;
pub mod tagged;

pub use collective::CollectiveCall;
pub use config::{Config, Tuning};
pub use engine::{Budget, ContextOptions, ContextTerms, Engine, EngineOptions, HighWater, Used};
pub use envelope::{ContextId, Envelope, MatchBits, Rank, Tag, TrafficClass};
pub use error::{Error, Refused, UnknownKind};
pub use handle::{Handle, MessageHandle};
pub use memory::{Footprint, Memory};
pub use meter::{Meter, Queue, Unmetered, Visits};
pub use pattern::{BitsOf, Pattern, Source, matches};
pub use queues::{
    Arrive, ArriveOf, Entry, EntryOf, EnvelopeOf, FoundMessageOf, FoundReceiveOf, MatchQueues,
    Matched, Post, PostOf, Removed, RemovedOf, Scope, SeenMessageOf, TakenMessageOf,
    TakenReceiveOf,
};
#[cfg(feature = "shared")]
pub use shared::{SharedContext, SharedEngine};
