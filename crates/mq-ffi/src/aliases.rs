//! Names of entries that moved between the front and the queues after the names were given.

use core::cell::OnceCell;

use mq_core::{ContextId, Handle, MessageHandle};

use crate::front::MQ_FRONT_SLOT;
use crate::shown::Shown;

/// Maps the names that owners hold to the current names of entries.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// In the queues, by the number that the front gave; these numbers rise from entry to entry.
    receives: Vec<(u64, Handle)>,
    /// The places of these in the order of their names in the queues, once somebody has looked for one by that.
    by_name: OnceCell<Box<[u32]>>,
    messages: Vec<(u64, MessageHandle)>,
    /// In the front, by the name that was given before the receive moved, once or several times, and came back.
    returned: Box<[(Handle, Handle)]>,
}

impl Aliases {
    /// Nothing has moved from the front into the queues, or what did is no longer there.
    pub(crate) fn clear(&mut self) {
        self.receives.clear();
        self.by_name.take();
        self.messages.clear();
    }

    /// So many receives and messages will move, one by one: growing meanwhile would copy, in one operation, what has
    /// been added.
    pub(crate) fn reserve(&mut self, receives: usize, messages: usize) {
        self.receives.reserve_exact(receives);
        self.messages.reserve_exact(messages);
    }

    /// The same, for long: gives the memory back.
    pub(crate) fn forget(&mut self) {
        self.receives = Vec::new();
        self.by_name.take();
        self.messages = Vec::new();
    }

    pub(crate) fn bytes(&self) -> usize {
        let receives = self.receives.capacity() * size_of::<(u64, Handle)>();
        let messages = self.messages.capacity() * size_of::<(u64, MessageHandle)>();
        let by_name = self
            .by_name
            .get()
            .map_or(0, |places| size_of_val(&**places));
        receives + by_name + messages + size_of_val(&*self.returned)
    }

    /// A receive has moved from the front into the queues; its number is above those of all that moved before.
    pub(crate) fn add_receive(&mut self, sequence: u64, name: Handle) {
        self.receives.push((sequence, name));
        self.by_name.take();
    }

    /// The same for a message.
    pub(crate) fn add_message(&mut self, sequence: u64, name: MessageHandle) {
        self.messages.push((sequence, name));
    }

    /// These receives, all that are left in the queues, come back to the front, from their names in the queues
    /// to those in the front.
    pub(crate) fn bring_back(&mut self, receives: impl Iterator<Item = (Handle, Handle)>) {
        let mut owners = self.owners();
        let returned = receives
            .map(|(name, now)| (owners.receive(name), now))
            .collect();
        self.returned = returned;
        self.forget();
    }

    /// For looking up the names that owners hold.
    pub(crate) fn owners(&self) -> Owners<'_> {
        let places = self.by_name.get_or_init(|| {
            let mut places: Box<[u32]> = (0..).take(self.receives.len()).collect();
            places.sort_unstable_by_key(|&place| key(self.receives[place as usize].1));
            places
        });
        Owners {
            aliases: self,
            places,
            at: 0,
        }
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

/// The names that owners hold, by those that entries have now.
#[derive(Debug)]
pub(crate) struct Owners<'a> {
    aliases: &'a Aliases,
    /// The places of the receives that have moved, by their names in the queues.
    places: &'a [u32],
    /// Where the name after the last one would be: entries are mostly shown in this order.
    at: usize,
}

impl Owners<'_> {
    /// An entry by a name that it keeps as long as it is queued. For a receive that is the one that its owner holds:
    /// once it has come back to the front it is not found by its name in the queues.
    #[inline]
    pub(crate) fn named(&mut self, entry: Shown) -> Shown {
        match entry {
            // What has not moved has one name.
            _ if self.places.is_empty() && self.aliases.returned.is_empty() => entry,
            Shown::Posted(name, pattern, cookie) => {
                Shown::Posted(self.receive(name), pattern, cookie)
            }
            message @ Shown::Unexpected(..) => message,
        }
    }

    fn receive(&mut self, name: Handle) -> Handle {
        let in_front = if name.slot() == MQ_FRONT_SLOT {
            name
        } else if let Some(sequence) = self.moved(name) {
            Handle::new(name.context(), MQ_FRONT_SLOT, sequence)
        } else {
            return name;
        };
        let mut returned = self.aliases.returned.iter();
        let returned = returned.find(|(_, now)| *now == in_front);
        returned.map_or(in_front, |(given, _)| *given)
    }

    /// The number in the front of a receive that has moved from there, if this one has.
    fn moved(&mut self, name: Handle) -> Option<u64> {
        /// So many that have left are passed over before it is searched for.
        const STEPS: usize = 8;
        let (receives, wanted) = (&self.aliases.receives, key(name));
        let key_of = |place: &u32| key(receives[*place as usize].1);
        let is_after = |place: &u32| key_of(place) < wanted;
        let near = self.places[self.at..].iter().take(STEPS);
        let passed = near.take_while(|place| is_after(place)).count();
        let is_near = self.places[..self.at].last().is_none_or(is_after);
        self.at = match is_near && passed < STEPS {
            true => self.at + passed,
            false => self.places.partition_point(is_after),
        };
        let place = self.places.get(self.at)?;
        (key_of(place) == wanted).then(|| receives[*place as usize].0)
    }
}

/// What names in the queues are ordered by. Slots change.
fn key(name: Handle) -> (ContextId, u64) {
    (name.context(), name.sequence())
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
        let before = aliases.bytes();
        assert_eq!(aliases.owners().receive(name(9)).slot(), MQ_FRONT_SLOT);
        assert_eq!(aliases.bytes(), before + 1000 * size_of::<u32>());
        aliases.bring_back((0..1000).map(|number| (name(number), name(number + 1000))));
        assert_eq!(aliases.bytes(), 1000 * size_of::<(Handle, Handle)>());
        aliases.forget();
        assert_eq!(aliases.bytes(), 1000 * size_of::<(Handle, Handle)>());
    }

    #[test]
    fn owners_are_found_in_any_order() {
        let (first, second) = (ContextId(3), ContextId(5));
        let mut aliases = Aliases::default();
        let mut expected = Vec::new();
        for number in 0..1000_u64 {
            let context = if number % 3 == 0 { first } else { second };
            // Some numbers of each context are of receives that were never in the front.
            if number % 7 > 0 {
                aliases.add_receive(100 + number, Handle::new(context, 1, number));
            }
            let in_front = Handle::new(context, MQ_FRONT_SLOT, 100 + number);
            let stays = Handle::new(context, 2, number);
            expected.push((stays, if number % 7 > 0 { in_front } else { stays }));
        }
        let mut owners = aliases.owners();
        let mut check = |(name, held): &(Handle, Handle)| assert_eq!(owners.receive(*name), *held);
        expected.iter().for_each(&mut check);
        expected.iter().rev().for_each(&mut check);
        expected.sort_by_key(|(name, _)| key(*name));
        expected.iter().for_each(&mut check);
        expected.iter().step_by(13).for_each(&mut check);
    }
}
