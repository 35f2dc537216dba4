//! The numbers of communicators, and which of them are free.

/// The number of a communicator. Its contexts are twice that, for its user, and one more, for its collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(pub(crate) u32);

impl Number {
    /// The world's own.
    pub(crate) const WORLD: Self = Self(0);

    /// The communicator of a context.
    #[inline]
    pub(crate) const fn of(context: u32) -> Self {
        Self(context / 2)
    }

    /// The context of its user.
    #[inline]
    pub(crate) const fn user(self) -> u32 {
        self.0 * 2
    }

    /// The context of its collectives.
    #[inline]
    pub(crate) const fn collectives(self) -> u32 {
        self.0 * 2 + 1
    }

    /// The user's context, then that of collectives.
    pub(super) const fn contexts(self) -> [u32; 2] {
        [self.user(), self.collectives()]
    }

    /// The number that comes `by` after this one, if there is one.
    pub(super) fn after(self, by: u32) -> Option<Self> {
        self.0.checked_add(by).map(Self)
    }
}

/// Which of 64 numbers are free at a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    /// One bit for each; the first number is the lowest bit.
    pub(crate) free: u64,
    /// The lowest free number after them.
    pub(crate) later: Number,
}

impl Offer {
    /// Whether a number is offered as free, where the lowest bit stands for `first`.
    pub(crate) fn has(self, first: Number, number: Number) -> bool {
        let at = number.0.checked_sub(first.0).filter(|&at| at < OFFERED);
        at.is_some_and(|at| self.free >> at & 1 == 1)
    }

    /// As a rank tells it to others.
    pub(crate) const fn words(self) -> [u32; 3] {
        [self.free as u32, (self.free >> 32) as u32, self.later.0]
    }

    pub(crate) const fn of_words([low, high, later]: [u32; 3]) -> Self {
        Self {
            free: (high as u64) << 32 | low as u64,
            later: Number(later),
        }
    }

    /// What follows from what each rank offers of the numbers from `first` on.
    pub(crate) fn agreed(offers: impl Iterator<Item = Self>, first: Number) -> Agreed {
        let none = Self {
            free: u64::MAX,
            later: first,
        };
        let all = offers.fold(none, |all, offer| Self {
            free: all.free & offer.free,
            later: all.later.max(offer.later),
        });
        match all.free {
            0 => Agreed::AskFrom(all.later),
            free => Agreed::Free(Number(first.0 + free.trailing_zeros())),
        }
    }
}

/// What comes of the offers of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreed {
    /// The lowest number that is free at all ranks.
    Free(Number),
    /// None of those offered is: the number from which on the ranks are to offer next.
    AskFrom(Number),
}

impl Agreed {
    /// As one rank tells it to the others.
    pub(crate) const fn words(self) -> [u32; 2] {
        match self {
            Self::Free(Number(number)) => [0, number],
            Self::AskFrom(Number(number)) => [1, number],
        }
    }

    pub(crate) const fn of_words(words: [u32; 2]) -> Option<Self> {
        match words {
            [0, number] => Some(Self::Free(Number(number))),
            [1, number] => Some(Self::AskFrom(Number(number))),
            _ => None,
        }
    }
}

/// Numbers of an [`Offer`].
pub(super) const OFFERED: u32 = u64::BITS;
