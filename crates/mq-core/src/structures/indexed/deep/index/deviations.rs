//! What keeps a step of a deep queue from the shortest way.

/// How an index differs from one of fully specified entries only, all of them indexed, in buckets near by.
///
/// | bit | while it is set |
/// | --- | --- |
/// | [`WILDCARDS`](Self::WILDCARDS) | receives of a class of wildcards are posted: messages look for them too |
/// | [`VIEWS`](Self::VIEWS) | messages are indexed for wildcards too: each is linked and unlinked there |
/// | [`MOVING`](Self::MOVING) | lists hold what is not indexed yet: steps look there, and move some on |
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

    pub(super) const NONE: Self = Self(0);

    #[inline(always)]
    pub(super) fn of(
        wildcards: bool,
        views: bool,
        moving: bool,
        unclassed: bool,
        wide: bool,
    ) -> Self {
        Self(
            (u32::from(wildcards) * Self::WILDCARDS)
                | (u32::from(views) * Self::VIEWS)
                | (u32::from(unclassed) * Self::UNCLASSED)
                | (u32::from(moving) * Self::MOVING)
                | (u32::from(wide) * Self::WIDE),
        )
    }

    #[inline(always)]
    pub(super) fn with_wide(self, wide: bool) -> Self {
        Self((self.0 & !Self::WIDE) | (u32::from(wide) * Self::WIDE))
    }

    #[inline(always)]
    pub(super) const fn are_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(super) const fn are_none_but_width(self) -> bool {
        self.0 & !Self::WIDE == 0
    }

    /// None that a fully specified receive has to heed.
    #[inline(always)]
    pub(super) const fn are_none_for_receives(self) -> bool {
        self.0 & (Self::MOVING | Self::VIEWS | Self::WIDE) == 0
    }

    /// The same but for the width.
    #[inline(always)]
    pub(super) const fn are_none_for_receives_but_width(self) -> bool {
        self.0 & (Self::MOVING | Self::VIEWS) == 0
    }

    /// None but wildcards of some class, and views, wherever the buckets are.
    #[inline(always)]
    pub(super) const fn are_classed_wildcards(self) -> bool {
        self.0 & !(Self::WILDCARDS | Self::VIEWS | Self::WIDE) == 0
    }

    #[inline(always)]
    pub(super) const fn has_views(self) -> bool {
        self.0 & Self::VIEWS != 0
    }

    #[inline(always)]
    pub(super) const fn is_moving(self) -> bool {
        self.0 & Self::MOVING != 0
    }

    #[inline(always)]
    pub(super) const fn is_wide(self) -> bool {
        self.0 & Self::WIDE != 0
    }
}
