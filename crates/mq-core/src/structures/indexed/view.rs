//! A view: the unexpected messages as one class of wildcard receives sees them.

use crate::fifo::Links;
use crate::memory::vec_bytes;
use crate::slab::NIL;

use super::keys::KeyId;

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    prev: u32,
    key: KeyId,
}

/// For each unexpected message, its links among the messages with equal bits under one mask.
///
/// The lists themselves are those of the keys; a message is on one list of its exact key, linked
/// in the slab, and on one list of every view, linked here.
#[derive(Debug, Default)]
pub(super) struct View {
    links: Vec<Link>,
    /// Messages linked since a receive last asked.
    unused: usize,
}

/// Messages that a view is kept up for without being asked, beside four for each slot.
const PATIENCE: usize = 256;

impl View {
    const UNLINKED: Link = Link {
        next: NIL,
        prev: NIL,
        key: NIL,
    };

    /// The key under which the message in `slot` is linked.
    pub(super) fn key(&self, slot: u32) -> KeyId {
        self.links[slot as usize].key
    }

    /// The keys of all messages, once for each.
    pub(super) fn keys(&self) -> impl Iterator<Item = KeyId> + '_ {
        let keys = self.links.iter().map(|link| link.key);
        keys.filter(|&key| key != NIL)
    }

    /// A receive of the class asks.
    pub(super) fn use_it(&mut self) {
        self.unused = 0;
    }

    /// Whether it has been kept up for longer than it would take to make it again.
    pub(super) const fn is_stale(&self) -> bool {
        self.unused > 4 * self.links.len() + PATIENCE
    }

    /// The message in `slot` has left.
    pub(super) fn forget(&mut self, slot: u32) {
        self.links[slot as usize].key = NIL;
    }

    /// Prepares the message in `slot` to be linked under `key`.
    pub(super) fn set_key(&mut self, slot: u32, key: KeyId) {
        self.unused += 1;
        let slots = slot as usize + 1;
        if self.links.len() < slots {
            self.links.resize(slots, Self::UNLINKED);
        }
        self.links[slot as usize].key = key;
    }

    pub(super) const fn bytes(&self) -> usize {
        vec_bytes(&self.links)
    }
}

impl Links for View {
    fn next(&self, slot: u32) -> u32 {
        self.links[slot as usize].next
    }
    fn prev(&self, slot: u32) -> u32 {
        self.links[slot as usize].prev
    }
    fn set_next(&mut self, slot: u32, next: u32) {
        self.links[slot as usize].next = next;
    }
    fn set_prev(&mut self, slot: u32, prev: u32) {
        self.links[slot as usize].prev = prev;
    }
}
