//! Between two looks.

use super::{GROUPS, MOST_DOUBLINGS};

/// Between two looks, one group in this many is timed. If it has taken a quarter longer than those of the last look, or
/// a quarter less, it is odd, and the next one is timed too.
pub(super) const GROUPS_PER_CHECK: u32 = 8;
/// After this many odd groups in a row the next look comes immediately, unless looks would then take more than twice
/// the time that they may.
pub(super) const ODD_GROUPS: u32 = 2;
/// An odd group is unlike those of the last look if it has taken this many times as long, or as short.
const UNLIKE_FACTOR: u32 = 2;
/// If the odd groups are unlike, the next look comes after the messages of this many looks. Each early look that
/// changed nothing doubles that, too.
pub(super) const EARLY_WAIT_LOOKS: u32 = 2;
/// This many unlike groups in a row are a change, however many looks found nothing and whenever the last one was. Each
/// look that came for this and changed nothing doubles the number.
pub(super) const CERTAIN_UNLIKE_GROUPS: u32 = 8;
/// So are this many odd ones.
pub(super) const CERTAIN_GROUPS: u32 = 32;
/// How many messages may have been asked for before one comes; more are taken for lost.
const UNDER_WAY: u32 = 256;

/// Looks in a row that have found the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trust {
    pub(super) same: u32,
    /// Those of them that came early.
    pub(super) in_vain: u32,
    /// Those of them that came for what seemed sure.
    pub(super) sure_in_vain: u32,
}

impl Trust {
    /// A look has changed nothing.
    pub(super) fn was_in_vain(&mut self, is_early: bool, is_sure: bool) {
        self.in_vain = MOST_DOUBLINGS.min(self.in_vain + u32::from(is_early));
        self.sure_in_vain = MOST_DOUBLINGS.min(self.sure_in_vain + u32::from(is_sure));
    }
}

/// Between two looks all messages come by the usual way, and a group of them is timed now and then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// Messages since the last look.
    pub(super) since_look: u32,
    /// Messages from one look to the next.
    pub(super) between: u32,
    /// Messages from one look to the next if that comes early.
    pub(super) soonest: u32,
    /// The message with which the next timed group begins, counted as `since_look`.
    pub(super) check: u32,
    /// Odd groups in a row.
    pub(super) odd: u32,
    /// Unlike groups in a row.
    pub(super) unlike: u32,
}

/// Whether things have changed, as far as a timed group says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    None,
    MayBe,
    /// Enough groups in a row were odd to be sure of it.
    Sure,
}

impl Rest {
    /// Before the first look, which comes after this many messages.
    pub(super) const fn first(between: u32) -> Self {
        Self {
            since_look: 0,
            between,
            soonest: between,
            check: u32::MAX,
            odd: 0,
            unlike: 0,
        }
    }

    /// After a look, with this many messages to the next one where nothing lengthens that.
    pub(super) const fn after_look(messages: u32, trust: Trust, group: u32) -> Self {
        Self {
            since_look: 0,
            between: messages << trust.same,
            soonest: messages << trust.in_vain,
            check: GROUPS_PER_CHECK * group,
            odd: 0,
            unlike: 0,
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        self.since_look >= self.between
    }

    /// One more message; if it is timed, returns how many of its group are before it.
    pub(super) fn count_one(&mut self, group: u32) -> Option<u32> {
        let at = self.since_look;
        self.since_look = at.saturating_add(1);
        if at > self.check.saturating_add(group + UNDER_WAY) {
            // Some of the timed messages have not come.
            self.check = at;
        }
        // One more than the group: timing begins when the first has come.
        at.checked_sub(self.check).filter(|&before| before <= group)
    }

    /// Whether a look that another process asks for may come.
    pub(super) fn may_be_asked(&self, trust: Trust, group: u32) -> bool {
        let in_vain = if self.unlike < ODD_GROUPS {
            trust.in_vain
        } else {
            trust.sure_in_vain
        };
        !self.is_due() && self.since_look >= after_look(group, in_vain)
    }

    /// The next look comes with the next message; returns whether it is early then.
    pub(super) fn bring_forward(&mut self) -> bool {
        // A look that is about to come anyway is not early.
        let is_early = self.since_look < self.between - self.between / 4;
        self.between = self.between.min(self.since_look);
        is_early
    }

    /// A timed group has come at this pace, where another is `known`.
    pub(super) fn note(&mut self, pace: u32, known: u32, trust: Trust, group: u32) -> Change {
        if pace - pace / 5 <= known && pace >= known - known / 4 {
            (self.odd, self.unlike) = (0, 0);
            self.check = self.since_look + GROUPS_PER_CHECK * group;
            return Change::None;
        }
        self.odd += 1;
        self.check = self.since_look;
        let is_unlike = pace / UNLIKE_FACTOR >= known || pace <= known / UNLIKE_FACTOR;
        self.unlike = if is_unlike { self.unlike + 1 } else { 0 };
        let soonest = if is_unlike {
            after_look(group, trust.in_vain)
        } else {
            self.soonest / 2
        };
        let is_sure = self.unlike >= CERTAIN_UNLIKE_GROUPS << trust.sure_in_vain
            || self.odd >= CERTAIN_GROUPS << trust.sure_in_vain;
        if self.odd >= ODD_GROUPS && self.since_look > soonest {
            Change::MayBe
        } else if is_sure {
            Change::Sure
        } else {
            Change::None
        }
    }
}

/// The fewest messages to an early look, if `in_vain` of those changed nothing.
const fn after_look(group: u32, in_vain: u32) -> u32 {
    (EARLY_WAIT_LOOKS * group * (GROUPS + 1)) << in_vain
}
