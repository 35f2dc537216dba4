//! What entries are found by, in all forms.

use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::Entry;

/// The search key of entries: a context, and the bits that must be equal under a mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<B> {
    pub(super) context: ContextId,
    /// The bits, 0 outside the mask.
    pub(super) bits: B,
    pub(super) care: B,
}

impl<B: MatchBits> Key<B> {
    /// What a message is found by, and a receive without wildcards.
    #[inline(always)]
    pub(super) const fn exact(context: ContextId, bits: B) -> Self {
        Self {
            context,
            bits,
            care: B::ALL,
        }
    }

    /// What is left of a message's bits under a mask.
    #[inline(always)]
    pub(super) fn under(context: ContextId, bits: B, care: B) -> Self {
        Self {
            context,
            bits: bits & care,
            care,
        }
    }

    /// Whether a receive with this key takes a message, as [`matches`](crate::matches) has it.
    pub(super) fn admits(self, envelope: &impl Envelope<Bits = B>) -> bool {
        envelope.context() == self.context && (envelope.bits() ^ self.bits) & self.care == B::ZERO
    }
}

/// The key of a receive.
#[inline(always)]
pub(super) fn key_of_receive<P: Pattern>(pattern: &P) -> Key<BitsOf<P>> {
    Key::under(pattern.context(), pattern.bits(), pattern.care())
}

/// The key of a message as a class of receives sees it.
#[inline(always)]
pub(super) fn key_of_message<E: Envelope>(envelope: &E, care: E::Bits) -> Key<E::Bits> {
    Key::under(envelope.context(), envelope.bits(), care)
}

/// Whether the entry of a posted receive has a key.
#[inline(always)]
pub(super) fn is_receive<P: Pattern, R>(entry: &Entry<P, R>, key: Key<BitsOf<P>>) -> bool {
    let pattern = &entry.key;
    (pattern.bits() ^ key.bits) & key.care == BitsOf::<P>::ZERO
        && pattern.care() == key.care
        && pattern.context() == key.context
}
