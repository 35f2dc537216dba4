//! The C interface of the matching engine: `libmq` and `mq.h`.
//!
//! Receives and messages are `void *` cookies of the caller. Every call checks its pointers, returns
//! an outcome (0 or above) or an error (below 0, see [`mq_strerror`]), writes its outputs only on
//! success, and never lets a panic cross.
//!
//! # Threads
//! An engine is used by one thread at a time: the caller locks, as MPI libraries do. Different
//! engines are independent. The library has no state of its own, starts no thread and installs no
//! handler, so that `fork` and `dlclose` are harmless.
//!
//! This crate is a C interface: its function bodies read and write through the caller's pointers.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, reason = "the names are C's")]

mod class;
mod engine;
mod guard;
mod inspect;
mod operations;
mod status;
mod types;

pub use class::*;
pub use engine::{
    mq_context_create, mq_context_free, mq_engine, mq_engine_free, mq_engine_new,
    mq_structure_name, mq_version,
};
pub use inspect::{
    mq_entry_fn, mq_lengths, mq_lengths_by_source, mq_memory, mq_purge, mq_removed_fn,
    mq_select_fn, mq_visit,
};
pub use operations::{mq_announce, mq_arrive, mq_cancel, mq_extract, mq_post, mq_probe};
pub use status::*;
pub use types::*;
