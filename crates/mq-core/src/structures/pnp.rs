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
    shared: Vec<ListId>,
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
        for (sender, _) in chosen {
            let list = self.new_list();
            let levels = self.levels();
            self.partners.insert(sender, Partner { list, levels });
        }
        let list = self.new_list();
        self.shared.push(list);
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

    #[expect(
        clippy::cast_possible_truncation,
        reason = "each level has a partner, capped"
    )]
    const fn levels(&self) -> u32 {
        self.shared.len() as u32
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
            shared: vec![0],
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
        let levels = partner.map_or(self.shared.len(), |p| p.levels as usize);
        for &list in &self.shared[..levels] {
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
            None => self.shared[self.shared.len() - 1],
        }
    }

    #[inline]
    fn linked(&mut self, origin: Origin, list: ListId) -> bool {
        if list != self.shared[self.shared.len() - 1] {
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
        let last = self.shared.len() - 1;
        // Of the first n lists, how many stay.
        let mut staying = Vec::with_capacity(last + 2);
        staying.push(0);
        let mut stayed = 0;
        for (level, &list) in self.shared.iter().enumerate() {
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
        self.shared.retain(|_| {
            level += 1;
            staying[level] > staying[level - 1]
        });
        for partner in self.partners.values_mut() {
            partner.levels = staying[partner.levels as usize];
        }
    }

    #[inline]
    fn unlinked(&mut self, _: Origin, list: ListId) {
        if list == self.shared[self.shared.len() - 1] {
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
        self.shared = vec![0];
        self.spare.clear();
        self.partners.clear();
        self.length = 0;
        self.forget_counts();
        self.lists = 1;
    }

    fn bytes(&self) -> usize {
        vec_bytes(&self.shared)
            + vec_bytes(&self.spare)
            + self.partners.allocation_size()
            + self.counts.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::{MpiEnvelope, MpiPattern};
    use crate::{ContextOptions, Engine, Entry, MatchQueues, Post, TrafficClass, Visits};

    /// Queues of so many ranks, of which one can be a partner.
    fn with_room_for_one(ranks: u32, threshold: u32) -> Pnp<MpiPattern, (), ()> {
        let mut config = Config::default().with_size(ranks);
        config.tuning.point_to_point_k = 1.2 / f64::from(ranks).sqrt();
        config.tuning.partner_threshold = threshold;
        Pnp::with_config(&config)
    }

    /// Empties the queues. Then fifty messages of another rank arrive, and one of this rank: the entries that its
    /// receive visits, which is one if the sender is a partner.
    fn visited_behind_others(queues: &mut Pnp<MpiPattern, (), ()>, rank: u32) -> u64 {
        queues.purge(&mut |_| true, &mut |_| {});
        for tag in 0..50 {
            let _ = queues.arrive(MpiEnvelope::new(0, rank + 1, tag), ());
        }
        let _ = queues.arrive(MpiEnvelope::new(0, rank, 0), ());
        let mut visits = Visits::default();
        let _ = queues.post_metered(MpiPattern::new(0, rank, 0), (), &mut visits);
        visits.unexpected
    }

    #[test]
    fn busy_senders_become_partners_and_never_more_than_the_limit() {
        // 0.03 times the square root of 10,000 is 3.
        let mut config = Config::default().with_size(10_000);
        config.tuning.point_to_point_k = 0.03;
        let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&config);
        for round in 0..400 {
            for sender in 0..50 {
                if sender < 5 || round % 50 == 0 {
                    let _ = queues.arrive(MpiEnvelope::new(0, sender, round), ());
                }
            }
        }
        assert_eq!(
            queues.partners(Queue::Unexpected),
            3,
            "of the five busy senders"
        );
        assert_eq!(queues.partners(Queue::Posted), 0);
    }

    /// As in the paper, where those that have sent nothing lower the average.
    #[test]
    fn senders_that_are_all_alike_become_partners_up_to_the_limit() {
        for (ranks, partners) in [(128, 90), (512, 181), (2_048, 362)] {
            let config = Config::default().with_size(ranks);
            let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&config);
            for rank in 1..ranks {
                let _ = queues.arrive(MpiEnvelope::new(0, rank, 5), ());
            }
            let chosen = queues.partners(Queue::Unexpected);
            assert_eq!(chosen, partners, "of {ranks} ranks");
        }
    }

    /// As those with masked tags are, and all receives of a library that does not tell.
    #[test]
    fn receives_of_unknown_class_make_partners_too() {
        let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
        for i in 0..400 {
            let pattern = MpiPattern::new(0, i % 10 * (i % 2), 5);
            let _ = queues.post(pattern.with_class(TrafficClass::Unknown), ());
        }
        assert!(queues.partners(Queue::Posted) > 0);
    }

    /// Ranks that are all alike leave nothing to choose, and those that send much later are others.
    #[test]
    fn a_choice_that_found_nobody_is_forgotten_when_the_list_has_become_short() {
        const RANKS: u32 = 100;
        let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
        // One that waits all the time, of the first rank.
        let _ = queues.post(MpiPattern::new(0, 0, 6), ());
        for i in 1..1_000 {
            let _ = queues.post(MpiPattern::new(0, i % RANKS, 5), ());
        }
        assert_eq!(queues.partners(Queue::Posted), 0);
        let far = queues.plan(Queue::Posted).next_choice;
        for i in 1..1_000 {
            let _ = queues.arrive(MpiEnvelope::new(0, i % RANKS, 5), ());
        }
        let soon = queues.plan(Queue::Posted).next_choice;
        assert!(far > 1_000 && soon == 100, "{far}, {soon}");
    }

    #[test]
    fn shared_lists_that_have_emptied_are_searched_no_more() {
        let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
        for round in 0..50 {
            // In each round another sender is busy.
            let sender = |i: u32| if i.is_multiple_of(4) { 100 + i } else { round };
            for i in 0..200 {
                let _ = queues.arrive(MpiEnvelope::new(0, sender(i), 5), ());
            }
            for i in 0..200 {
                let _ = queues.post(MpiPattern::new(0, sender(i), 5), ());
            }
        }
        let plan = queues.plan(Queue::Unexpected);
        assert!(plan.partners() > 1, "{}", plan.partners());
        assert!(plan.shared.len() <= 2, "{} levels", plan.shared.len());
        assert!(
            plan.partners
                .values()
                .all(|partner| partner.levels as usize <= plan.shared.len())
        );
    }

    #[test]
    fn partners_of_a_freed_context_make_room_for_others() {
        let mut engine: Engine<Pnp<MpiPattern, u32, u32>> = Engine::new();
        let plan = |engine: &Engine<Pnp<_, u32, u32>>| {
            let (_, queues) = engine.queues(0).expect("context 0 stays");
            let plan = queues.plan(Queue::Unexpected);
            (plan.partners.len(), plan.shared.len(), plan.lists)
        };
        engine.create_context(0, ContextOptions::new()).unwrap();
        // One that stays, in the list that all share. Its sender is a partner from the first choice on.
        let _ = engine.arrive(MpiEnvelope::new(0, 1, 7), 1).unwrap();
        let mut most = (0, 0, 0);
        for round in 1..200 {
            let options = ContextOptions::new().size(10_000);
            engine.create_context(round, options).unwrap();
            for i in 0..1_000 {
                let message = MpiEnvelope::new(round, i % 7 * (i % 50 / 40), 3);
                let _ = engine.arrive(message, i).unwrap();
            }
            if round == 1 {
                most = plan(&engine);
                assert!(most.0 >= 2 && most.1 >= 2, "{most:?}");
            }
            engine.free_context(round, &mut |_| {}).unwrap();
            let (partners, shared, lists) = plan(&engine);
            assert_eq!((partners, shared), (1, 2), "in round {round}");
            assert!(lists <= most.2 + 1, "{lists} lists in round {round}");
        }
        let post = engine.post(MpiPattern::new(0, 1, 7), 2).unwrap();
        assert!(matches!(post, Post::Matched { message: 1, .. }));
    }

    #[test]
    fn a_list_that_never_empties_does_not_remember_every_sender() {
        let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
        let _ = queues.arrive(MpiEnvelope::new(0, 0, 0), ());
        let bytes = |queues: &Pnp<_, (), ()>| queues.plan(Queue::Unexpected).bytes();
        let mut least = usize::MAX;
        for sender in 1..200_000 {
            let _ = queues.arrive(MpiEnvelope::new(0, sender, 0), ());
            let _ = queues.post(MpiPattern::new(0, sender, 0), ());
            if sender == 20_000 {
                least = bytes(&queues);
            }
        }
        assert!(bytes(&queues) <= least, "{} > {least}", bytes(&queues));
    }

    #[test]
    fn if_there_is_room_for_one_the_busiest_sender_gets_it() {
        let mut queues = with_room_for_one(100, 100);
        for i in 0..100 {
            let rank = [3, 5, 5, 4][i % 4];
            let _ = queues.arrive(MpiEnvelope::new(0, rank, 0), ());
        }
        assert_eq!(queues.partners(Queue::Unexpected), 1);
        assert_eq!(visited_behind_others(&mut queues, 5), 1);
    }

    /// They neither take the only place, nor do they raise the average.
    #[test]
    fn what_senders_of_a_freed_context_sent_counts_no_more() {
        let mut queues = with_room_for_one(4, 100);
        // One that stays, so that the list does not empty.
        let _ = queues.arrive(MpiEnvelope::new(0, 0, 0), ());
        for _ in 0..98 {
            let _ = queues.arrive(MpiEnvelope::new(1, 1, 0), ());
        }
        let is_freed = |entry: Entry<'_, MpiPattern, (), ()>| match entry {
            Entry::Posted(..) => false,
            Entry::Unexpected(_, envelope, _) => envelope.context() == ContextId(1),
        };
        queues.purge(&mut |entry| is_freed(entry), &mut |_| {});
        queues.remove_context(ContextId(1));
        for i in 0..99 {
            let rank = [0, 1, 2, 3, 3][i % 5];
            let _ = queues.arrive(MpiEnvelope::new(0, rank, 0), ());
        }
        assert_eq!(visited_behind_others(&mut queues, 3), 1);
    }

    #[test]
    fn senders_that_were_forgotten_do_not_raise_the_average() {
        const RANKS: u32 = 30;
        let mut queues = with_room_for_one(RANKS, 4);
        // One that stays, so that the list does not empty.
        let _ = queues.arrive(MpiEnvelope::new(0, 0, 1), ());
        for i in 0..100 * RANKS {
            let _ = queues.arrive(MpiEnvelope::new(0, i % RANKS, 0), ());
            let _ = queues.post(MpiPattern::new(0, i % RANKS, 0), ());
        }
        assert_eq!(queues.partners(Queue::Unexpected), 0);
        for _ in 0..3 {
            let _ = queues.arrive(MpiEnvelope::new(0, 5, 0), ());
        }
        assert_eq!(visited_behind_others(&mut queues, 5), 1);
    }
}
