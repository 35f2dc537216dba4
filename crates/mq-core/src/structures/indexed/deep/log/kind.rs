//! The two kinds of entries as a log sees them.

use core::marker::PhantomData;

use super::super::super::key::Key;
use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::pattern::{BitsOf, Pattern};

/// What entries of a queue are found by.
pub(in super::super) trait Kind {
    /// What is stored of an entry.
    type Stored: Copy;
    type Bits: MatchBits;

    fn context(stored: &Self::Stored) -> ContextId;
    fn bits(stored: &Self::Stored) -> Self::Bits;
    /// Whether it has no wildcard.
    fn is_exact(stored: &Self::Stored) -> bool;

    /// The key of an entry without a wildcard.
    #[inline(always)]
    fn key(stored: &Self::Stored) -> Key<Self::Bits> {
        Key::exact(Self::context(stored), Self::bits(stored))
    }

    /// Whether an entry without a wildcard has a key.
    #[inline(always)]
    fn has(stored: &Self::Stored, key: Key<Self::Bits>) -> bool {
        Self::bits(stored) == key.bits && Self::context(stored) == key.context
    }
}

/// Posted receives.
pub(in super::super) struct ReceiveKind<P>(PhantomData<P>);

impl<P: Pattern> Kind for ReceiveKind<P> {
    type Stored = P;
    type Bits = BitsOf<P>;

    #[inline(always)]
    fn context(stored: &P) -> ContextId {
        stored.context()
    }
    #[inline(always)]
    fn bits(stored: &P) -> BitsOf<P> {
        stored.bits()
    }
    #[inline(always)]
    fn is_exact(stored: &P) -> bool {
        stored.care() == BitsOf::<P>::ALL
    }
}

/// Unexpected messages.
pub(in super::super) struct MessageKind<E>(PhantomData<E>);

impl<E: Envelope> Kind for MessageKind<E> {
    type Stored = E;
    type Bits = E::Bits;

    #[inline(always)]
    fn context(stored: &E) -> ContextId {
        stored.context()
    }
    #[inline(always)]
    fn bits(stored: &E) -> E::Bits {
        stored.bits()
    }
    #[inline(always)]
    fn is_exact(_: &E) -> bool {
        true
    }
}
