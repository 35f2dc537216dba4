//! The index of the deep form: entries of either queue, found by what they must match exactly.

mod deviations;
mod halves;
mod logs;
mod moving;
mod quick;
mod search;
mod whole;
mod wide;
mod wild;

use self::deviations::Deviations;
pub(super) use self::halves::QuickSearch;
use self::logs::Logs;
use self::moving::Newer;
pub(super) use self::quick::Quick;
pub(super) use self::wild::Wildcards;
use super::super::hash::Seed;
use super::super::key::{Key, key_of_message, key_of_receive};
use super::chains::{Chains, Probe};
use super::classes::Classes;
use super::marked::Marked;
use super::nodes::{Both, posted, unexpected};
use super::turning::SHORT;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::fifo::Fifo;
use crate::pattern::Pattern;
use crate::slab::NIL;

/// The mark of a receive that is on the list of those without a class. No node has this number.
const UNINDEXED: u32 = NIL - 1;

/// All entries by key, and the classes of wildcards in use.
///
/// The first node of a key stands for a queue: a posted receive and an unexpected message never have the
/// same key, or they would have matched. Receives with wildcards are in a table of their own, which
/// messages search first: it is small, and mostly holds no match.
#[derive(Debug)]
pub(in crate::structures::indexed) struct Index<B> {
    chains: Chains,
    /// Of the posted receives with wildcards. Made for the first; a small one is kept.
    wild: Option<Marked>,
    seed: Seed,
    classes: Classes<B>,
    /// Receives whose mask found no class, by slot.
    unindexed: Fifo,
    /// What is not indexed yet, of queues that were long when they became deep.
    newer: Newer,
    /// What is not indexed since it may never have to be.
    logs: Logs,
    /// Where the last search of a step for an exact key has ended, if it found nothing.
    ended_at: Probe,
    /// Entries that short queues may have.
    short_limit: u32,
    /// Removals that have left few entries.
    removals_with_few: u32,
    /// See [`low`](Self::low).
    low: u32,
    deviations: Deviations,
}

impl<B: MatchBits> Index<B> {
    pub(in crate::structures::indexed) fn new(seed: Seed) -> Self {
        Self {
            // Most queues with tables never become deep.
            chains: Chains::unprepared(),
            wild: None,
            seed,
            classes: Classes::default(),
            unindexed: Fifo::EMPTY,
            newer: Newer::NONE,
            logs: Logs::default(),
            ended_at: Probe::NOWHERE,
            short_limit: 0,
            removals_with_few: 0,
            low: SHORT + 1,
            deviations: Deviations::NONE,
        }
    }

    /// All entries have been dropped.
    pub(in crate::structures::indexed) fn clear(&mut self) {
        *self = Self::new(self.seed);
    }

    /// Receives with this mask have kept searching for messages before the queues become deep.
    pub(in crate::structures::indexed) fn expect_searches_by(&mut self, care: B) {
        self.classes.expect_searches_by(care);
    }

    #[inline(always)]
    fn probe<P, R, M>(&self, slabs: &mut Slabs<P, R, M>, key: Key<B>) -> Probe
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let nodes = self.nodes(slabs);
        self.chains.probe(&nodes, key, self.seed.hash(key))
    }

    #[inline(always)]
    const fn nodes<'a, P: Pattern, R, M>(
        &self,
        slabs: &'a mut Slabs<P, R, M>,
    ) -> Both<'a, P, R, M> {
        let seed = self.seed;
        Both { slabs, seed }
    }

    /// With this many entries, including the one about to leave, the queues may become short, or the
    /// table smaller.
    #[inline(always)]
    pub(super) const fn low(&self) -> u32 {
        self.low
    }

    /// After a change to the number of buckets.
    #[inline(always)]
    fn set_low(&mut self) {
        self.low = SHORT.max(self.chains.few()).max(self.logs.few()) + 1;
        self.deviations = self.deviations.with_wide(self.chains.is_wide());
    }

    /// Where the bucket of a key is looked for first: see [`Chains::likely_bucket`].
    #[inline(always)]
    pub(super) fn likely_bucket(&self, key: Key<B>) -> u32 {
        self.chains.likely_bucket(self.seed.hash(key))
    }

    /// The bucket of a key that has this [likely bucket](Self::likely_bucket), near or far.
    #[inline(always)]
    pub(super) const fn bucket_of(&self, likely: u32) -> u32 {
        self.chains.bucket_of(likely)
    }

    /// One more entry is to be queued: adds buckets if it needs them. Moves keys, so call it before a
    /// search.
    #[inline]
    pub(super) fn serve<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let keys = self.keys(slabs) + 1;
        let nodes = &mut self.nodes(slabs);
        self.chains.serve(nodes, keys);
        self.set_low();
    }

    /// Whether there are more keys than the table has buckets for: entries that need no bucket were
    /// queued and others have left, so that there were slots without asking for [room](Self::serve).
    #[inline(always)]
    fn is_crowded<P: Pattern, R, M>(&self, slabs: &Slabs<P, R, M>) -> bool {
        self.keys(slabs) >= self.chains.served()
    }

    /// With this many entries left the table is to [`shrink`](Self::shrink).
    pub(super) const fn few(&self) -> u32 {
        self.chains.few()
    }

    /// A removal has left few entries for the size of the table: removes buckets, if they are too
    /// many.
    pub(super) fn shrink<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if slabs.posted.len() + slabs.unexpected.len() <= self.chains.few() + 1 {
            let nodes = &mut self.nodes(slabs);
            self.chains.shrink(nodes);
        }
        if self.has_logs() {
            self.shrink_logs(slabs);
        }
        self.set_low();
    }

    /// The `home` with which to store an entry after a search that found nothing.
    #[inline(always)]
    pub(super) const fn home(&self) -> u32 {
        self.ended_at.first
    }

    /// Links the newest message in all views; its key may not be in its slot yet.
    #[inline(always)]
    pub(super) fn link_in_views<P, R, M>(&mut self, slabs: &Slabs<P, R, M>, slot: u32, key: Key<B>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.classes.link(&slabs.unexpected, slot, key, self.seed) {
            self.update_deviations();
        }
    }

    /// Unlinks a message from all views.
    #[inline(always)]
    pub(super) fn unlink_from_views<P, R, M>(&mut self, slabs: &Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.classes.unlink(&slabs.unexpected, slot);
    }

    /// Links a message for which a search found nothing and that is now stored with
    /// [`home`](Self::home).
    #[inline(always)]
    pub(super) fn link_message<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.queue_newer_message(slabs, slot) {
            return;
        }
        if !self.logs.have_messages() {
            let probe = self.ended_at;
            let nodes = &mut self.nodes(slabs);
            self.chains.link_new(nodes, probe, unexpected(slot));
        }
        if self.classes.views() > 0 {
            let key = key_of_message(slabs.unexpected.key(slot), B::ALL);
            self.link_in_views(slabs, slot, key);
        }
    }

    /// Links the newest posted receive of any kind, whatever its links say.
    pub(super) fn link_posted<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.has_logs() && self.stays_in_log(slabs, slot) {
            return;
        }
        if !self.queue_newer_receive(slabs, slot) {
            self.index_receive(slabs, slot);
        }
    }

    /// Indexes a posted receive that is newer than those indexed.
    fn index_receive<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let key = key_of_receive(slabs.posted.key(slot));
        if key.care != B::ALL {
            self.index_wildcard(slabs, slot, key);
            self.end_logs();
            return self.update_deviations();
        }
        slabs.posted.set_home(slot, NIL);
        self.serve(slabs);
        let probe = self.probe(slabs, key);
        let nodes = &mut self.nodes(slabs);
        self.chains.link(nodes, probe, posted(slot));
    }

    /// Puts a posted receive on the list of those without a class.
    fn leave_unindexed<P: Pattern, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32) {
        slabs.posted.set_home(slot, UNINDEXED);
        self.unindexed.push_back(&mut slabs.posted, slot);
    }

    /// Links the newest unexpected message, whatever its links say.
    pub(super) fn link_unexpected<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.queue_newer_message(slabs, slot) {
            return;
        }
        if !self.logs.have_messages() {
            self.index_message(slabs, slot);
        }
        if self.classes.views() > 0 {
            let key = key_of_message(slabs.unexpected.key(slot), B::ALL);
            self.link_in_views(slabs, slot, key);
        }
    }

    /// Indexes a message that is newer than those indexed, in the table of all keys.
    fn index_message<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.serve(slabs);
        let key = key_of_message(slabs.unexpected.key(slot), B::ALL);
        let probe = self.probe(slabs, key);
        let nodes = &mut self.nodes(slabs);
        self.chains.link(nodes, probe, unexpected(slot));
    }

    /// Unlinks a posted receive, wherever it is.
    pub(in crate::structures::indexed) fn unlink_posted<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        // First: a receive on that list may have the mark of one that was in its slot before, since a window does
        // not write `home`.
        if self.unlink_newer_receive(slabs, slot) || self.unlink_logged_receive(slabs, slot) {
            return;
        }
        if slabs.posted.home(slot) == UNINDEXED {
            self.unindexed.unlink(&mut slabs.posted, slot);
            return self.update_deviations();
        }
        let key = key_of_receive(slabs.posted.key(slot));
        if key.care != B::ALL {
            self.unlink_wildcard(slabs, slot, key);
            return self.update_deviations();
        }
        let nodes = &mut self.nodes(slabs);
        self.chains
            .unlink(nodes, posted(slot), key, self.seed.hash(key));
    }

    /// Unlinks an unexpected message, wherever it is.
    pub(in crate::structures::indexed) fn unlink_unexpected<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if self.unlink_newer_message(slabs, slot) {
            return;
        }
        if self.classes.views() > 0 {
            self.classes.unlink(&slabs.unexpected, slot);
        }
        self.unlink_from_table_or_log(slabs, slot);
    }

    /// Unlinks a message from its log, or from the table of all keys.
    #[inline(always)]
    fn unlink_from_table_or_log<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        if !self.has_logs() || !self.unlink_logged_message(slabs, slot) {
            self.unlink_from_table(slabs, slot);
        }
    }

    /// Unlinks a message that is indexed from the table of all keys.
    #[inline(always)]
    fn unlink_from_table<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>, slot: u32)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let entry = slabs.unexpected.entry_inline(slot);
        let key = key_of_message(&entry.key, B::ALL);
        let hash = self.seed.hash(key);
        let likely = self.chains.likely_bucket(hash);
        if entry.next == NIL && self.chains.near_first(likely) == Some(unexpected(slot)) {
            return self.chains.set_near_first(likely, entry.home);
        }
        let nodes = &mut self.nodes(slabs);
        self.chains.unlink(nodes, unexpected(slot), key, hash);
    }

    /// One more removal has left few entries. Returns whether there have been enough such removals since the
    /// queues became deep to pay for a look at all slots.
    pub(super) const fn pay_for(&mut self, slots: usize) -> bool {
        self.removals_with_few = self.removals_with_few.saturating_add(1);
        self.removals_with_few as usize * 4 >= slots
    }

    /// Ends logs, whose newcomers are far, if more removals have left few entries than happen when queues are drained.
    pub(super) fn end_logs_of_few(&mut self) {
        if self.removals_with_few > 2 * SHORT {
            self.end_logs();
            self.update_deviations();
        }
    }

    /// All entries have been unlinked: forgets the classes of wildcards.
    pub(super) fn rest(&mut self) {
        self.classes.rest();
        self.unindexed = Fifo::EMPTY;
        self.newer = Newer::NONE;
        self.logs.rest();
        self.deviations = Deviations::NONE;
        self.removals_with_few = 0;
        self.chains.rest();
        if !self.wild.as_ref().is_some_and(Marked::is_small) {
            self.wild = None;
        }
        self.set_low();
    }

    /// Buckets of the table of fully specified entries.
    #[cfg(test)]
    pub(in crate::structures::indexed) const fn buckets(&self) -> u32 {
        self.chains.buckets()
    }

    /// Wildcard classes for which messages are indexed.
    #[cfg(test)]
    pub(in crate::structures::indexed) const fn views(&self) -> u32 {
        self.classes.views()
    }

    /// Heap bytes.
    pub(in crate::structures::indexed) fn bytes(&self) -> usize {
        let wild = self.wild.as_ref().map_or(0, Marked::bytes);
        self.chains.bytes() + wild + self.classes.bytes() + self.logs.bytes()
    }
}
