//! Messages that nobody has received yet.

use smallvec::SmallVec;

use mq_core::MessageHandle;
use mq_shm::Process;
use mq_shm::liveness::Gone;

use crate::header::{Exposed, Word};
use crate::request::Name;
use crate::status::Status;

/// Bytes that a slot keeps for the next message in it.
const KEPT_BYTES_PER_SLOT: usize = 64 * 1024;

/// Bytes that all free slots keep.
const KEPT_BY_ALL: usize = 1 << 20;

/// Slots that are kept when all are free.
const KEPT_SLOTS: usize = 2048;

/// Bytes of memory that each message takes, besides its own: a slot, a place in the engine, and what an allocator adds.
const OVERHEAD_BYTES: u64 = 256;

/// Lengths are what others have written: their sum must not overflow.
const LONGEST: u64 = 1 << 40;

/// The bytes of a message. What a burst of short ones has taken would not always go back to the system, if each was an
/// allocation: the C library keeps small ones.
pub(crate) type Bytes = SmallVec<[u8; 24]>;

static ZEROS: [u8; 4096] = [0; 4096];

/// The bytes that they have allocated.
fn heap(bytes: &Bytes) -> usize {
    if bytes.spilled() { bytes.capacity() } else { 0 }
}

/// Makes room for more bytes after those that have come, and shows it.
pub(crate) fn grow(bytes: &mut Bytes, by: usize) -> &mut [u8] {
    let before = bytes.len();
    if before == 0 && by > bytes.capacity() {
        *bytes = Bytes::from_vec(vec![0; by]);
    } else {
        // In blocks: `resize` writes byte by byte.
        let mut left = by;
        while left > 0 {
            let block = left.min(ZEROS.len());
            bytes.extend_from_slice(&ZEROS[..block]);
            left -= block;
        }
    }
    &mut bytes[before..]
}

/// Who has a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeper {
    Nobody,
    /// The unexpected queue.
    Queue,
    /// The user, after a matched probe.
    User,
}

/// Where its bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Here, or on their way.
    Here,
    /// At the sender, which calls it by this name.
    Announced { exposed: Exposed, name: Name },
    /// Some here, the others in a ring or on their way there.
    Ring,
    /// Nowhere: it was withdrawn.
    Withdrawn,
    /// Nowhere: its sender has ended.
    Lost(Gone),
}

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) keeper: Keeper,
    /// Its name in the unexpected queue, now or before.
    pub(crate) name: Option<MessageHandle>,
    pub(crate) from: Process,
    pub(crate) bits: u64,
    pub(crate) word: Word,
    pub(crate) total: u64,
    pub(crate) body: Body,
    /// A probe has shown it: a receive will find it, whatever becomes of it.
    pub(crate) shown: bool,
    /// The bytes that have come; their full length if some are still in a ring.
    pub(crate) bytes: Bytes,
    /// What is counted for it in [`Messages::bytes`].
    counted: u64,
}

impl Message {
    pub(crate) fn status(&self) -> Status {
        Status::new(self.bits, self.total)
    }
}

/// All messages that have not been received. Slots and their memory are reused, within limits: the memory of
/// a burst is freed when the burst has been received.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    slots: Vec<Message>,
    free: Vec<u32>,
    /// Bytes that free slots have room for.
    kept: usize,
    /// Bytes that messages take.
    bytes: u64,
    /// Where the search for an announced message begins: at the last one. Those of one sender mostly end in the order
    /// in which they came.
    last_announced: usize,
}

impl Messages {
    /// A message, without bytes so far.
    pub(crate) fn add(
        &mut self,
        from: Process,
        bits: u64,
        word: Word,
        total: u64,
        body: Body,
    ) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Message {
                keeper: Keeper::Nobody,
                name: None,
                from,
                bits: 0,
                word,
                total: 0,
                body: Body::Here,
                shown: false,
                bytes: Bytes::new(),
                counted: 0,
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        self.kept -= heap(&slot.bytes);
        slot.keeper = Keeper::Queue;
        slot.name = None;
        slot.from = from;
        slot.bits = bits;
        slot.word = word;
        slot.total = total;
        slot.body = body;
        slot.shown = false;
        slot.counted = match body {
            Body::Here | Body::Ring => total.min(LONGEST) + OVERHEAD_BYTES,
            _ => 0,
        };
        self.bytes += slot.counted;
        index
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> &Message {
        &self.slots[index as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut Message {
        &mut self.slots[index as usize]
    }

    /// Every message that is kept.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &Message)> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, message)| message.keeper != Keeper::Nobody)
    }

    /// The announced message of a process that this calls by such a name.
    pub(crate) fn announced(&mut self, from: Process, name: Name) -> Option<u32> {
        let is_it = |slot: &Message| {
            let announced = matches!(slot.body, Body::Announced { name: its, .. } if its == name);
            announced && slot.from == from && slot.keeper != Keeper::Nobody
        };
        // Slots that were free are taken in the order of a burst, or in the opposite one.
        let (before, after) = self
            .slots
            .split_at(self.last_announced.min(self.slots.len()));
        let farthest = before.len().max(after.len());
        let found = (0..farthest).find_map(|far| {
            let up = before.len() + far;
            let down = before.len().checked_sub(far + 1);
            [Some(up), down]
                .into_iter()
                .flatten()
                .find(|&at| self.slots.get(at).is_some_and(is_it))
        })?;
        self.last_announced = found;
        Some(found as u32)
    }

    /// Its bytes will not be read any more, but a receive is to find it.
    pub(crate) fn empty(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.bytes = Bytes::new();
        let counted = slot.counted.min(OVERHEAD_BYTES);
        self.bytes -= slot.counted - counted;
        slot.counted = counted;
    }

    /// The message has been received, or is not wanted any more.
    pub(crate) fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.keeper = Keeper::Nobody;
        self.bytes -= core::mem::take(&mut slot.counted);
        slot.bytes.clear();
        let heap_bytes = heap(&slot.bytes);
        if heap_bytes > KEPT_BYTES_PER_SLOT || self.kept + heap_bytes > KEPT_BY_ALL {
            slot.bytes = Bytes::new();
        }
        self.kept += heap(&slot.bytes);
        self.free.push(index);
        if self.free.len() == self.slots.len() && self.slots.len() > KEPT_SLOTS {
            *self = Self::default();
        }
    }

    /// Bytes of memory that the messages take whose bytes are here, or on their way: about what they cost.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of memory for messages.
    #[cfg(test)]
    fn memory(&self) -> usize {
        let slots = self.slots.capacity() * size_of::<Message>();
        let bytes = self.slots.iter().map(|slot| heap(&slot.bytes));
        slots + bytes.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_messages_are_found_in_any_order_and_bytes_are_counted() {
        let mut messages = Messages::default();
        let mut add = |from, send| {
            let (exposed, name) = (Exposed::default(), Name(send));
            let body = Body::Announced { exposed, name };
            messages.add(Process(from), send, Word(0), 9, body)
        };
        let indices: Vec<u32> = (0..6)
            .map(|number| add(number % 2, 7 + number as u64 / 2))
            .collect();
        assert_eq!(messages.bytes(), 0);
        for at in [2, 3, 5, 0, 4, 1, 1, 5] {
            let (from, send) = (at % 2, 7 + at / 2);
            let found = messages.announced(Process(from), Name(send.into()));
            assert_eq!(found, Some(indices[at as usize]));
        }
        // One that is kept in memory, and whose sender ends.
        let long = messages.add(Process(0), 0, Word(0), 5000, Body::Here);
        grow(&mut messages.at_mut(long).bytes, 5000);
        assert_eq!(messages.bytes(), 5000 + OVERHEAD_BYTES);
        messages.empty(long);
        assert_eq!(messages.bytes(), OVERHEAD_BYTES);
        messages.release(long);
        assert_eq!(messages.bytes(), 0);
        messages.release(indices[3]);
        assert_eq!(messages.announced(Process(1), Name(8)), None);
        assert_eq!(messages.announced(Process(2), Name(7)), None);
    }

    #[test]
    fn the_memory_of_a_burst_is_given_back_when_it_is_received() {
        let mut messages = Messages::default();
        for round in 0..3 {
            // The last round leaves one behind until the end.
            let burst = [10_000, 100, 2000][round];
            let indices: Vec<u32> = (0..burst)
                .map(|number| {
                    let word = Word(0);
                    let index = messages.add(Process(0), number, word, 16_000, Body::Here);
                    messages.at_mut(index).bytes.extend_from_slice(&[7; 16_000]);
                    index
                })
                .collect();
            assert!(messages.memory() >= burst as usize * 16_000);
            indices[1..]
                .iter()
                .for_each(|&index| messages.release(index));
            let slots = messages.slots.capacity() * size_of::<Message>();
            assert!(messages.memory() - slots <= KEPT_BY_ALL + 2 * 16_000);
            assert_eq!(messages.all().count(), 1);
            messages.release(indices[0]);
            assert!(messages.memory() <= KEPT_BY_ALL + KEPT_SLOTS * size_of::<Message>());
            assert_eq!(messages.all().count(), 0);
        }
    }
}
