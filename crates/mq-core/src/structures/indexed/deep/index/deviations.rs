//! What keeps a step of a deep queue from the shortest way.

use super::Index;
use crate::envelope::MatchBits;

/// How an index differs from one of fully specified entries only, all of them indexed, in buckets near by. What the
/// questions mean is said at those of the [index](Index), which have the same names.
///
/// | bit | while it is set |
/// | --- | --- |
/// | [`WILDCARDS`](Self::WILDCARDS) | receives of a class of wildcards are posted: messages look for them too |
/// | [`VIEWS`](Self::VIEWS) | messages are indexed for wildcards too: each is linked and unlinked there |
/// | [`MOVING`](Self::MOVING) | lists, or logs that end, hold what is not indexed yet: steps look there, and move some on |
/// | [`LOGS`](Self::LOGS) | logs hold the newer part of a queue, or all of it: steps look there |
/// | [`UNCLASSED`](Self::UNCLASSED) | receives are posted that have no class: messages look at each of them |
/// | [`WIDE`](Self::WIDE) | buckets are far, and slots may be: addresses have two parts |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deviations(u32);

impl Deviations {
    const WILDCARDS: u32 = 1;
    const VIEWS: u32 = 2;
    const MOVING: u32 = 4;
    /// Asked for together with the others only.
    const UNCLASSED: u32 = 8;
    const WIDE: u32 = 16;
    const LOG_OF_RECEIVES: u32 = 32;
    const LOG_OF_MESSAGES: u32 = 64;
    const LOGS: u32 = Self::LOG_OF_RECEIVES | Self::LOG_OF_MESSAGES;

    pub(super) const NONE: Self = Self(0);

    #[inline(always)]
    fn of(
        [
            wildcards,
            views,
            moving,
            unclassed,
            wide,
            receives,
            messages,
        ]: [bool; 7],
    ) -> Self {
        Self(
            (u32::from(wildcards) * Self::WILDCARDS)
                | (u32::from(views) * Self::VIEWS)
                | (u32::from(unclassed) * Self::UNCLASSED)
                | (u32::from(moving) * Self::MOVING)
                | (u32::from(wide) * Self::WIDE)
                | (u32::from(receives) * Self::LOG_OF_RECEIVES)
                | (u32::from(messages) * Self::LOG_OF_MESSAGES),
        )
    }

    #[inline(always)]
    pub(super) fn with_wide(self, wide: bool) -> Self {
        Self((self.0 & !Self::WIDE) | (u32::from(wide) * Self::WIDE))
    }

    #[inline(always)]
    const fn is_plain(self) -> bool {
        self.0 & !Self::WIDE == 0
    }

    #[inline(always)]
    const fn is_near(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    const fn is_plain_whatever_is_posted(self) -> bool {
        self.0 & (Self::MOVING | Self::VIEWS | Self::LOGS) == 0
    }

    #[inline(always)]
    const fn is_near_whatever_is_posted(self) -> bool {
        self.0 & (Self::MOVING | Self::VIEWS | Self::WIDE | Self::LOGS) == 0
    }

    #[inline(always)]
    const fn has_near_messages(self) -> bool {
        self.0 & (Self::MOVING | Self::VIEWS | Self::WIDE | Self::LOG_OF_MESSAGES) == 0
    }

    #[inline(always)]
    const fn has_near_receives(self) -> bool {
        self.0 & !Self::LOG_OF_MESSAGES == 0
    }

    #[inline(always)]
    const fn has_only_wildcards(self) -> bool {
        self.0 & !(Self::WILDCARDS | Self::VIEWS | Self::WIDE) == 0
    }

    #[inline(always)]
    const fn has_views(self) -> bool {
        self.0 & Self::VIEWS != 0
    }

    #[inline(always)]
    const fn is_moving(self) -> bool {
        self.0 & Self::MOVING != 0
    }

    #[inline(always)]
    const fn has_logs(self) -> bool {
        self.0 & Self::LOGS != 0
    }

    /// Whether there is a log, and nothing is being indexed: then there are neither wildcards nor views.
    #[inline(always)]
    const fn has_all_in(self, log: u32) -> bool {
        self.0 & (log | Self::MOVING) == log
    }

    #[inline(always)]
    const fn is_wide(self) -> bool {
        self.0 & Self::WIDE != 0
    }
}

impl<B: MatchBits> Index<B> {
    /// What deviates now.
    #[inline(always)]
    fn deviations_now(&self) -> Deviations {
        let wildcards = self.classes.posted() > 0;
        let views = self.classes.views() > 0;
        let moving = !self.newer.is_empty() || self.logs.are_ending();
        let unclassed = !self.unindexed.is_empty();
        let wide = self.chains.is_wide();
        let receives = self.logs.have_receives();
        let messages = self.logs.have_messages();
        Deviations::of([
            wildcards, views, moving, unclassed, wide, receives, messages,
        ])
    }

    /// After a change to the classes, the unindexed receives, what is not indexed yet, the logs, or the number
    /// of buckets.
    #[inline(always)]
    pub(super) fn update_deviations(&mut self) {
        self.deviations = self.deviations_now();
    }

    /// Whether what the index keeps is what [deviates now](Self::deviations_now), as before each step: for assertions.
    #[inline]
    pub(in super::super) fn knows_its_deviations(&self) -> bool {
        self.deviations == self.deviations_now()
    }

    /// Whether a step only has to look at the table, not at other masks, views or entries that are not indexed yet.
    #[inline(always)]
    pub(in crate::structures::indexed) const fn is_plain(&self) -> bool {
        self.deviations.is_plain()
    }

    /// Whether the index [is plain](Self::is_plain) and all buckets are near.
    #[inline(always)]
    pub(in super::super) const fn is_near(&self) -> bool {
        self.deviations.is_near()
    }

    /// Whether the index [is plain](Self::is_plain) for a step to which posted wildcards do not matter: one of a fully
    /// specified receive, or one that only queues.
    #[inline(always)]
    pub(in super::super) const fn is_plain_whatever_is_posted(&self) -> bool {
        self.deviations.is_plain_whatever_is_posted()
    }

    /// Whether that is so and all buckets are near.
    #[inline(always)]
    pub(in super::super) const fn is_near_whatever_is_posted(&self) -> bool {
        self.deviations.is_near_whatever_is_posted()
    }

    /// Whether the messages are all in the table and in no views, and all buckets are near: that is all that a fully
    /// specified receive has to look at, even if the receives have a log.
    #[inline(always)]
    pub(in super::super) const fn has_near_messages(&self) -> bool {
        self.deviations.has_near_messages()
    }

    /// Whether the receives are all in the table, none with a wildcard, and all buckets are near: that is all that a
    /// message has to look at, even if the messages have a log.
    #[inline(always)]
    pub(in super::super) const fn has_near_receives(&self) -> bool {
        self.deviations.has_near_receives()
    }

    /// Whether posted wildcards, all of them of some class, and views are all that a step has to
    /// look at beside the table.
    #[inline(always)]
    pub(in super::super) const fn has_only_wildcards(&self) -> bool {
        self.deviations.has_only_wildcards()
    }

    /// Whether messages are indexed for wildcards too.
    #[inline(always)]
    pub(in super::super) const fn has_views(&self) -> bool {
        self.deviations.has_views()
    }

    /// Whether entries are being indexed: those of lists, or of a log that ends.
    #[inline(always)]
    pub(in super::super) const fn is_moving(&self) -> bool {
        self.deviations.is_moving()
    }

    /// Whether there are logs.
    #[inline(always)]
    pub(in crate::structures::indexed) const fn has_logs(&self) -> bool {
        self.deviations.has_logs()
    }

    /// Whether the log of receives has all of them: none has a wildcard, and nothing of either queue is being indexed.
    #[inline(always)]
    pub(in crate::structures::indexed) const fn has_log_of_receives(&self) -> bool {
        self.deviations.has_all_in(Deviations::LOG_OF_RECEIVES)
    }

    /// Whether the log of messages has all of them: there are no views, and nothing of either queue is being indexed.
    #[inline(always)]
    pub(in crate::structures::indexed) const fn has_log_of_messages(&self) -> bool {
        self.deviations.has_all_in(Deviations::LOG_OF_MESSAGES)
    }

    /// Whether buckets are far.
    #[inline(always)]
    pub(in super::super) const fn is_wide(&self) -> bool {
        self.deviations.is_wide()
    }
}
