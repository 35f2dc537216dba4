//! A look at all ways, one after the other.

use super::{WAYS, Way};

/// A look ends without an answer if the messages of this many looks, and twice as many as were on their way when the
/// ring was left, were read while others were still on their way through it.
pub(super) const MIXED: u32 = 4;

/// A look, at one of the ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// All messages come by this way, which is timed.
    pub(super) way: Way,
    /// Messages that have come by this way since the look at it began.
    pub(super) came: u32,
    /// Messages that came beside others on their way through a ring.
    pub(super) mixed: u32,
    /// With more of these, the look ends without an answer.
    pub(super) most_mixed: u32,
    /// Picoseconds per byte for each way, in the quickest group so far.
    pub(super) least: [u32; WAYS],
}

impl Look {
    /// Begins, where a way is looked at for this many messages.
    pub(super) const fn new(messages: u32) -> Self {
        Self {
            way: Way::Ring,
            came: 0,
            mixed: 0,
            most_mixed: MIXED * messages,
            least: [u32::MAX; WAYS],
        }
    }

    /// Goes on with another way, while `on_ring` timed messages are on their way through a ring.
    pub(super) const fn go_on_with(self, way: Way, on_ring: u32, messages: u32) -> Self {
        Self {
            way,
            least: self.least,
            most_mixed: 2 * on_ring + MIXED * messages,
            ..Self::new(messages)
        }
    }

    /// Whether it is beyond its first messages, which are not timed, and waits for none that is on its way
    /// through a ring.
    pub(super) fn is_well_begun(&self, group: u32) -> bool {
        match self.way {
            Way::Ring => self.came >= group,
            Way::Read | Way::ReadAlone => self.came > 0,
        }
    }

    /// Whether a message that has come says nothing, since it came beside others: what was asked for before the ring
    /// was left comes next to what is read.
    pub(super) fn is_beside_others(&self, way: Way, on_ring: u32) -> bool {
        self.way != Way::Ring && (way == Way::Ring || on_ring > 0)
    }

    /// A group has come at this pace.
    pub(super) fn note(&mut self, pace: u32) {
        let least = &mut self.least[self.way as usize];
        *least = pace.min(*least);
    }
}
