//! `list`: one linked list for each queue, all contexts together.
//!
//! The design of MPICH and MVAPICH, and the baseline of every paper. Choose it for comparison, or if
//! queues never hold more than a few entries and every byte of memory counts.
//!
//! Search: linear in the entries queued before the match, of all contexts. Insertion, removal and
//! cancel: constant. Memory: the entries.

use crate::arrangement::{Arrangement, EnvelopeIn, Slabs, SlabsOf, arrive_by_parts, post_by_parts};
use crate::config::Config;
use crate::fifo::{Fifo, Search};
use crate::handle::Handle;
use crate::memory::{Footprint, Memory};
use crate::meter::{Meter, Queue};
use crate::pattern::{Pattern, matches};
use crate::queues::{Arrive, Post, Scope};

/// The `list` structure; see the [module](self).
#[derive(Debug)]
pub struct List<P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    posted: Fifo,
    unexpected: Fifo,
}

impl<P: Pattern, R, M> List<P, R, M> {
    #[inline(always)]
    fn search_posted(&self, envelope: &P::Envelope, meter: &mut impl Meter) -> Search {
        let search = self
            .posted
            .find(&self.slabs.posted, |pattern| matches(pattern, envelope));
        meter.visited(Queue::Posted, search.visited);
        search
    }

    #[inline(always)]
    fn search_unexpected(&self, pattern: &P, meter: &mut impl Meter) -> Search {
        let search = self.unexpected.find(&self.slabs.unexpected, |envelope| {
            matches(pattern, envelope)
        });
        meter.visited(Queue::Unexpected, search.visited);
        search
    }
}

impl<P: Pattern, R, M> Arrangement for List<P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;
    type Place = ();

    fn from_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            posted: Fifo::EMPTY,
            unexpected: Fifo::EMPTY,
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
        self.search_posted(envelope, meter).found.ok_or(())
    }

    #[inline]
    fn find_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Result<u32, ()> {
        self.search_unexpected(pattern, meter).found.ok_or(())
    }

    #[inline]
    fn peek_posted(&mut self, envelope: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32> {
        self.search_posted(envelope, meter).found
    }

    #[inline]
    fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        self.search_unexpected(pattern, meter).found
    }

    #[inline]
    fn place_of_receive(&mut self, _: &P) {}

    #[inline]
    fn place_of_message(&mut self, _: &EnvelopeIn<Self>) {}

    #[inline]
    fn link_posted(&mut self, slot: u32, (): ()) {
        self.posted.push_back(&mut self.slabs.posted, slot);
    }

    #[inline]
    fn link_unexpected(&mut self, slot: u32, (): ()) {
        self.unexpected.push_back(&mut self.slabs.unexpected, slot);
    }

    #[inline]
    fn unlink_posted(&mut self, slot: u32) {
        self.posted.unlink(&mut self.slabs.posted, slot);
    }

    #[inline]
    fn unlink_unexpected(&mut self, slot: u32) {
        self.unexpected.unlink(&mut self.slabs.unexpected, slot);
    }

    // Whether a queue has far entries is checked once, not at every link.

    #[inline(always)]
    fn post_step(
        &mut self,
        pattern: P,
        receive: R,
        meter: &mut impl Meter,
    ) -> Post<P::Envelope, R, M> {
        if self.slabs.has_far() {
            return post_by_parts(self, pattern, receive, meter);
        }
        let Slabs { posted, unexpected } = &mut self.slabs;
        let keys = unexpected.near_keys();
        let search = self.unexpected.find_by(&keys, |e| matches(&pattern, e));
        meter.visited(Queue::Unexpected, search.visited);
        if let Some(slot) = search.found {
            self.unexpected.unlink_from(&mut unexpected.near(), slot);
            let (envelope, message) = unexpected.remove(slot);
            return Post::Matched {
                envelope,
                message,
                receive,
            };
        }
        let sequence = posted.next_sequence();
        let slot = self.posted.insert_back(posted, pattern, receive);
        Post::Queued(Handle::new(pattern.context(), slot, sequence))
    }

    #[inline(always)]
    fn arrive_step(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> Arrive<P, R, M> {
        if self.slabs.has_far() {
            return arrive_by_parts(self, envelope, message, meter);
        }
        let Slabs { posted, unexpected } = &mut self.slabs;
        let keys = posted.near_keys();
        let search = self.posted.find_by(&keys, |p| matches(p, &envelope));
        meter.visited(Queue::Posted, search.visited);
        if let Some(slot) = search.found {
            self.posted.unlink_from(&mut posted.near(), slot);
            let (pattern, receive) = posted.remove(slot);
            return Arrive::Matched {
                pattern,
                receive,
                message,
            };
        }
        self.unexpected.insert_back(unexpected, envelope, message);
        Arrive::Unexpected
    }

    fn reset(&mut self) {
        self.posted = Fifo::EMPTY;
        self.unexpected = Fifo::EMPTY;
    }
}

impl<P: Pattern, R, M> Footprint for List<P, R, M> {
    fn memory(&self) -> Memory {
        Memory {
            entries: self.slabs.bytes(),
            index: 0,
        }
    }
}
