//! How a log ends: what it has is given to the index, the oldest first.

use super::{Kind, Log, State};
use crate::slab::Slab;

/// A log of more than `SMALL` buckets ends when there are `SPARSE` of them for each entry left. One that began with
/// those of earlier fillings ends when there are `SPARSE_AT_FIRST`, and only after as many more removals as there are
/// entries then: a queue that is being drained is empty before.
const SMALL: usize = 8192;
const SPARSE: usize = 16;
const SPARSE_AT_FIRST: usize = 64;

/// Pages of buckets that are freed together.
const FREED_AT_ONCE: usize = 16;

impl Log {
    /// All entries are to be indexed, some with each operation.
    pub(in super::super) fn end(&mut self) {
        self.state = State::Ending;
    }

    /// Takes out the first of all entries, after a look at no more than some slots; `None` if it was not met. Then the
    /// log may have to [finish](Self::finish).
    pub(in super::super) fn take_oldest<K: Kind, T>(
        &mut self,
        slab: &mut Slab<K::Stored, T>,
        looks: &mut u32,
    ) -> Option<u32> {
        let end = slab.end();
        while self.first < end && *looks > 0 {
            *looks -= 1;
            let slot = self.first;
            let (entries, next) = slab.piece_mut(slot..end);
            match entries.first() {
                None => self.first = next,
                Some(entry) if entry.is_used() && K::is_exact(&entry.key) => {
                    self.unlink::<K, T>(slab, slot);
                    self.first = slot + 1;
                    self.linked = self.linked.max(self.first);
                    self.moved += 1;
                    return Some(slot);
                }
                Some(_) => self.first = slot + 1,
            }
        }
        None
    }

    /// Once all entries have been taken out, gives memory back, some with each call, and then turns off.
    pub(in super::super) fn finish<T: Copy>(&mut self, slab: &mut Slab<T, impl Sized>) {
        if self.first >= slab.end() && self.buckets.free_some(FREED_AT_ONCE) {
            slab.seal();
            self.rest();
        }
    }

    /// With this many entries left, there are too many buckets; 0 if there are not many.
    pub(in super::super) const fn few(&self) -> u32 {
        let buckets = self.buckets.len();
        if buckets <= SMALL || matches!(self.state, State::Ending) {
            return 0;
        }
        let sparse = match self.buckets.is_remembered() {
            true => SPARSE_AT_FIRST,
            false => SPARSE,
        };
        (buckets / sparse) as u32
    }

    /// One more removal has left [few](Self::few) entries: ends, if it is not just being drained as before.
    pub(in super::super) fn shrink(&mut self) {
        self.lingering += 1;
        if !self.buckets.is_remembered() || self.lingering > self.few() {
            self.end();
        }
    }
}
