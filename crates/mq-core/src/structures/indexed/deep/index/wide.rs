//! The steps of [`quick`](super::quick) where buckets are far, and slots may be: in queues of more
//! than some thousand entries, and those after them.
//!
//! Nearly all entries of such queues are far, and a step that first looked for them near would waste its
//! time.

use super::super::super::key::Key;
use super::super::nodes::{Slot, posted, slot_of, unexpected};
use super::{Index, Quick};
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::pattern::Pattern;
use crate::slab::NIL;

impl<B: MatchBits> Index<B> {
    /// [`post_whole`](Self::post_whole) if little is to be done: where the chain of the bucket is
    /// empty, or is one receive with another key, or begins with the only message of the key. Linking
    /// in views, and unlinking, is the caller's.
    #[inline(always)]
    pub(in super::super) fn post_wide<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        bucket: u32,
    ) -> Quick
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(head) = self.chains.first_mut(bucket) else {
            return Quick::Beside;
        };
        let first = *head;
        match slot_of(first) {
            Slot::None => {}
            Slot::Posted(slot) => {
                let entry = slabs.posted.entry_inline(slot);
                if entry.key.bits() == key.bits || entry.home != NIL {
                    return Quick::Beside;
                }
            }
            Slot::Unexpected(slot) => {
                let entry = slabs.unexpected.entry_inline(slot);
                let is_it = entry.key.bits() == key.bits && entry.key.context() == key.context;
                if !is_it || entry.next != NIL {
                    return Quick::Beside;
                }
                *head = entry.home;
                return Quick::Found(first);
            }
        }
        let Some(slot) = slabs.posted.reserve(first) else {
            return Quick::Beside;
        };
        *head = posted(slot);
        Quick::Queued(posted(slot))
    }

    /// [`arrive_whole`](Self::arrive_whole), as [`post_wide`](Self::post_wide).
    #[inline(always)]
    pub(in super::super) fn arrive_wide<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        bucket: u32,
    ) -> Quick
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(head) = self.chains.first_mut(bucket) else {
            return Quick::Beside;
        };
        let first = *head;
        match slot_of(first) {
            Slot::None => {}
            Slot::Unexpected(slot) => {
                let entry = slabs.unexpected.entry_inline(slot);
                if entry.key.bits() == key.bits || entry.home != NIL {
                    return Quick::Beside;
                }
            }
            Slot::Posted(slot) => {
                // Receives with wildcards are in another table.
                let entry = slabs.posted.entry_inline(slot);
                let is_it = entry.key.bits() == key.bits && entry.key.context() == key.context;
                if !is_it || entry.next != NIL {
                    return Quick::Beside;
                }
                *head = entry.home;
                return Quick::Found(first);
            }
        }
        let Some(slot) = slabs.unexpected.reserve(first) else {
            return Quick::Beside;
        };
        *head = unexpected(slot);
        Quick::Queued(unexpected(slot))
    }
}
