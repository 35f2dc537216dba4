//! Tables that find the entries of a queue by key in place, in its [`Window`](crate::slab::Window).
//!
//! A queue whose searches have been long stays as it is: newcomers are written after the last entry as
//! in the short form, at no extra cost. Tables add a number per bucket and the links of the slots.
//! Entries are linked when the next search needs them, all that have come since the last search together;
//! slots are in order of arrival, and so is each chain. [Receives](Receives) and [messages](Messages)
//! have separate tables, so that a queue that is never searched out of order has none.

mod buckets;
mod messages;
mod receives;
mod view;
mod wild;

use core::ops::Range;

use self::buckets::{Bucket, Links};
use self::messages::Messages;
use self::receives::Receives;
use super::hash::Seed;
use crate::envelope::MatchBits;
use crate::slab::{Entry, NIL, TOO_FAR};

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

/// The end of a search of the tables, after which it goes on among entries that are not linked; no
/// slot has this number.
pub(super) const NOT_LINKED: u32 = TOO_FAR - 1;

/// Where a search ended, and what it cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The slot of the entry, or [`NIL`].
    pub(super) slot: u32,
    /// Entries compared, the found one included.
    pub(super) visited: u32,
}

/// The tables of both queues.
#[derive(Debug)]
pub(super) struct Tables<B> {
    pub(super) receives: Receives<B>,
    pub(super) messages: Messages<B>,
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
    pub(super) fn release(&mut self) {
        if self.bytes() > TABLES_KEEP_AWAY {
            self.receives.release();
            self.messages.release();
        }
        self.receives.clear();
        self.messages.begin(0);
    }

    /// All entries have been dropped: forgets them and what searched for them.
    pub(super) fn clear(&mut self) {
        self.receives.rest();
        self.receives.clear();
        self.messages.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.receives.bytes() + self.messages.bytes()
    }
}

/// Looks for the earliest entry in some slots.
#[inline(always)]
fn find_pending<K, T>(
    near: &[Entry<K, T>],
    slots: Range<u32>,
    wanted: impl Fn(&K) -> bool,
) -> Found {
    let mut visited = 0;
    for slot in slots {
        let Some(entry) = near.get(slot as usize) else {
            break;
        };
        if entry.is_used() {
            visited += 1;
            if wanted(&entry.key) {
                return Found { slot, visited };
            }
        }
    }
    Found { slot: NIL, visited }
}

/// Links entries as long as each is the first of its bucket: returns how many, and how many slots it has
/// passed: all of them if it met no other entry. Entries without a place are left to the caller, as are
/// others. A function without calls, so that everything is in registers: nearly all entries are alone.
#[inline(never)]
fn link_alone<K, T>(
    entries: &mut [Entry<K, T>],
    first: u32,
    buckets: &mut [Bucket],
    place: impl Fn(&K) -> Option<usize>,
) -> (u32, u32) {
    let (mut slot, mut holes) = (first, 0);
    for entry in entries {
        if !entry.is_used() {
            holes += 1;
        } else if let Some(bucket) = place(&entry.key).and_then(|place| buckets.get_mut(place))
            && bucket.is_empty()
        {
            *bucket = Bucket::of(slot);
            entry.next = NIL;
        } else {
            break;
        }
        slot += 1;
    }
    let passed = slot - first;
    (passed - holes, passed)
}

/// Links an entry behind the last of its bucket; 1 if that has another key.
#[inline(never)]
fn link_behind<K, T>(
    near: &mut [Entry<K, T>],
    last: u32,
    slot: u32,
    is_other: impl FnOnce(&K) -> bool,
) -> u32 {
    near.link(last, slot);
    let last = near.get(last as usize);
    last.is_some_and(|entry| is_other(&entry.key)).into()
}
