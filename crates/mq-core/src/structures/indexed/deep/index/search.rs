//! Searches of the index, in all classes of wildcards.

use super::super::super::super::best::{Best, ListSearch};
use super::super::super::key::{Key, key_of_message};
use super::super::chains::Probe;
use super::super::nodes::{Slot, slot_of};
use super::super::view::View;
use super::Index;
use super::wild::Earliest;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, matches};
use crate::slab::{NIL, Slab};

impl<B: MatchBits> Index<B> {
    /// The message that a receive takes, unlinked; or [`NIL`], and
    /// [`link_posted`](Self::link_posted) may follow.
    #[inline(always)]
    pub(in super::super) fn unlink_message_for<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if key.care != B::ALL {
            return self.unlink_message_for_wildcard(slabs, key, meter);
        }
        self.move_on(slabs);
        let probe = self.probe(slabs, key);
        let Slot::Unexpected(slot) = slot_of(probe.node) else {
            return self.unlink_from_newer(slabs, key, meter);
        };
        meter.visited(Queue::Unexpected, 1);
        if self.classes.views() > 0 {
            self.classes.unlink(&slabs.unexpected, slot);
        }
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink_first(nodes, probe);
        slot
    }

    #[inline(never)]
    fn unlink_message_for_wildcard<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.move_on(slabs);
        if slabs.unexpected.is_empty() {
            meter.visited(Queue::Unexpected, 0);
            return NIL;
        }
        let (seed, care) = (self.seed, key.care);
        let (found, is_all) = match self.view(&slabs.unexpected, care) {
            Some(view) => (view.take(key, seed, &slabs.unexpected), !view.is_filling()),
            None => (None, false),
        };
        if let Some(slot) = found {
            meter.visited(Queue::Unexpected, 1);
            let messages = &slabs.unexpected;
            self.classes.unlink_from_others(care, messages, slot);
            self.unlink_from_table_or_log(slabs, slot);
            return slot;
        }
        if is_all {
            return self.unlink_from_newer(slabs, key, meter);
        }
        let found = self.find_by_looking_at_all(slabs, key, meter);
        let Some(slot) = found else { return NIL };
        self.unlink_unexpected(slabs, slot);
        slot
    }

    /// No message that is indexed has the key.
    fn unlink_from_newer<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let found = self.find_newer_message(slabs, key, meter);
        let Some(slot) = found else { return NIL };
        self.unlink_unexpected(slabs, slot);
        slot
    }

    /// The indexed messages as a class of wildcards sees them, if there is such a view, or it is time
    /// to make one.
    fn view<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        care: B,
    ) -> Option<&mut View<B>> {
        let may_be_made = !self.is_moving();
        let views = self.classes.views();
        if self
            .classes
            .ensure_view(care, unexpected, self.seed, self.short_limit, may_be_made)
        {
            if self.classes.views() != views {
                self.end_logs();
                self.update_deviations();
            }
            return self.classes.view(care);
        }
        None
    }

    /// The earliest message that a receive with this key matches.
    fn find_by_looking_at_all<P, R, M>(
        &self,
        slabs: &Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let messages = &slabs.unexpected;
        meter.visited(Queue::Unexpected, messages.len());
        messages.earliest(|envelope| key.admits(envelope))
    }

    /// The receive that takes a message, unlinked; or [`NIL`], and
    /// [`link_message`](Self::link_message) may follow.
    #[inline(always)]
    pub(in super::super) fn unlink_receive_for<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.move_on(slabs);
        let probe = self.probe(slabs, key_of_message(envelope, B::ALL));
        if !self.unindexed.is_empty() {
            return self.unlink_earliest_of_all(slabs, envelope, probe, meter);
        }
        if self.classes.posted() > 0 {
            if self.logs.have_receives() {
                return self.unlink_earliest_of_all(slabs, envelope, probe, meter);
            }
            return self.unlink_earliest(slabs, envelope, probe, meter);
        }
        let Slot::Posted(slot) = slot_of(probe.node) else {
            return self.unlink_newer(slabs, envelope, probe, meter);
        };
        meter.visited(Queue::Posted, 1);
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink_first(nodes, probe);
        slot
    }

    /// Takes the earliest of an exact candidate and the candidates of all wildcard classes in use.
    #[inline(always)]
    fn unlink_earliest<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        exact: Probe,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Earliest {
            probe: best,
            class,
            visited,
        } = self.earliest(slabs, envelope.context(), envelope.bits(), exact);
        meter.visited(Queue::Posted, visited);
        let Slot::Posted(slot) = slot_of(best.node) else {
            return self.unlink_newer(slabs, envelope, exact, meter);
        };
        if let Some(class) = class {
            self.take_wildcard(slabs, best, class);
            self.update_deviations();
            return slot;
        }
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink_first(nodes, best);
        slot
    }

    /// [`unlink_earliest`](Self::unlink_earliest) where receives without a class are queued.
    #[cold]
    #[inline(never)]
    fn unlink_earliest_of_all<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        exact: Probe,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(slot) = self.earliest_posted(slabs, envelope, exact, meter) else {
            return self.unlink_newer(slabs, envelope, exact, meter);
        };
        self.unlink_posted(slabs, slot);
        slot
    }

    /// No receive that is indexed takes the message; `exact` is where it would be queued.
    fn unlink_newer<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        exact: Probe,
        meter: &mut impl Meter,
    ) -> u32
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Some(slot) = self.find_newer_receive(slabs, envelope, meter) else {
            self.ended_at = exact;
            return NIL;
        };
        self.unlink_posted(slabs, slot);
        slot
    }

    /// The earliest of an exact candidate, the candidates of all wildcard classes in use, and the receives without a
    /// class.
    #[inline(never)]
    fn earliest_posted<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        exact: Probe,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let Earliest { probe, visited, .. } =
            self.earliest(slabs, envelope.context(), envelope.bits(), exact);
        let mut best = Best::NONE;
        if let Slot::Posted(slot) = slot_of(probe.node) {
            best.consider(slot, &slabs.posted);
        }
        best.visited = visited;
        let key = key_of_message(envelope, B::ALL);
        if let Some(slot) = self.find_logged_receive(slabs, key) {
            best.consider(slot, &slabs.posted);
            best.visited += 1;
        }
        if !self.unindexed.is_empty() {
            best.search(self.unindexed, &slabs.posted, |p| matches(p, envelope));
        }
        meter.visited(Queue::Posted, best.visited);
        best.slot
    }

    /// The earliest posted receive that matches a message.
    pub(in crate::structures::indexed) fn find_posted<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.move_on(slabs);
        let probe = self.probe(slabs, key_of_message(envelope, B::ALL));
        let indexed = self.earliest_posted(slabs, envelope, probe, meter);
        indexed.or_else(|| self.find_newer_receive(slabs, envelope, meter))
    }

    /// The earliest unexpected message that a receive with this key matches.
    pub(in crate::structures::indexed) fn find_unexpected<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.move_on(slabs);
        if key.care == B::ALL {
            let Slot::Unexpected(slot) = slot_of(self.probe(slabs, key).node) else {
                return self.find_newer_message(slabs, key, meter);
            };
            meter.visited(Queue::Unexpected, 1);
            return Some(slot);
        }
        if slabs.unexpected.is_empty() {
            meter.visited(Queue::Unexpected, 0);
            return None;
        }
        let seed = self.seed;
        let (found, is_all) = match self.view(&slabs.unexpected, key.care) {
            Some(view) => (view.find(key, seed, &slabs.unexpected), !view.is_filling()),
            None => (None, false),
        };
        match found {
            Some(slot) => {
                meter.visited(Queue::Unexpected, 1);
                Some(slot)
            }
            None if is_all => self.find_newer_message(slabs, key, meter),
            None => self.find_by_looking_at_all(slabs, key, meter),
        }
    }
}
