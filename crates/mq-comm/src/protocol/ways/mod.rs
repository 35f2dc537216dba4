//! Which way the bytes of an announced message take: read from the sender's memory by the kernel, or
//! through a ring.
//!
//! The kernel copies once, but looks every page up, and one process copies alone. Through a ring
//! both copy, one beside the other, from and to caches that the other one has just used. Which is
//! quicker depends on the processor, on where the two cores are, on how long a message is and on
//! whether its lines have been written since they were last read: on some processors the kernel has
//! 1.7 times the bandwidth of a ring for messages of 32 KiB that nobody has written anew, and a
//! third of it for those that are written each time.
//!
//! So either way is timed, for each size up to a power of two: some messages by the ring, as many by
//! the kernel, and then many by the one that was quicker; the more, the more slowly the other one went
//! and the more often that has been found. In between a few are timed, and if they take longer than they
//! did, or less long, things have changed and both are looked at again.
//!
//! What is timed is how long after the message before it one has come, from whomever, whatever all
//! processes do meanwhile: who reads another's memory makes it dearer for the other to write there
//! again, which a receiver that timed its own part would not see; and what it gains of one sender's time
//! it may lose of another's. So all senders' messages of a size take the same way, but for those whose
//! memory the kernel does not let it read.

mod class;

use std::collections::VecDeque;
use std::time::Instant;

use mq_shm::Process;

use super::State;
use super::ahead::Lengths;
use crate::request::Name;
pub(super) use class::Way;
use class::{Class, Turn};

/// Messages from `1 << SHORTEST` bytes on have a class for each power of two, up to `1 << LONGEST`.
const SHORTEST: u32 = 14;
const LONGEST: u32 = 23;
const CLASSES: usize = (LONGEST - SHORTEST + 1) as usize;

/// What is known of the ways.
#[derive(Debug)]
pub(super) struct Ways {
    classes: [Class; CLASSES],
    timed: Timed,
}

impl Ways {
    /// Where messages of up to so many bytes may go ahead.
    pub(super) fn new(ahead: u32) -> Self {
        let class = |at| {
            let least = 1_usize << (SHORTEST as usize + at);
            Class::new(least, least <= ahead as usize)
        };
        Self {
            classes: std::array::from_fn(class),
            timed: Timed::default(),
        }
    }

    /// Which messages may come through the ring without being asked for, as long as these bytes: those of
    /// its class and of the classes around it.
    fn by_ring(&self, bytes: usize) -> Lengths {
        let at = class_of(bytes);
        let is_by_ring = |class: &&Class| class.is_by_ring();
        let longer = self.classes[at..].iter().take_while(is_by_ring).count() as u32;
        let shorter = self.classes[..at]
            .iter()
            .rev()
            .take_while(is_by_ring)
            .count() as u32;
        if longer == 0 {
            return Lengths::default();
        }
        let first = at as u32 - shorter;
        let below = |power: u32| (1_u32 << power) - 1;
        Lengths {
            more_than: if first == 0 {
                0
            } else {
                below(SHORTEST + first)
            },
            up_to: below(SHORTEST + at as u32 + longer),
        }
    }
}

fn class_of(bytes: usize) -> usize {
    let power = bytes.max(1).ilog2().clamp(SHORTEST, LONGEST);
    (power - SHORTEST) as usize
}

/// A message whose way is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    turn: Turn,
}

impl Chosen {
    pub(super) const fn always(way: Way) -> Self {
        Self {
            turn: Turn {
                way,
                is_timed: false,
                begins_look: false,
            },
        }
    }

    pub(super) const fn way(self) -> Way {
        self.turn.way
    }

    /// It is among the first of those by which both ways are timed.
    pub(super) const fn begins_look(self) -> bool {
        self.turn.begins_look
    }
}

/// Messages that are timed, and on their way through a ring, in the order in which they were asked for.
#[derive(Debug, Default)]
struct Timed {
    all: VecDeque<OnItsWay>,
}

#[derive(Debug)]
struct OnItsWay {
    receive: Name,
    from: Process,
    bytes: usize,
}

impl Timed {
    /// Most come in this order.
    fn take(&mut self, receive: Name) -> Option<OnItsWay> {
        let at = (self.all.iter()).position(|message| message.receive == receive)?;
        self.all.remove(at)
    }

    /// Whether none of a class is left.
    fn has_none(&self, class: usize) -> bool {
        let is_other = |message: &OnItsWay| class_of(message.bytes) != class;
        self.all.iter().all(is_other)
    }
}

impl State {
    /// The way for so many bytes from a process.
    pub(super) fn choose_way(&mut self, from: Process, bytes: usize) -> Chosen {
        let class = class_of(bytes);
        let peer = &mut self.peers[from.index()];
        peer.last_large = class as u8;
        if peer.only_by_ring {
            return Chosen::always(Way::Ring);
        }
        let turn = self.ways.classes[class].next();
        Chosen { turn }
    }

    /// A process begins to time both ways of what goes there from here: what comes from there is timed
    /// with it.
    pub(super) fn time_too(&mut self, from: Process) {
        let class = usize::from(self.peers[from.index()].last_large);
        if self.single_copy_from.is_none()
            && let Some(class) = self.ways.classes.get_mut(class)
        {
            class.time_soon();
        }
    }

    /// Which messages a process may send without being asked, which is through the ring, beside one of so
    /// many bytes.
    pub(super) fn may_go_ahead(&self, from: Process, bytes: usize) -> Lengths {
        let any = Lengths {
            more_than: 0,
            up_to: u32::MAX,
        };
        let is_fixed = self.single_copy_from.is_some() || self.peers[from.index()].only_by_ring;
        let Lengths { more_than, up_to } = if is_fixed {
            any
        } else {
            self.ways.by_ring(bytes)
        };
        Lengths {
            more_than,
            up_to: up_to.min(self.longest_ahead),
        }
    }

    /// A message has come that nobody had asked for; whether the next of its length has to be announced.
    pub(super) fn came_unasked(&mut self, from: Process, bytes: usize) -> bool {
        let peer = &mut self.peers[from.index()];
        let class = class_of(bytes);
        peer.last_large = class as u8;
        self.single_copy_from.is_none()
            && !peer.only_by_ring
            && self.ways.classes[class].came_unasked(bytes)
    }

    /// The bytes of a message that was to be read by the kernel are there.
    pub(super) fn was_read(&mut self, chosen: Chosen, bytes: usize) {
        if chosen.turn.is_timed {
            self.note(Way::Read, bytes);
        }
    }

    /// The kernel has refused to read from a process.
    pub(super) fn was_refused(&mut self, from: Process, chosen: Chosen, bytes: usize) {
        self.peers[from.index()].only_by_ring = true;
        if chosen.turn.is_timed {
            self.ways.classes[class_of(bytes)].lost();
        }
    }

    /// A process has ended.
    pub(super) fn forget_timed(&mut self, from: Process) {
        let Ways { classes, timed } = &mut self.ways;
        timed.all.retain(|message| {
            if message.from == from {
                classes[class_of(message.bytes)].lost();
            }
            message.from != from
        });
    }

    /// The bytes of a receive are to come through a ring.
    pub(super) fn is_asked_for(
        &mut self,
        receive: u32,
        from: Process,
        chosen: Chosen,
        bytes: usize,
    ) {
        if chosen.turn.is_timed {
            let receive = self.requests.name(receive);
            self.ways.timed.all.push_back(OnItsWay {
                receive,
                from,
                bytes,
            });
        }
    }

    /// The bytes of a receive have come through a ring.
    #[inline]
    pub(super) fn has_come(&mut self, receive: u32) {
        if !self.ways.timed.all.is_empty() {
            self.note_ring(receive);
        }
    }

    #[cold]
    fn note_ring(&mut self, receive: u32) {
        let receive = self.requests.name(receive);
        if let Some(OnItsWay { bytes, .. }) = self.ways.timed.take(receive) {
            self.note(Way::Ring, bytes);
        }
    }

    /// The bytes of a receive will never come.
    pub(super) fn never_comes(&mut self, receive: Name) {
        if let Some(OnItsWay { bytes, .. }) = self.ways.timed.take(receive) {
            self.ways.classes[class_of(bytes)].lost();
        }
    }

    /// A message that is timed has come.
    #[cold]
    fn note(&mut self, way: Way, bytes: usize) {
        let class = class_of(bytes);
        let ring_is_empty = self.ways.timed.has_none(class);
        self.ways.classes[class].came(way, bytes, Instant::now(), ring_is_empty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_go_ahead_are_the_classes_around_one_that_the_ring_is_quicker_for() {
        let mut ways = Ways::new(64 << 10);
        let lengths = |more_than, up_to| Lengths { more_than, up_to };
        assert_eq!(ways.by_ring(40_000), lengths(0, (1 << 24) - 1));
        // One that is looked at.
        while ways.classes[1].is_by_ring() {
            ways.classes[1].came_unasked(40_000);
        }
        assert_eq!(ways.by_ring(40_000), lengths(0, 0));
        assert_eq!(ways.by_ring(20_000), lengths(0, (1 << 15) - 1));
        assert_eq!(ways.by_ring(70_000), lengths((1 << 16) - 1, (1 << 24) - 1));
    }
}
