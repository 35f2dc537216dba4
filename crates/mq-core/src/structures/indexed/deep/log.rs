//! The newer part of a deep queue, or all of it, in the order in which it came, with a table of its own.
//!
//! A long queue that is being filled is mostly drained before long. Until then nobody has to know which of its slots
//! are free, so that newcomers take one slot after another. They are put on chains together, those of each run of
//! slots when the next one is asked for; and since each queue has its own table, a newcomer is only searched for in
//! that of the other. The hash is one multiplication. A queue that turns out to stay long is moved to the
//! [index](super::Index), which uses slots again.

mod buckets;
mod ending;
mod hash;
mod kind;
mod nodes;

use self::buckets::Buckets;
use self::hash::Hash;
pub(super) use self::kind::{Kind, MessageKind, ReceiveKind};
use self::nodes::Chained;
use super::super::hash::Seed;
use super::super::key::Key;
use super::chains::{self, Probe};
use crate::slab::{Entry, Leaving, MORE, NEAR, NIL, Slab};

/// Groups of buckets that are moved in a table that grows whenever slots are made ready: four buckets for each of
/// these.
const MOVED_AT_ONCE: usize = MORE as usize / 4;

/// Groups that are moved with a removal that is not the quickest: none is until its bucket is moved, and a queue may be
/// drained as soon as its table has begun to grow.
const MOVED_WITH_REMOVAL: usize = 1;

/// Factors that are tried until one spreads the keys well.
const TRIES: u8 = 8;

/// A factor is good if it puts no more than this many of 256 entries into buckets with others, and bad if it puts
/// three of four there: then a chain has four keys on average.
const GOOD: u32 = 24;
const BAD: u32 = 192;

/// This many entries are enough to tell that a factor is bad.
const ENOUGH: u32 = 256;

/// Entries that are put on chains, at most, when slots are made ready: more than these, so that a log catches up with
/// what its window had.
const LINKED_AT_ONCE: u32 = 16 * MORE;

/// See [`Log`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Off,
    On,
    /// What there is is being indexed.
    Ending,
}

/// The entries of one queue that are not indexed, in slots that are used once while the log is on: the near ones of the
/// window that was left, and far ones from the first on.
///
/// A log begins with a queue that has no entries with wildcards, and then has all of them. It is to end when its
/// steps have more to look at: receives with wildcards, or views of the messages. While it ends, the index has the
/// older part of the queue, and all receives with wildcards, and newcomers without still come to the log.
#[derive(Debug)]
pub(super) struct Log {
    buckets: Buckets,
    hash: Hash,
    /// No entry of the log is in a slot before this.
    first: u32,
    /// The first slot whose entry is not on a chain; all before are.
    linked: u32,
    /// How many near slots the queue had.
    near_slots: u32,
    /// Entries that have been put on chains, and how many of them into buckets with other keys.
    count: u32,
    beside: u32,
    /// Entries that have been given to the index.
    moved: u32,
    /// Removals that have left few entries for the number of buckets.
    lingering: u32,
    /// How many factors may still be tried.
    tries: u8,
    state: State,
}

/// Where a search has ended.
struct At {
    hash: u64,
    probe: Probe,
}

impl Log {
    pub(super) const fn new(seed: Seed) -> Self {
        Self {
            buckets: Buckets::new(),
            hash: Hash::new(seed),
            first: 0,
            linked: 0,
            near_slots: 0,
            count: 0,
            beside: 0,
            moved: 0,
            lingering: 0,
            tries: TRIES,
            state: State::Off,
        }
    }

    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.state != State::Off
    }

    pub(super) fn is_ending(&self) -> bool {
        self.state == State::Ending
    }

    /// Entries of its queue without wildcards that are in the index, at most.
    pub(super) const fn moved(&self) -> u32 {
        self.moved
    }

    /// Begins, in a log that is off, with the entries that a window has released, of which none has a wildcard and none
    /// is on a chain.
    pub(super) fn begin<K: Kind, T>(&mut self, slab: &mut Slab<K::Stored, T>, entries: Leaving) {
        self.hash.suit(entries.sample(slab, 1).map(K::bits));
        self.buckets.begin(slab.len());
        self.near_slots = slab.slots();
        self.first = entries.free_holes(slab);
        self.linked = self.first;
        (self.count, self.beside) = (0, 0);
        (self.moved, self.lingering) = (0, 0);
        self.state = State::On;
    }

    /// All entries have left, each off its chain, or been dropped.
    pub(super) fn rest(&mut self) {
        if self.state == State::Off {
            return;
        }
        if self.count >= ENOUGH {
            let is_good = !self.puts_beside(GOOD);
            if self.puts_beside(BAD) || !is_good && self.tries > 0 {
                self.hash.take_another_factor();
            }
            self.tries = if is_good {
                0
            } else {
                self.tries.saturating_sub(1)
            };
        }
        self.buckets.release();
        self.state = State::Off;
    }

    /// Whether more than this many of 256 entries came into buckets with other keys.
    fn puts_beside(&self, of_256: u32) -> bool {
        u64::from(self.beside) * 256 > u64::from(self.count) * u64::from(of_256)
    }

    /// Puts an entry into its bucket if that is empty, as nearly always; false if it is not.
    #[inline(always)]
    fn link_alone<K: Kind, T>(&mut self, entry: &mut Entry<K::Stored, T>, slot: u32) -> bool {
        let hash = self.hash.of(K::bits(&entry.key));
        match self.buckets.first_mut(hash) {
            Some(first) if *first == NIL => {
                *first = slot;
                entry.next = NIL;
                entry.prev = NIL;
                entry.home = NIL;
                self.count += 1;
                true
            }
            _ => false,
        }
    }

    /// Puts an entry into its bucket, whatever is there.
    #[inline(never)]
    fn link_beside<K: Kind, T>(&mut self, slab: &mut Slab<K::Stored, T>, slot: u32) {
        let key = K::key(&slab.entry_inline(slot).key);
        let At { hash, probe } = self.probe::<K, T>(slab, key);
        self.count += 1;
        if probe.node == NIL && probe.first != NIL {
            self.beside += 1;
        }
        let nodes = &mut Chained::<K, T> { slab };
        if chains::link(nodes, probe, slot) {
            self.buckets.set_first(hash, slot);
        }
    }

    /// Puts entries on chains that are not, those before a slot.
    #[inline(never)]
    fn link<K: Kind, T>(&mut self, slab: &mut Slab<K::Stored, T>, end: u32) {
        while self.linked < end {
            let (entries, next) = slab.piece_mut(self.linked..end);
            match self.link_as_long_as_alone::<K, T>(entries) {
                None => self.linked = next,
                Some(slot) => {
                    self.link_beside::<K, T>(slab, slot);
                    self.linked = slot + 1;
                }
            }
        }
    }

    /// Puts entries into their buckets, of which the first is the first that is on no chain, as long as these are
    /// empty; returns the slot of the one for which that is not so.
    #[inline(always)]
    fn link_as_long_as_alone<K: Kind, T>(
        &mut self,
        entries: &mut [Entry<K::Stored, T>],
    ) -> Option<u32> {
        let is_growing = self.buckets.is_growing();
        for (slot, entry) in (self.linked..).zip(entries) {
            if !entry.is_used() || !K::is_exact(&entry.key) {
                continue;
            }
            if is_growing || !self.link_alone::<K, T>(entry, slot) {
                return Some(slot);
            }
        }
        None
    }

    /// Makes sure that the queue has a slot for a newcomer after the last; `stored` may be any. Ends if half as many
    /// slots as there are entries, and `slack`, have been left behind, or the factor is bad.
    pub(super) fn make_room<K: Kind, T>(
        &mut self,
        slab: &mut Slab<K::Stored, T>,
        stored: K::Stored,
        slack: u32,
    ) {
        if slab.is_empty() {
            // Its slots may have been given back, and begin again; until here nothing was in the log, so that it did
            // not matter that `first` and `linked` were beyond the end.
            (self.first, self.linked, self.near_slots) = (slab.end(), slab.end(), 0);
        }
        let end = slab.end().min(self.linked + LINKED_AT_ONCE);
        self.link::<K, T>(slab, end);
        self.buckets.serve(slab.len() + MORE);
        self.move_buckets::<K, T>(slab, MOVED_AT_ONCE);
        let len = slab.len();
        let slots = slab.end() - NEAR as u32 + self.near_slots;
        let stays_long = slots > len + len / 2 + slack;
        if stays_long || self.count >= ENOUGH && self.puts_beside(BAD) {
            self.end();
        }
        slab.extend(stored);
    }

    /// Moves some groups of buckets, if the table grows.
    #[inline]
    fn move_buckets<K: Kind, T>(&mut self, slab: &mut Slab<K::Stored, T>, groups: usize) {
        if !self.buckets.is_growing() {
            return;
        }
        let hash = self.hash;
        let next = |slab: &Slab<K::Stored, T>, slot| {
            let entry = slab.entry_inline(slot);
            (hash.of(K::bits(&entry.key)), entry.home)
        };
        let link = |slab: &mut Slab<K::Stored, T>, slot, before| {
            slab.entry_inline_mut(slot).home = before;
        };
        self.buckets.move_some(groups, slab, next, link);
    }

    /// Takes the first entry with a key, where the index has none of the queue.
    #[inline(always)]
    pub(super) fn take<K: Kind, T>(
        &mut self,
        slab: &mut Slab<K::Stored, T>,
        key: Key<K::Bits>,
    ) -> Option<u32> {
        // Nearly always it is the only one, and the first in its bucket.
        if let Some(first) = self.buckets.first_mut(self.hash.of(key.bits))
            && *first != NIL
        {
            let slot = *first;
            let entry = slab.entry_inline(slot);
            if K::has(&entry.key, key) && entry.next == NIL {
                *first = entry.home;
                return Some(slot);
            }
        }
        self.take_any::<K, T>(slab, key)
    }

    /// [`take`](Self::take), wherever it is.
    #[inline(never)]
    fn take_any<K: Kind, T>(
        &mut self,
        slab: &mut Slab<K::Stored, T>,
        key: Key<K::Bits>,
    ) -> Option<u32> {
        self.move_buckets::<K, T>(slab, MOVED_WITH_REMOVAL);
        let At { hash, probe } = self.search::<K, T>(slab, key)?;
        let nodes = &mut Chained::<K, T> { slab };
        if let Some(first) = chains::unlink_first(nodes, probe) {
            self.buckets.set_first(hash, first);
        }
        Some(probe.node)
    }

    /// The first entry with a key. If none with it is on a chain, all entries are put on chains: at most what the
    /// window had, some thousand, and those of one run of slots.
    fn search<K: Kind, T>(
        &mut self,
        slab: &mut Slab<K::Stored, T>,
        key: Key<K::Bits>,
    ) -> Option<At> {
        let found = |at: &At| at.probe.node != NIL;
        let at = self.probe::<K, T>(slab, key);
        if found(&at) || self.linked == slab.end() {
            return Some(at).filter(found);
        }
        self.link::<K, T>(slab, slab.end());
        Some(self.probe::<K, T>(slab, key)).filter(found)
    }

    /// The first entry with a key, which stays.
    pub(super) fn find<K: Kind, T>(
        &mut self,
        slab: &mut Slab<K::Stored, T>,
        key: Key<K::Bits>,
    ) -> Option<u32> {
        let at = self.search::<K, T>(slab, key)?;
        Some(at.probe.node)
    }

    /// Whether an entry of the queue is in the log.
    pub(super) fn holds<K: Kind, T>(&self, slab: &Slab<K::Stored, T>, slot: u32) -> bool {
        self.is_on() && slot >= self.first && K::is_exact(slab.key(slot))
    }

    /// Takes out an entry that it holds.
    pub(super) fn unlink<K: Kind, T>(&mut self, slab: &mut Slab<K::Stored, T>, slot: u32) {
        if slot >= self.linked {
            return;
        }
        let key = K::key(slab.key(slot));
        let At { hash, probe } = self.probe::<K, T>(slab, key);
        let nodes = &mut Chained::<K, T> { slab };
        if let Some(first) = chains::unlink(nodes, probe, slot) {
            self.buckets.set_first(hash, first);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.buckets.bytes()
    }

    #[inline(always)]
    fn probe<K: Kind, T>(&self, slab: &mut Slab<K::Stored, T>, key: Key<K::Bits>) -> At {
        let hash = self.hash.of(key.bits);
        let nodes = Chained::<K, T> { slab };
        let probe = chains::probe(&nodes, key, self.buckets.first(hash));
        At { hash, probe }
    }
}
