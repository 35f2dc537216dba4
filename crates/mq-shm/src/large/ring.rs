//! A ring of buffers between two processes, for consecutive large messages.
//!
//! The sender fills buffers while the receiver empties others: the double buffering of Nemesis's
//! large message transfer, with more than two. A ring belongs to the sender. It gives the ring to a
//! receiver, one [`Stretch`] for each message, and takes it back when the receiver has counted the
//! last buffer of the last of them, or has died.
//!
//! It is long, so a buffer is written again only when the lines of its last use have left the
//! reader's caches: with 256 KiB in place of 1 MiB a transfer took up to three times as long between
//! two cores of one cache.
//!
//! Buffers are short, and are shown and counted several at a time ([`Share`]): few at both ends of a
//! message, where one side would wait for the other, and more in between, since each count is a line
//! that goes from one core to the other.

use crate::ids::Process;
use crate::place::Line;
use crate::sync::{AtomicU64, Guarded, Ordering};

/// Buffers of a ring.
pub(crate) const BUFFERS: u32 = if cfg!(mq_loom) { 2 } else { 256 };
/// Bytes of a buffer.
pub(crate) const BUFFER_BYTES: usize = if cfg!(mq_loom) { 8 } else { 4 * 1024 };
/// The most buffers that are shown at a time, and counted by a receiver that keeps up.
const SHARE: u64 = if cfg!(mq_loom) { 2 } else { 4 };
/// The fewest and the most that are shown at a time between cores that share no cache: more bytes are
/// copied there in the time that a count takes to arrive.
const FAR_SHARE: [u64; 2] = if cfg!(mq_loom) { [1, 2] } else { [4, 8] };
/// The most that are counted at a time, by a receiver that is behind.
const BEHIND: u64 = if cfg!(mq_loom) { 2 } else { 16 };

/// One of a process's rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingId(pub u32);

/// The buffers of a ring that one message goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub(crate) owner: Process,
    pub(crate) ring: RingId,
    pub(crate) first: u64,
    pub(crate) skipped: usize,
}

impl Stretch {
    /// What [`take_ring`](crate::Endpoint::take_ring) or [`lend_ring`](crate::Endpoint::lend_ring)
    /// of `owner` gave for a message: the ring, and the number of the first buffer. `skipped` bytes
    /// of the message went another way, before the others.
    ///
    /// # Safety
    /// If both ends belong to one process, each in its own thread, this is what was given for this
    /// message, and the message goes through it once, with no more bytes than were given: otherwise one
    /// would write where the other reads. What another process says need not be true: a lie can do no
    /// more than a write into the segment could.
    #[must_use]
    #[allow(unsafe_code, reason = "callers vouch for what it says")]
    pub const unsafe fn new(owner: Process, ring: RingId, first: u64, skipped: usize) -> Self {
        Self {
            owner,
            ring,
            first,
            skipped,
        }
    }

    /// The ring's owner: the sender, or the receiver that has lent it.
    #[must_use]
    pub const fn owner(&self) -> Process {
        self.owner
    }

    /// The ring.
    #[must_use]
    pub const fn ring(&self) -> RingId {
        self.ring
    }

    /// The number of the first buffer.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The number of the buffer after the one with the last of the first `done` bytes.
    pub(crate) fn number_behind(&self, done: usize) -> u64 {
        let before = done.saturating_sub(self.skipped).div_ceil(BUFFER_BYTES);
        self.first.wrapping_add(before as u64)
    }

    /// The number of the buffer that byte `done` of the message begins.
    pub(crate) fn number(&self, done: usize) -> u64 {
        let before = done.saturating_sub(self.skipped) / BUFFER_BYTES;
        self.first.wrapping_add(before as u64)
    }
}

/// What [`Endpoint::push`](crate::Endpoint::push) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// All bytes are in the ring, or already out of it.
    All,
    /// This many bytes, from the beginning, have gone in so far.
    Upto(usize),
}

/// What [`Endpoint::pull`](crate::Endpoint::pull) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// All bytes are out.
    All,
    /// This many bytes, from the beginning, have come out so far.
    Upto(usize),
}

/// All buffers. In the model each buffer is a `Guarded` of its own, so that the model can tell who touches
/// which.
#[cfg(not(mq_loom))]
type Buffers = Guarded<[[u8; BUFFER_BYTES]; BUFFERS as usize]>;
#[cfg(mq_loom)]
type Buffers = [Guarded<[u8; BUFFER_BYTES]>; BUFFERS as usize];

/// Some consecutive buffers, which are this process's until it counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of the first.
    pub(crate) first: u64,
    /// How many: at least one, and as many as are contiguous.
    buffers: u64,
}

impl Share {
    /// Their length in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.buffers as usize * BUFFER_BYTES
    }

    /// The number of the buffer after them.
    pub(crate) fn end(self) -> u64 {
        self.first.wrapping_add(self.buffers)
    }

    /// The next buffers to fill, of `free` ones from `first` on; `before` bytes of the message lie
    /// before them and `left` after, for a receiver nearby or `far` away.
    pub(crate) fn to_fill(
        first: u64,
        free: u64,
        before: usize,
        left: usize,
        far: bool,
    ) -> Option<Self> {
        // The receiver begins with the first buffer while the second is filled, and has little left
        // when the last is.
        let wished = before.min(left / 2) / BUFFER_BYTES;
        let [least, most] = if far { FAR_SHARE } else { [1, SHARE] };
        let wished = (wished as u64).clamp(least, most);
        Self::new(first, free, wished.min(left.div_ceil(BUFFER_BYTES) as u64))
    }

    /// The next buffers to empty, of `full` ones from `first` on, if `left` bytes of the message are
    /// still to come. Those after that are another message's.
    pub(crate) fn to_empty(first: u64, full: u64, left: usize) -> Option<Self> {
        let full = full.min(left.div_ceil(BUFFER_BYTES) as u64);
        // A receiver that is behind does not wait for the next count, and counts less often.
        Self::new(first, full, (full / 2).clamp(SHARE, BEHIND))
    }

    fn new(first: u64, there: u64, wished: u64) -> Option<Self> {
        let in_a_row = u64::from(BUFFERS) - first % u64::from(BUFFERS);
        let buffers = wished.min(there).min(in_a_row);
        (buffers > 0).then_some(Self { first, buffers })
    }
}

/// Buffers and two counts, each written by one side at a time. The counts continue from one transfer
/// to the next.
#[repr(C, align(4096))]
pub(crate) struct Ring {
    /// Buffers that were filled.
    filled: Line<AtomicU64>,
    /// Buffers that were emptied.
    emptied: Line<AtomicU64>,
    buffers: Buffers,
}

#[cfg(not(mq_loom))]
impl Ring {
    /// Where the counts of a ring are: see `words`.
    pub(crate) const COUNTS: [usize; 2] = [
        core::mem::offset_of!(Self, filled),
        core::mem::offset_of!(Self, emptied),
    ];
}

#[cfg(mq_loom)]
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
    /// How many empty buffers come after `count` others, if that is the next to be filled. Those of
    /// an earlier message come first.
    #[inline]
    pub(crate) fn free_after(&self, count: u64) -> u64 {
        // RING-TURN (acquire): those before it may be the other's, and for this process to read.
        if self.filled.0.load(Ordering::Acquire) != count {
            return 0;
        }
        // RING-EMPTY (acquire): the process that had the counted buffers is done with them.
        let emptied = self.emptied.0.load(Ordering::Acquire);
        u64::from(BUFFERS).saturating_sub(count.wrapping_sub(emptied))
    }

    /// Shows the receiver all buffers before the one after `count` others.
    #[inline]
    pub(crate) fn publish_filled(&self, count: u64) {
        // RING-FILL (release): the buffers' bytes, to the receiver that counts them.
        self.filled.0.store(count, Ordering::Release);
    }

    /// How many full buffers come after `count` others, if that is the next for the receiver to
    /// empty. Those of an earlier message come first.
    #[inline]
    pub(crate) fn full_after(&self, count: u64) -> u64 {
        // Relaxed: those before it are this process's, or the other's, which learns from a message
        // when it may fill them again.
        if self.emptied.0.load(Ordering::Relaxed) != count {
            return 0;
        }
        // RING-FILL (acquire).
        let filled = self.filled.0.load(Ordering::Acquire);
        let ahead = filled.wrapping_sub(count);
        if ahead <= u64::from(BUFFERS) {
            ahead
        } else {
            0
        }
    }

    /// Gives all buffers before the one after `count` others back to the sender.
    #[inline]
    pub(crate) fn publish_emptied(&self, count: u64) {
        // RING-EMPTY (release): the reads of the buffers come before the sender's next writes.
        self.emptied.0.store(count, Ordering::Release);
    }

    /// How many buffers can be promised after `count` others, so that they are empty: for the owner,
    /// which has promised those.
    pub(crate) fn room_after(&self, count: u64) -> u64 {
        // Relaxed: the process that fills them looks at their turn and at this count again, RING-TURN
        // and RING-EMPTY.
        let emptied = self.emptied.0.load(Ordering::Relaxed);
        u64::from(BUFFERS).saturating_sub(count.wrapping_sub(emptied))
    }

    /// Whether all of `count` buffers have been emptied.
    pub(crate) fn is_empty(&self, count: u64) -> bool {
        self.emptied.0.load(Ordering::Acquire) == count
    }

    /// Whether some of `count` buffers, the last of which is for the owner, are still to be emptied.
    pub(crate) fn awaits(&self, count: u64) -> bool {
        // Relaxed: the owner asks, and the owner counts the last.
        let emptied = self.emptied.0.load(Ordering::Relaxed);
        count.wrapping_sub(emptied) as i64 > 0
    }

    /// The next buffer is the one after `count` others, whatever was promised before. For the owner,
    /// while no process fills or empties the ring: it is empty, or the other has died.
    pub(crate) fn restart_after(&self, count: u64) {
        // Relaxed: the other reads them after the message that tells it of the ring.
        self.filled.0.store(count, Ordering::Relaxed);
        self.emptied.0.store(count, Ordering::Relaxed);
    }

    /// Where to read `bytes` of a share: calls with an address, how many bytes come before, and how
    /// many are there, until all have been covered.
    #[cfg(not(mq_loom))]
    #[inline]
    pub(crate) fn with(
        &self,
        share: Share,
        bytes: usize,
        mut read: impl FnMut(*const u8, usize, usize),
    ) {
        self.buffers
            .with(|all| read(all.cast::<u8>().wrapping_add(offset(share)), 0, bytes));
    }

    /// The same, for writing.
    #[cfg(not(mq_loom))]
    #[inline]
    pub(crate) fn with_mut(
        &self,
        share: Share,
        bytes: usize,
        mut write: impl FnMut(*mut u8, usize, usize),
    ) {
        self.buffers
            .with_mut(|all| write(all.cast::<u8>().wrapping_add(offset(share)), 0, bytes));
    }

    #[cfg(mq_loom)]
    pub(crate) fn with(
        &self,
        share: Share,
        bytes: usize,
        mut read: impl FnMut(*const u8, usize, usize),
    ) {
        for (before, len) in pieces(bytes) {
            let buffer = &self.buffers[(offset(share) + before) / BUFFER_BYTES];
            buffer.with(|buffer| read(buffer.cast(), before, len));
        }
    }

    #[cfg(mq_loom)]
    pub(crate) fn with_mut(
        &self,
        share: Share,
        bytes: usize,
        mut write: impl FnMut(*mut u8, usize, usize),
    ) {
        for (before, len) in pieces(bytes) {
            let buffer = &self.buffers[(offset(share) + before) / BUFFER_BYTES];
            buffer.with_mut(|buffer| write(buffer.cast(), before, len));
        }
    }
}

/// Where a share begins among the bytes of all buffers.
fn offset(share: Share) -> usize {
    (share.first % u64::from(BUFFERS)) as usize * BUFFER_BYTES
}

/// The bytes of each buffer of a share: how many come before, and how many there are.
#[cfg(mq_loom)]
fn pieces(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let begins = (0..bytes).step_by(BUFFER_BYTES);
    begins.map(move |before| (before, (bytes - before).min(BUFFER_BYTES)))
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    /// The shares in which a message of this many bytes is shown, from buffer `first` on.
    fn shown(first: u64, bytes: usize, far: bool) -> Vec<u64> {
        let (mut number, mut done, mut shares) = (first, 0, Vec::new());
        while done < bytes {
            let share = Share::to_fill(number, 256, done, bytes - done, far).unwrap();
            assert_eq!(share.first, number);
            shares.push(share.buffers);
            number = share.end();
            done += share.bytes().min(bytes - done);
        }
        assert_eq!(number - first, bytes.div_ceil(BUFFER_BYTES) as u64);
        shares
    }

    #[test]
    fn both_ends_of_a_message_are_shown_in_few_buffers() {
        assert_eq!(shown(0, 1, false), [1]);
        assert_eq!(shown(0, 16 << 10, false), [1, 1, 1, 1]);
        assert_eq!(shown(0, 64 << 10, false), [1, 1, 2, 4, 4, 2, 1, 1]);
        assert_eq!(shown(0, (64 << 10) + 1, false), [1, 1, 2, 4, 4, 2, 1, 1, 1]);
    }

    #[test]
    fn a_share_lies_in_a_row() {
        assert_eq!(shown(251, 64 << 10, false), [1, 1, 2, 1, 4, 3, 2, 1, 1]);
    }

    #[test]
    fn more_are_shown_to_a_receiver_far_away_and_none_of_another_message() {
        assert_eq!(shown(0, 1, true), [1]);
        assert_eq!(shown(0, 20 << 10, true), [4, 1]);
        assert_eq!(shown(0, 128 << 10, true), [4, 4, 8, 8, 4, 4]);
        assert_eq!(shown(253, 20 << 10, true), [3, 2]);
    }

    #[test]
    fn a_share_is_of_one_message() {
        let two = BUFFER_BYTES + 1;
        let share = Share::to_empty(7, 256, two).unwrap();
        assert_eq!((share.first, share.end()), (7, 9));
        assert_eq!(Share::to_empty(7, 1, two).unwrap().end(), 8);
        assert_eq!(Share::to_empty(7, 0, two), None);
    }

    #[test]
    fn a_receiver_that_is_behind_counts_less_often() {
        for (full, taken) in [(1, 1), (5, 4), (9, 4), (12, 6), (40, 16), (256, 16)] {
            let share = Share::to_empty(0, full, 1 << 20).unwrap();
            assert_eq!(share.end(), taken, "of {full}");
        }
        assert_eq!(Share::to_empty(250, 256, 1 << 20).unwrap().end(), 256);
    }
}
