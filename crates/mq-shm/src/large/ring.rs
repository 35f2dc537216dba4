//! A ring of buffers between two processes, for large messages one after another.
//!
//! The sender fills buffers while the receiver empties others: the double buffering of Nemesis's large
//! message transfer, with more than two. A ring belongs to the sender, who gives it to a receiver, a [`Stretch`] of it to
//! each message, and takes it back when the receiver has counted the last buffer of the last of them, or has died.
//!
//! It is long, so that a buffer is written again only when the lines of its last use have left the caches of
//! whoever read them: with 256 KiB in place of 1 MiB a transfer took up to three times as long between two cores of one cache.

use crate::index::Process;
use crate::place::Line;
use crate::sync::{AtomicU64, Guarded, Ordering};

/// Buffers of a ring.
pub(crate) const BUFFERS: u32 = if cfg!(loom) { 2 } else { 64 };
/// Bytes of a buffer.
pub(crate) const BUFFER_BYTES: usize = if cfg!(loom) { 8 } else { 16 * 1024 };

/// One of a process's rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingId(pub u32);

/// The buffers of a ring that one message goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Whose ring it is: the sender's, or the receiver's who has lent it.
    pub owner: Process,
    /// The ring.
    pub ring: RingId,
    /// The number of the first buffer.
    pub first: u64,
    /// Bytes of the message that went another way, before it.
    pub skipped: usize,
}

impl Stretch {
    /// The number of the buffer that byte `done` of the message begins.
    pub(crate) fn number(&self, done: usize) -> u64 {
        let before = done.saturating_sub(self.skipped) / BUFFER_BYTES;
        self.first.wrapping_add(before as u64)
    }
}

/// What [`Endpoint::push`](crate::Endpoint::push) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// All bytes are in the ring or beyond.
    All,
    /// So many bytes have gone in so far.
    Upto(usize),
}

/// What [`Endpoint::pull`](crate::Endpoint::pull) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// All bytes are out.
    All,
    /// So many bytes have come out so far.
    Upto(usize),
}

type Buffer = Guarded<[u8; BUFFER_BYTES]>;

/// Buffers and two counts, each written by one side at a time. The counts go on from one transfer to the next.
#[repr(C, align(4096))]
pub(crate) struct Ring {
    /// Buffers that were filled.
    filled: Line<AtomicU64>,
    /// Buffers that were emptied.
    emptied: Line<AtomicU64>,
    buffers: [Buffer; BUFFERS as usize],
}

#[cfg(loom)]
impl Default for Ring {
    fn default() -> Self {
        Self {
            filled: Line::default(),
            emptied: Line::default(),
            buffers: core::array::from_fn(|_| Guarded::new([0; BUFFER_BYTES])),
        }
    }
}

impl Ring {
    /// The buffer that comes after `count` others, if it is the next to be filled and is empty. Those of an earlier
    /// message come first.
    #[inline]
    pub(crate) fn to_fill(&self, count: u64) -> Option<&Buffer> {
        // RING-TURN (acquire): those before it may be the other's, and for this process to read.
        if self.filled.0.load(Ordering::Acquire) != count {
            return None;
        }
        // RING-EMPTY (acquire): whoever had the buffers that are counted is done with them.
        let emptied = self.emptied.0.load(Ordering::Acquire);
        (count.wrapping_sub(emptied) < u64::from(BUFFERS)).then(|| self.buffer(count))
    }

    /// Shows the receiver the buffer after `count` others.
    #[inline]
    pub(crate) fn filled(&self, count: u64) {
        // RING-FILL (release): the buffer's bytes, to the receiver that counts it.
        self.filled
            .0
            .store(count.wrapping_add(1), Ordering::Release);
    }

    /// The buffer that comes after `count` others, if it is the next for the receiver to empty. Those of an earlier
    /// message come first.
    #[inline]
    pub(crate) fn to_empty(&self, count: u64) -> Option<&Buffer> {
        // Relaxed: those before it are this process's, or the other's, who learns by a message when it may fill them again.
        if self.emptied.0.load(Ordering::Relaxed) != count {
            return None;
        }
        // RING-FILL (acquire).
        let filled = self.filled.0.load(Ordering::Acquire);
        let ahead = filled.wrapping_sub(count);
        (ahead > 0 && ahead <= u64::from(BUFFERS)).then(|| self.buffer(count))
    }

    /// Gives the buffer after `count` others back to the sender.
    #[inline]
    pub(crate) fn emptied(&self, count: u64) {
        // RING-EMPTY (release): the reads of the buffer come before the sender's next writes.
        self.emptied
            .0
            .store(count.wrapping_add(1), Ordering::Release);
    }

    /// Whether all of `count` buffers have been emptied.
    pub(crate) fn is_empty(&self, count: u64) -> bool {
        self.emptied.0.load(Ordering::Acquire) == count
    }

    /// Whether some of `count` buffers are still to be emptied, of which the last is for the owner.
    pub(crate) fn awaits(&self, count: u64) -> bool {
        // Relaxed: it is the owner that asks, and that counts the last.
        let emptied = self.emptied.0.load(Ordering::Relaxed);
        count.wrapping_sub(emptied) as i64 > 0
    }

    /// The next buffer is the one after `count` others, whatever was promised before. For the owner, while nobody
    /// fills or empties the ring: it is empty, or the other has died.
    pub(crate) fn begin(&self, count: u64) {
        // Relaxed: the other reads them after the message that tells it of the ring.
        self.filled.0.store(count, Ordering::Relaxed);
        self.emptied.0.store(count, Ordering::Relaxed);
    }

    fn buffer(&self, count: u64) -> &Buffer {
        &self.buffers[(count % u64::from(BUFFERS)) as usize]
    }
}
