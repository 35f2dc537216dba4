//! [`Tally`]: counts of operations.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;

use mq_core::Queue;
use mq_core::structures::Choice;

use crate::lock::lock;

/// Counts of one engine, or of all engines of a session.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(super) receives: AtomicU64,
    pub(super) receives_matched: AtomicU64,
    pub(super) messages: AtomicU64,
    pub(super) messages_matched: AtomicU64,
    pub(super) probes: AtomicU64,
    pub(super) cancels: AtomicU64,
    pub(super) removed: AtomicU64,
    pub(super) posted: OfQueue,
    pub(super) unexpected: OfQueue,
    /// The structures of the engines, each once.
    structures: Mutex<Vec<Choice>>,
}

/// Counts of one queue.
#[derive(Debug, Default)]
pub(super) struct OfQueue {
    pub(super) searches: AtomicU64,
    pub(super) visited: AtomicU64,
    pub(super) longest_search: AtomicU64,
    pub(super) length: AtomicU64,
    pub(super) longest: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) most_bytes: AtomicU64,
}

impl Tally {
    const fn of(&self, queue: Queue) -> &OfQueue {
        match queue {
            Queue::Posted => &self.posted,
            Queue::Unexpected => &self.unexpected,
        }
    }

    /// A search of a queue compared `visited` entries.
    pub(crate) fn searched(&self, queue: Queue, visited: u64) {
        let of = self.of(queue);
        of.searches.fetch_add(1, Relaxed);
        of.visited.fetch_add(visited, Relaxed);
        of.longest_search.fetch_max(visited, Relaxed);
    }

    /// An entry was queued.
    pub(crate) fn queued(&self, queue: Queue, bytes: u64) {
        let of = self.of(queue);
        let length = of.length.fetch_add(1, Relaxed) + 1;
        of.longest.fetch_max(length, Relaxed);
        let held = of.bytes.fetch_add(bytes, Relaxed).wrapping_add(bytes);
        of.most_bytes.fetch_max(held, Relaxed);
    }

    /// An entry has left a queue.
    pub(crate) fn left(&self, queue: Queue, bytes: u64) {
        let of = self.of(queue);
        of.length.fetch_sub(1, Relaxed);
        of.bytes.fetch_sub(bytes, Relaxed);
    }

    /// The engine that counted in `gone` no longer exists, nor does what was queued there.
    pub(crate) fn forget_queued(&self, gone: &Self) {
        for queue in [Queue::Posted, Queue::Unexpected] {
            let (of, gone) = (self.of(queue), gone.of(queue));
            of.length.fetch_sub(gone.length.load(Relaxed), Relaxed);
            of.bytes.fetch_sub(gone.bytes.load(Relaxed), Relaxed);
        }
    }

    /// An engine uses this structure.
    pub(crate) fn uses(&self, structure: &Choice) {
        let mut known = lock(&self.structures);
        if !known.contains(structure) {
            known.push(structure.clone());
        }
    }

    /// The structures of all engines so far.
    pub(super) fn structures(&self) -> Vec<Choice> {
        lock(&self.structures).clone()
    }

    /// A receive was posted, and took a message or was queued.
    pub(crate) fn received(&self, matched: bool) {
        self.receives.fetch_add(1, Relaxed);
        self.receives_matched.fetch_add(matched.into(), Relaxed);
    }

    /// A message arrived, and took a receive or was queued.
    pub(crate) fn arrived(&self, matched: bool) {
        self.messages.fetch_add(1, Relaxed);
        self.messages_matched.fetch_add(matched.into(), Relaxed);
    }

    /// There was a probe.
    pub(crate) fn probed(&self) {
        self.probes.fetch_add(1, Relaxed);
    }

    /// A receive was cancelled, or purged.
    pub(crate) fn cancelled(&self) {
        self.cancels.fetch_add(1, Relaxed);
    }

    /// A message left without a receive.
    pub(crate) fn removed(&self) {
        self.removed.fetch_add(1, Relaxed);
    }

    /// Operations of all kinds.
    pub(super) fn operations(&self) -> u64 {
        let counts = [&self.receives, &self.messages, &self.probes, &self.cancels];
        counts.iter().map(|count| count.load(Relaxed)).sum()
    }
}

/// Counts of an engine since it was made, or of all engines of a session. Later versions append more.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_statistics {
    /// Receives posted, and messages taken by the name that the search before has shown.
    pub receives: u64,
    /// Of these, how many took an unexpected message.
    pub receives_matched: u64,
    /// Messages that arrived.
    pub messages: u64,
    /// Of these, how many took a posted receive.
    pub messages_matched: u64,
    /// Probes: searches for a message that took none.
    pub probes: u64,
    /// Receives cancelled, purged, or freed with their context. A probe of `mq_queue_probe` that leaves so is not
    /// counted here, as it was counted in `probes`.
    pub cancels: u64,
    /// The posted receive queue.
    pub posted: mq_queue_statistics,
    /// The unexpected message queue.
    pub unexpected: mq_queue_statistics,
    /// Messages purged, withdrawn by name, or freed with their context.
    pub messages_removed: u64,
}

/// Counts of one queue.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_queue_statistics {
    /// Searches.
    pub searches: u64,
    /// Entries that all searches compared.
    pub visited: u64,
    /// The most entries that one search compared.
    pub longest_search: u64,
    /// Entries queued now.
    pub length: u64,
    /// The most entries ever queued.
    pub longest: u64,
    /// Bytes of the messages queued now, as passed to `mq_arrive` (0 for one whose size is not known); modulo 2^64.
    pub bytes: u64,
    /// The most bytes ever queued.
    pub most_bytes: u64,
    /// 0: for counts to come.
    pub reserved: [u64; 3],
}

impl mq_statistics {
    /// Writes the first `size` bytes of these counts, and 0 into what a caller's struct has more; nothing to null.
    ///
    /// # Safety
    /// `to` is null or valid for writes of `size` bytes.
    pub(crate) unsafe fn write(&self, to: *mut Self, size: usize) {
        if to.is_null() {
            return;
        }
        let known = size.min(size_of::<Self>());
        let (to, from) = (to.cast::<u8>(), ptr::from_ref(self).cast::<u8>());
        // SAFETY: the caller vouches for `size` bytes, and as many as are known are there.
        unsafe { ptr::copy_nonoverlapping(from, to, known) };
        // SAFETY: within these bytes, or at their end.
        let rest = unsafe { to.add(known) };
        // SAFETY: as above.
        unsafe { rest.write_bytes(0, size - known) };
    }
}

impl Tally {
    pub(crate) fn read(&self) -> mq_statistics {
        mq_statistics {
            receives: self.receives.load(Relaxed),
            receives_matched: self.receives_matched.load(Relaxed),
            messages: self.messages.load(Relaxed),
            messages_matched: self.messages_matched.load(Relaxed),
            probes: self.probes.load(Relaxed),
            cancels: self.cancels.load(Relaxed),
            posted: self.posted.read(),
            unexpected: self.unexpected.read(),
            messages_removed: self.removed.load(Relaxed),
        }
    }
}

impl OfQueue {
    fn read(&self) -> mq_queue_statistics {
        mq_queue_statistics {
            searches: self.searches.load(Relaxed),
            visited: self.visited.load(Relaxed),
            longest_search: self.longest_search.load(Relaxed),
            length: self.length.load(Relaxed),
            longest: self.longest.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            most_bytes: self.most_bytes.load(Relaxed),
            reserved: [0; 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_queued_in_an_engine_goes_with_it() {
        let (session, engine) = (Tally::default(), Tally::default());
        for tally in [&session, &engine] {
            tally.queued(Queue::Unexpected, 100);
            tally.queued(Queue::Unexpected, 20);
            tally.left(Queue::Unexpected, 100);
        }
        session.queued(Queue::Unexpected, 3);
        session.forget_queued(&engine);
        let unexpected = session.read().unexpected;
        assert_eq!((unexpected.length, unexpected.bytes), (1, 3));
        assert_eq!((unexpected.longest, unexpected.most_bytes), (2, 120));
    }
}
