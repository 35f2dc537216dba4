//! What the sender does about a fastbox that is full: when it looks for room again, and when messages go through
//! the queue instead.
//!
//! The queue is the slower path for everybody: its line moves among all senders, a message in it takes a cell that
//! has to come back, and the receiver looks there last. A receiver that serves a dozen senders comes round to
//! each in 20 microseconds, so messages wait for it. One that computes takes nothing out for much longer: then
//! they go through the queue, more and more of them before the next one waits.
//!
//! The model checker has no time, so there nothing waits.

use core::time::Duration;
use std::time::Instant;

/// Each look takes the line of the count from the receiver. By the next look it has emptied a dozen slots.
const LOOK_AGAIN: Duration = if cfg!(mq_loom) {
    Duration::ZERO
} else {
    Duration::from_micros(1)
};

/// A receiver that serves a hundred senders has come round to each.
pub(crate) const LONGEST_WAIT: Duration = if cfg!(mq_loom) {
    Duration::ZERO
} else {
    Duration::from_micros(100)
};

/// The number of messages that go through the queue after the first that has waited in vain.
const FEWEST: u32 = 16;

/// The most such messages: their number doubles each time.
const MOST: u32 = 1024;

/// A box for whose room a message waits.
#[derive(Debug, Clone, Copy)]
struct Full {
    since: Instant,
    looked: Instant,
}

/// How messages wait for room in a box.
#[derive(Debug)]
pub(crate) struct Waits {
    full: Option<Full>,
    /// There was no room at a look, and no message has decided yet what to do about it.
    found_none: bool,
    /// So many more messages do not wait: the last that did has waited in vain.
    hasty: u32,
    /// What `hasty` will be after the next one that waits in vain.
    next: u32,
}

impl Waits {
    pub(crate) const fn new() -> Self {
        Self {
            full: None,
            found_none: false,
            hasty: 0,
            next: FEWEST,
        }
    }

    /// Whether it is too early to look again.
    #[inline]
    pub(crate) fn is_too_early(&self, now: impl FnOnce() -> Instant) -> bool {
        let full = self.full;
        full.is_some_and(|full| now().duration_since(full.looked) < LOOK_AGAIN)
    }

    /// Someone has looked, and there was room, or not. If a message had waited for it, the next ones wait as well;
    /// otherwise the receiver may have come between two long pauses.
    pub(crate) fn looked(&mut self, has_room: bool) {
        self.found_none = !has_room;
        if has_room && self.full.take().is_some() {
            self.next = FEWEST;
        }
    }

    /// Decides for a message that finds no room whether it waits, given for how long at most.
    pub(crate) fn decide_to_wait(
        &mut self,
        longest: Duration,
        now: impl FnOnce() -> Instant,
    ) -> bool {
        let looked = core::mem::take(&mut self.found_none);
        if self.hasty > 0 {
            self.hasty -= 1;
            return false;
        }
        if longest.is_zero() {
            return false;
        }
        if self.full.is_some() && !looked {
            return true;
        }
        let now = now();
        let since = self.full.map_or(now, |full| full.since);
        if now.duration_since(since) < longest {
            self.full = Some(Full { since, looked: now });
            return true;
        }
        self.full = None;
        self.hasty = self.next;
        self.next = MOST.min(self.next * 2);
        false
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_in_vain_waits_less_and_less_often() {
        let mut now = Instant::now();
        let mut waits = Waits::new();
        let mut sent = Vec::new();
        for _ in 0..9 {
            waits.looked(false);
            assert!(waits.decide_to_wait(LONGEST_WAIT, || now));
            now += LONGEST_WAIT;
            let mut hasty = 0;
            loop {
                waits.looked(false);
                if waits.decide_to_wait(LONGEST_WAIT, || now) {
                    break;
                }
                hasty += 1;
            }
            sent.push(hasty);
        }
        // The one that has waited, and the hasty ones after it.
        assert_eq!(sent, [17, 33, 65, 129, 257, 513, 1025, 1025, 1025]);
        // One waits, and there is room in time.
        waits.looked(true);
        waits.looked(false);
        assert!(waits.decide_to_wait(LONGEST_WAIT, || now));
        waits.looked(false);
        assert!(!waits.decide_to_wait(LONGEST_WAIT, || now + LONGEST_WAIT));
        assert_eq!(waits.hasty, FEWEST);
        // There is room while nothing waits for it.
        waits.looked(true);
        assert_eq!((waits.hasty, waits.next), (FEWEST, 2 * FEWEST));
    }

    #[test]
    fn a_full_box_is_looked_at_now_and_then() {
        let now = Instant::now();
        let mut waits = Waits::new();
        assert!(!waits.is_too_early(|| now));
        waits.looked(false);
        assert!(!waits.is_too_early(|| now), "nothing waits");
        assert!(waits.decide_to_wait(LONGEST_WAIT, || now));
        assert!(waits.is_too_early(|| now));
        let clock = || panic!("it has not looked since");
        assert!(waits.decide_to_wait(LONGEST_WAIT, clock));
        assert!(!waits.is_too_early(|| now + LOOK_AGAIN));
        waits.looked(true);
        assert!(!waits.is_too_early(|| now));
    }

    #[test]
    fn who_must_not_wait_does_not() {
        let now = Instant::now();
        let mut waits = Waits::new();
        waits.looked(false);
        assert!(!waits.decide_to_wait(Duration::ZERO, || now));
        assert!(!waits.is_too_early(|| now), "the next one looks as well");
    }
}
