//! The names in the queues of entries that were named in the front.

use mq_core::{Handle, MessageHandle};

use crate::front::MQ_FRONT_SLOT;

/// The names in the queues by those that were given in the front, which rise from entry to entry.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    receives: Vec<(u64, Handle)>,
    messages: Vec<(u64, MessageHandle)>,
}

impl Aliases {
    pub(crate) fn clear(&mut self) {
        self.receives.clear();
        self.messages.clear();
    }

    /// Nothing is queued that could be named: gives the memory back.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn bytes(&self) -> usize {
        let receives = self.receives.capacity() * size_of::<(u64, Handle)>();
        receives + self.messages.capacity() * size_of::<(u64, MessageHandle)>()
    }

    /// Above all that were added before.
    pub(crate) fn add_receive(&mut self, sequence: u64, name: Handle) {
        self.receives.push((sequence, name));
    }

    /// The same of a message.
    pub(crate) fn add_message(&mut self, sequence: u64, name: MessageHandle) {
        self.messages.push((sequence, name));
    }

    /// The name in the queues that a caller's handle stands for.
    pub(crate) fn receive(&self, handle: Handle) -> Option<Handle> {
        if handle.slot() != MQ_FRONT_SLOT {
            return Some(handle);
        }
        find(&self.receives, handle.sequence())
    }

    /// The same of a message.
    pub(crate) fn message(&self, message: MessageHandle) -> Option<MessageHandle> {
        if message.slot() != MQ_FRONT_SLOT {
            return Some(message);
        }
        find(&self.messages, message.sequence())
    }
}

fn find<T: Copy>(names: &[(u64, T)], sequence: u64) -> Option<T> {
    let place = names.binary_search_by_key(&sequence, |(of, _)| *of).ok()?;
    Some(names[place].1)
}
