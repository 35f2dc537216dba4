//! Common parts of structures that learn from traffic and spread each queue over several lists.
//!
//! A [`Plan`] says which lists of one queue an element may be in, and which one gets a new element.
//! [`Layered`] holds one plan for the posted and one for the unexpected queue, and keeps wildcards in
//! a list of their own, which is merged with the others in order.

mod planned_queue;

use self::planned_queue::PlannedQueue;
use super::best::{Beside, Best};
use super::routed::Sender;
use crate::arrangement::{Arrangement, EnvelopeIn, Slabs, SlabsOf};
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::{ContextId, Envelope, TrafficClass};
use crate::fifo::Fifo;
use crate::memory::{Footprint, Memory};
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, Source, matches};
use crate::queues::Scope;

/// The number of a list within one queue.
pub type ListId = u32;

/// The home of receives that may match several senders or classes.
const WILD: ListId = ListId::MAX;

/// The origin of an element, as far as plans look at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The sender of the message, present or awaited.
    pub sender: Sender,
    /// The operation it belongs to.
    pub class: TrafficClass,
}

impl Origin {
    #[inline(always)]
    fn of_message(envelope: &impl Envelope) -> Self {
        Self {
            sender: Sender {
                context: envelope.context(),
                rank: envelope.source(),
            },
            class: envelope.class(),
        }
    }
}

/// The origins of the messages that a receive can match.
#[derive(Clone, Copy)]
enum Origins {
    One(Origin),
    /// Any source, or an unknown class of one.
    OfClass(TrafficClass),
}

impl Origins {
    #[inline(always)]
    fn of_receive<L: Plan>(pattern: &impl Pattern) -> Self {
        let class = pattern.class();
        match pattern.source() {
            Source::Rank(rank) if !L::SEPARATES_CLASSES || class != TrafficClass::Unknown => {
                Self::One(Origin {
                    sender: Sender {
                        context: pattern.context(),
                        rank,
                    },
                    class,
                })
            }
            _ => Self::OfClass(class),
        }
    }
}

/// How the lists of one queue are used.
///
/// # Contract
/// Every element of an origin is on a list of the origin's path, whatever was learned since, and on one of the lists
/// of its class. No method panics: an element may be lost otherwise, or be stored and never found.
pub trait Plan: core::fmt::Debug {
    /// Whether the lists of an element depend on its class. If not, a receive whose class is unknown is like any
    /// other.
    const SEPARATES_CLASSES: bool;

    /// A plan that has learned nothing.
    ///
    /// Engines also call this with `Config::default()`, for places that no context uses: it must succeed with any
    /// configuration.
    fn from_config(config: &Config) -> Self;

    /// How many lists there are; their numbers are below it.
    fn lists(&self) -> usize;

    /// Visits the lists where elements of `origin` may be, until the visitor returns false.
    fn path(&self, origin: Origin, visitor: &mut impl FnMut(ListId) -> bool);

    /// Visits the lists where elements of a class may be, of any sender. All lists, unless a plan knows better.
    fn lists_of_class(&self, _class: TrafficClass, visitor: &mut impl FnMut(ListId)) {
        for list in 0..self.lists() {
            #[expect(clippy::cast_possible_truncation, reason = "they have numbers")]
            visitor(list as ListId);
        }
    }

    /// Whether each list of a path holds only elements older than those of `origin` on the lists after
    /// it: the first match is then the earliest.
    fn is_ordered(&self, origin: Origin) -> bool;

    /// Where a new element of `origin` goes.
    fn home(&mut self, origin: Origin) -> ListId;

    /// An element was linked to `list`. Returns whether lists may have been put to another use, so that some are not
    /// needed any more.
    fn linked(&mut self, origin: Origin, list: ListId) -> bool;

    /// Gives up lists of the plan that are empty and get no more elements.
    fn tidied(&mut self, _is_empty: &dyn Fn(ListId) -> bool) {}

    /// An element was unlinked from `list`.
    fn unlinked(&mut self, origin: Origin, list: ListId);

    /// A search for an element of `origin` compared `visited` entries.
    fn searched(&mut self, _origin: Origin, _visited: u32) {}

    /// There are communicators of `size` ranks.
    fn grown(&mut self, _size: u32) {}

    /// A communicator no longer exists, and none of its elements is queued.
    fn shrunk(&mut self, _context: ContextId) {}

    /// This process takes part in a collective call.
    fn announced(&mut self, _call: &CollectiveCall) {}

    /// Forgets what was learned.
    fn reset(&mut self);

    /// Heap bytes.
    fn bytes(&self) -> usize;
}

/// A structure made of a plan for each queue.
#[derive(Debug)]
pub struct Layered<L, P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    posted: PlannedQueue<L>,
    unexpected: PlannedQueue<L>,
    wild: Wild,
}

/// Receives from any source or of unknown class, by what they can match: a collective message meets none of a
/// point-to-point class, and the other way round.
#[derive(Clone, Copy, Debug)]
struct Wild {
    point_to_point: Fifo,
    collective: Fifo,
    /// Of a class that is unknown, or not asked for.
    either: Fifo,
}

impl Wild {
    const EMPTY: Self = Self {
        point_to_point: Fifo::EMPTY,
        collective: Fifo::EMPTY,
        either: Fifo::EMPTY,
    };

    /// Those that a message of this class may match, beside those of either.
    #[inline]
    const fn of_class(&self, class: TrafficClass) -> &Fifo {
        if class.is_collective() {
            &self.collective
        } else {
            &self.point_to_point
        }
    }

    /// The list of a receive.
    #[inline]
    fn home<L: Plan>(&mut self, class: TrafficClass) -> &mut Fifo {
        if !L::SEPARATES_CLASSES || class == TrafficClass::Unknown {
            &mut self.either
        } else if class.is_collective() {
            &mut self.collective
        } else {
            &mut self.point_to_point
        }
    }

    /// Whether a message of this class can match none.
    #[inline]
    const fn has_none_for(&self, class: TrafficClass) -> bool {
        self.either.is_empty() && self.of_class(class).is_empty()
    }
}

impl<L: Plan, P: Pattern, R, M> Layered<L, P, R, M> {
    /// The plan of the posted or of the unexpected queue.
    pub const fn plan(&self, queue: Queue) -> &L {
        match queue {
            Queue::Posted => &self.posted.plan,
            Queue::Unexpected => &self.unexpected.plan,
        }
    }

    #[inline]
    fn search_posted(&self, envelope: &P::Envelope, meter: &mut impl Meter) -> Best {
        let slab = &self.slabs.posted;
        let origin = Origin::of_message(envelope);
        let best = if self.wild.has_none_for(origin.class) {
            let wanted = |p: &P| matches(p, envelope);
            self.posted
                .search(Best::NONE, Origins::One(origin), slab, wanted)
        } else {
            self.search_posted_and_wild(envelope)
        };
        meter.visited(Queue::Posted, best.visited);
        best
    }

    #[inline(never)]
    fn search_posted_and_wild(&self, envelope: &P::Envelope) -> Best {
        let slab = &self.slabs.posted;
        let origin = Origin::of_message(envelope);
        let wanted = |p: &P| matches(p, envelope);
        let of_class = self.wild.of_class(origin.class);
        let (beside, also) = if of_class.is_empty() {
            (self.wild.either, Fifo::EMPTY)
        } else {
            (*of_class, self.wild.either)
        };
        let both = Beside::new(beside);
        let mut both = self.posted.search(both, Origins::One(origin), slab, wanted);
        // After the path, whose lists are left out once there is a match on an earlier one.
        both.search_also(also, slab, wanted);
        both.finish(slab, wanted)
    }

    #[inline]
    fn search_unexpected(&self, pattern: &P, meter: &mut impl Meter) -> Best {
        let origins = Origins::of_receive::<L>(pattern);
        let slab = &self.slabs.unexpected;
        let wanted = |e: &P::Envelope| matches(pattern, e);
        let best = self.unexpected.search(Best::NONE, origins, slab, wanted);
        meter.visited(Queue::Unexpected, best.visited);
        best
    }
}

impl<L: Plan, P: Pattern, R, M> Arrangement for Layered<L, P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;
    type Place = ();

    fn from_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            posted: PlannedQueue::new(config),
            unexpected: PlannedQueue::new(config),
            wild: Wild::EMPTY,
        }
    }

    fn scope_of(_: &Config) -> Scope {
        Scope::Process
    }

    #[inline(always)]
    fn slabs(&self) -> &SlabsOf<Self> {
        &self.slabs
    }

    #[inline(always)]
    fn slabs_mut(&mut self) -> &mut SlabsOf<Self> {
        &mut self.slabs
    }

    #[inline]
    fn find_posted(
        &mut self,
        envelope: &EnvelopeIn<Self>,
        meter: &mut impl Meter,
    ) -> Result<u32, ()> {
        let best = self.search_posted(envelope, meter);
        let origin = Origin::of_message(envelope);
        self.posted.plan.searched(origin, best.visited_in_lists());
        best.slot.ok_or(())
    }

    #[inline]
    fn find_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Result<u32, ()> {
        let best = self.search_unexpected(pattern, meter);
        if let Origins::One(origin) = Origins::of_receive::<L>(pattern) {
            self.unexpected.plan.searched(origin, best.visited);
        }
        best.slot.ok_or(())
    }

    fn peek_posted(&mut self, envelope: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32> {
        self.find_posted(envelope, meter).ok()
    }

    fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        self.find_unexpected(pattern, meter).ok()
    }

    #[inline]
    fn place_of_receive(&mut self, _: &P) {}

    #[inline]
    fn place_of_message(&mut self, _: &EnvelopeIn<Self>) {}

    #[inline]
    fn link_posted(&mut self, slot: u32, (): ()) {
        let slab = &mut self.slabs.posted;
        match Origins::of_receive::<L>(slab.key(slot)) {
            Origins::One(origin) => self.posted.link(slab, slot, origin),
            Origins::OfClass(class) => {
                slab.set_home(slot, WILD);
                self.wild.home::<L>(class).push_back(slab, slot);
            }
        }
    }

    #[inline]
    fn link_unexpected(&mut self, slot: u32, (): ()) {
        let slab = &mut self.slabs.unexpected;
        let origin = Origin::of_message(slab.key(slot));
        self.unexpected.link(slab, slot, origin);
    }

    #[inline]
    fn unlink_posted(&mut self, slot: u32) {
        let slab = &mut self.slabs.posted;
        match Origins::of_receive::<L>(slab.key(slot)) {
            Origins::One(origin) => self.posted.unlink(slab, slot, origin),
            Origins::OfClass(class) => self.wild.home::<L>(class).unlink(slab, slot),
        }
    }

    #[inline]
    fn unlink_unexpected(&mut self, slot: u32) {
        let slab = &mut self.slabs.unexpected;
        let origin = Origin::of_message(slab.key(slot));
        self.unexpected.unlink(slab, slot, origin);
    }

    fn reset(&mut self) {
        self.posted.reset();
        self.unexpected.reset();
        self.wild = Wild::EMPTY;
    }

    fn context_removed(&mut self, context: ContextId) {
        self.posted.remove_context(context);
        self.unexpected.remove_context(context);
    }

    fn context_added(&mut self, config: &Config) {
        let size = config.size.unwrap_or(0);
        self.posted.plan.grown(size);
        self.unexpected.plan.grown(size);
    }

    fn context_updated(&mut self, _context: ContextId, config: &Config) {
        self.context_added(config);
    }

    fn announced(&mut self, call: &CollectiveCall) {
        self.posted.plan.announced(call);
        self.unexpected.plan.announced(call);
    }
}

impl<L: Plan, P: Pattern, R, M> Footprint for Layered<L, P, R, M> {
    fn memory(&self) -> Memory {
        Memory {
            entries: self.slabs.bytes(),
            index: self.posted.bytes() + self.unexpected.bytes(),
        }
    }
}
