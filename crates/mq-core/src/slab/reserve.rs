//! Storing an entry in two steps, so that searches can link it where they end: first a slot, later the
//! entry.

use super::far::Far;
use super::{Entry, NEAR, NIL, RUN, Slab, aside};

impl<K, T> Entry<K, T> {
    /// The newest of all, on no list.
    #[inline(always)]
    const fn begin(&mut self, sequence: u64, home: u32) {
        self.sequence = sequence;
        self.next = NIL;
        self.prev = NIL;
        self.home = home;
    }
}

impl<K: Copy, T> Slab<K, T> {
    /// Whether no slot is free: [`make_room`](Self::make_room) comes before the next
    /// [`reserve`](Self::reserve). Of no meaning while a [`Window`](super::Window) holds the entries.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.free == NIL
    }

    /// Makes more near slots that are on no list, at least one; `key` may be any.
    pub(super) fn add_near(&mut self, key: K) {
        let slots = self.near.len();
        if slots == 0 {
            // Most contexts never hold more than one entry, and there may be thousands.
            self.near.reserve_exact(1);
        }
        self.near.push(Entry::free(&key, NIL));
        // Also other slots that already have memory.
        let end = self.near.capacity().min(slots + RUN).min(NEAR);
        self.near.resize_with(end, || Entry::free(&key, NIL));
    }

    /// Makes sure that the next [`reserve`](Self::reserve) finds a slot, in a slab that
    /// [is full](Self::is_full); `key` may be any.
    #[expect(clippy::cast_possible_truncation, reason = "below NEAR")]
    pub(crate) fn make_room(&mut self, key: K) {
        debug_assert!(self.is_full(), "listed slots would be lost");
        let slot = self.near.len();
        if slot < NEAR {
            self.add_near(key);
            let next = slot as u32 + 1..self.near.len() as u32;
            for (entry, next) in self.near[slot..].iter_mut().zip(next) {
                entry.next = next;
            }
            self.free = slot as u32;
            return;
        }
        let far = self.far.get_or_insert_with(|| Box::new(Far::new()));
        self.free = far.list_near(&mut self.near);
        if self.free == NIL {
            self.free = far.list_more(key);
        }
        self.low = far.low();
    }

    /// Takes a free slot for the newest entry, of which only the links and the mark are written;
    /// [`fill`](Self::fill) follows before anything else looks at it. `None` if the slab
    /// [is full](Self::is_full).
    #[inline(always)]
    pub(crate) fn reserve(&mut self, home: u32) -> Option<u32> {
        let slot = self.free;
        let entry = match self.near.get_mut(slot as usize) {
            Some(entry) => entry,
            None => {
                aside();
                self.far.as_mut()?.use_slot(slot)?
            }
        };
        self.free = entry.next;
        entry.begin(self.next_sequence, home);
        self.next_sequence += 1;
        self.len += 1;
        Some(slot)
    }

    /// [`reserve`](Self::reserve), if a near slot is free.
    #[inline(always)]
    pub(crate) fn reserve_near(&mut self, home: u32) -> Option<u32> {
        let slot = self.free;
        let entry = self.near.get_mut(slot as usize)?;
        self.free = entry.next;
        entry.begin(self.next_sequence, home);
        self.next_sequence += 1;
        self.len += 1;
        Some(slot)
    }

    /// Writes the key of a reserved slot, for code that looks at keys before the slot is filled.
    #[inline]
    pub(crate) fn set_key(&mut self, slot: u32, key: K) {
        self.entry_mut(slot).key = key;
    }

    /// Writes what [`reserve`](Self::reserve) has left out.
    #[inline(always)]
    pub(crate) fn fill(&mut self, slot: u32, key: K, payload: T) {
        // The call on the path to a far slot gets no key: the key would then be written to the stack for
        // any slot.
        let entry = self.entry_mut(slot);
        entry.key = key;
        entry.payload = Some(payload);
    }
}
