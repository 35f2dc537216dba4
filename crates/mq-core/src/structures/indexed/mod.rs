//! `indexed`: the default. What is near the head of a queue is found by a scan, the rest by hash.
//!
//! **Short form.** The entries of each queue stand one behind the other in a window of its storage,
//! without links: an entry is written behind the last one, and the first leaves by a change of one
//! number. Nothing beats it while a search ends within a few entries, and in applications nearly
//! every search does. How long a queue is does not matter, if it is taken in order.
//!
//! **Tabled form.** When a search would visit more entries than
//! [`Tuning::scan_limit`](crate::Tuning::scan_limit), six times as many with a wildcard, the queue
//! stays where it is and gets tables that find its entries by key. Newcomers cost what they cost
//! before: they are linked together when a search needs them. Each queue has tables of its own.
//! Receives with wildcards are in one of their own, by the bits they care about, of which a message
//! asks one bucket for each mask in use; messages are linked for a class of wildcards when its
//! searches have cost more than that. A queue that drains is short again.
//!
//! **Deep form.** When storage has to grow for queues of more than
//! [`Tuning::short_limit`](crate::Tuning::short_limit) entries, or a tabled queue has used up its slots
//! although it is shorter, because it stays long and never drains, both leave their windows. One
//! table then finds an entry of either kind by what it must match exactly. A receive that is
//! posted and a message that is unexpected never have the same key, or they would have matched; so
//! one probe searches one queue and finds the place of insertion in the other. Wildcard receives are
//! in a table of their own, one class for each mask in use; candidates of several classes are merged
//! by sequence number. When few entries are left, the short form returns.
//!
//! Search: at most the limit, or one probe for each class of wildcards in use and, in a tabled
//! queue, eight newcomers. The first search of a tabled queue links up to 4,096 entries; becoming
//! deep moves at most 2,048 entries in one operation, or 819 and a look at the others; becoming
//! short with a few entries left takes a look at up to 4,096 slots of each queue, which as many
//! removals have paid for; the table and the storage grow and shrink piece by piece. An entry that
//! leaves from the middle of the short form leaves a hole; a search that passes more than four
//! closes them. When the slots behind a short queue are used up, at most 2,048 entries move. A
//! cancelled receive is found by its slot, or, if entries have moved since it came, by a search in its
//! window, or a look at up to 4,096 slots of a deep queue. What takes as long as the queue are the first
//! searches with wildcards while many messages wait: some look at all of them, and the next links
//! or indexes them for its class. After that messages are linked as a search of the class needs
//! them; in the deep form they are indexed as they come, also in later fillings, for as long as
//! that saves more than it costs: queues of at most 4,096 slots that are rarely asked go on being
//! looked at. Seven masks have classes at a time: receives with further ones, of which MPI has
//! none, stand in a list that every message is compared with, and look at all messages. A class
//! that has not searched for long gives its index up, in one step.
//!
//! Memory: the entries as in `list`, with up to three free slots for each in a short queue that
//! never empties (one from 256 slots on); while tabled, 8 to 16 bytes an entry, 1 KiB at least, as
//! much again for one with a wildcard, and 10 to 18 for each class that searches for messages; while
//! deep, 7.5 bytes for each entry, with wildcards or without (up to 15 where a piece has just doubled,
//! and 32 while a long queue drains), and for each class of wildcards that is searched a table of its
//! own and 16 bytes for each slot. Either takes 800 bytes for the context. After two long fillings a
//! shorter one may use 512 KiB more. A queue of up to 4,096 entries keeps their slots when it has
//! drained, a longer one 128. A context that was never searched so has no index; of the tables of a
//! queue that drains at most 64 KiB are kept, and of the deep form's at most 60.

// Which form a file is of:
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

/// Queues of at most this many entries together become short again.
const SHORT: u32 = 4;

/// Masks at a time that have a class, in either form, or a view of the messages. Receives with yet other
/// masks are compared one by one, or look at all messages.
const CLASSES: usize = 7;

/// The limit of [`Tuning::short_limit`](crate::Tuning::short_limit) as the structure keeps it.
fn short_limit(wanted: u32) -> u16 {
    const MOST: u16 = NEAR as u16;
    u16::try_from(wanted).unwrap_or(MOST).min(MOST)
}

/// The `indexed` structure; see the [module](self).
///
/// For one context, as [`Engine`](crate::Engine) uses it. Used bare with several it is correct too,
/// but contexts are not hashed: entries that differ only in the context share a bucket.
#[derive(Debug)]
pub struct Indexed<P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    /// Both queues in order, each with tables or without; away while deep.
    posted: Window,
    unexpected: Window,
    /// Tables of either form, kept while queues are short.
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

    /// Queues a receive in the short form where there is no room for it: only there it is asked how
    /// long the queues are. Returns its slot.
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

    /// Queues a message in the short form where there is no room for it. Returns its slot.
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

    /// An entry was queued in a window for which more slots had to be found: indexes all if they are too
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
