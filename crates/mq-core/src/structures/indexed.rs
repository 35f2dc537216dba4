//! `indexed`: the default. Entries near the head of a queue are found by a scan, the rest by hash.
//!
//! **Short form.** The entries of each queue are contiguous, except for holes, in a window of its
//! storage, without links: a new entry is written after the last one, and removing the first changes
//! one number. Nothing beats this while a search ends within a few entries, as nearly every search in
//! applications does. The length of a queue does not matter if it is taken in order, and empties now and then.
//!
//! **Tabled form.** When a search would visit more entries than
//! [`Tuning::scan_limit`](crate::Tuning::scan_limit), three times as many with a wildcard, the queue
//! stays in place and gets tables that find its entries by key. Newcomers cost what they did before:
//! they are linked together when a search needs them. Each queue has its own tables. Receives with
//! wildcards have a separate table, keyed by the bits they care about; a message looks at one of its
//! buckets per mask in use. Messages are linked for a class of wildcards when searches of the class have
//! cost more than the linking. A queue that drains is short again.
//!
//! **Deep form.** When a queue has used up the slots of its window while both together have more than
//! [`Tuning::short_limit`](crate::Tuning::short_limit) entries, or while it has more than half of the slots that a
//! window may have, or because it is tabled, stays long and never drains, both queues leave their windows. One table
//! then finds an entry of either kind by what it must match exactly. A posted receive and an unexpected message never
//! have the same key, or they would have matched; so one probe searches one queue and finds the place of insertion in
//! the other. Wildcard receives have a table of their own, with one class per mask in use; candidates of several
//! classes are merged by sequence number. A queue without wildcards that is being filled is in a log instead, until
//! it stays long. When few entries are left, none of them in a slot after its queue's first 4,096, the short form
//! returns.
//!
//! # Cost
//! A class is the receives with one mask: those that leave the same bits of source and tag open.
//!
//! | | short | tabled | deep |
//! | --- | --- | --- | --- |
//! | search | up to `scan_limit` entries | one bucket, and up to eight newcomers | one bucket; in a log, may first link up to 4,096 entries; while that ends, indexes up to 32 |
//! | for a message, in addition | - | one bucket for each class with receives | one bucket for each class with receives |
//! | search with a wildcard | up to three times `scan_limit` entries | one bucket; links the messages that came since its class last searched | one bucket |
//! | the first of these, while many messages wait | - | all messages; the next links all | all messages; the next ones index a sixteenth each, at least 4,096 |
//! | operation that changes to this form | looks at up to 4,096 slots of each queue | links up to 4,096 entries | looks at up to 4,096 entries for a log, and indexes up to 512 of the other queue; or indexes up to 2,048 entries; of more, a fifth, and looks at the others |
//! | cancel | constant; bisection if entries have moved | constant; bisection if entries have moved | constant; a look at up to 4,096 slots if entries have moved |
//! | memory, beside the entries as in `list` | three free slots per entry at most (one from 256 slots on), in a queue that never empties | 8 to 16 bytes per entry, at least 1 KiB | 7.5 bytes per entry, 4 to 8 in a log, and half as many slots as entries that were left, and 4,096; 15 at most where a piece has just doubled, 64 while a long queue drains |
//! | for an entry with a wildcard, in addition | - | as much again | - |
//! | for each class that searches for messages | - | 10 to 18 bytes per message | a table of its own, and 16 bytes per slot |
//! | kept by a drained queue | its slots, up to 4,096; after more entries, 128 | up to 64 KiB of tables | up to 60 KiB of tables |
//!
//! - An entry that leaves from the middle of a short queue leaves a hole; a search that passes more than four holes
//!   closes them. When the slots after a short queue are used up, at most 2,048 entries move.
//! - Before queues become short again, a quarter as many removals as there are slots to look at have paid for that.
//! - The table and the storage of deep queues grow and shrink piece by piece.
//! - In the deep form, messages are indexed for a class as they come once it has searched, also in later fillings, as
//!   long as that saves more than it costs: queues of at most 4,096 slots that are rarely searched continue to be
//!   scanned. A class that has not searched for long gives up its index, in one step.
//! - Seven masks have classes at a time. Receives with further masks, which MPI does not have, are in a list that every
//!   message is compared with, and look at all messages.
//! - From its first table on, a context takes 800 bytes more. After two long fillings a shorter one may use 512 KiB
//!   more.

// The form each file belongs to:
//
// | form | files |
// | --- | --- |
// | short | `short`, and `slab/window` |
// | tabled | `tabled`: the `steps`, and the tables of `messages`, of `receives` and of wildcards (`wild`), and views |
// | deep | `deep`: the steps (`post`, `arrive`, `logged`, `halves`), `turning` (to this form and back), the `index` and its parts, and the `log` |
// | any | `operations` (the trait), `forms` (what depends on the form), `finders` (tables and index), `hash`, `key` |

mod deep;
mod finders;
mod forms;
mod hash;
mod key;
mod operations;
mod short;
mod tabled;

use core::fmt;

use self::finders::Finders;
use crate::arrangement::Slabs;
use crate::memory::{Footprint, Memory};
use crate::pattern::{BitsOf, Pattern};
use crate::queues::MatchQueues;
use crate::slab::{NEAR, Window};

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
pub struct Indexed<P: Pattern, R, M> {
    slabs: Slabs<P, R, M>,
    /// Both queues in order, each with or without tables; away while deep.
    posted: Window,
    unexpected: Window,
    /// The tables and the index, if a search has needed either.
    finders: Option<Box<Finders<BitsOf<P>>>>,
    /// The seed of the hash; 0 for a secret one.
    hash_seed: u32,
    /// Entries that a scan of the short form may visit.
    scan_limit: u8,
    /// Entries that the queues of the short form may hold together.
    short_limit: u16,
}

impl<P: Pattern, R, M> Indexed<P, R, M> {
    /// Whether the queues are in the deep form now.
    #[must_use]
    pub const fn is_deep(&self) -> bool {
        // Both windows are away, or neither is.
        self.posted.is_away()
    }
}

/// Shows lengths and form, neither entries nor the secret of the hash.
impl<P: Pattern, R, M> fmt::Debug for Indexed<P, R, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexed")
            .field("posted", &self.posted_len())
            .field("unexpected", &self.unexpected_len())
            .field("is_deep", &self.is_deep())
            .finish_non_exhaustive()
    }
}

impl<P: Pattern, R, M> Footprint for Indexed<P, R, M> {
    fn memory(&self) -> Memory {
        Memory {
            entries: self.slabs.bytes(),
            index: self.finders.as_ref().map_or(0, |finders| finders.bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
