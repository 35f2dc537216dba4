//! How queues that leave their windows become indexed: all at once if they are short, otherwise some
//! entries with each operation.
//!
//! While entries are left to be moved, the lists hold the newer part of each queue: newcomers are put
//! after them, and a search looks at the table first. So an entry's number tells whether it is on a list.

use super::super::super::key::{Key, key_of_message, key_of_receive};
use super::super::nodes::{posted, unexpected};
use super::Index;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::fifo::Fifo;
use crate::meter::{Meter, Queue};
use crate::pattern::{BitsOf, Pattern, matches};
use crate::slab::{Entry, Leaving, NIL, Slab};

/// One in this many receives to be indexed is checked for a wildcard. Not a power of two, since programs
/// repeat themselves in those.
const SAMPLE: u32 = 13;

/// Indexing a message for a class of wildcards takes the time of this many that are just indexed.
const VIEW_COST: u32 = 2;

/// What is not indexed yet.
#[derive(Debug)]
pub(super) struct Newer {
    receives: Fifo,
    messages: Fifo,
    /// Entries that an operation moves.
    pace: u32,
}

impl Newer {
    pub(super) const NONE: Self = Self {
        receives: Fifo::EMPTY,
        messages: Fifo::EMPTY,
        pace: 0,
    };

    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        self.receives.is_empty() && self.messages.is_empty()
    }
}

/// Whether an entry is on a list that holds the newer part of its queue.
fn is_on<K: Copy, T>(list: Fifo, slab: &Slab<K, T>, slot: u32) -> bool {
    !list.is_empty() && slab.sequence(slot) >= slab.sequence(list.first())
}

/// How many of the receives that are to be indexed have a wildcard, about: tables that are made for
/// as many entries need not grow while they are filled.
fn likely_wildcards<P: Pattern, R>(receives: &Leaving, posted: &Slab<P, R>) -> u32 {
    let sample = receives.sample(posted, SAMPLE as usize);
    let found = sample.filter(|pattern| pattern.care() != BitsOf::<P>::ALL);
    found.map(|_| SAMPLE).sum::<u32>().min(posted.len())
}

impl<B: MatchBits> Index<B> {
    /// Begins logs with the entries that two windows have released, where the queues `are_filled`, or indexes them, or
    /// begins to, in an empty index. Queues of up
    /// to `short_limit` entries are short; longer ones too, if they already had slots.
    ///
    /// Of 4,096 entries an operation moves 819, and may have to look at all the others: as many
    /// instructions as for moving 2,048, some 166,000 if all are fully specified. It moves fewer if
    /// messages are indexed for wildcards too.
    pub(in super::super) fn take_over<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        mut receives: Leaving,
        mut messages: Leaving,
        short_limit: u32,
        are_filled: bool,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.short_limit = short_limit;
        let views = self.classes.begin(slabs.unexpected.len());
        // There are never lists beside a log: whatever is not in one has few entries, which are indexed at once
        // below. So a receive with a wildcard that comes from a list has no log to end.
        if are_filled && views == 0 {
            (receives, messages) = self.begin_logs(slabs, receives, messages);
        }
        let mut entries = 0;
        if !self.logs.have_receives() {
            entries += slabs.posted.len();
        }
        if !self.logs.have_messages() {
            entries += slabs.unexpected.len();
        }
        let wildcards = likely_wildcards(&receives, &slabs.posted);
        self.chains.prepare(entries - wildcards);
        if wildcards > 0 {
            self.wild.get_or_insert_default().prepare(wildcards);
        }
        self.set_low();
        let in_views = VIEW_COST * views * slabs.unexpected.len();
        if entries + in_views <= short_limit / 2 {
            while let Some(slot) = receives.next(&mut slabs.posted) {
                self.move_receive(slabs, slot);
            }
            while let Some(slot) = messages.next(&mut slabs.unexpected) {
                self.move_message(slabs, slot);
            }
        } else {
            self.newer = Newer {
                receives: receives.into_list(&mut slabs.posted),
                messages: messages.into_list(&mut slabs.unexpected),
                // A search looks at the lists too, so that fewer at a time would cost it more.
                pace: (short_limit.max(entries) / 5 / (1 + views)).max(1),
            };
        }
        self.after_moving(slabs);
    }

    /// Some entries have been indexed, or all: then there are buckets to be made if fewer have a
    /// wildcard than it [seemed](likely_wildcards).
    fn after_moving<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.update_deviations();
        if !self.is_moving() {
            self.serve(slabs);
        }
    }

    /// Indexes some more entries, if not all are indexed.
    #[inline(always)]
    pub(in super::super) fn move_on<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if !self.is_moving() {
            return;
        }
        if self.logs.are_ending() {
            return self.index_some_of_logs(slabs);
        }
        self.move_some(slabs, self.newer.pace);
        self.after_moving(slabs);
    }

    #[inline(never)]
    fn move_some<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, most: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let mut left = most;
        let mut slot = self.newer.receives.first();
        while slot != NIL && left > 0 {
            let next = slabs.posted.entry_inline(slot).next;
            self.move_receive(slabs, slot);
            left -= 1;
            slot = next;
        }
        self.newer.receives.begin_at(&mut slabs.posted, slot);
        let mut slot = self.newer.messages.first();
        while slot != NIL && left > 0 {
            let next = slabs.unexpected.entry_inline(slot).next;
            self.move_message(slabs, slot);
            left -= 1;
            slot = next;
        }
        self.newer.messages.begin_at(&mut slabs.unexpected, slot);
    }

    /// Indexes a receive that is the next in order.
    #[inline(always)]
    pub(super) fn move_receive<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let entry = slabs.posted.entry_inline_mut(slot);
        entry.home = NIL;
        if entry.key.care() != B::ALL {
            return self.put_wildcard(slabs, slot);
        }
        let key = Key::exact(entry.key.context(), entry.key.bits());
        if let Err(likely) = self.put_alone(entry, key, posted(slot)) {
            self.put_beside(slabs, key, likely, posted(slot));
        }
    }

    /// Indexes a message that is the next in order.
    #[inline(always)]
    fn move_message<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let key = self.put_message(slabs, slot);
        if self.classes.views() > 0 {
            self.classes.link(&slabs.unexpected, slot, key, self.seed);
        }
    }

    /// Puts a message that is the next in order into the table of all keys; returns its key.
    #[inline(always)]
    pub(super) fn put_message<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32) -> Key<B>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let entry = slabs.unexpected.entry_inline_mut(slot);
        entry.home = NIL;
        let key = Key::exact(entry.key.context(), entry.key.bits());
        if let Err(likely) = self.put_alone(entry, key, unexpected(slot)) {
            self.put_beside(slabs, key, likely, unexpected(slot));
        }
        key
    }

    /// Indexes a receive with a wildcard that is the next in order. A call, so that those without
    /// keep their registers.
    #[inline(never)]
    fn put_wildcard<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let key = key_of_receive(slabs.posted.key(slot));
        self.index_wildcard(slabs, slot, key);
    }

    /// Puts an entry whose mark is [`NIL`] into its bucket if that is near and empty, as nearly
    /// always; otherwise returns its likely bucket.
    #[inline(always)]
    fn put_alone<K, T>(
        &mut self,
        entry: &mut Entry<K, T>,
        key: Key<B>,
        node: u32,
    ) -> Result<(), u32> {
        let likely = self.likely_bucket(key);
        let Some(NIL) = self.chains.near_first(likely) else {
            return Err(likely);
        };
        entry.next = NIL;
        entry.prev = NIL;
        self.chains.set_near_first(likely, node);
        Ok(())
    }

    /// Puts an entry into its bucket, which is `likely` or another, whatever is there.
    #[inline(always)]
    fn put_beside<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        likely: u32,
        node: u32,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = &mut self.nodes(slabs);
        let bucket = self.chains.bucket_of(likely);
        let probe = self.chains.probe_bucket(nodes, key, bucket);
        self.chains.link(nodes, probe, node);
    }

    /// The earliest receive for a message among those that are not indexed.
    pub(super) fn find_newer_receive<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.logs.have_receives() {
            let key = key_of_message(envelope, B::ALL);
            let found = self.find_logged_receive(slabs, key);
            meter.visited(Queue::Posted, found.is_some().into());
            return found;
        }
        let search = self
            .newer
            .receives
            .find(&slabs.posted, |p| matches(p, envelope));
        meter.visited(Queue::Posted, search.visited);
        search.found
    }

    /// The earliest message with this key among those that are not indexed.
    pub(super) fn find_newer_message<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
        meter: &mut impl Meter,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.logs.have_messages() {
            let found = self.find_logged_message(slabs, key);
            meter.visited(Queue::Unexpected, found.is_some().into());
            return found;
        }
        let search = self
            .newer
            .messages
            .find(&slabs.unexpected, |e| key.admits(e));
        meter.visited(Queue::Unexpected, search.visited);
        search.found
    }

    /// Puts the newest receive behind others that are not indexed; false if there are none.
    pub(super) fn queue_newer_receive<P: Pattern, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) -> bool {
        let is_newer = !self.newer.receives.is_empty();
        if is_newer {
            self.newer.receives.push_back(&mut slabs.posted, slot);
        }
        is_newer
    }

    /// Puts the newest message behind others that are not indexed; false if there are none.
    pub(super) fn queue_newer_message<P: Pattern, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) -> bool {
        let is_newer = !self.newer.messages.is_empty();
        if is_newer {
            self.newer.messages.push_back(&mut slabs.unexpected, slot);
        }
        is_newer
    }

    /// Unlinks a receive that is not indexed; false if it is.
    pub(super) fn unlink_newer_receive<P: Pattern, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) -> bool {
        let is_newer = is_on(self.newer.receives, &slabs.posted, slot);
        if is_newer {
            self.newer.receives.unlink(&mut slabs.posted, slot);
            self.update_deviations();
        }
        is_newer
    }

    /// Unlinks a message that is not indexed; false if it is.
    pub(super) fn unlink_newer_message<P: Pattern, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) -> bool {
        let is_newer = is_on(self.newer.messages, &slabs.unexpected, slot);
        if is_newer {
            self.newer.messages.unlink(&mut slabs.unexpected, slot);
            self.update_deviations();
        }
        is_newer
    }
}
