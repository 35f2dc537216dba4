//! Tables that find the entries of a queue by key in place, in its [`Window`](crate::slab::Window).
//!
//! A queue whose searches have been long stays as it is: newcomers are written after the last entry as
//! in the short form, at no extra cost. Tables add a number per bucket and the links of the slots.
//! Entries are linked when the next search needs them, all that have come since the last search together;
//! slots are in order of arrival, and so is each chain. [Receives](Receives) and [messages](Messages)
//! have separate tables, so that a queue that is never searched out of order has none.

mod answer;
mod buckets;
mod links;
mod messages;
mod receives;
mod steps;
mod view;
mod wild;

use self::messages::Messages;
use self::receives::Receives;
use super::hash::Seed;
use crate::envelope::MatchBits;
use crate::slab::TOO_FAR;

/// The most bytes that the tables of one queue keep when it drains: those of fully specified entries are
/// never larger, and the others are freed if all together are.
const TABLES_KEEP: usize = 64 << 10;

/// What both keep when the queues have left their windows.
const TABLES_KEEP_AWAY: usize = 4 << 10;

/// How many entries a search may compare one by one, instead of linking them, if the table has no match
/// and a scan may visit `scan_limit`: an entry that is wanted soon after it came is never linked.
const fn pending(scan_limit: u8) -> u32 {
    2 * scan_limit as u32 / 3
}

/// In place of a slot: nothing has changed, and the search is to be made in a slower way. No slot has this number.
const OTHERWISE: u32 = TOO_FAR;

/// In place of a slot: the tables have nothing, and the search goes on among entries that are not linked. No slot has
/// this number.
const NOT_LINKED: u32 = OTHERWISE - 1;

/// Where a search ended, and what it cost.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The slot of the entry, or [`NIL`](crate::slab::NIL).
    slot: u32,
    /// Entries compared, the found one included.
    visited: u32,
}

impl Found {
    /// What is to be found in a slower way; nothing has been counted.
    const OTHERWISE: Self = Self {
        slot: OTHERWISE,
        visited: 0,
    };
}

/// The tables of both queues.
#[derive(Debug)]
pub(super) struct Tables<B> {
    receives: Receives<B>,
    messages: Messages<B>,
}

impl<B: MatchBits> Tables<B> {
    pub(super) const fn new(seed: Seed, scan_limit: u8) -> Self {
        let pending = pending(scan_limit);
        Self {
            receives: Receives::new(seed, pending),
            messages: Messages::new(seed, pending),
        }
    }

    /// The queues have left their windows: gives memory back.
    fn release(&mut self) {
        if self.bytes() > TABLES_KEEP_AWAY {
            self.receives.release();
            self.messages.release();
        }
        self.receives.clear();
        self.messages.forget_links(0);
    }

    /// All entries have been dropped: forgets them and what searched for them.
    pub(super) fn clear(&mut self) {
        self.receives.rest();
        self.receives.clear();
        self.messages.clear();
    }

    /// How many receives with wildcards there is room for before all receives are linked anew.
    #[cfg(test)]
    pub(super) const fn room_for_wildcards(&self) -> u32 {
        self.receives.room_for_wildcards()
    }

    pub(super) fn bytes(&self) -> usize {
        self.receives.bytes() + self.messages.bytes()
    }
}
