//! Names of entries that moved between the front and the queues after the names were given.

use mq_core::{Handle, MessageHandle};

use crate::front::MQ_FRONT_SLOT;

/// Maps the names that owners hold to the current names of entries.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// In the queues, by the number that the front gave; these numbers rise from entry to entry.
    receives: Vec<(u64, Handle)>,
    messages: Vec<(u64, MessageHandle)>,
    /// In the front, by the name that was given before the receive moved, once or several times, and came back.
    returned: Box<[(Handle, Handle)]>,
}

impl Aliases {
    /// Nothing has moved from the front into the queues, or what did is no longer there.
    pub(crate) fn clear(&mut self) {
        self.receives.clear();
        self.messages.clear();
    }

    /// The same, for long: gives the memory back.
    pub(crate) fn forget(&mut self) {
        self.receives = Vec::new();
        self.messages = Vec::new();
    }

    pub(crate) fn bytes(&self) -> usize {
        let receives = self.receives.capacity() * size_of::<(u64, Handle)>();
        let messages = self.messages.capacity() * size_of::<(u64, MessageHandle)>();
        receives + messages + size_of_val(&*self.returned)
    }

    /// A receive has moved from the front into the queues; its number is above those of all that moved before.
    pub(crate) fn add_receive(&mut self, sequence: u64, name: Handle) {
        self.receives.push((sequence, name));
    }

    /// The same for a message.
    pub(crate) fn add_message(&mut self, sequence: u64, name: MessageHandle) {
        self.messages.push((sequence, name));
    }

    /// These receives, all that are left in the queues, come back to the front, from their names in the queues
    /// to those in the front.
    pub(crate) fn bring_back(&mut self, receives: impl Iterator<Item = (Handle, Handle)>) {
        let returned = receives
            .map(|(name, now)| (self.given(name), now))
            .collect();
        self.returned = returned;
        self.forget();
    }

    /// The name that the owner of a receive in the queues holds.
    fn given(&self, name: Handle) -> Handle {
        let mut moved = self.receives.iter();
        let Some((sequence, _)) = moved.find(|(_, now)| is_same(*now, name)) else {
            return name;
        };
        let in_front = Handle::new(name.context(), MQ_FRONT_SLOT, *sequence);
        let mut returned = self.returned.iter();
        let returned = returned.find(|(_, now)| *now == in_front);
        returned.map_or(in_front, |(given, _)| *given)
    }

    /// The name in the front of a receive that has come back to it, if it has.
    pub(crate) fn returned(&self, given: Handle) -> Option<Handle> {
        let mut returned = self.returned.iter();
        let (_, now) = returned.find(|(of, _)| is_same(*of, given))?;
        Some(*now)
    }

    /// The name in the queues that a caller's handle stands for.
    pub(crate) fn receive(&self, handle: Handle) -> Option<Handle> {
        let handle = self.returned(handle).unwrap_or(handle);
        if handle.slot() != MQ_FRONT_SLOT {
            return Some(handle);
        }
        let found = find(&self.receives, handle.sequence())?;
        (found.context() == handle.context()).then_some(found)
    }

    /// The same for a message.
    pub(crate) fn message(&self, message: MessageHandle) -> Option<MessageHandle> {
        if message.slot() != MQ_FRONT_SLOT {
            return Some(message);
        }
        let found = find(&self.messages, message.sequence())?;
        (found.context() == message.context()).then_some(found)
    }
}

/// Whether both name the same entry. In the queues its slot may have changed since it was named.
fn is_same(one: Handle, other: Handle) -> bool {
    let is_in_front = |name: Handle| name.slot() == MQ_FRONT_SLOT;
    one.sequence() == other.sequence()
        && one.context() == other.context()
        && is_in_front(one) == is_in_front(other)
}

fn find<T: Copy>(names: &[(u64, T)], sequence: u64) -> Option<T> {
    let place = names.binary_search_by_key(&sequence, |(of, _)| *of).ok()?;
    Some(names[place].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mq_core::ContextId;

    #[test]
    fn the_memory_of_names_is_counted() {
        let name = |number| Handle::new(ContextId(0), 1, number);
        let is_about = |bytes: usize, all: usize| (all..=2 * all).contains(&bytes);
        let mut aliases = Aliases::default();
        assert_eq!(aliases.bytes(), 0);
        for number in 0..1000 {
            aliases.add_receive(number, name(number));
        }
        let receives = aliases.bytes();
        assert!(is_about(receives, 1000 * size_of::<(u64, Handle)>()));
        for number in 0..1000 {
            aliases.add_message(number, MessageHandle::new(name(number)));
        }
        let messages = aliases.bytes() - receives;
        assert!(is_about(messages, 1000 * size_of::<(u64, MessageHandle)>()));
        aliases.bring_back((0..1000).map(|number| (name(number), name(number + 1000))));
        assert_eq!(aliases.bytes(), 1000 * size_of::<(Handle, Handle)>());
        aliases.forget();
        assert_eq!(aliases.bytes(), 1000 * size_of::<(Handle, Handle)>());
    }
}
