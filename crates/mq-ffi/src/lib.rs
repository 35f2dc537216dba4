//! The C interface of the matching engine: `libmq` and `mq.h`.
//!
//! Receives and messages are `void *` cookies of the caller. Every call checks its pointers,
//! returns an outcome (0 or above) or an error (below 0, see [`mq_strerror`]), writes its outputs
//! only on success, and never lets a panic reach the caller.
//!
//! # Threads
//! One thread at a time uses an engine: the caller locks, as MPI libraries do, or asks for a locked
//! engine. Different engines are independent. The library starts no thread and installs no handler;
//! after a `fork` the child's copies of the engines are its own and record nothing.
//!
//! # Where things are
//! A call takes the shortest of these ways (`docs/design.md` in the repository has the reasons):
//!
//! | way | files |
//! | --- | --- |
//! | in the front, as the inline calls of `mq_inline.h` | `front/`: `layout.rs` shared with C, `steps.rs` the operations, `array.rs` the entries; `rest.rs` and `standing.rs` when it stays closed |
//! | straight to the queues, if nothing is limited or recorded: to `indexed`, or to whichever structure it is | `boundary/way.rs` chooses, `ways.rs` calls; `plain.rs` the steps |
//! | around, through the lock and the callback check | `boundary/`, then `matching.rs`, which has the engine, and `watch.rs` if something is recorded |
//!
//! `operations.rs` (whole steps), `halves.rs`, `inspect.rs` and `engine.rs` are the functions of `mq.h`; `session/` is
//! what a process's engines share: settings, statistics, traces. `aliases.rs` keeps names valid when entries move
//! between the front and the queues.
//!
//! This crate is a C interface: its functions read and write through the caller's pointers.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(
    clippy::disallowed_types,
    reason = "single flags and counters: nothing between threads that a model could explore"
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "libmq needs 64-bit pointers: the entries of its front consist of words of that size"
);

// The header has its functions, types and constants in the order of these.
mod status;

mod engine;
mod types;

mod operations;

mod halves;

mod shown;

mod inspect;

mod session;

mod allocator;

mod class;

mod front;

// Nothing of these is in the header.
mod aliases;
mod boundary;
mod limits;
mod lock;
mod matching;
mod plain;
mod watch;
mod ways;

pub use allocator::{mq_alloc_fn, mq_allocator, mq_allocator_set, mq_release_fn};
pub use boundary::mq_engine;
pub use class::*;
pub use engine::{
    MQ_VERSION, MQ_VERSION_MAJOR, MQ_VERSION_MINOR, MQ_VERSION_PATCH, mq_context_create,
    mq_context_free, mq_context_update, mq_engine_free, mq_engine_new, mq_structure_name,
    mq_version,
};
pub use front::{
    MQ_FRONT_CONTEXTS, MQ_FRONT_LAYOUT, MQ_FRONT_SCAN, MQ_FRONT_SLOT, mq_front, mq_front_queue,
    mq_known, mq_parked,
};
pub use halves::{
    mq_deliver, mq_extract, mq_find, mq_queue_message, mq_queue_probe, mq_queue_receive, mq_take,
};
pub use inspect::{
    mq_context_get, mq_context_lengths, mq_context_purge, mq_context_visit, mq_entry_fn,
    mq_lengths, mq_lengths_by_source, mq_memory, mq_purge, mq_removed_fn, mq_select_fn,
    mq_statistics_read, mq_visit,
};
pub use operations::{mq_announce, mq_arrive, mq_cancel, mq_post, mq_probe};
pub use session::{
    mq_queue_statistics, mq_session, mq_session_budgets, mq_session_close, mq_session_open,
    mq_session_options, mq_session_statistics_read, mq_statistics,
};
pub use shown::mq_entry;
pub use status::*;
pub use types::*;
