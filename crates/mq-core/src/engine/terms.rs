//! The terms of a context, and whether an operation keeps to them.

use super::options::ContextOptions;
use crate::envelope::{ContextId, Rank};
use crate::error::Error;
use crate::pattern::Source;

/// The ranks and promises of a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    /// The last rank; `u32::MAX` if the size is unknown.
    last_rank: u32,
    promises: Promises,
}

/// Promises: those that the engine enforces, and whether messages may overtake each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Promises(u8);

impl Promises {
    pub(super) const NONE: Self = Self(0);
    const NO_ANY_SOURCE: u8 = 1;
    const NO_ANY_TAG: u8 = 2;
    const ALLOW_OVERTAKING: u8 = 4;

    const fn new(options: &ContextOptions) -> Self {
        const fn bit(holds: bool, bit: u8) -> u8 {
            if holds { bit } else { 0 }
        }
        Self(
            bit(options.no_any_source, Self::NO_ANY_SOURCE)
                | bit(options.no_any_tag, Self::NO_ANY_TAG)
                | bit(options.allow_overtaking, Self::ALLOW_OVERTAKING),
        )
    }

    const fn no_any_source(self) -> bool {
        self.0 & Self::NO_ANY_SOURCE != 0
    }

    const fn no_any_tag(self) -> bool {
        self.0 & Self::NO_ANY_TAG != 0
    }

    /// Whether there is one that the engine enforces.
    #[inline(always)]
    const fn bind(self) -> bool {
        self.0 & (Self::NO_ANY_SOURCE | Self::NO_ANY_TAG) != 0
    }

    /// Whether a receive keeps them.
    #[inline(always)]
    pub(super) fn allow(self, source: Source, any_tag: bool) -> bool {
        !self.bind()
            || !(self.no_any_source() && source == Source::Any || self.no_any_tag() && any_tag)
    }
}

impl Terms {
    /// Whether these refuse something that the others admit: whatever is queued on the others may not keep to them.
    pub(crate) const fn are_stricter_than(&self, others: &Self) -> bool {
        let (now, before) = (self.promises, others.promises);
        self.last_rank < others.last_rank
            || now.no_any_source() && !before.no_any_source()
            || now.no_any_tag() && !before.no_any_tag()
    }

    /// The terms where there is no context.
    pub(crate) const NONE: Self = Self {
        last_rank: 0,
        promises: Promises::NONE,
    };

    /// The terms of a context with these options.
    ///
    /// # Errors
    /// [`Error::NoRanks`] for a size of 0.
    pub(crate) fn new(context: ContextId, options: &ContextOptions) -> Result<Self, Error> {
        let last_rank = match options.size {
            None => u32::MAX,
            Some(size) => size.checked_sub(1).ok_or(Error::NoRanks(context))?,
        };
        Ok(Self {
            last_rank,
            promises: Promises::new(options),
        })
    }

    /// The last rank and the promises, for storing them separately.
    pub(super) const fn parts(self) -> (u32, Promises) {
        (self.last_rank, self.promises)
    }

    /// The inverse of [`parts`](Self::parts).
    #[inline(always)]
    pub(super) const fn of_parts(last_rank: u32, promises: Promises) -> Self {
        Self {
            last_rank,
            promises,
        }
    }

    /// All ranks below this number are in range: all but one if the size is unknown.
    pub(crate) const fn quick_ranks(&self) -> u32 {
        self.last_rank.saturating_add(1)
    }

    /// [`check_source`](Self::check_source) for a source that is in range.
    #[inline(always)]
    pub(crate) fn keeps_promises(&self, source: Source, any_tag: bool) -> bool {
        self.promises.allow(source, any_tag)
    }

    #[inline(always)]
    pub(crate) fn check_rank(&self, context: ContextId, rank: Rank) -> Result<(), Error> {
        if rank.0 > self.last_rank {
            return Err(Error::RankOutOfRange {
                context,
                rank,
                size: self.last_rank + 1,
            });
        }
        Ok(())
    }

    /// Checks what a receive asks for.
    #[inline(always)]
    pub(crate) fn check_source(
        &self,
        context: ContextId,
        source: Source,
        any_tag: bool,
    ) -> Result<(), Error> {
        if let Source::Rank(rank) = source {
            self.check_rank(context, rank)?;
        }
        if self.promises.bind() {
            return self.check_promises(context, source, any_tag);
        }
        Ok(())
    }

    #[cold]
    fn check_promises(
        &self,
        context: ContextId,
        source: Source,
        any_tag: bool,
    ) -> Result<(), Error> {
        if self.promises.no_any_source() && source == Source::Any {
            return Err(Error::AnySourceForbidden(context));
        }
        if self.promises.no_any_tag() && any_tag {
            return Err(Error::AnyTagForbidden(context));
        }
        Ok(())
    }

    /// The same, as users see it.
    pub(crate) const fn shown(&self) -> ContextTerms {
        ContextTerms {
            last_rank: self.last_rank,
            no_any_source: self.promises.no_any_source(),
            no_any_tag: self.promises.no_any_tag(),
            allow_overtaking: self.promises.0 & Promises::ALLOW_OVERTAKING != 0,
        }
    }
}

/// The terms of a context: its size and its promises. See [`Engine::terms`](super::Engine::terms).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ContextTerms {
    /// The last rank that can send; `u32::MAX` if the size is unknown.
    pub last_rank: u32,
    /// Whether receives from any source are refused.
    pub no_any_source: bool,
    /// Whether receives of any tag are refused.
    pub no_any_tag: bool,
    /// Whether messages may overtake each other.
    pub allow_overtaking: bool,
}

impl ContextTerms {
    /// The number of ranks that can send; `None` if it is unknown.
    #[must_use]
    pub const fn size(&self) -> Option<u32> {
        self.last_rank.checked_add(1)
    }
}
