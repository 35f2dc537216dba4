//! `indexed`: the default. What is near the head of a queue is found by a scan, the rest by hash.
//!
//! **Short form.** Two lists, as in `list` but for one context: nothing beats it while a search
//! ends within a few entries, and in applications nearly every search does. How long a queue is
//! does not matter, if it is taken in order.
//!
//! **Deep form.** When a search would visit more entries than
//! [`Tuning::scan_limit`](crate::Tuning::scan_limit), or storage has to grow for queues of more
//! than [`Tuning::short_limit`](crate::Tuning::short_limit) entries, both are indexed by key: one
//! table in which an entry of either kind is found by what it must match exactly. A receive that is
//! posted and a message that is unexpected never have the same key, or they would have matched; so
//! one probe searches one queue and finds the place of insertion in the other. Wildcard receives
//! are indexed by the bits they care about, one class for each mask in use; candidates of several
//! classes are merged by sequence number. When the queues are short again, the short form returns.
//!
//! Search: at most the limit, or one probe for each class of wildcards in use. Becoming deep moves
//! at most 1,536 entries in one operation, or 1,024 and a look at the others; becoming short with a
//! few entries left takes a look at up to 4,096 slots of each queue, which as many removals have
//! paid for; the table and the storage grow and shrink piece by piece. What takes as long as the
//! queue are the first searches by a class of wildcards while many messages wait: four look at all
//! of them, the fifth indexes them.
//!
//! Memory: the entries as in `list`; while deep, some 6 bytes for each distinct key (up to 32 while
//! a long queue drains), and for each class of wildcards that is searched a table of its own and 12
//! bytes for each slot. After two long fillings a shorter one may use 512 KiB more. A context that
//! was never deep has no index; one that was keeps at most 52 KiB of it.

mod chains;
mod classes;
mod hash;
mod heads;
mod index;
mod nodes;
mod paged;
mod scans;
mod steps;
mod view;

use self::hash::Key;
use self::index::Index;
use self::nodes::{Slot, key_of_receive, posted, slot_of, unexpected};
use self::scans::Short;
use self::steps::{deep, if_deep, is_slot};
use crate::arrangement::{Arrangement, EnvelopeIn, Slabs, SlabsOf};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::fifo::{ELSEWHERE, Fifo};
use crate::handle::Handle;
use crate::memory::{Footprint, Memory};
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern};
use crate::queues::{Arrive, Post, Scope};
use crate::slab::NEAR;

/// Queues of at most this many entries together become short again.
const SHORT: u32 = 4;

/// The limit of [`Tuning::short_limit`](crate::Tuning::short_limit) as the structure keeps it.
fn short_limit(wanted: u32) -> u16 {
    const MOST: u16 = NEAR as u16;
    u16::try_from(wanted).unwrap_or(MOST).min(MOST)
}

/// The `indexed` structure; see the [module](self).
#[derive(Debug)]
pub struct Indexed<P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    /// Both queues in order; [`Fifo::ELSEWHERE`] while deep.
    posted: Fifo,
    unexpected: Fifo,
    /// Kept between deep phases.
    index: Option<Box<Index<BitsOf<P>>>>,
    /// What the hash starts from; 0 for a secret.
    hash_seed: u32,
    /// Entries that a scan of the short form may visit.
    scan_limit: u8,
    /// Entries that the queues of the short form may hold together.
    short_limit: u16,
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Whether the queues are indexed at the moment.
    pub const fn is_deep(&self) -> bool {
        self.posted.first() == ELSEWHERE
    }

    /// Indexes all entries, in order.
    #[cold]
    #[inline(never)]
    fn deepen(&mut self) {
        let seed = self.hash_seed;
        let index = self.index.get_or_insert_with(|| Box::new(Index::new(seed)));
        let most = u32::from(self.short_limit);
        index.take_over(&mut self.slabs, self.posted, self.unexpected, most);
        self.posted = Fifo::ELSEWHERE;
        self.unexpected = Fifo::ELSEWHERE;
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.slabs.posted.len() + self.slabs.unexpected.len()
    }

    /// Few entries are left in the deep form, for the size of its table or for any: makes the table
    /// smaller, or goes back to scanning them, if there are none or enough removals have paid for
    /// collecting them. `leaving` is the node of an entry that is not on any list and about to be
    /// removed; it is returned.
    #[cold]
    #[inline(never)]
    fn shorten(&mut self, left: u32, leaving: u32) -> u32 {
        let Some(index) = &mut self.index else {
            return leaving;
        };
        if left > SHORT {
            index.shrink(&mut self.slabs);
            return leaving;
        }
        if left > 0 {
            // The short form expects its entries near.
            let Slabs { posted, unexpected } = &self.slabs;
            let far = self.slabs.has_far();
            if far || !index.has_paid_for(posted.near_slots() + unexpected.near_slots()) {
                return leaving;
            }
        }
        self.posted = Fifo::EMPTY;
        self.unexpected = Fifo::EMPTY;
        if left > 0 {
            for slot in self.slabs.posted.slots_in_order() {
                if posted(slot) != leaving {
                    index.unlink_posted(&mut self.slabs, slot);
                    self.posted.link_back(&mut self.slabs.posted.near(), slot);
                }
            }
            for slot in self.slabs.unexpected.slots_in_order() {
                if unexpected(slot) != leaving {
                    index.unlink_unexpected(&mut self.slabs, slot);
                    self.unexpected
                        .link_back(&mut self.slabs.unexpected.near(), slot);
                }
            }
        }
        index.rest();
        leaving
    }

    /// Queues a receive in the short form for which storage has to grow: only there it is asked how
    /// long the queues are.
    #[cold]
    #[inline(never)]
    fn queue_one_more_receive(&mut self, pattern: P, receive: R) -> u32 {
        let posted = &mut self.slabs.posted;
        let slot = self.posted.insert_back(posted, pattern, receive);
        self.after_queueing();
        slot
    }

    #[cold]
    #[inline(never)]
    fn queue_one_more_message(&mut self, envelope: P::Envelope, message: M) {
        let unexpected = &mut self.slabs.unexpected;
        self.unexpected.insert_back(unexpected, envelope, message);
        self.after_queueing();
    }

    /// An entry was queued in the short form.
    fn after_queueing(&mut self) {
        if self.len() > u32::from(self.short_limit) {
            self.deepen();
        }
    }
}

impl<P: Pattern, R, M> Arrangement for Indexed<P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;
    type Place = ();

    fn from_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            posted: Fifo::EMPTY,
            unexpected: Fifo::EMPTY,
            scan_limit: u8::try_from(config.tuning.scan_limit).unwrap_or(u8::MAX),
            short_limit: short_limit(config.tuning.short_limit),
            index: None,
            hash_seed: config.tuning.hash_seed.unwrap_or(0),
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

    fn find_posted(
        &mut self,
        envelope: &EnvelopeIn<Self>,
        meter: &mut impl Meter,
    ) -> Result<u32, ()> {
        self.peek_posted(envelope, meter).ok_or(())
    }

    fn find_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Result<u32, ()> {
        self.peek_unexpected(pattern, meter).ok_or(())
    }

    fn peek_posted(&mut self, envelope: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32> {
        if !self.is_deep() {
            let (slot, visited) = self.scan_posted(envelope);
            meter.visited(Queue::Posted, visited);
            if slot != ELSEWHERE {
                return is_slot(slot).then_some(slot);
            }
            self.deepen();
        }
        deep(&mut self.index).find_posted(&mut self.slabs, envelope, meter)
    }

    fn peek_unexpected(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<u32> {
        if !self.is_deep() {
            let (slot, visited) = self.scan_unexpected(pattern);
            meter.visited(Queue::Unexpected, visited);
            if slot != ELSEWHERE {
                return is_slot(slot).then_some(slot);
            }
            self.deepen();
        }
        deep(&mut self.index).find_unexpected(&mut self.slabs, key_of_receive(pattern), meter)
    }

    fn place_of_receive(&mut self, _: &P) {}

    fn place_of_message(&mut self, _: &EnvelopeIn<Self>) {}

    fn link_posted(&mut self, slot: u32, (): ()) {
        if let Some(index) = if_deep(self.is_deep(), &mut self.index) {
            let slabs = &mut self.slabs;
            return index.link_posted(slabs, slot);
        }
        self.posted.push_back(&mut self.slabs.posted, slot);
        self.after_queueing();
    }

    fn link_unexpected(&mut self, slot: u32, (): ()) {
        if let Some(index) = if_deep(self.is_deep(), &mut self.index) {
            let slabs = &mut self.slabs;
            return index.link_unexpected(slabs, slot);
        }
        self.unexpected.push_back(&mut self.slabs.unexpected, slot);
        self.after_queueing();
    }

    fn unlink_posted(&mut self, slot: u32) {
        if let Some(index) = if_deep(self.is_deep(), &mut self.index) {
            let slabs = &mut self.slabs;
            index.unlink_posted(slabs, slot);
            self.before_removal(posted(slot));
            return;
        }
        self.posted.unlink_from(&mut self.slabs.posted.near(), slot);
    }

    fn unlink_unexpected(&mut self, slot: u32) {
        if let Some(index) = if_deep(self.is_deep(), &mut self.index) {
            let slabs = &mut self.slabs;
            index.unlink_unexpected(slabs, slot);
            self.before_removal(unexpected(slot));
            return;
        }
        self.unexpected
            .unlink_from(&mut self.slabs.unexpected.near(), slot);
    }

    // Searches only say where the entry is; it is taken out of storage here, so that what the
    // caller does not look at is not copied.

    // One place for each answer, whatever the form: only then are answers in registers.

    #[inline(always)]
    fn post_step(
        &mut self,
        pattern: P,
        receive: R,
        meter: &mut impl Meter,
    ) -> Post<P::Envelope, R, M> {
        let sequence = self.slabs.posted.next_sequence();
        let queued = 'queued: {
            let found = match self.unlink_message_short(&pattern, meter) {
                Short::Found(slot) => slot,
                Short::Nothing => {
                    break 'queued match self.slabs.posted.has_free_near() {
                        true => {
                            let posted = &mut self.slabs.posted;
                            self.posted.insert_back(posted, pattern, receive)
                        }
                        false => self.queue_one_more_receive(pattern, receive),
                    };
                }
                Short::Deep => {
                    let mut node = self.search_for_receive(&pattern, meter);
                    loop {
                        match slot_of(node) {
                            Slot::Unexpected(slot) => break slot,
                            Slot::Posted(slot) => {
                                self.slabs.posted.fill(slot, pattern, receive);
                                break 'queued slot;
                            }
                            Slot::None => node = self.post_rarely(pattern, meter),
                        }
                    }
                }
            };
            let (envelope, message) = self.slabs.unexpected.remove(found);
            return Post::Matched {
                envelope,
                message,
                receive,
            };
        };
        Post::Queued(Handle::new(pattern.context(), queued, sequence))
    }

    #[inline(always)]
    fn arrive_step(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> Arrive<P, R, M> {
        let found = match self.unlink_receive_short(&envelope, meter) {
            Short::Found(slot) => slot,
            Short::Nothing => {
                if self.slabs.unexpected.has_free_near() {
                    let unexpected = &mut self.slabs.unexpected;
                    self.unexpected.insert_back(unexpected, envelope, message);
                } else {
                    self.queue_one_more_message(envelope, message);
                }
                return Arrive::Unexpected;
            }
            Short::Deep => {
                let (context, bits) = (envelope.context(), envelope.bits());
                let mut node = self.search_for_message(context, bits, meter);
                loop {
                    match slot_of(node) {
                        Slot::Posted(slot) => break slot,
                        Slot::Unexpected(slot) => {
                            self.slabs.unexpected.fill(slot, envelope, message);
                            return Arrive::Unexpected;
                        }
                        Slot::None => node = self.arrive_rarely(envelope, meter),
                    }
                }
            }
        };
        let (pattern, receive) = self.slabs.posted.remove(found);
        Arrive::Matched {
            pattern,
            receive,
            message,
        }
    }

    #[inline(always)]
    fn extract_step(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<(P::Envelope, M)> {
        let slot = match self.unlink_message_short(pattern, meter) {
            Short::Found(slot) => slot,
            Short::Nothing => return None,
            Short::Deep => {
                let Key {
                    context,
                    bits,
                    care,
                } = key_of_receive(pattern);
                self.unlink_message_deep(context, bits, care, meter)
            }
        };
        is_slot(slot).then(|| self.slabs.unexpected.remove(slot))
    }

    #[inline(always)]
    fn deliver_step(&mut self, envelope: &P::Envelope, meter: &mut impl Meter) -> Option<(P, R)> {
        let slot = match self.unlink_receive_short(envelope, meter) {
            Short::Found(slot) => slot,
            Short::Nothing => return None,
            Short::Deep => self.unlink_receive_deep(*envelope, meter),
        };
        is_slot(slot).then(|| self.slabs.posted.remove(slot))
    }

    fn reset(&mut self) {
        self.posted = Fifo::EMPTY;
        self.unexpected = Fifo::EMPTY;
        self.index = None;
    }
}

impl<P: Pattern, R, M> Footprint for Indexed<P, R, M> {
    fn memory(&self) -> Memory {
        Memory {
            entries: self.slabs.bytes(),
            index: self.index.as_ref().map_or(0, |index| index.bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
