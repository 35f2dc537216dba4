//! A process's entry in the segment, which others can find.

use crate::chain::Chain;
use crate::large::claims::Claims;
use crate::sync::{AtomicU32, AtomicU64};

/// A process's entry: read by all, and written by itself, except for the two chains, what others find
/// out or do for it (that it has died, that it must wake, which process gives its memory back), and what
/// a sender takes of a message that both copy.
///
/// Four lines, kept apart: every sender reads the first, which is hardly ever written and so stays in
/// their caches; each of the others is written by many.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Place {
    /// [`State`](crate::liveness::State) of the process.
    pub(crate) state: AtomicU32,
    /// Whether the process sleeps and wants to be woken, whether another is waking it, and which of its
    /// sleeps this is: a futex. See `sleeper`.
    pub(crate) asleep: AtomicU32,
    /// The kernel's number of the process.
    pub(crate) pid: AtomicU32,
    /// The kernel's number of the thread that joined: in a world of threads, the one that is bound to a core.
    pub(crate) thread: AtomicU32,
    /// Its start time in ticks after boot, which tells it from a later process of the same number.
    pub(crate) started: AtomicU64,
    /// The namespaces in which its number and its start time are valid, as the kernel names them: see
    /// [`namespace`](crate::liveness::namespace).
    pub(crate) namespace: AtomicU64,
    /// A random word in its own memory, by which readers of that memory identify it, and where it is.
    pub(crate) token: AtomicU64,
    pub(crate) token_at: AtomicU64,
    /// Which process gives back the memory of this one once it has ended: see `estate`.
    pub(crate) heir: AtomicU32,
    pub(crate) queue: Line<Chain>,
    pub(crate) returns: Line<Chain>,
    pub(crate) claims: Line<Claims>,
}

/// A value on its own lines: two, since processors fetch them in pairs.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Line<T>(pub(crate) T);
