//! The messages of a window as one class of wildcard receives sees them.

use super::super::hash::Seed;
use super::super::key::Key;
use super::buckets::{Buckets, NONE};
use super::links::{ChainLinks, link_alone_in_view};
use super::{Found, OTHERWISE};
use crate::envelope::{Envelope, MatchBits};
use crate::memory::vec_bytes;
use crate::slab::{Entry, NIL, Window};

/// Messages by what is left of their bits under one mask.
///
/// Messages that leave in other ways stay on their chains until a search passes them: the slots
/// themselves show whether they are used, and none is reused while it may be on a chain.
#[derive(Debug)]
pub(super) struct WindowView<B> {
    pub(super) care: B,
    buckets: Buckets,
    /// What comes behind each slot.
    links: Vec<u16>,
    /// The slot of the first that is not linked.
    linked: u32,
    /// Whether receives of the class have asked since the window was last empty.
    is_asked: bool,
}

impl<B: MatchBits> WindowView<B> {
    pub(super) fn new(care: B, seed: Seed) -> Self {
        Self {
            care,
            buckets: Buckets::new(seed),
            links: Vec::new(),
            linked: 0,
            is_asked: false,
        }
    }

    /// The entries of the window have moved, or left.
    pub(super) fn forget(&mut self) {
        self.buckets.forget();
        self.linked = 0;
    }

    /// All messages have left: whether anybody has asked since that was last so.
    pub(super) fn rest(&mut self) -> bool {
        self.forget();
        core::mem::take(&mut self.is_asked)
    }

    /// Links what has come since the last search.
    fn link<E>(&mut self, near: &[Entry<E, impl Sized>], window: &Window, first: u32)
    where
        E: Envelope<Bits = B>,
    {
        self.is_asked = true;
        let (end, queued) = (window.end(), window.len());
        let is_worn = self.buckets.replace_if_worn();
        if self.linked == end && !is_worn {
            return;
        }
        let mut is_new = is_worn || !self.buckets.serves(queued);
        self.links.resize(near.len(), NONE);
        loop {
            if is_new {
                self.buckets.begin(queued);
                self.linked = first;
            }
            let (linked, behind) = self.link_to(near, end);
            is_new = self.linked == first && self.buckets.judge(linked, behind, linked);
            if !is_new {
                self.buckets.count_linked(linked, behind);
                self.linked = end;
                return;
            }
        }
    }

    /// Links all messages before a slot that are not; returns how many they are, and how many came to
    /// be behind others with another key.
    fn link_to<E>(&mut self, near: &[Entry<E, impl Sized>], end: u32) -> (u32, u32)
    where
        E: Envelope<Bits = B>,
    {
        let care = self.care;
        let (buckets, hash) = self.buckets.parts();
        let place = |message: &E| hash.place(message.bits() & care);
        let (mut linked, mut behind) = (0, 0);
        let mut slot = self.linked;
        while let Some(entries) = near.get(slot as usize..end as usize)
            && !entries.is_empty()
            && let Some(their_links) = self.links.get_mut(slot as usize..end as usize)
        {
            let (alone, passed) = link_alone_in_view(entries, their_links, slot, buckets, place);
            linked += alone;
            slot += passed;
            // Those that have others before them.
            let links = self.links.as_mut_slice();
            while slot < end
                && let Some(entry) = near.get(slot as usize)
            {
                if entry.is_used() {
                    let Some(bucket) = buckets.get_mut(place(&entry.key)) else {
                        return (linked, behind);
                    };
                    let Some(last) = bucket.push_behind(slot) else {
                        break;
                    };
                    links.link(last, slot);
                    links.end(slot);
                    linked += 1;
                    let differs =
                        |last: &Entry<E, _>| (last.key.bits() ^ entry.key.bits()) & care != B::ZERO;
                    behind += u32::from(near.get(last as usize).is_some_and(differs));
                }
                slot += 1;
            }
        }
        (linked, behind)
    }

    /// Takes the first message of its bucket off its chain, if it is one of a key, whose mask is that of
    /// the view, and in no slot before `first_alone`, as those are that are on the chains of their keys
    /// too: its slot, or [`OTHERWISE`]. It is the earliest: what is not linked came later.
    #[inline(always)]
    pub(super) fn take_first<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        first_alone: u32,
        key: Key<B>,
    ) -> u32
    where
        E: Envelope<Bits = B>,
    {
        let place = self.buckets.place(key.bits);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return OTHERWISE;
        };
        let slot = bucket.first();
        match near.get(slot as usize) {
            Some(entry) if entry.is_used() && key.admits(&entry.key) && slot >= first_alone => {
                bucket.drop_first(self.links.next(slot));
                slot
            }
            _ => OTHERWISE,
        }
    }

    /// Finds the earliest message of a key, whose mask is that of the view, and takes it off its
    /// chain if it `leaves`. No message is in a slot before `first`.
    pub(super) fn find<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &Window,
        first: u32,
        key: Key<B>,
        leaves: bool,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        self.link(near, window, first);
        let links = self.links.as_mut_slice();
        let place = self.buckets.place(key.bits);
        let (mut before, mut slot) = (NIL, self.buckets.first(place));
        let mut visited = 0;
        let mut passed = 0;
        let found = loop {
            let Some(entry) = near.get(slot as usize) else {
                break NIL;
            };
            let next = links.next(slot);
            passed += 1;
            if entry.is_used() {
                visited += 1;
                if key.admits(&entry.key) {
                    if leaves {
                        self.buckets.unlink(links, place, slot, before);
                    }
                    break slot;
                }
                before = slot;
            } else {
                self.buckets.unlink(links, place, slot, before);
            }
            slot = next;
        };
        self.buckets.count(passed);
        Found {
            slot: found,
            visited,
        }
    }

    /// Gives memory back, of a view that is empty.
    pub(super) fn release(&mut self) {
        self.buckets.release();
        self.links = Vec::new();
    }

    pub(super) const fn bytes(&self) -> usize {
        self.buckets.bytes() + vec_bytes(&self.links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::MpiEnvelope;
    use crate::slab::Slab;

    /// What receives from any source care about.
    const ANY_SOURCE: u64 = 0xffff_ffff;

    const NO_SLOT: u32 = NONE as u32;

    /// A view of messages from any source with these tags, all linked.
    fn view_of(tags: &[i32], seed: u32) -> (Slab<MpiEnvelope, u32>, WindowView<u64>) {
        let mut slab = Slab::new(0);
        for &tag in tags {
            slab.insert(MpiEnvelope::new(0, 5, tag), 0, NIL);
        }
        let mut view = WindowView::new(ANY_SOURCE, Seed::new(seed));
        let messages = slab.len();
        view.buckets.begin(messages);
        view.links = vec![NONE; tags.len()];
        view.link_to(slab.near_entries(), messages);
        (slab, view)
    }

    fn any_source(context: u32, tag: u64) -> Key<u64> {
        Key {
            context: context.into(),
            bits: tag,
            care: ANY_SOURCE,
        }
    }

    #[test]
    fn what_is_not_the_first_of_its_bucket_or_on_another_chain_is_not_taken_at_once() {
        let (mut slab, mut view) = view_of(&[1, 1, 2], 2);
        let mut take = |slab: &Slab<MpiEnvelope, u32>, first_alone, key| {
            view.take_first(slab.near_entries(), first_alone, key)
        };
        assert_eq!(take(&slab, 0, any_source(1, 1)), OTHERWISE, "context");
        assert_eq!(take(&slab, 1, any_source(0, 1)), OTHERWISE, "chain");
        slab.remove(0);
        assert_eq!(take(&slab, 0, any_source(0, 1)), OTHERWISE, "a hole");
        assert_eq!(take(&slab, 0, any_source(0, 2)), 2);
        assert_eq!(take(&slab, 0, any_source(0, 2)), OTHERWISE, "no more");
    }

    #[test]
    fn messages_are_linked_between_holes_and_behind_others() {
        let mut slab: Slab<MpiEnvelope, u32> = Slab::new(0);
        for tag in 0..30 {
            // Each third has the key of another.
            let tag = if tag % 3 == 2 { 0 } else { tag };
            slab.insert(MpiEnvelope::new(0, 5, tag), 0, NIL);
        }
        (0..30).step_by(5).for_each(|slot| {
            slab.remove(slot);
        });
        // Under this factor no two of these keys share a bucket.
        let mut view = WindowView::new(ANY_SOURCE, Seed::new(2));
        view.buckets.begin(30);
        // As an earlier filling has left them.
        view.links = (1..31).collect();
        let (linked, behind) = view.link_to(slab.near_entries(), 30);
        assert_eq!((linked, behind), (24, 0));
        // Takes all messages of a tag; returns their slots, and the number of the first that is left.
        let mut take_all = |tag: u64| {
            let mut take = || view.take_first(slab.near_entries(), 0, any_source(0, tag));
            let slots: Vec<u32> = core::iter::from_fn(|| Some(take()))
                .take_while(|&slot| slot != OTHERWISE)
                .collect();
            (slots, view.buckets.first(view.buckets.place(tag)))
        };
        assert_eq!(take_all(1), (vec![1], NO_SLOT));
        let of_one_key = vec![2, 8, 11, 14, 17, 23, 26, 29];
        assert_eq!(take_all(0), (of_one_key, NO_SLOT));
    }
}
