//! The index of the deep form: entries of either queue, found by what they must match exactly.

use hashbrown::HashTable;

use crate::envelope::{ContextId, Envelope, MatchBits};
use crate::fifo::Fifo;
use crate::hash::mix;
use crate::memory::vec_bytes;
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, matches};
use crate::slab::{KEEP_BYTES, NIL, Slab};

use super::super::best::Best;
use super::view::View;

/// The number of a key.
pub(super) type KeyId = u32;

/// A class of patterns: those that care about the same bits. Class 0 cares about all.
type Class = u8;

const EXACT: Class = 0;

/// Masks indexed at a time, the full one included. Receives with yet other masks are scanned.
const CLASSES: usize = 8;

/// Keys are not swept before there are this many.
const FEWEST_KEYS: usize = 64;

/// Where an entry is linked: a key, the list of unindexed receives, or (short form) no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(KeyId);

impl Place {
    /// The short form has no keys.
    pub(super) const SHORT: Self = Self(NIL);
    const UNINDEXED: Self = Self(NIL - 1);
}

/// One distinct key, and the entries that have it: all of one queue, earliest first.
#[derive(Debug)]
struct Key<B> {
    bits: B,
    context: ContextId,
    class: Class,
    queue: Queue,
    entries: Fifo,
}

/// One class of wildcard receives in use.
#[derive(Debug)]
struct MaskClass<B> {
    care: B,
    /// Posted receives of the class.
    posted: u32,
    /// The unexpected messages under this mask, if a receive of the class has looked for them.
    view: Option<View>,
}

/// All keys of the deep form, and the classes of wildcards that they stand for.
#[derive(Debug)]
pub(super) struct Keys<B> {
    table: HashTable<KeyId>,
    keys: Vec<Key<B>>,
    free: Vec<KeyId>,
    next_sweep: usize,
    /// Class `i + 1` is `masks[i]`.
    masks: Vec<MaskClass<B>>,
    /// Receives whose mask found no class.
    unindexed: Fifo,
}

impl<B: MatchBits> Default for Keys<B> {
    fn default() -> Self {
        Self {
            table: HashTable::new(),
            keys: Vec::new(),
            free: Vec::new(),
            next_sweep: FEWEST_KEYS,
            masks: Vec::new(),
            unindexed: Fifo::EMPTY,
        }
    }
}

/// The class of the mask at a place in the table.
#[expect(clippy::cast_possible_truncation, reason = "fewer than CLASSES")]
const fn class_number(i: usize) -> Class {
    i as Class + 1
}

#[inline(always)]
fn hash<B: MatchBits>(class: Class, context: ContextId, bits: B) -> u64 {
    mix(bits.digest(), u64::from(context.0) << 8 | u64::from(class))
}

impl<B: MatchBits> Keys<B> {
    #[inline]
    fn find(&self, class: Class, context: ContextId, bits: B) -> Option<KeyId> {
        let hash = hash(class, context, bits);
        let same = |&id: &KeyId| {
            let key = &self.keys[id as usize];
            key.bits == bits && key.context == context && key.class == class
        };
        self.table.find(hash, same).copied()
    }

    #[inline]
    fn find_or_make(&mut self, class: Class, context: ContextId, bits: B) -> KeyId {
        match self.find(class, context, bits) {
            Some(id) => id,
            None => self.make(class, context, bits),
        }
    }

    #[inline(never)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a key for each entry and class at most"
    )]
    fn make(&mut self, class: Class, context: ContextId, bits: B) -> KeyId {
        if self.free.is_empty() && self.keys.len() >= self.next_sweep {
            self.sweep();
        }
        let key = Key {
            bits,
            context,
            class,
            queue: Queue::Posted,
            entries: Fifo::EMPTY,
        };
        let id = if let Some(id) = self.free.pop() {
            self.keys[id as usize] = key;
            id
        } else {
            self.keys.push(key);
            self.keys.len() as KeyId - 1
        };
        let keys = &self.keys;
        let rehash = |&id: &KeyId| {
            let key = &keys[id as usize];
            hash(key.class, key.context, key.bits)
        };
        self.table
            .insert_unique(hash(class, context, bits), id, rehash);
        id
    }

    /// Frees the keys that have no entries, so that programs with ever new tags do not grow the
    /// table without end. Half of the keys are in use afterwards, or the table may double.
    #[cold]
    fn sweep(&mut self) {
        let Self {
            table, keys, free, ..
        } = self;
        table.retain(|&mut id| {
            let used = !keys[id as usize].entries.is_empty();
            if !used {
                free.push(id);
            }
            used
        });
        let used = self.keys.len() - self.free.len();
        self.next_sweep = (2 * used).max(FEWEST_KEYS);
    }

    #[inline(always)]
    fn key(&self, id: KeyId) -> &Key<B> {
        &self.keys[id as usize]
    }

    /// The earliest entry of a key if its entries are of `queue`.
    #[inline(always)]
    fn head(&self, id: KeyId, queue: Queue) -> Option<u32> {
        let key = self.key(id);
        if key.queue == queue {
            key.entries.head()
        } else {
            None
        }
    }

    /// The class of a mask, made if there is room.
    #[inline]
    fn class_of(&mut self, care: B) -> Option<Class> {
        if care == B::ALL {
            return Some(EXACT);
        }
        self.class_of_mask(care)
    }

    fn class_of_mask(&mut self, care: B) -> Option<Class> {
        if let Some(i) = self.masks.iter().position(|mask| mask.care == care) {
            return Some(class_number(i));
        }
        let fresh = MaskClass {
            care,
            posted: 0,
            view: None,
        };
        if self.masks.len() + 1 < CLASSES {
            self.masks.push(fresh);
            return Some(class_number(self.masks.len() - 1));
        }
        // A class without posted receives has no entries but those of its view.
        let i = self.masks.iter().position(|mask| mask.posted == 0)?;
        self.drop_view(i);
        self.masks[i] = fresh;
        Some(class_number(i))
    }

    /// Empties the keys of a view that nobody uses, and forgets it.
    #[cold]
    fn drop_view(&mut self, i: usize) {
        if let Some(view) = self.masks[i].view.take() {
            for id in view.keys() {
                self.keys[id as usize].entries = Fifo::EMPTY;
            }
        }
    }

    /// Drops the views that have only been kept up for a long while, and the classes behind which
    /// nothing is left: arrivals stop paying for them.
    #[cold]
    fn retire(&mut self) {
        for i in 0..self.masks.len() {
            if self.masks[i].view.as_ref().is_some_and(View::is_stale) {
                self.drop_view(i);
            }
        }
        while let Some(mask) = self.masks.last()
            && mask.posted == 0
            && mask.view.is_none()
        {
            self.masks.pop();
        }
    }

    /// The place of a message under its exact key.
    #[inline]
    pub(super) fn exact<E: Envelope<Bits = B>>(&mut self, envelope: &E) -> Place {
        Place(self.find_or_make(EXACT, envelope.context(), envelope.bits()))
    }

    /// The earliest posted receive that a message matches, or the message's place.
    #[inline]
    pub(super) fn find_posted<P, R>(
        &mut self,
        envelope: &P::Envelope,
        posted: &Slab<P, R>,
        meter: &mut impl Meter,
    ) -> Result<u32, Place>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Place(id) = self.exact(envelope);
        let exact = self.head(id, Queue::Posted);
        if self.masks.is_empty() {
            meter.visited(Queue::Posted, u32::from(exact.is_some()));
            return exact.ok_or(Place(id));
        }
        self.merge_wildcards(exact, envelope, posted, meter)
            .ok_or(Place(id))
    }

    /// The same without preparing an insertion.
    pub(super) fn search_posted<P, R>(
        &self,
        envelope: &P::Envelope,
        posted: &Slab<P, R>,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let id = self.find(EXACT, envelope.context(), envelope.bits());
        let exact = id.and_then(|id| self.head(id, Queue::Posted));
        self.merge_wildcards(exact, envelope, posted, meter)
    }

    /// The earliest of an exact candidate and the candidates of all wildcard classes in use.
    fn merge_wildcards<P, R>(
        &self,
        exact: Option<u32>,
        envelope: &P::Envelope,
        posted: &Slab<P, R>,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut best = Best::NONE;
        exact
            .into_iter()
            .for_each(|slot| best.consider(slot, posted));
        for (class, mask) in (EXACT + 1..).zip(&self.masks) {
            if mask.posted > 0
                && let Some(id) = self.find(class, envelope.context(), envelope.bits() & mask.care)
                && let Some(slot) = self.head(id, Queue::Posted)
            {
                best.consider(slot, posted);
            }
        }
        if !self.unindexed.is_empty() {
            best.search(self.unindexed, posted, |pattern| matches(pattern, envelope));
        }
        meter.visited(Queue::Posted, best.visited);
        best.slot
    }

    /// The earliest unexpected message that a receive matches, or the receive's place.
    #[inline]
    pub(super) fn find_unexpected<P, M>(
        &mut self,
        pattern: &P,
        unexpected: &Slab<P::Envelope, M>,
        meter: &mut impl Meter,
    ) -> Result<u32, Place>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if pattern.care() != B::ALL {
            self.prepare_view(pattern.care(), unexpected);
        }
        let place = self.place_of_receive(pattern);
        if place == Place::UNINDEXED {
            return scan(pattern, unexpected, meter).ok_or(place);
        }
        let found = self.head(place.0, Queue::Unexpected);
        meter.visited(Queue::Unexpected, u32::from(found.is_some()));
        found.ok_or(place)
    }

    /// Where a receive belongs.
    #[inline]
    pub(super) fn place_of_receive<P>(&mut self, pattern: &P) -> Place
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let care = pattern.care();
        match self.class_of(care) {
            Some(class) => {
                Place(self.find_or_make(class, pattern.context(), pattern.bits() & care))
            }
            None => Place::UNINDEXED,
        }
    }

    /// Makes the view of a class, if a receive of it now looks for messages for the first time.
    fn prepare_view<E: Envelope<Bits = B>, M>(&mut self, care: B, unexpected: &Slab<E, M>) {
        let Some(class) = self.class_of_mask(care) else {
            return;
        };
        let mask = &mut self.masks[class as usize - 1];
        if let Some(view) = &mut mask.view {
            return view.use_it();
        }
        if unexpected.is_empty() {
            return;
        }
        let mut view = View::default();
        for slot in unexpected.slots_in_order() {
            let envelope = unexpected.key(slot);
            let id = self.find_or_make(class, envelope.context(), envelope.bits() & care);
            self.push_to_view(&mut view, id, slot);
        }
        self.masks[class as usize - 1].view = Some(view);
    }

    pub(super) fn link_posted<P: Pattern, R>(
        &mut self,
        posted: &mut Slab<P, R>,
        slot: u32,
        place: Place,
    ) {
        posted.set_home(slot, place.0);
        if place == Place::UNINDEXED {
            return self.unindexed.push_back(posted, slot);
        }
        let key = &mut self.keys[place.0 as usize];
        key.queue = Queue::Posted;
        key.entries.push_back(posted, slot);
        if key.class != EXACT {
            self.masks[key.class as usize - 1].posted += 1;
        }
    }

    pub(super) fn unlink_posted<P: Pattern, R>(&mut self, posted: &mut Slab<P, R>, slot: u32) {
        let home = posted.home(slot);
        if home == Place::UNINDEXED.0 {
            return self.unindexed.unlink(posted, slot);
        }
        let key = &mut self.keys[home as usize];
        key.entries.unlink(posted, slot);
        if key.class != EXACT {
            self.masks[key.class as usize - 1].posted -= 1;
        }
        posted.set_home(slot, Place::SHORT.0);
    }

    pub(super) fn link_unexpected<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &mut Slab<E, M>,
        slot: u32,
        place: Place,
    ) {
        unexpected.set_home(slot, place.0);
        let key = &mut self.keys[place.0 as usize];
        key.queue = Queue::Unexpected;
        key.entries.push_back(unexpected, slot);
        if !self.masks.is_empty() {
            self.link_to_views(unexpected.key(slot), slot);
        }
    }

    fn link_to_views<E: Envelope<Bits = B>>(&mut self, envelope: &E, slot: u32) {
        let mut stale = false;
        for i in 0..self.masks.len() {
            let MaskClass { care, view, .. } = &mut self.masks[i];
            let care = *care;
            if let Some(mut view) = view.take() {
                let bits = envelope.bits() & care;
                let id = self.find_or_make(class_number(i), envelope.context(), bits);
                self.push_to_view(&mut view, id, slot);
                stale |= view.is_stale();
                self.masks[i].view = Some(view);
            }
        }
        if stale {
            self.retire();
        }
    }

    pub(super) fn unlink_unexpected<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &mut Slab<E, M>,
        slot: u32,
    ) {
        let home = unexpected.home(slot) as usize;
        self.keys[home].entries.unlink(unexpected, slot);
        for mask in &mut self.masks {
            if let Some(view) = &mut mask.view {
                let id = view.key(slot);
                self.keys[id as usize].entries.unlink(view, slot);
                view.forget(slot);
            }
        }
        unexpected.set_home(slot, Place::SHORT.0);
    }

    #[inline]
    fn push_to_view(&mut self, view: &mut View, id: KeyId, slot: u32) {
        view.set_key(slot, id);
        let key = &mut self.keys[id as usize];
        key.queue = Queue::Unexpected;
        key.entries.push_back(view, slot);
    }

    /// Empties the key of a posted receive; false if the receive has none, because it is leaving.
    pub(super) fn forget_posted<P: Pattern, R>(&mut self, posted: &Slab<P, R>, slot: u32) -> bool {
        let home = posted.home(slot);
        if let Some(key) = self.keys.get_mut(home as usize) {
            key.entries = Fifo::EMPTY;
        }
        home != Place::SHORT.0
    }

    /// Empties all keys of an unexpected message; false if it has none, because it is leaving.
    pub(super) fn forget_unexpected<E: Envelope, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        slot: u32,
    ) -> bool {
        let home = unexpected.home(slot);
        if home == Place::SHORT.0 {
            return false;
        }
        self.keys[home as usize].entries = Fifo::EMPTY;
        for view in self.masks.iter().filter_map(|mask| mask.view.as_ref()) {
            self.keys[view.key(slot) as usize].entries = Fifo::EMPTY;
        }
        true
    }

    /// All entries are forgotten: forgets the wildcard classes too, and keeps the keys for reuse.
    /// True if they are too many to keep.
    pub(super) fn rest(&mut self) -> bool {
        self.masks.clear();
        self.unindexed = Fifo::EMPTY;
        self.bytes() > KEEP_BYTES
    }

    /// Forgets all keys and classes and keeps their memory. True if it is too much to keep.
    pub(super) fn clear(&mut self) -> bool {
        self.table.clear();
        self.keys.clear();
        self.free.clear();
        self.next_sweep = FEWEST_KEYS;
        self.rest()
    }

    /// Wildcard classes for which messages are indexed.
    #[cfg(test)]
    pub(super) fn views(&self) -> usize {
        self.masks.iter().filter(|mask| mask.view.is_some()).count()
    }

    /// Heap bytes, those of this object included.
    pub(super) fn bytes(&self) -> usize {
        let views = self.masks.iter().filter_map(|mask| mask.view.as_ref());
        size_of::<Self>()
            + self.table.allocation_size()
            + vec_bytes(&self.keys)
            + vec_bytes(&self.free)
            + vec_bytes(&self.masks)
            + views.map(View::bytes).sum::<usize>()
    }
}

/// A receive whose mask has no class asks every message.
#[cold]
fn scan<P: Pattern, M>(
    pattern: &P,
    unexpected: &Slab<P::Envelope, M>,
    meter: &mut impl Meter,
) -> Option<u32> {
    meter.visited(Queue::Unexpected, unexpected.len());
    unexpected.earliest(|envelope| matches(pattern, envelope))
}
