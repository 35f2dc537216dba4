//! Common parts of structures that keep each source in one lane.
//!
//! A [`Route`] knows which [`Lane`] holds the entries of a source. [`Routed`] does the rest for all of
//! them: receives from any source are in a list of their own, merged with a lane in order; wildcards
//! search all lanes; empty lanes are freed.

use super::best::{Beside, Best, ListSearch};
use super::lane::{Lane, LaneId};
use crate::arrangement::{Arrangement, EnvelopeIn, Slabs, SlabsOf};
use crate::config::Config;
use crate::envelope::{ContextId, Envelope, Rank};
use crate::fifo::Fifo;
use crate::memory::{Footprint, Memory};
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, Source, matches};
use crate::queues::Scope;

/// The home of a receive from any source.
const WILD: LaneId = LaneId::MAX;

/// A sender, as far as a structure may route by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sender {
    /// The communicator.
    pub context: ContextId,
    /// The rank in it.
    pub rank: Rank,
}

/// Which lane holds the entries of a sender.
///
/// # Contract
/// All entries of one sender are in one lane, until [`searched`](Self::searched) returns true. A
/// lane's number is below `u32::MAX` and stays its own until the lane is empty. No method panics: an entry may be lost
/// otherwise, or be stored and never found.
pub trait Route: core::fmt::Debug {
    /// A route without lanes.
    ///
    /// Engines also call this with `Config::default()`, for places that no context uses: it must succeed with any
    /// configuration.
    fn from_config(config: &Config) -> Self;

    /// See [`MatchQueues::scope`](crate::MatchQueues::scope).
    fn scope() -> Scope;

    /// The lane of a sender, if it exists.
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId>;

    /// The lane of a sender, created if it does not exist, at the place where the search ends.
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId;

    /// The lane with a number.
    fn lane(&self, id: LaneId) -> &Lane;

    /// The lane with a number, to change.
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane;

    /// Shows all lanes.
    fn each(&self, visitor: &mut impl FnMut(&Lane));

    /// The last entry of a lane has left.
    fn emptied(&mut self, _id: LaneId) {}

    /// A search compared `visited` entries. Returns true if the route has switched to other lanes, all of
    /// them empty: every entry is then relinked, in order.
    fn searched(&mut self, _visited: u32) -> bool {
        false
    }

    /// The last entry of both queues has left; all lanes are empty.
    fn drained(&mut self) {}

    /// Drops all lanes and what was learned.
    fn reset(&mut self);

    /// Heap bytes; none unless the route says otherwise.
    fn bytes(&self) -> usize {
        0
    }
}

/// A structure made of a route and the lanes it leads to.
#[derive(Debug)]
pub struct Routed<Rt, P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    route: Rt,
    /// Receives from any source, of all contexts of this object.
    wild: Fifo,
}

impl<Rt: Route, P: Pattern, R, M> Routed<Rt, P, R, M> {
    /// The route, to look at.
    pub const fn route(&self) -> &Rt {
        &self.route
    }

    #[inline]
    fn search_posted(&self, lane: Option<LaneId>, envelope: &P::Envelope) -> Best {
        let list = lane.map_or(Fifo::EMPTY, |lane| self.route.lane(lane).posted);
        if !self.wild.is_empty() {
            return self.search_posted_and_wild(list, envelope);
        }
        let mut best = Best::NONE;
        best.search_inline(list, &self.slabs.posted, |p| matches(p, envelope));
        best
    }

    #[inline(never)]
    fn search_posted_and_wild(&self, list: Fifo, envelope: &P::Envelope) -> Best {
        let posted = &self.slabs.posted;
        let mut both = Beside::new(self.wild);
        both.search(list, posted, |p| matches(p, envelope));
        both.finish(posted, |p| matches(p, envelope))
    }

    #[inline]
    fn search_lane(&self, lane: Option<LaneId>, pattern: &P) -> Best {
        let mut best = Best::NONE;
        if let Some(lane) = lane {
            let list = self.route.lane(lane).unexpected;
            best.search_inline(list, &self.slabs.unexpected, |e| matches(pattern, e));
        }
        best
    }

    /// A receive from any source asks every lane, if there are messages at all.
    #[cold]
    fn search_all(&self, pattern: &P, meter: &mut impl Meter) -> Best {
        let mut best = Best::NONE;
        if self.slabs.unexpected.is_empty() {
            return best;
        }
        let mut lanes = 0;
        self.route.each(&mut |lane| {
            lanes += 1;
            best.search(lane.unexpected, &self.slabs.unexpected, |e| {
                matches(pattern, e)
            });
        });
        meter.passed(lanes);
        best
    }

    /// Relinks all entries after the route has switched lanes.
    #[cold]
    fn relink(&mut self) {
        for slot in self.slabs.posted.slots_in_order() {
            if self.slabs.posted.home(slot) != WILD {
                let pattern = *self.slabs.posted.key(slot);
                let lane = self.lane_of_posted(&pattern);
                self.push_posted(slot, lane);
            }
        }
        for slot in self.slabs.unexpected.slots_in_order() {
            let sender = sender_of(self.slabs.unexpected.key(slot));
            let lane = self.route.find_or_make(sender, &mut crate::Unmetered);
            self.push_unexpected(slot, lane);
        }
    }

    fn lane_of_posted(&mut self, pattern: &P) -> LaneId {
        match pattern.source() {
            Source::Any => WILD,
            Source::Rank(rank) => {
                let context = pattern.context();
                let sender = Sender { context, rank };
                self.route.find_or_make(sender, &mut crate::Unmetered)
            }
        }
    }

    #[inline]
    fn push_posted(&mut self, slot: u32, lane: LaneId) {
        let slab = &mut self.slabs.posted;
        slab.set_home(slot, lane);
        if lane == WILD {
            self.wild.push_back(slab, slot);
        } else {
            self.route.lane_mut(lane).posted.push_back(slab, slot);
        }
    }

    #[inline]
    fn push_unexpected(&mut self, slot: u32, lane: LaneId) {
        let slab = &mut self.slabs.unexpected;
        slab.set_home(slot, lane);
        self.route.lane_mut(lane).unexpected.push_back(slab, slot);
    }

    #[inline]
    fn after_unlink(&mut self, lane: LaneId) {
        if lane != WILD && self.route.lane(lane).is_empty() {
            self.route.emptied(lane);
        }
        if self.slabs.posted.len() + self.slabs.unexpected.len() == 1 {
            self.route.drained();
        }
    }

    /// A receive from any source may take the message, so a lane for the sender is created only if no
    /// receive takes it.
    fn find_posted_or_wild(
        &mut self,
        sender: Sender,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Result<u32, LaneId> {
        let lane = self.route.find(sender, meter);
        let best = self.search_posted(lane, envelope);
        meter.visited(Queue::Posted, best.visited);
        self.learn_only(best.visited_in_lists());
        let make = || self.route.find_or_make(sender, &mut crate::Unmetered);
        best.slot.ok_or_else(make)
    }

    /// Reports the cost of a search to the route; true if it had all entries moved.
    #[inline]
    fn learn_only(&mut self, visited: u32) -> bool {
        let moves = self.route.searched(visited);
        if moves {
            self.relink();
        }
        moves
    }

    /// Reports the cost of a search to the route, which may have all entries moved. Takes and returns the
    /// lane where the searcher would be linked.
    #[inline]
    fn learn(&mut self, visited: u32, sender: Option<Sender>, lane: LaneId) -> LaneId {
        if !self.learn_only(visited) {
            return lane;
        }
        sender.map_or(WILD, |s| self.route.find_or_make(s, &mut crate::Unmetered))
    }
}

#[inline(always)]
fn sender_of(envelope: &impl Envelope) -> Sender {
    Sender {
        context: envelope.context(),
        rank: envelope.source(),
    }
}

impl<Rt: Route, P: Pattern, R, M> Arrangement for Routed<Rt, P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;
    type Place = LaneId;

    fn from_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            route: Rt::from_config(config),
            wild: Fifo::EMPTY,
        }
    }

    fn scope_of(_: &Config) -> Scope {
        Rt::scope()
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
    ) -> Result<u32, LaneId> {
        let sender = sender_of(envelope);
        if !self.wild.is_empty() {
            return self.find_posted_or_wild(sender, envelope, meter);
        }
        let lane = self.route.find_or_make(sender, meter);
        let best = self.search_posted(Some(lane), envelope);
        meter.visited(Queue::Posted, best.visited);
        let lane = self.learn(best.visited_in_lists(), Some(sender), lane);
        best.slot.ok_or(lane)
    }

    #[inline]
    fn find_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Result<u32, LaneId> {
        let (best, sender, lane) = match pattern.source() {
            Source::Any => (self.search_all(pattern, meter), None, WILD),
            Source::Rank(rank) => {
                let context = pattern.context();
                let sender = Sender { context, rank };
                let lane = self.route.find_or_make(sender, meter);
                (self.search_lane(Some(lane), pattern), Some(sender), lane)
            }
        };
        meter.visited(Queue::Unexpected, best.visited);
        // Who looks everywhere would look as long with other lanes.
        let teaches = sender.map_or(0, |_| best.visited_in_lists());
        let lane = self.learn(teaches, sender, lane);
        best.slot.ok_or(lane)
    }

    // No lane is created for a sender that has none: nothing that follows needs it.

    fn peek_posted(&mut self, envelope: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32> {
        let lane = self.route.find(sender_of(envelope), meter);
        let best = self.search_posted(lane, envelope);
        meter.visited(Queue::Posted, best.visited);
        self.learn_only(best.visited_in_lists());
        best.slot
    }

    fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        let Source::Rank(rank) = pattern.source() else {
            let best = self.search_all(pattern, meter);
            meter.visited(Queue::Unexpected, best.visited);
            return best.slot;
        };
        let context = pattern.context();
        let lane = self.route.find(Sender { context, rank }, meter);
        let best = self.search_lane(lane, pattern);
        meter.visited(Queue::Unexpected, best.visited);
        self.learn_only(best.visited_in_lists());
        best.slot
    }

    fn place_of_receive(&mut self, pattern: &P) -> LaneId {
        self.lane_of_posted(pattern)
    }

    fn place_of_message(&mut self, envelope: &EnvelopeIn<Self>) -> LaneId {
        let sender = sender_of(envelope);
        self.route.find_or_make(sender, &mut crate::Unmetered)
    }

    #[inline]
    fn link_posted(&mut self, slot: u32, place: LaneId) {
        self.push_posted(slot, place);
    }

    #[inline]
    fn link_unexpected(&mut self, slot: u32, place: LaneId) {
        self.push_unexpected(slot, place);
    }

    #[inline]
    fn unlink_posted(&mut self, slot: u32) {
        let slab = &mut self.slabs.posted;
        let lane = slab.home(slot);
        if lane == WILD {
            self.wild.unlink(slab, slot);
        } else {
            self.route.lane_mut(lane).posted.unlink(slab, slot);
        }
        self.after_unlink(lane);
    }

    #[inline]
    fn unlink_unexpected(&mut self, slot: u32) {
        let slab = &mut self.slabs.unexpected;
        let lane = slab.home(slot);
        self.route.lane_mut(lane).unexpected.unlink(slab, slot);
        self.after_unlink(lane);
    }

    fn reset(&mut self) {
        self.wild = Fifo::EMPTY;
        self.route.reset();
    }
}

impl<Rt: Route, P: Pattern, R, M> Footprint for Routed<Rt, P, R, M> {
    fn memory(&self) -> Memory {
        Memory {
            entries: self.slabs.bytes(),
            index: self.route.bytes(),
        }
    }
}
