//! `pnp`: senders that send much (partners) get a list each, the others share one.
//!
//! The dynamic partner/non-partner design of Ghazimirsaeed, Mirsadeghi & Afsahi (Workshop on
//! Exascale MPI 2017) as described in Ghazimirsaeed et al. 2019, §4.2. All elements share one list until
//! it is theta long. Then the senders of more elements than all ranks have on average become partners with a
//! list of their own, and the others continue in a new shared list, which may be split in the same way.
//! Choose it if few of very many peers are busy and memory must not grow with the communicator.
//!
//! Search: the shared lists up to the level where the sender became a partner, then its own; from any source,
//! all lists.
//! Memory: at most `k * sqrt(n)` partners, each with a list of 8 bytes and a place in a hash table; one
//! shared list per level; and, while the last shared list holds elements, a count for each of their
//! senders, for at most four times as many senders as the list is long before partners are chosen.

use super::layered::{Layered, ListId, Origin, Plan};
use super::routed::Sender;
use crate::config::{Config, Tuning};
use crate::envelope::ContextId;
use crate::hash::MixMap;
use crate::memory::vec_bytes;
use crate::meter::Queue;
use crate::pattern::Pattern;
use crate::slab::KEEP_BYTES;

/// The `pnp` structure; see the [module](self).
pub type Pnp<P, R, M> = Layered<Partners, P, R, M>;

impl<P: Pattern, R, M> Pnp<P, R, M> {
    /// Senders with a list of their own in one of the queues.
    #[must_use]
    pub fn partners(&self, queue: Queue) -> usize {
        self.plan(queue).partners()
    }
}

/// A table of counts with this many times as many places as senders is given up.
const SPARSE: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Partner {
    list: ListId,
    /// How many shared lists, from the first on, may hold its elements from before it was a partner.
    levels: u32,
}

/// The partners of one queue.
#[derive(Debug)]
pub struct Partners {
    threshold: u32,
    k: f64,
    /// The largest communicator size known or seen.
    size: u32,
    /// The shared list of each level; new elements of non-partners go to the last.
    levels: Vec<ListId>,
    partners: MixMap<Sender, Partner>,
    /// Elements that each sender put into the last shared list since that was last empty.
    counts: MixMap<Sender, u32>,
    /// Their sum.
    counted: u64,
    /// Elements now in the last shared list.
    length: u32,
    /// The length at which partners are next looked for.
    next_choice: u32,
    lists: u32,
    /// Lists that nobody uses any more.
    spare: Vec<ListId>,
}

impl Partners {
    pub(crate) fn partners(&self) -> usize {
        self.partners.len()
    }

    /// The last shared list is too long: its busiest senders become partners, if there is room.
    #[cold]
    fn choose(&mut self) {
        let room = Tuning::dedicated_limit(self.k, self.size).saturating_sub(self.partners.len());
        let total = self.counted;
        // Ranks that have sent nothing count too. Senders of several communicators may be more than ranks of one.
        let ranks = u64::from(self.size).max(self.counts.len() as u64);
        let above = |count: u32| u64::from(count) * ranks > total;
        let mut chosen: Vec<(Sender, u32)> = self
            .counts
            .iter()
            .filter(|&(_, &count)| room > 0 && above(count))
            .map(|(&sender, &count)| (sender, count))
            .collect();
        chosen.sort_unstable_by_key(|&(sender, count)| (core::cmp::Reverse(count), sender));
        chosen.truncate(room);
        if chosen.is_empty() {
            // Twice the length before the next choice, so that choosing stays cheap in total.
            self.next_choice = self.length.saturating_mul(2);
            return;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "each level has a partner, capped"
        )]
        let levels = self.levels.len() as u32;
        for (sender, _) in chosen {
            let list = self.new_list();
            self.partners.insert(sender, Partner { list, levels });
        }
        let list = self.new_list();
        self.levels.push(list);
        self.length = 0;
        self.forget_counts();
    }

    /// The last shared list has become short: the next choice need not wait for as long a list as the last.
    #[cold]
    fn choose_sooner(&mut self) {
        self.next_choice = (self.next_choice / 2).max(self.threshold);
    }

    /// The last shared list is empty: past activity no longer matters.
    fn forget_counts(&mut self) {
        // Clearing writes to all of a table, however few of its places are taken.
        let is_sparse = self.counts.capacity() > SPARSE * self.counts.len().max(1);
        if self.counts.allocation_size() > KEEP_BYTES || is_sparse {
            self.counts = MixMap::default();
        } else {
            self.counts.clear();
        }
        self.counted = 0;
        self.next_choice = self.threshold;
    }

    /// There are counts for four times as many senders as the list can hold elements, so most senders
    /// have no element left: halves the counts until half of the senders are forgotten. Without this, a
    /// list that never empties would remember every sender.
    #[cold]
    fn thin_counts(&mut self) {
        let enough = self.counts.len() / 2;
        while self.counts.len() > enough {
            self.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
        self.counted = self.counts.values().map(|&count| u64::from(count)).sum();
    }

    fn new_list(&mut self) -> ListId {
        self.spare.pop().unwrap_or_else(|| {
            self.lists += 1;
            self.lists - 1
        })
    }
}

impl Plan for Partners {
    const SEPARATES_CLASSES: bool = false;

    fn from_config(config: &Config) -> Self {
        let threshold = config.tuning.partner_threshold.max(1);
        Self {
            threshold,
            k: config.tuning.point_to_point_k,
            size: config.size.unwrap_or(0),
            levels: vec![0],
            partners: MixMap::default(),
            counts: MixMap::default(),
            counted: 0,
            length: 0,
            next_choice: threshold,
            lists: 1,
            spare: Vec::new(),
        }
    }

    fn lists(&self) -> usize {
        self.lists as usize
    }

    #[inline]
    fn path(&self, origin: Origin, visitor: &mut impl FnMut(ListId) -> bool) {
        let partner = self.partners.get(&origin.sender);
        let levels = partner.map_or(self.levels.len(), |p| p.levels as usize);
        for &list in &self.levels[..levels] {
            if !visitor(list) {
                return;
            }
        }
        if let Some(partner) = partner {
            visitor(partner.list);
        }
    }

    /// A sender only ever moves on: to the next shared list, or to its own.
    fn is_ordered(&self, _: Origin) -> bool {
        true
    }

    #[inline]
    fn home(&mut self, origin: Origin) -> ListId {
        match self.partners.get(&origin.sender) {
            Some(partner) => partner.list,
            None => self.levels[self.levels.len() - 1],
        }
    }

    #[inline]
    fn linked(&mut self, origin: Origin, list: ListId) -> bool {
        if list != self.levels[self.levels.len() - 1] {
            return false;
        }
        self.size = self.size.max(origin.sender.rank.0.saturating_add(1));
        self.length += 1;
        let count = self.counts.entry(origin.sender).or_insert(0);
        if *count < u32::MAX {
            *count += 1;
            self.counted += 1;
        }
        if self.counts.len() / 4 > self.next_choice as usize {
            self.thin_counts();
        }
        if self.length < self.next_choice {
            return false;
        }
        self.choose();
        true
    }

    /// Once a shared list other than the last has emptied, nothing is queued in it any more.
    fn tidied(&mut self, is_empty: &dyn Fn(ListId) -> bool) {
        let last = self.levels.len() - 1;
        // Of the first n lists, how many stay.
        let mut staying = Vec::with_capacity(last + 2);
        staying.push(0);
        let mut stayed = 0;
        for (level, &list) in self.levels.iter().enumerate() {
            if level < last && is_empty(list) {
                self.spare.push(list);
            } else {
                stayed += 1;
            }
            staying.push(stayed);
        }
        if stayed as usize > last {
            return;
        }
        let mut level = 0;
        self.levels.retain(|_| {
            level += 1;
            staying[level] > staying[level - 1]
        });
        for partner in self.partners.values_mut() {
            partner.levels = staying[partner.levels as usize];
        }
    }

    #[inline]
    fn unlinked(&mut self, _: Origin, list: ListId) {
        if list == self.levels[self.levels.len() - 1] {
            self.length -= 1;
            if self.length == 0 {
                self.forget_counts();
            } else if self.length < self.next_choice / 4 && self.next_choice > self.threshold {
                self.choose_sooner();
            }
        }
    }

    fn grown(&mut self, size: u32) {
        self.size = self.size.max(size);
    }

    fn shrunk(&mut self, context: ContextId) {
        let Self {
            partners, spare, ..
        } = self;
        partners.retain(|sender, partner| {
            let stays = sender.context != context;
            if !stays {
                spare.push(partner.list);
            }
            stays
        });
        self.counts.retain(|sender, _| sender.context != context);
        self.counted = self.counts.values().map(|&count| u64::from(count)).sum();
    }

    fn reset(&mut self) {
        self.levels = vec![0];
        self.spare.clear();
        self.partners.clear();
        self.length = 0;
        self.forget_counts();
        self.lists = 1;
    }

    fn bytes(&self) -> usize {
        vec_bytes(&self.levels)
            + vec_bytes(&self.spare)
            + self.partners.allocation_size()
            + self.counts.allocation_size()
    }
}

#[cfg(test)]
mod tests;
