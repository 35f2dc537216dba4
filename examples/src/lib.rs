//! The examples in documents: they are compiled and run as doctests.
//!
//! Here rather than in the crates: a published crate ships its tests, but not the documents of the repository, and this
//! package has all the crates at hand.

/// Each document whose Rust examples must work; other languages are not looked at.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Repository;
    #[doc = include_str!("../../crates/mq-core/README.md")]
    struct Core;
    #[doc = include_str!("../../crates/mq-trace/README.md")]
    struct Trace;
    #[doc = include_str!("../../crates/mq-shm/README.md")]
    struct Shm;
    #[doc = include_str!("../../crates/mq-comm/README.md")]
    struct Comm;
}
