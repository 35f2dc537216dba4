//! `indexed`: the default. Short queues are scanned, long ones are found by hash.
//!
//! **Short form.** Two lists, as in `list` but for one context: nothing beats it while a search
//! ends within a few entries, and in applications nearly every search does.
//!
//! **Deep form.** When a search has visited more entries than
//! [`Tuning::scan_limit`](crate::Tuning::scan_limit), both queues are indexed by key: one table in
//! which an entry of either kind is found by what it must match exactly. A receive that is posted and
//! a message that is unexpected never have the same key, or they would have matched; so one probe
//! searches one queue and finds the place of insertion in the other. Wildcard receives are indexed by
//! the bits they care about, one class for each mask in use; candidates of several classes are merged
//! by sequence number. When the queues are short again, the short form returns.
//!
//! Search: at most the limit, or one probe for each class of wildcards in use.
//! Memory: the entries as in `list`; while deep, 32 bytes and a hash slot for each distinct key, and 12
//! bytes for each message and wildcard class that is searched. A context that was never deep has no
//! index; one that was keeps at most 256 KiB of it.

mod keys;
mod view;

use self::keys::{Keys, Place};
use crate::arrangement::{
    Arrangement, EnvelopeIn, Slabs, SlabsOf, arrive_by_parts, post_by_parts, store_receive,
};
use crate::config::Config;
use crate::envelope::MatchBits;
use crate::fifo::{Fifo, Search};
use crate::memory::{Footprint, Memory};
use crate::meter::{Meter, Queue, Unmetered};
use crate::pattern::{BitsOf, Pattern, matches};
use crate::queues::{Arrive, Post, Scope};

/// Queues of at most this many entries together become short again.
const SHORT: u32 = 8;

/// The `indexed` structure; see the [module](self).
#[derive(Debug)]
pub struct Indexed<P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    /// Both queues in order; unused while deep.
    posted: Fifo,
    unexpected: Fifo,
    deep: bool,
    /// Kept between deep phases, so that the keys of an iterative program are found again.
    keys: Option<Box<Keys<BitsOf<P>>>>,
    /// Entries that a scan of the short form may visit.
    scan_limit: u16,
    /// Entries removed since the queues became deep.
    removals: u32,
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Whether the queues are indexed at the moment.
    pub const fn is_deep(&self) -> bool {
        self.deep
    }

    #[inline(always)]
    fn scan_posted(&self, envelope: &P::Envelope) -> Search {
        self.posted
            .find(&self.slabs.posted, |pattern| matches(pattern, envelope))
    }

    #[inline(always)]
    fn scan_unexpected(&self, pattern: &P) -> Search {
        self.unexpected.find(&self.slabs.unexpected, |envelope| {
            matches(pattern, envelope)
        })
    }

    /// Indexes all entries, in order.
    #[cold]
    fn deepen(&mut self) {
        self.deep = true;
        self.removals = 0;
        let keys = present(&mut self.keys);
        let posted: Vec<u32> = self.posted.slots(&self.slabs.posted).collect();
        let unexpected: Vec<u32> = self.unexpected.slots(&self.slabs.unexpected).collect();
        for slot in posted {
            let pattern = *self.slabs.posted.key(slot);
            let place = keys.place_of_receive(&pattern);
            keys.link_posted(&mut self.slabs.posted, slot, place);
        }
        for slot in unexpected {
            let envelope = *self.slabs.unexpected.key(slot);
            let place = keys.exact(&envelope);
            keys.link_unexpected(&mut self.slabs.unexpected, slot, place);
        }
        self.posted = Fifo::EMPTY;
        self.unexpected = Fifo::EMPTY;
    }

    /// An entry is leaving the deep form: if few are left, go back to scanning them.
    #[inline]
    fn after_removal(&mut self) {
        self.removals = self.removals.saturating_add(1);
        let left = self.slabs.posted.len() + self.slabs.unexpected.len() - 1;
        if left <= SHORT && (left == 0 || self.removals as usize * 4 >= self.slots()) {
            self.shorten();
        }
    }

    /// Slots that collecting the entries would look at; enough removals must have paid for it.
    fn slots(&self) -> usize {
        self.slabs.posted.slots() + self.slabs.unexpected.slots()
    }

    #[cold]
    fn shorten(&mut self) {
        self.deep = false;
        let Some(keys) = &mut self.keys else { return };
        let Slabs { posted, unexpected } = &mut self.slabs;
        // The entry that is leaving is still stored, but on no list of the index.
        for slot in posted.slots_in_order() {
            if keys.forget_posted(posted, slot) {
                self.posted.push_back(posted, slot);
            }
        }
        for slot in unexpected.slots_in_order() {
            if keys.forget_unexpected(unexpected, slot) {
                self.unexpected.push_back(unexpected, slot);
            }
        }
        if keys.rest() {
            self.keys = None;
        }
    }
}

/// The index, which is there while the queues are deep. Making it is kept out of the way.
#[inline(always)]
fn present<B: MatchBits>(keys: &mut Option<Box<Keys<B>>>) -> &mut Keys<B> {
    #[cold]
    fn make<B: MatchBits>(keys: &mut Option<Box<Keys<B>>>) -> &mut Keys<B> {
        keys.get_or_insert_default()
    }
    match keys {
        Some(keys) => keys,
        None => make(keys),
    }
}

impl<P: Pattern, R, M> Arrangement for Indexed<P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;
    type Place = Place;

    fn from_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            posted: Fifo::EMPTY,
            unexpected: Fifo::EMPTY,
            deep: false,
            keys: None,
            removals: 0,
            scan_limit: u16::try_from(config.tuning.scan_limit).unwrap_or(u16::MAX),
        }
    }

    fn scope_of(_: &Config) -> Scope {
        Scope::Context
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
    ) -> Result<u32, Place> {
        if !self.deep {
            let search = self.scan_posted(envelope);
            meter.visited(Queue::Posted, search.visited);
            return search.found.ok_or(Place::SHORT);
        }
        let keys = present(&mut self.keys);
        keys.find_posted(envelope, &self.slabs.posted, meter)
    }

    #[inline]
    fn find_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Result<u32, Place> {
        if !self.deep {
            let search = self.scan_unexpected(pattern);
            meter.visited(Queue::Unexpected, search.visited);
            return search.found.ok_or(Place::SHORT);
        }
        let keys = present(&mut self.keys);
        keys.find_unexpected(pattern, &self.slabs.unexpected, meter)
    }

    fn peek_posted(&mut self, envelope: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32> {
        if let (true, Some(keys)) = (self.deep, &self.keys) {
            return keys.search_posted(envelope, &self.slabs.posted, meter);
        }
        let search = self.scan_posted(envelope);
        meter.visited(Queue::Posted, search.visited);
        if search.visited > u32::from(self.scan_limit) {
            self.deepen();
        }
        search.found
    }

    fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        if self.deep {
            return self.find_unexpected(pattern, meter).ok();
        }
        let search = self.scan_unexpected(pattern);
        meter.visited(Queue::Unexpected, search.visited);
        if search.visited > u32::from(self.scan_limit) {
            self.deepen();
        }
        search.found
    }

    fn place_of_receive(&mut self, pattern: &P) -> Place {
        match (self.deep, &mut self.keys) {
            (true, Some(keys)) => keys.place_of_receive(pattern),
            _ => Place::SHORT,
        }
    }

    fn place_of_message(&mut self, envelope: &EnvelopeIn<Self>) -> Place {
        match (self.deep, &mut self.keys) {
            (true, Some(keys)) => keys.exact(envelope),
            _ => Place::SHORT,
        }
    }

    fn link_posted(&mut self, slot: u32, place: Place) {
        if self.deep {
            let keys = present(&mut self.keys);
            keys.link_posted(&mut self.slabs.posted, slot, place);
        } else {
            self.posted.push_back(&mut self.slabs.posted, slot);
        }
    }

    fn link_unexpected(&mut self, slot: u32, place: Place) {
        if self.deep {
            let keys = present(&mut self.keys);
            keys.link_unexpected(&mut self.slabs.unexpected, slot, place);
        } else {
            self.unexpected.push_back(&mut self.slabs.unexpected, slot);
        }
    }

    fn unlink_posted(&mut self, slot: u32) {
        if self.deep {
            let keys = present(&mut self.keys);
            keys.unlink_posted(&mut self.slabs.posted, slot);
            self.after_removal();
        } else {
            self.posted.unlink(&mut self.slabs.posted, slot);
        }
    }

    fn unlink_unexpected(&mut self, slot: u32) {
        if self.deep {
            let keys = present(&mut self.keys);
            keys.unlink_unexpected(&mut self.slabs.unexpected, slot);
            self.after_removal();
        } else {
            self.unexpected.unlink(&mut self.slabs.unexpected, slot);
        }
    }

    // The form is looked at once a step, and the short one goes straight through.

    #[inline]
    fn post_step(
        &mut self,
        pattern: P,
        receive: R,
        meter: &mut impl Meter,
    ) -> Post<P::Envelope, R, M> {
        if self.deep {
            return self.post_deep(pattern, receive, meter);
        }
        let search = self.scan_unexpected(&pattern);
        meter.visited(Queue::Unexpected, search.visited);
        if search.visited > u32::from(self.scan_limit) {
            return self.post_after_long_scan(pattern, receive);
        }
        let Slabs { posted, unexpected } = &mut self.slabs;
        if let Some(slot) = search.found {
            self.unexpected.unlink(unexpected, slot);
            let (envelope, message) = unexpected.remove(slot);
            return Post::Matched {
                envelope,
                message,
                receive,
            };
        }
        let (slot, handle) = store_receive(posted, pattern, receive);
        self.posted.push_back(posted, slot);
        Post::Queued(handle)
    }

    #[inline]
    fn arrive_step(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> Arrive<P, R, M> {
        if self.deep {
            return self.arrive_deep(envelope, message, meter);
        }
        let search = self.scan_posted(&envelope);
        meter.visited(Queue::Posted, search.visited);
        if search.visited > u32::from(self.scan_limit) {
            return self.arrive_after_long_scan(envelope, message);
        }
        let Slabs { posted, unexpected } = &mut self.slabs;
        if let Some(slot) = search.found {
            self.posted.unlink(posted, slot);
            let (pattern, receive) = posted.remove(slot);
            return Arrive::Matched {
                pattern,
                receive,
                message,
            };
        }
        let slot = unexpected.insert(envelope, message, 0);
        self.unexpected.push_back(unexpected, slot);
        Arrive::Unexpected
    }

    fn reset(&mut self) {
        self.posted = Fifo::EMPTY;
        self.unexpected = Fifo::EMPTY;
        self.deep = false;
        if let Some(keys) = &mut self.keys
            && keys.clear()
        {
            self.keys = None;
        }
    }
}

/// Steps of the deep form, kept out of the short one's way.
impl<P: Pattern, R, M> Indexed<P, R, M> {
    #[inline(never)]
    fn post_deep(
        &mut self,
        pattern: P,
        receive: R,
        meter: &mut impl Meter,
    ) -> Post<P::Envelope, R, M> {
        post_by_parts(self, pattern, receive, meter)
    }

    #[inline(never)]
    fn arrive_deep(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> Arrive<P, R, M> {
        arrive_by_parts(self, envelope, message, meter)
    }

    #[cold]
    fn post_after_long_scan(&mut self, pattern: P, receive: R) -> Post<P::Envelope, R, M> {
        self.deepen();
        self.post_deep(pattern, receive, &mut Unmetered)
    }

    #[cold]
    fn arrive_after_long_scan(&mut self, envelope: P::Envelope, message: M) -> Arrive<P, R, M> {
        self.deepen();
        self.arrive_deep(envelope, message, &mut Unmetered)
    }
}

impl<P: Pattern, R, M> Footprint for Indexed<P, R, M> {
    fn memory(&self) -> Memory {
        Memory {
            entries: self.slabs.bytes(),
            index: self.keys.as_ref().map_or(0, |keys| keys.bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::{MpiEnvelope, MpiPattern, TagSelector};
    use crate::{MatchQueues, Source, Visits};

    type Queues = Indexed<MpiPattern, u32, u32>;

    fn unexpected(depth: u32) -> Queues {
        let mut queues = Queues::with_config(&Config::default());
        for rank in 0..depth {
            let arrival = queues.arrive(MpiEnvelope::new(0, rank, 7), rank);
            assert_eq!(arrival, Arrive::Unexpected);
        }
        queues
    }

    #[test]
    fn a_long_search_makes_the_queues_deep_and_draining_makes_them_short() {
        let mut queues = unexpected(1000);
        assert!(!queues.is_deep(), "nothing was searched yet");
        for rank in (0..1000).rev() {
            let post = queues.post(MpiPattern::new(0, rank, 7), 0);
            assert!(matches!(post, Post::Matched { message, .. } if message == rank));
        }
        assert!(!queues.is_deep());
    }

    #[test]
    fn deep_searches_visit_one_entry_in_every_wildcard_class() {
        let mut queues = unexpected(1000);
        let _ = queues.probe(&MpiPattern::new(0, 999, 7));
        assert!(queues.is_deep());
        for (source, tag) in [
            (Source::from(500), TagSelector::from(7)),
            (Source::Any, TagSelector::from(7)),
            (Source::from(501), TagSelector::Any),
            (Source::Any, TagSelector::Any),
        ] {
            let mut visits = Visits::default();
            let found = queues.extract_metered(&MpiPattern::new(0, source, tag), &mut visits);
            assert!(found.is_some());
            assert_eq!(visits.unexpected, 1, "{source} {tag:?}");
        }
    }

    #[test]
    fn a_wildcard_class_that_nobody_uses_any_more_is_dropped() {
        let mut queues = deep(100);
        let any = MpiPattern::new(0, Source::Any, 7);
        assert!(queues.probe(&any).is_some());
        assert!(queues.keys.as_ref().is_some_and(|keys| keys.views() == 1));
        for round in 0..2_000 {
            let _ = queues.arrive(MpiEnvelope::new(0, round, 8), round);
            let _ = queues.post(MpiPattern::new(0, round, 8), round);
        }
        assert!(queues.is_deep());
        assert!(queues.keys.as_ref().is_some_and(|keys| keys.views() == 0));
        assert!(
            matches!(queues.probe(&any), Some((_, 0))),
            "made again when asked for"
        );
    }

    fn deep(depth: u32) -> Queues {
        let mut queues = unexpected(depth);
        assert!(queues.probe(&MpiPattern::new(0, depth - 1, 7)).is_some());
        assert!(queues.is_deep());
        queues
    }

    fn masked(ignore: u32) -> TagSelector {
        TagSelector::Masked {
            wanted: crate::Tag(7),
            ignore: ignore << 8,
        }
    }

    #[test]
    fn more_masks_than_classes_are_still_matched_in_order() {
        let mut queues = deep(100);
        for round in 0..3 {
            for ignore in 0..20 {
                let seen = queues.probe(&MpiPattern::new(0, Source::Any, masked(ignore)));
                assert!(matches!(seen, Some((_, 0))), "round {round}, mask {ignore}");
            }
        }
        for ignore in 0..20 {
            let pattern = MpiPattern::new(0, 1000 + ignore, masked(ignore));
            assert!(matches!(queues.post(pattern, ignore), Post::Queued(_)));
        }
        for rank in 0..20 {
            let arrival = queues.arrive(MpiEnvelope::new(0, 1000 + rank, 7), 0);
            assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == rank));
        }
    }

    #[test]
    fn an_idle_context_is_small() {
        assert!(size_of::<Queues>() <= 128, "{} bytes", size_of::<Queues>());
    }
}
