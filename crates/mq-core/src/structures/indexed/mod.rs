//! `indexed`: the default. Entries near the head of a queue are found by a scan, the rest by hash.
//!
//! **Short form.** The entries of each queue are contiguous, except for holes, in a window of its
//! storage, without links: a new entry is written after the last one, and removing the first changes
//! one number. Nothing beats this while a search ends within a few entries, as nearly every search in
//! applications does. The length of a queue does not matter if it is taken in order.
//!
//! **Tabled form.** When a search would visit more entries than
//! [`Tuning::scan_limit`](crate::Tuning::scan_limit), six times as many with a wildcard, the queue
//! stays in place and gets tables that find its entries by key. Newcomers cost what they did before:
//! they are linked together when a search needs them. Each queue has its own tables. Receives with
//! wildcards have a separate table, keyed by the bits they care about; a message looks at one of its
//! buckets per mask in use. Messages are linked for a class of wildcards when searches of the class have
//! cost more than the linking. A queue that drains is short again.
//!
//! **Deep form.** When storage has to grow for queues of more than
//! [`Tuning::short_limit`](crate::Tuning::short_limit) entries, or a shorter tabled queue has used up its
//! slots because it stays long and never drains, both queues leave their windows. One table then finds
//! an entry of either kind by what it must match exactly. A posted receive and an unexpected message
//! never have the same key, or they would have matched; so one probe searches one queue and finds the
//! place of insertion in the other. Wildcard receives have a table of their own, with one class per
//! mask in use; candidates of several classes are merged by sequence number. When few entries are
//! left, the short form returns.
//!
//! Search: at most the limit, or one probe per class of wildcards in use and, in a tabled queue, eight
//! newcomers. The first search of a tabled queue links up to 4,096 entries. Becoming deep moves at most
//! 2,048 entries in one operation, or 819 and a look at the others. Becoming short with a few entries
//! left looks at up to 4,096 slots of each queue, for which a quarter as many removals have paid. The table and
//! the storage grow and shrink piece by piece. An entry that leaves from the middle of the short form
//! leaves a hole; a search that passes more than four holes closes them. When the slots after a short
//! queue are used up, at most 2,048 entries move. A cancelled receive is found by its slot or, if entries
//! have moved since it came, by a search in its window or a look at up to 4,096 slots of a deep queue.
//! Only the first searches with wildcards while many messages wait take time proportional to the queue:
//! some look at all messages, and the next one links or indexes them for its class. After that, messages
//! are linked when a search of the class needs them; in the deep form they are indexed as they come,
//! also in later fillings, as long as that saves more than it costs: queues of at most 4,096 slots that
//! are rarely searched continue to be scanned. Seven masks have classes at a time. Receives with further
//! masks, which MPI does not have, are in a list that every message is compared with, and look at all
//! messages. A class that has not searched for long gives up its index, in one step.
//!
//! Memory: the entries as in `list`, with up to three free slots per entry in a short queue that
//! never empties (one from 256 slots on). While tabled: 8 to 16 bytes per entry, at least 1 KiB, as
//! much again for an entry with a wildcard, and 10 to 18 for each class that searches for messages. While
//! deep: 7.5 bytes per entry, with wildcards or without (up to 15 where a piece has just doubled, and 32
//! while a long queue drains), and for each class of wildcards that is searched a table of its own and
//! 16 bytes per slot. Either form takes 800 bytes for the context. After two long fillings a shorter one
//! may use 512 KiB more. A drained queue of up to 4,096 entries keeps its slots, a longer one keeps 128.
//! A context that was never searched that way has no index. Of the tables of a drained queue at most
//! 64 KiB are kept, and of those of the deep form at most 60 KiB.

// The form each file belongs to:
//
// | form | files |
// | --- | --- |
// | short | `scans`, and `slab/window` |
// | tabled | `tabled` (the steps), `tables` (of messages, of receives, of wildcards, views), `answer` |
// | deep | `steps`, `index`, `chains` and `heads` (the table), `marked`, `classes`, `nodes`, `view` and `paged` |
// | any | `operations` (the trait), `hash`; `index` also owns the tables of the tabled form |

mod answer;
mod chains;
mod classes;
mod hash;
mod heads;
mod index;
mod marked;
mod nodes;
mod operations;
mod paged;
mod scans;
mod steps;
mod tabled;
mod tables;
mod view;

use self::index::Index;
use self::nodes::{Slot, slot_of};
use self::steps::deep;
use crate::arrangement::Slabs;
use crate::memory::{Footprint, Memory};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::{NEAR, Window};

/// Queues with at most this many entries together become short again.
const SHORT: u32 = 4;

/// How many masks at a time have a class, in either form, or a view of the messages. Receives with
/// further masks are compared one by one, or look at all messages.
const CLASSES: usize = 7;

/// The limit of [`Tuning::short_limit`](crate::Tuning::short_limit) as the structure keeps it.
fn short_limit(wanted: u32) -> u16 {
    const MOST: u16 = NEAR as u16;
    u16::try_from(wanted).unwrap_or(MOST).min(MOST)
}

/// The `indexed` structure; see the [module](self).
///
/// For one context, as [`Engine`](crate::Engine) uses it. Using it directly for several contexts is
/// correct too, but contexts are not hashed: entries that differ only in the context share a bucket.
#[derive(Debug)]
pub struct Indexed<P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    /// Both queues in order, each with or without tables; away while deep.
    posted: Window,
    unexpected: Window,
    /// Tables of either form, kept while queues are short.
    index: Option<Box<Index<BitsOf<P>>>>,
    /// The seed of the hash; 0 for a secret one.
    hash_seed: u32,
    /// Entries that a scan of the short form may visit.
    scan_limit: u8,
    /// Entries that the queues of the short form may hold together.
    short_limit: u16,
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Whether the queues are in the deep form now.
    pub const fn is_deep(&self) -> bool {
        self.posted.is_away()
    }

    /// Indexes all entries, in order.
    #[cold]
    #[inline(never)]
    fn deepen(&mut self) {
        self.end_tables();
        let most = u32::from(self.short_limit);
        let receives = self.posted.leave(&mut self.slabs.posted);
        let messages = self.unexpected.leave(&mut self.slabs.unexpected);
        deep(&mut self.index).take_over(&mut self.slabs, receives, messages, most);
    }

    /// Few entries are left in the deep form, for the size of its table or for any size: makes the table
    /// smaller, or returns to scanning if there are no entries or enough removals have paid for
    /// collecting them. `leaving` is the node of an entry that is on no list and about to be removed; it
    /// is returned.
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
                if left <= index.few() {
                    index.shrink(&mut self.slabs);
                }
                return leaving;
            }
        }
        let Slabs { posted, unexpected } = &mut self.slabs;
        if left == 0 {
            index.rest();
            self.posted.restart();
            self.unexpected.restart();
            return leaving;
        }
        let mut receives = posted.slots_in_order();
        receives.retain(|&slot| nodes::posted(slot) != leaving);
        let mut messages = unexpected.slots_in_order();
        messages.retain(|&slot| nodes::unexpected(slot) != leaving);
        for &slot in &receives {
            index.unlink_posted(&mut self.slabs, slot);
        }
        for &slot in &messages {
            index.unlink_unexpected(&mut self.slabs, slot);
        }
        index.rest();
        let (receive, message) = match slot_of(leaving) {
            Slot::Posted(slot) => (Some(slot), None),
            Slot::Unexpected(slot) => (None, Some(slot)),
            Slot::None => (None, None),
        };
        let Slabs { posted, unexpected } = &mut self.slabs;
        let receive = self.posted.come_back(posted, &mut receives, receive);
        let message = self
            .unexpected
            .come_back(unexpected, &mut messages, message);
        receive
            .map(nodes::posted)
            .or(message.map(nodes::unexpected))
            .unwrap_or(leaving)
    }

    /// Queues a receive in the short form when there is no room for it: only here the length of the
    /// queues is checked. Returns its slot.
    #[cold]
    #[inline(never)]
    fn queue_one_more_receive(&mut self, pattern: P, receive: R) -> u32 {
        if self.posted.is_tabled() && self.posted.len() <= SHORT {
            self.untable_receives();
        }
        let slabs = &mut self.slabs;
        if self.posted.is_worn_out() || !self.posted.make_room(&mut slabs.posted, pattern) {
            self.deepen();
            return self.queue_any_receive(pattern, receive);
        }
        let slot = self.posted.push(&mut self.slabs.posted, pattern, receive);
        self.deepen_if_long();
        slot
    }

    /// Queues a message in the short form when there is no room for it. Returns its slot.
    #[cold]
    #[inline(never)]
    fn queue_one_more_message(&mut self, envelope: P::Envelope, message: M) -> u32 {
        if self.unexpected.is_tabled() && self.unexpected.len() <= SHORT {
            self.untable_messages();
        }
        let slabs = &mut self.slabs;
        if self.unexpected.is_worn_out()
            || !self.unexpected.make_room(&mut slabs.unexpected, envelope)
        {
            self.deepen();
            return self.queue_any_message(envelope, message);
        }
        let unexpected = &mut self.slabs.unexpected;
        let slot = self.unexpected.push(unexpected, envelope, message);
        self.deepen_if_long();
        slot
    }

    /// Takes out a receive, wherever it is.
    fn take_receive(&mut self, slot: u32) -> (P, R) {
        if !self.is_deep() {
            if self.posted.is_tabled() {
                self.drop_receive_tabled(slot);
                return self.slabs.posted.take_near(slot);
            }
            let taken = self.slabs.posted.take_near(slot);
            self.posted.drop_slot(&self.slabs.posted, slot);
            return taken;
        }
        deep(&mut self.index).unlink_posted(&mut self.slabs, slot);
        let slot = self.before_removal_of_receive(slot);
        self.slabs.posted.remove(slot)
    }

    /// Takes out a message, wherever it is.
    fn take_message(&mut self, slot: u32) -> (P::Envelope, M) {
        if !self.is_deep() {
            if self.unexpected.is_tabled() {
                self.drop_message_tabled(slot);
                return self.slabs.unexpected.take_near(slot);
            }
            let taken = self.slabs.unexpected.take_near(slot);
            self.unexpected.drop_slot(&self.slabs.unexpected, slot);
            return taken;
        }
        deep(&mut self.index).unlink_unexpected(&mut self.slabs, slot);
        let slot = self.before_removal_of_message(slot);
        self.slabs.unexpected.remove(slot)
    }

    /// An entry was queued in a window that had to get more slots: indexes all entries if they are too
    /// many.
    fn deepen_if_long(&mut self) {
        if self.posted.len() + self.unexpected.len() > u32::from(self.short_limit) {
            self.deepen();
        }
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
