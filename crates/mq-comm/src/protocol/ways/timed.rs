//! Messages that are timed on their way through a ring.

use std::collections::VecDeque;

use mq_shm::Process;

use super::CLASSES;
use crate::request::Name;

/// Messages that are timed, and on their way through a ring, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(super) struct Timed {
    all: VecDeque<OnItsWay>,
    /// How many there are of each class.
    of_class: [u32; CLASSES],
}

#[derive(Debug)]
pub(super) struct OnItsWay {
    pub(super) receive: Name,
    pub(super) from: Process,
    pub(super) bytes: usize,
    pub(super) class: usize,
}

impl Timed {
    pub(super) fn add(&mut self, message: OnItsWay) {
        self.of_class[message.class] += 1;
        self.all.push_back(message);
    }

    /// Most messages come in this order.
    pub(super) fn take(&mut self, receive: Name) -> Option<OnItsWay> {
        let at = (self.all.iter()).position(|message| message.receive == receive)?;
        let message = self.all.remove(at)?;
        self.of_class[message.class] -= 1;
        Some(message)
    }

    /// How many messages of a class are left.
    pub(super) fn of_class(&self, class: usize) -> u32 {
        self.of_class[class]
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A process has ended: of each message from it, calls `lost` with the class.
    pub(super) fn forget(&mut self, from: Process, mut lost: impl FnMut(usize)) {
        self.all.retain(|message| {
            if message.from == from {
                lost(message.class);
                self.of_class[message.class] -= 1;
            }
            message.from != from
        });
    }
}
