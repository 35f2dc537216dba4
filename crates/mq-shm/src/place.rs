//! What a process has in the segment for others to find.

use crate::chain::Chain;
use crate::large::claims::Claims;
use crate::sync::{AtomicU32, AtomicU64};

/// A process's entry: read by all, written by itself, but for the two chains, for what others find out
/// or do for it (that it has died, that it is to wake, who gives its memory back), and for what a sender
/// takes of a message that both copy.
///
/// Four lines, kept apart: the first is read by every sender and hardly ever written, so that it
/// stays in their caches; each of the others is written by many.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Place {
    /// [`State`](crate::liveness::State) of the process.
    pub(crate) state: AtomicU32,
    /// Whether the process sleeps and wants to be woken, whether somebody does that, and which of its
    /// sleeps it is: a futex. See `wait`.
    pub(crate) asleep: AtomicU32,
    /// Its process number, as the kernel has it.
    pub(crate) pid: AtomicU32,
    /// Ticks after boot at which it started, which tells it from a later process of the same
    /// number.
    pub(crate) started: AtomicU64,
    /// The namespaces in which the number is its, and its start is what it is, as the kernel names
    /// them: see [`namespace`](crate::liveness::namespace).
    pub(crate) namespace: AtomicU64,
    /// A random word of its own memory, by which others that read there know it, and where it is.
    pub(crate) token: AtomicU64,
    pub(crate) token_at: AtomicU64,
    /// Who gives back the memory of the process once it has ended: see `estate`.
    pub(crate) heir: AtomicU32,
    pub(crate) queue: Line<Chain>,
    pub(crate) returns: Line<Chain>,
    pub(crate) claims: Line<Claims>,
}

/// A value on lines of its own: two, since processors fetch them in pairs.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Line<T>(pub(crate) T);
