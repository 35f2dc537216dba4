//! `col+pnp`: collective traffic as in `col`, point-to-point traffic as in `pnp`.
//!
//! The unified engine of Ghazimirsaeed, Grant & Afsahi 2019, §4 and Fig. 2: the traffic class of
//! an element decides, for receives from any source too. Choose it for programs that use both heavily over many
//! ranks.
//!
//! Search and memory: as `col` for collective traffic and as `pnp` for the other, with a limit of dedicated lists
//! for each; a receive of unknown class asks all.

use super::col::Collectives;
use super::layered::{Layered, ListId, Origin, Plan};
use super::pnp::Partners;
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::{ContextId, TrafficClass};
use crate::meter::Queue;
use crate::pattern::Pattern;

/// The `col+pnp` structure; see the [module](self).
pub type ColPnp<P, R, M> = Layered<Unified, P, R, M>;

/// Both plans of one queue: even lists are those of `col`, odd ones those of `pnp`.
#[derive(Debug)]
pub struct Unified {
    collective: Collectives,
    point_to_point: Partners,
}

const fn even(list: ListId) -> ListId {
    2 * list
}

const fn odd(list: ListId) -> ListId {
    2 * list + 1
}

impl<P: Pattern, R, M> ColPnp<P, R, M> {
    /// Senders with a list of their own for point-to-point traffic in one of the queues.
    #[must_use]
    pub fn partners(&self, queue: Queue) -> usize {
        self.plan(queue).point_to_point.partners()
    }

    /// Lists dedicated to collective operations in one of the queues.
    #[must_use]
    pub fn dedicated_lists(&self, queue: Queue) -> usize {
        self.plan(queue).collective.dedicated()
    }
}

impl Plan for Unified {
    const SEPARATES_CLASSES: bool = true;

    fn from_config(config: &Config) -> Self {
        Self {
            collective: Collectives::from_config(config),
            point_to_point: Partners::from_config(config),
        }
    }

    fn lists(&self) -> usize {
        2 * self.collective.lists().max(self.point_to_point.lists())
    }

    #[inline]
    fn path(&self, origin: Origin, visitor: &mut impl FnMut(ListId) -> bool) {
        if origin.class.is_collective() {
            self.collective
                .path(origin, &mut |list| visitor(even(list)));
        } else {
            self.point_to_point
                .path(origin, &mut |list| visitor(odd(list)));
        }
    }

    fn lists_of_class(&self, class: TrafficClass, visitor: &mut impl FnMut(ListId)) {
        if class.is_collective() {
            self.collective
                .lists_of_class(class, &mut |list| visitor(even(list)));
        } else {
            self.point_to_point
                .lists_of_class(class, &mut |list| visitor(odd(list)));
        }
    }

    fn is_ordered(&self, origin: Origin) -> bool {
        if origin.class.is_collective() {
            self.collective.is_ordered(origin)
        } else {
            self.point_to_point.is_ordered(origin)
        }
    }

    #[inline]
    fn home(&mut self, origin: Origin) -> ListId {
        if origin.class.is_collective() {
            even(self.collective.home(origin))
        } else {
            odd(self.point_to_point.home(origin))
        }
    }

    #[inline]
    fn linked(&mut self, origin: Origin, list: ListId) -> bool {
        if origin.class.is_collective() {
            self.collective.linked(origin, list / 2)
        } else {
            self.point_to_point.linked(origin, list / 2)
        }
    }

    fn tidied(&mut self, is_empty: &dyn Fn(ListId) -> bool) {
        self.point_to_point.tidied(&|list| is_empty(odd(list)));
    }

    #[inline]
    fn unlinked(&mut self, origin: Origin, list: ListId) {
        if origin.class.is_collective() {
            self.collective.unlinked(origin, list / 2);
        } else {
            self.point_to_point.unlinked(origin, list / 2);
        }
    }

    #[inline]
    fn searched(&mut self, origin: Origin, visited: u32) {
        if origin.class.is_collective() {
            self.collective.searched(origin, visited);
        }
    }

    fn grown(&mut self, size: u32) {
        self.collective.grown(size);
        self.point_to_point.grown(size);
    }

    fn shrunk(&mut self, context: ContextId) {
        self.point_to_point.shrunk(context);
    }

    fn announced(&mut self, call: &CollectiveCall) {
        self.collective.announced(call);
    }

    fn reset(&mut self) {
        self.collective.reset();
        self.point_to_point.reset();
    }

    fn bytes(&self) -> usize {
        self.collective.bytes() + self.point_to_point.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::{MpiEnvelope, MpiPattern};
    use crate::{MatchQueues, Source, Tuning, Visits};

    type Queues = ColPnp<MpiPattern, u32, u32>;

    const BOTH: [Queue; 2] = [Queue::Posted, Queue::Unexpected];

    /// A gather whose entries all wait in one of the queues, and are searched for in reverse.
    fn gather(queues: &mut Queues, queue: Queue, ranks: u32) {
        let class = TrafficClass::Gather;
        let post = |queues: &mut Queues, rank| {
            let _ = queues.post(MpiPattern::new(0, rank, -19).with_class(class), rank);
        };
        let arrive = |queues: &mut Queues, rank| {
            let _ = queues.arrive(MpiEnvelope::new(0, rank, -19).with_class(class), rank);
        };
        match queue {
            Queue::Posted => {
                (0..ranks).for_each(|rank| post(queues, rank));
                (0..ranks).rev().for_each(|rank| arrive(queues, rank));
            }
            Queue::Unexpected => {
                (0..ranks).for_each(|rank| arrive(queues, rank));
                (0..ranks).rev().for_each(|rank| post(queues, rank));
            }
        }
    }

    /// As many receives and messages that do not match, of each of the first ranks.
    fn wait_twice(queues: &mut Queues, context: u32, ranks: u32) {
        for i in 0..2 * ranks {
            let _ = queues.post(MpiPattern::new(context, i % ranks, 5), i);
            let _ = queues.arrive(MpiEnvelope::new(context, i % ranks, 6), i);
        }
    }

    fn with_collective_k(k: f64) -> Queues {
        let tuning = Tuning::default().with(|tuning| tuning.collective_k = k);
        let config = Config {
            tuning,
            ..Config::default()
        };
        Queues::with_config(&config)
    }

    /// What cannot match is not compared, whoever it is from.
    #[test]
    fn receives_from_any_source_keep_collective_traffic_apart() {
        let mut queues = ColPnp::<MpiPattern, u32, u32>::with_config(&Config::default());
        let gather = TrafficClass::Gather;
        let mut visits = Visits::default();
        for rank in 0..100 {
            let _ = queues.arrive(MpiEnvelope::new(0, rank, -19).with_class(gather), rank);
        }
        for tag in 0..100 {
            let any = MpiPattern::new(0, Source::Any, tag);
            let _ = queues.post_metered(any, 1, &mut visits);
        }
        assert_eq!(visits.unexpected, 0);
        let _ = queues.arrive_metered(
            MpiEnvelope::new(0, 7, -20).with_class(gather),
            7,
            &mut visits,
        );
        assert_eq!(visits.posted, 0);
        // A receive of unknown class looks everywhere, and stands before both.
        let unknown = MpiPattern::new(0, Source::Any, -21).with_class(TrafficClass::Unknown);
        let _ = queues.post_metered(unknown, 2, &mut visits);
        assert_eq!(visits.unexpected, 101);
        let _ = queues.arrive_metered(MpiEnvelope::new(0, 7, 1_000), 7, &mut visits);
        assert_eq!(visits.posted, 101);
        assert_eq!(
            queues.partners(Queue::Posted) + queues.dedicated_lists(Queue::Posted),
            0
        );
    }

    /// A gather of 16 ranks needs 9 lists, half as many. The square root of the ranks that were seen is 4.
    #[test]
    fn collectives_that_nobody_announces_get_the_lists_that_the_size_told_allows() {
        for queue in BOTH {
            for (told, lists) in [(None, 4), (Some(1_000), 9)] {
                let mut queues = with_collective_k(1.0);
                if let Some(size) = told {
                    queues.add_context(&Config::default().with_size(size));
                }
                gather(&mut queues, queue, 16);
                gather(&mut queues, queue, 16);
                assert_eq!(queues.dedicated_lists(queue), lists, "{queue:?}");
            }
        }
    }

    #[test]
    fn an_announced_collective_has_its_lists_before_its_first_element() {
        let call = CollectiveCall::new(ContextId(0), TrafficClass::Gather, 8, 1_000);
        for queue in BOTH {
            let mut queues = with_collective_k(1.0);
            queues.announce(&call);
            gather(&mut queues, queue, 16);
            assert_eq!(queues.dedicated_lists(queue), 0);
            queues.announce(&call);
            assert_eq!(queues.dedicated_lists(queue), 9, "{queue:?}");
        }
    }

    /// Senders that are all alike are above the average of a larger communicator.
    #[test]
    fn senders_become_partners_by_the_size_told() {
        for (told, partners) in [(None, 0), (Some(10_000), 50)] {
            let mut queues = Queues::with_config(&Config::default());
            if let Some(size) = told {
                queues.add_context(&Config::default().with_size(size));
            }
            wait_twice(&mut queues, 0, 50);
            assert_eq!(BOTH.map(|queue| queues.partners(queue)), [partners; 2]);
        }
    }

    #[test]
    fn partners_of_a_freed_context_are_partners_no_more() {
        let mut queues = Queues::with_config(&Config::default().with_size(10_000));
        wait_twice(&mut queues, 3, 50);
        assert_eq!(BOTH.map(|queue| queues.partners(queue)), [50; 2]);
        queues.purge(&mut |_| true, &mut |_| {});
        queues.remove_context(ContextId(3));
        assert_eq!(BOTH.map(|queue| queues.partners(queue)), [0; 2]);
    }

    #[test]
    fn shared_lists_that_have_emptied_are_used_again() {
        let mut queues = Queues::with_config(&Config::default().with_size(100));
        for sender in 0..50 {
            // In each round another sender is busy.
            for i in 0..200 {
                let _ = queues.arrive(MpiEnvelope::new(0, sender, 5), i);
            }
            for i in 0..200 {
                let _ = queues.post(MpiPattern::new(0, sender, 5), i);
            }
        }
        assert_eq!(queues.partners(Queue::Unexpected), 50);
        // The lists of either plan have every other number.
        let lists = queues.plan(Queue::Unexpected).lists() / 2;
        assert!(lists <= 50 + 3, "{lists} lists");
    }
}
