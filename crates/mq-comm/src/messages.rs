//! Messages that nobody has received yet.

use mq_core::MessageHandle;
use mq_shm::Process;
use mq_shm::liveness::Gone;

use crate::header::Word;
use crate::status::Status;

/// Bytes that a slot keeps for the next message in it.
const KEPT: usize = 64 * 1024;

/// Bytes that all free slots keep.
const KEPT_BY_ALL: usize = 1 << 20;

/// Slots that are kept when all are free.
const KEPT_SLOTS: usize = 2048;

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
    /// At the sender, which calls it `send`.
    Announced {
        address: u64,
        shared: u64,
        send: u64,
    },
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
    pub(crate) bytes: Vec<u8>,
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
                bytes: Vec::new(),
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        self.kept -= slot.bytes.capacity();
        slot.keeper = Keeper::Queue;
        slot.name = None;
        slot.from = from;
        slot.bits = bits;
        slot.word = word;
        slot.total = total;
        slot.body = body;
        slot.shown = false;
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

    /// The message has been received, or is not wanted any more.
    pub(crate) fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.keeper = Keeper::Nobody;
        slot.bytes.clear();
        slot.bytes.shrink_to(KEPT);
        if self.kept + slot.bytes.capacity() > KEPT_BY_ALL {
            slot.bytes = Vec::new();
        }
        self.kept += slot.bytes.capacity();
        self.free.push(index);
        if self.free.len() == self.slots.len() && self.slots.len() > KEPT_SLOTS {
            *self = Self::default();
        }
    }

    /// Bytes of memory for messages.
    #[cfg(test)]
    fn memory(&self) -> usize {
        let slots = self.slots.capacity() * size_of::<Message>();
        let bytes = self.slots.iter().map(|slot| slot.bytes.capacity());
        slots + bytes.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    messages.at_mut(index).bytes.extend([7; 16_000]);
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
