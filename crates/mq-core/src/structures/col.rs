//! `col`: collective traffic on lists of its own, as many as each operation was seen to need.
//!
//! Ghazimirsaeed, Grant & Afsahi 2019, §4.1, Algorithms 1 and 2. The first call of an operation
//! with given parameters (operation, size class, communicator size) uses one profiling list shared
//! by all operations. The average number of entries visited by its searches becomes the number of lists
//! `nq` that its later calls use, rank modulo `nq`; a call that needs more opens a new level. Search:
//! the profiling list, then the operation's levels in order, for receives from any source too. Point-to-point
//! traffic has one list.
//! Choose it if collectives over many ranks fill the queues.
//!
//! Calls are announced by [`MatchQueues::announce`](crate::MatchQueues::announce). A call of an operation
//! that is never announced counts as ended when none of its elements is queued any more. Its parameters are not
//! known, so what is learned from one such call need not hold for the next: an operation whose searches visit more
//! than two entries gets as many lists as they needed, in a new level, unless its last level has not shortened them.
//! Memory: at most `k * sqrt(n)` dedicated lists of 8 bytes; and for each announced operation with
//! different parameters 24 bytes and its share of a hash table, until the queues are cleared.

use super::layered::{Layered, ListId, Origin, Plan};
use crate::collective::CollectiveCall;
use crate::config::{Config, Tuning};
use crate::envelope::TrafficClass;
use crate::hash::MixMap;
use crate::memory::vec_bytes;
use crate::meter::Queue;
use crate::pattern::Pattern;

/// The `col` structure; see the [module](self).
pub type Col<P, R, M> = Layered<Collectives, P, R, M>;

impl<P: Pattern, R, M> Col<P, R, M> {
    /// Lists dedicated to collective operations in one of the queues.
    #[must_use]
    pub fn dedicated_lists(&self, queue: Queue) -> usize {
        self.plan(queue).dedicated()
    }
}

const POINT_TO_POINT: ListId = 0;
const PROFILING: ListId = 1;
const FIRST_DEDICATED: ListId = 2;

/// The parameters that distinguish calls of one operation.
type Parameters = (u8, u32);

/// The cost of the searches of one kind of call.
#[derive(Clone, Copy, Debug, Default)]
struct Profile {
    searches: u32,
    visited: u64,
    /// `is_q_allocated` of Algorithm 1: the profile has been used.
    settled: bool,
}

impl Profile {
    fn searched(&mut self, visited: u32) {
        if self.searches == u32::MAX {
            // The average stays.
            self.searches /= 2;
            self.visited /= 2;
        }
        self.searches += 1;
        self.visited += u64::from(visited);
    }

    /// The average number of entries that a search visited: with as many lists it would visit one.
    fn needed_lists(&self) -> u32 {
        let average = self.visited.div_ceil(u64::from(self.searches.max(1)));
        u32::try_from(average).unwrap_or(u32::MAX)
    }
}

#[derive(Clone, Copy, Debug)]
struct Level {
    first: ListId,
    lists: u32,
}

/// What is known of one operation.
#[derive(Debug, Default)]
struct Operation {
    levels: Vec<Level>,
    profiles: MixMap<Parameters, Profile>,
    /// The parameters of the call in progress.
    current: Parameters,
    /// The call in progress is the first with its parameters.
    profiling: bool,
    announced: bool,
    /// The call in progress, if calls are not announced.
    unannounced: Profile,
    /// The call after which the operation got its last level, if calls are not announced.
    grown_after: Profile,
    queued: u32,
}

/// The lists of one queue, by operation.
#[derive(Debug)]
pub struct Collectives {
    k: f64,
    /// The largest communicator size known or seen.
    size: u32,
    operations: Vec<Operation>,
    lists: u32,
}

impl Collectives {
    pub(crate) const fn dedicated(&self) -> usize {
        (self.lists - FIRST_DEDICATED) as usize
    }

    #[inline]
    fn operation(&self, class: TrafficClass) -> &Operation {
        &self.operations[class as usize]
    }

    /// A call of `class` with these parameters begins. It is profiled if it is the first of its kind;
    /// otherwise the profile is used (Algorithm 1).
    fn begin(&mut self, class: TrafficClass, parameters: Parameters) {
        let operation = &mut self.operations[class as usize];
        operation.current = parameters;
        let Some(profile) = operation.profiles.get_mut(&parameters) else {
            operation.profiles.insert(parameters, Profile::default());
            operation.profiling = true;
            return;
        };
        operation.profiling = profile.searches == 0;
        if operation.profiling || profile.settled {
            return;
        }
        profile.settled = true;
        let wanted = profile.needed_lists();
        self.allocate(class, wanted);
    }

    /// A call of `class` begins that nobody has announced: what the last one needed is known, unless it had enough.
    fn begin_unannounced(&mut self, class: TrafficClass) {
        let operation = &mut self.operations[class as usize];
        let last = core::mem::take(&mut operation.unannounced);
        let (average, grown_after) = (last.needed_lists(), operation.grown_after);
        let wanted = match operation.levels.last() {
            None if average > 1 => average,
            // A call of about the same length, whose searches the last level has not shortened by half: what they
            // visit is not the others' on their lists.
            Some(_)
                if last.searches / 2 <= grown_after.searches
                    && average > grown_after.needed_lists() / 2 =>
            {
                0
            }
            Some(level) if average > 2 => average.saturating_mul(level.lists),
            _ => 0,
        };
        if wanted > 0 {
            operation.grown_after = last;
            self.allocate(class, wanted);
        }
    }

    fn allocate(&mut self, class: TrafficClass, wanted: u32) {
        let limit = Tuning::dedicated_limit(self.k, self.size);
        let operation = &mut self.operations[class as usize];
        let present = operation.levels.last().map_or(0, |level| level.lists);
        let room = limit.saturating_sub((self.lists - FIRST_DEDICATED) as usize);
        // As printed, Algorithm 1 allocates nothing if not all fit; but in §5.2 a gather's root with
        // k = 1 gets as many as the limit allows.
        let lists = u32::try_from(room).map_or(wanted, |room| wanted.min(room));
        if lists > present {
            operation.levels.push(Level {
                first: self.lists,
                lists,
            });
            self.lists += lists;
        }
    }

    fn fresh_operations() -> Vec<Operation> {
        core::iter::repeat_with(Operation::default)
            .take(TrafficClass::COUNT)
            .collect()
    }
}

impl Plan for Collectives {
    const SEPARATES_CLASSES: bool = true;

    fn from_config(config: &Config) -> Self {
        Self {
            k: config.tuning.collective_k,
            size: config.size.unwrap_or(0),
            operations: Self::fresh_operations(),
            lists: FIRST_DEDICATED,
        }
    }

    fn lists(&self) -> usize {
        self.lists as usize
    }

    #[inline]
    fn path(&self, origin: Origin, visitor: &mut impl FnMut(ListId) -> bool) {
        if !origin.class.is_collective() {
            visitor(POINT_TO_POINT);
            return;
        }
        if !visitor(PROFILING) {
            return;
        }
        for level in &self.operation(origin.class).levels {
            if !visitor(level.first + origin.sender.rank.0 % level.lists) {
                return;
            }
        }
    }

    fn lists_of_class(&self, class: TrafficClass, visitor: &mut impl FnMut(ListId)) {
        if !class.is_collective() {
            return visitor(POINT_TO_POINT);
        }
        visitor(PROFILING);
        for level in &self.operation(class).levels {
            (level.first..level.first + level.lists).for_each(&mut *visitor);
        }
    }

    /// A call with new parameters is profiled while elements of earlier ones wait in their levels.
    fn is_ordered(&self, _: Origin) -> bool {
        false
    }

    fn home(&mut self, origin: Origin) -> ListId {
        if !origin.class.is_collective() {
            return POINT_TO_POINT;
        }
        self.size = self.size.max(origin.sender.rank.0.saturating_add(1));
        let operation = self.operation(origin.class);
        if !operation.announced && operation.queued == 0 {
            // The first element after a quiet moment begins one.
            self.begin_unannounced(origin.class);
        }
        let operation = self.operation(origin.class);
        match operation.levels.last() {
            Some(level) if !operation.profiling => level.first + origin.sender.rank.0 % level.lists,
            _ => PROFILING,
        }
    }

    fn linked(&mut self, origin: Origin, _: ListId) -> bool {
        self.operations[origin.class as usize].queued += 1;
        false
    }

    fn unlinked(&mut self, origin: Origin, _: ListId) {
        self.operations[origin.class as usize].queued -= 1;
    }

    fn searched(&mut self, origin: Origin, visited: u32) {
        let operation = &mut self.operations[origin.class as usize];
        if !operation.announced {
            // Of a queue that holds nothing of the operation there is nothing to learn.
            if operation.queued > 0 {
                operation.unannounced.searched(visited);
            }
        } else if operation.profiling
            && let Some(profile) = operation.profiles.get_mut(&operation.current)
        {
            profile.searched(visited);
        }
    }

    fn grown(&mut self, size: u32) {
        self.size = self.size.max(size);
    }

    fn announced(&mut self, call: &CollectiveCall) {
        if call.operation.is_collective() {
            self.size = self.size.max(call.communicator_size);
            self.operations[call.operation as usize].announced = true;
            let parameters = (call.size_class, call.communicator_size);
            self.begin(call.operation, parameters);
        }
    }

    fn reset(&mut self) {
        self.operations = Self::fresh_operations();
        self.lists = FIRST_DEDICATED;
    }

    fn bytes(&self) -> usize {
        let of_operation = |o: &Operation| vec_bytes(&o.levels) + o.profiles.allocation_size();
        vec_bytes(&self.operations) + self.operations.iter().map(of_operation).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
