//! Decides when a front stays closed although nothing, or little, is queued.

use super::layout::{MQ_FRONT_SCAN, mq_front};

/// A front stays closed for this many fillings of the queues, at first and at most.
const LEAST: u8 = 8;
const MOST: u8 = 64;

/// A front that has served this many entries for each that it had to move has been worth opening.
const WORTH: u64 = 16;

/// For a front that few receives came back to, the least number of entries by which its worth is measured:
/// moving them in and back costs as much as the front gains in this many times [`WORTH`] entries.
const LEAST_MOVED: usize = 8;

/// For how long the front stays closed.
///
/// Entries that leave in roughly the order in which they came are found immediately, however many there are.
/// Others are searched for, and a search that goes further than [`MQ_FRONT_SCAN`], too soon after another that
/// did, moves all of them into the queues: they were queued twice. Programs repeat what they do, so those of
/// the next fillings are queued where they will be found, and then the front is tried again.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Fillings that have not begun yet.
    left: u8,
    /// How long the last rest was.
    last: u8,
    /// The sequence number of the front when its last rest began, or when receives came back to it.
    since: u64,
    /// Whether receives have come back to it, and it has not moved its entries again.
    has_come_back: bool,
    /// For this many fillings nothing is to come back.
    put_off: u8,
    /// How often the entries that are [moving](super::moving) may yet move one at a time.
    pub(super) single_steps: u8,
}

impl Rest {
    /// For a front whose first entry will have this number.
    pub(super) const fn from(sequence: u64) -> Self {
        Self {
            left: 0,
            last: 0,
            since: sequence,
            has_come_back: false,
            put_off: 0,
            single_steps: 0,
        }
    }

    /// The front's entries are about to move into the queues. It rests if they are more than searches look at,
    /// and twice as long if it did so before and hardly anything has used it since. It also rests if receives
    /// had come back to it for hardly anything.
    pub(super) fn begin(&mut self, front: &mq_front) {
        let most = front.receives.len().max(front.messages.len());
        let has_come_back = core::mem::take(&mut self.has_come_back);
        if most <= MQ_FRONT_SCAN && !has_come_back {
            return;
        }
        let served = front.sequence - self.since;
        self.since = front.sequence;
        let was_worth_it = served > WORTH * most.max(LEAST_MOVED) as u64;
        if was_worth_it && most <= MQ_FRONT_SCAN {
            return;
        }
        self.last = if self.last == 0 || was_worth_it {
            LEAST
        } else {
            MOST.min(2 * self.last)
        };
        self.left = self.last;
    }

    /// Receives come back to the front, whose next entry will have this number.
    pub(super) const fn come_back(&mut self, sequence: u64) {
        self.has_come_back = true;
        self.since = sequence;
    }

    /// What is left in the queues cannot come back: this is not tried again for some fillings.
    pub(super) const fn put_off(&mut self) {
        self.put_off = MOST;
    }

    /// Nothing is left in the queues.
    pub(super) const fn emptied(&mut self) {
        self.put_off = 0;
    }

    /// A filling begins.
    pub(super) const fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.put_off = self.put_off.saturating_sub(1);
    }

    /// Whether receives may come back to the front.
    pub(super) const fn lets_come_back(&self) -> bool {
        self.left == 0 && self.put_off == 0
    }

    /// Whether the front stays closed.
    #[inline(always)]
    pub(super) const fn is_on(&self) -> bool {
        self.left > 0
    }
}
