//! Messages that nobody has received yet.

use mq_shm::Process;
use mq_shm::liveness::Gone;

use crate::header::Word;
use crate::status::Status;

/// Bytes that a slot keeps for the next message in it.
const KEPT: usize = 64 * 1024;

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
    /// With the sender, who calls it `send`.
    Announced {
        address: u64,
        shared: u64,
        send: u64,
    },
    /// Nowhere: it was withdrawn.
    Withdrawn,
    /// Nowhere: its sender has ended.
    Lost(Gone),
}

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) keeper: Keeper,
    pub(crate) from: Process,
    pub(crate) bits: u64,
    pub(crate) word: Word,
    pub(crate) total: u64,
    pub(crate) body: Body,
    /// The bytes that have come.
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn status(&self) -> Status {
        Status::new(self.bits, self.total)
    }
}

/// All messages that have not been received. Slots and their memory are used again.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    slots: Vec<Message>,
    free: Vec<u32>,
}

impl Messages {
    /// A message, without bytes as yet.
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
                from,
                bits: 0,
                word,
                total: 0,
                body: Body::Here,
                bytes: Vec::new(),
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.keeper = Keeper::Queue;
        slot.from = from;
        slot.bits = bits;
        slot.word = word;
        slot.total = total;
        slot.body = body;
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

    /// The message has been received, or nobody wants it.
    pub(crate) fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.keeper = Keeper::Nobody;
        slot.bytes.clear();
        slot.bytes.shrink_to(KEPT);
        self.free.push(index);
    }
}
