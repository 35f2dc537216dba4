//! Which way the bytes of an announced message take: read from the sender's memory by the kernel, or copied
//! out of its shared buffers, with its help or alone; or through a ring.
//!
//! The kernel copies once, but looks up every page, and one process copies alone. Through a ring both copy,
//! side by side, from and to caches that the other has just used. Which is quicker depends on the processor,
//! on where the two cores are, on how long a message is and on whether its lines have been written since they
//! were last read: on some processors the kernel has 1.7 times the bandwidth of a ring for messages of 32 KiB
//! that nobody has rewritten, and a third of it for those that are rewritten each time.
//!
//! So the ways are timed, for each size up to a power of two. The first messages are read, since a ring has
//! to be made ready, which takes as long as many messages; then some come by the ring, as many by the
//! kernel, and then many by the one that was quicker; the slower the other one was, and the more often that
//! has been found, the more. In between a few are timed, and if they take longer than they did, or less long,
//! things have changed and all are looked at again.
//!
//! Out of shared buffers there are two ways to read: with the sender's help, whose part the kernel copies, and
//! without. Two processes copy more than one where memory is slow, and less where both copy out of near
//! caches: windows of 256 KiB went at 27 and 18 GB/s on one processor, at 37 and 44 on another.
//!
//! What is timed is how long after the previous message, from any sender, a message has come, whatever all
//! processes do meanwhile: a process that reads another's memory makes it dearer for the other to write there
//! again, which a receiver that timed its own part would not see; and what it gains of one sender's time it
//! may lose of another's. So all senders' messages of a size take the same way, except those whose memory the
//! kernel does not let it read.
//!
//! The bytes that the process has sent in that time count as well. Through a ring the sender copies too, in the
//! time in which it would receive, so where messages go both ways each of two processes would gain by asking
//! for rings and leaving the copying to the other, and both lose.

mod class;
mod timed;

use mq_shm::Process;
use mq_shm::large::cooperative::FROM_SHARED;

use super::State;
use super::ahead::{Lengths, longest_wanted};
use crate::options::Options;
use crate::request::Name;
pub(super) use class::Way;
use class::{Class, Moment, Pick};
use timed::{OnItsWay, Timed};

/// Messages from `1 << SHORTEST` bytes on have a class for each power of two, up to `1 << LONGEST`.
const SHORTEST: u32 = 14;
const LONGEST: u32 = 23;
const POWERS: usize = (LONGEST - SHORTEST + 1) as usize;
/// Those in the sender's own memory, and those in its shared buffers.
const CLASSES: usize = 2 * POWERS;

/// What is known of the ways.
#[derive(Debug)]
pub(super) struct Ways {
    /// The longest message that others may send ahead.
    longest_ahead: u32,
    /// The shortest message that is read from the sender's memory; if `None`, whatever is quicker.
    single_copy_from: Option<u64>,
    classes: [Class; CLASSES],
    timed: Timed,
    /// Bytes of large messages that this process has sent.
    sent: u64,
}

impl Ways {
    /// `helped`: senders may be asked to copy a part.
    pub(super) fn new(options: &Options, helped: bool) -> Self {
        let ahead = longest_wanted(options);
        // At first all are read.
        let class = |at| {
            let is_shared = at >= POWERS;
            let least = 1_usize << (SHORTEST as usize + at % POWERS);
            let class = Class::new(least, Way::Read);
            if is_shared && helped && least >= FROM_SHARED {
                // Of one in the sender's own memory, which the kernel copies, two processes copy more than one
                // wherever that was measured.
                class.with_reading_alone()
            } else if !is_shared && least <= ahead as usize {
                class.with_some_ahead()
            } else {
                class
            }
        };
        Self {
            longest_ahead: ahead,
            single_copy_from: match options.single_copy_from {
                Some(bytes) => Some(bytes as u64),
                // There is nothing to find out.
                None => (!options.single_copy).then_some(u64::MAX),
            },
            classes: std::array::from_fn(class),
            timed: Timed::default(),
            sent: 0,
        }
    }

    /// Which messages may come through the ring unasked, if they include one of this many bytes: those of its
    /// class and of the classes around it.
    fn by_ring(&self, bytes: usize) -> Lengths {
        let at = class_of(bytes, false);
        let own = &self.classes[..POWERS];
        let is_by_ring = |class: &&Class| class.is_by_ring();
        let longer = own[at..].iter().take_while(is_by_ring).count() as u32;
        let shorter = own[..at].iter().rev().take_while(is_by_ring).count() as u32;
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

fn class_of(bytes: usize, is_shared: bool) -> usize {
    let power = bytes.max(1).ilog2().clamp(SHORTEST, LONGEST);
    (power - SHORTEST) as usize + if is_shared { POWERS } else { 0 }
}

/// A message whose way is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pick: Pick,
    class: usize,
}

impl Chosen {
    pub(super) const fn always(way: Way) -> Self {
        Self {
            pick: Pick {
                way,
                is_timed: false,
                begins_look: false,
            },
            class: 0,
        }
    }

    pub(super) const fn way(self) -> Way {
        self.pick.way
    }

    /// Whether it is among the first of those by which the ways are timed.
    pub(super) const fn begins_look(self) -> bool {
        self.pick.begins_look
    }
}

impl State {
    /// The way for a message of `total` bytes from a process, in its own memory or in its shared buffers; its receive
    /// has `room` for that many.
    pub(super) fn choose_way(
        &mut self,
        from: Process,
        total: u64,
        room: usize,
        is_shared: bool,
    ) -> Chosen {
        match self.ways.single_copy_from {
            Some(_) if is_shared => Chosen::always(Way::Read),
            Some(shortest) if total < shortest => Chosen::always(Way::Ring),
            Some(_) => Chosen::always(Way::Read),
            None => self.quicker_way(from, room, is_shared),
        }
    }

    /// The way for this many bytes, where the ways are timed.
    fn quicker_way(&mut self, from: Process, bytes: usize, is_shared: bool) -> Chosen {
        let class = class_of(bytes, is_shared);
        let peer = &mut self.peers[from.index()];
        let is_unreadable = peer.is_unreadable(is_shared);
        if bytes < 1 << SHORTEST && bytes <= self.eager.limit && !is_unreadable {
            // Mostly announced because this process was flooded; it would be timed with far longer ones.
            return Chosen::always(Way::Read);
        }
        peer.last_large_class = Some(class as u8);
        if is_unreadable {
            return Chosen::always(Way::Ring);
        }
        let pick = self.ways.classes[class].next();
        Chosen { pick, class }
    }

    /// A process begins to time the ways of messages to it: messages from it are timed at the same time.
    pub(super) fn time_too(&mut self, from: Process) {
        if self.ways.single_copy_from.is_none()
            && let Some(class) = self.peers[from.index()].last_large_class
        {
            self.ways.classes[usize::from(class)].time_soon();
        }
    }

    /// Which messages a process may send unasked, that is through the ring, given that one of this many bytes
    /// may come that way.
    pub(super) fn may_go_ahead(&self, from: Process, bytes: usize) -> Lengths {
        let any = Lengths {
            more_than: 0,
            up_to: u32::MAX,
        };
        let is_fixed =
            self.ways.single_copy_from.is_some() || self.peers[from.index()].memory_is_unreadable;
        let Lengths { more_than, up_to } = if is_fixed {
            any
        } else {
            self.ways.by_ring(bytes)
        };
        Lengths {
            more_than,
            up_to: up_to.min(self.ways.longest_ahead),
        }
    }

    /// A message has come unasked; returns whether the next of its length has to be announced.
    pub(super) fn came_unasked(&mut self, from: Process, bytes: usize) -> bool {
        let peer = &mut self.peers[from.index()];
        let class = class_of(bytes, false);
        peer.last_large_class = Some(class as u8);
        self.ways.single_copy_from.is_none()
            && !peer.memory_is_unreadable
            && self.ways.classes[class].came_unasked(bytes, self.ways.sent)
    }

    /// A message that was to be copied from where it lies has been copied.
    pub(super) fn on_read(&mut self, chosen: Chosen, bytes: usize) {
        if chosen.pick.is_timed {
            self.note(chosen.way(), chosen.class, bytes);
        }
    }

    /// The bytes of a message cannot be copied from where they lie, in a process's own memory or in its
    /// shared buffers.
    pub(super) fn on_read_refused(&mut self, from: Process, chosen: Chosen, is_shared: bool) {
        let peer = &mut self.peers[from.index()];
        if is_shared {
            peer.shared_buffers_are_unreadable = true;
        } else {
            peer.memory_is_unreadable = true;
        }
        if chosen.pick.is_timed {
            self.ways.classes[chosen.class].on_lost();
        }
    }

    /// A process has ended.
    pub(super) fn forget_timed(&mut self, from: Process) {
        let Ways { classes, timed, .. } = &mut self.ways;
        timed.forget(from, |class| classes[class].on_lost());
    }

    /// The bytes of a receive are to come through a ring.
    pub(super) fn on_ring_wanted(
        &mut self,
        receive: u32,
        from: Process,
        chosen: Chosen,
        bytes: usize,
    ) {
        if chosen.pick.is_timed {
            let receive = self.requests.name(receive);
            self.ways.timed.add(OnItsWay {
                receive,
                from,
                bytes,
                class: chosen.class,
            });
        }
    }

    /// The bytes of a receive have come through a ring.
    #[inline]
    pub(super) fn on_pulled(&mut self, receive: u32) {
        if !self.ways.timed.is_empty() {
            self.note_ring(receive);
        }
    }

    #[cold]
    fn note_ring(&mut self, receive: u32) {
        let receive = self.requests.name(receive);
        if let Some(OnItsWay { bytes, class, .. }) = self.ways.timed.take(receive) {
            self.note(Way::Ring, class, bytes);
        }
    }

    /// The bytes of a receive will never come.
    pub(super) fn on_lost(&mut self, receive: Name) {
        if let Some(OnItsWay { class, .. }) = self.ways.timed.take(receive) {
            self.ways.classes[class].on_lost();
        }
    }

    /// A message that is timed has come.
    #[cold]
    fn note(&mut self, way: Way, class: usize, bytes: usize) {
        let on_ring = self.ways.timed.of_class(class);
        let now = Moment::now(self.ways.sent);
        self.ways.classes[class].on_message(way, bytes, now, on_ring);
    }

    /// A large message of this process's has been read, its last bytes are in a ring, or, which is rare, its
    /// receiver does not want it.
    pub(super) fn on_sent(&mut self, send: u32) {
        self.ways.sent += self.requests.at(send).buffer.len() as u64;
    }
}

#[cfg(test)]
mod tests;
