//! When a front stays closed although nothing is queued.

use super::layout::{MQ_FRONT_SCAN, mq_front};

/// For so many fillings of the queues a front stays closed, at first and at most.
const LEAST: u8 = 8;
const MOST: u8 = 64;

/// A front that has served so many entries for each that it had to move has been worth opening.
const WORTH: u64 = 16;

/// For how long the front stays closed.
///
/// Entries that leave in about the order in which they came are found at once, however many there
/// are. Others are looked for, and the first search that goes further than [`MQ_FRONT_SCAN`] moves
/// all of them into the queues: they were queued twice. Programs repeat what they do, so those of
/// the next fillings are queued where they will be found, and then the front is tried again.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Fillings, this one included.
    left: u8,
    /// How long the last rest was.
    last: u8,
    /// The sequence number of the front when that began.
    since: u64,
}

impl Rest {
    /// The entries of a front are about to move into the queues. It rests if they are more than
    /// searches look at; twice as long if it did so before and hardly anything came by it since.
    pub(super) fn begin(&mut self, front: &mq_front) {
        let most = front.receives.len().max(front.messages.len());
        if most <= MQ_FRONT_SCAN {
            return;
        }
        let served = front.sequence - self.since;
        let was_worth_it = served > WORTH * most as u64;
        self.last = if self.last == 0 || was_worth_it {
            LEAST
        } else {
            MOST.min(2 * self.last)
        };
        self.left = self.last + 1;
        self.since = front.sequence;
    }

    /// Nothing is queued any more.
    pub(super) const fn drained(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Whether the front stays closed.
    #[inline(always)]
    pub(super) const fn is_on(&self) -> bool {
        self.left > 0
    }
}
