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
//! So either way is timed, for each sender and each size up to a power of two: some messages by the
//! ring, as many by the kernel, and then many by the one that was quicker; the more, the more slowly
//! the other one went and the more often that has been found. In between a few are timed, and if
//! they take much longer than they did, or much less long, things have changed and both are looked at
//! again.
//!
//! What is timed is how long after the message before it one has come, whatever both processes do
//! meanwhile: who reads another's memory makes it dearer for the other to write there again, and to
//! send to somebody else is the sender's to do while it is read. A receiver that timed no more than its own part
//! would not see that.

mod class;

use std::time::Instant;

use mq_shm::Process;

use super::State;
use crate::request::Name;
use class::Class;
pub(super) use class::Way;

/// Messages from `1 << SHORTEST` bytes on have a class for each power of two, up to `1 << LONGEST`.
const SHORTEST: u32 = 14;
const LONGEST: u32 = 23;
const CLASSES: usize = (LONGEST - SHORTEST + 1) as usize;

/// What is known of the ways from one process.
#[derive(Debug)]
pub(crate) struct Ways {
    classes: [Class; CLASSES],
    /// The kernel has refused.
    only_rings: bool,
}

impl Ways {
    fn new() -> Self {
        Self {
            classes: std::array::from_fn(|at| Class::new(1 << (SHORTEST as usize + at))),
            only_rings: false,
        }
    }

    /// Up to how many bytes messages may come through the ring without being asked for.
    fn longest_by_ring(&self) -> u32 {
        let asked = |class: &Class| !self.only_rings && !class.is_by_ring();
        match self.classes.iter().position(asked) {
            Some(at) => (1 << (SHORTEST + at as u32)) - 1,
            None => u32::MAX,
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
    pub(super) way: Way,
    is_timed: bool,
    /// It is the first of those by which both ways are timed.
    pub(super) begins_look: bool,
}

impl Chosen {
    pub(super) const fn always(way: Way) -> Self {
        Self {
            way,
            is_timed: false,
            begins_look: false,
        }
    }
}

/// Messages that are timed, and on their way through a ring.
#[derive(Debug, Default)]
pub(super) struct Timed {
    all: Vec<OnItsWay>,
}

#[derive(Debug)]
struct OnItsWay {
    receive: Name,
    from: Process,
    bytes: usize,
}

impl Timed {
    fn take(&mut self, receive: Name) -> Option<OnItsWay> {
        let at = (self.all.iter()).position(|message| message.receive == receive)?;
        Some(self.all.swap_remove(at))
    }

    /// Whether none of a class is left.
    fn has_none(&self, from: Process, class: usize) -> bool {
        let is_other =
            |message: &OnItsWay| message.from != from || class_of(message.bytes) != class;
        self.all.iter().all(is_other)
    }
}

impl State {
    fn ways(&mut self, from: Process) -> &mut Ways {
        let ways = &mut self.peers[from.index()].ways;
        ways.get_or_insert_with(|| Box::new(Ways::new()))
    }

    /// The way for so many bytes from a process.
    pub(super) fn choose_way(&mut self, from: Process, bytes: usize) -> Chosen {
        let ways = self.ways(from);
        if ways.only_rings {
            return Chosen::always(Way::Ring);
        }
        let class = &mut ways.classes[class_of(bytes)];
        let begins_look = class.begin_if_due();
        let (way, is_timed) = class.next();
        Chosen {
            way,
            is_timed,
            begins_look,
        }
    }

    /// A process begins to time both ways of messages of so many bytes from here: what comes from there
    /// is timed with it.
    pub(super) fn time_too(&mut self, from: Process, bytes: usize) {
        if let Some(ways) = &mut self.peers[from.index()].ways {
            ways.classes[class_of(bytes)].time_soon();
        }
    }

    /// The longest message that a process may send without being asked, which is through the ring.
    pub(super) fn longest_ahead_from(&mut self, from: Process) -> u32 {
        let most = self.longest_ahead;
        if most == 0 || self.single_copy_from.is_some() {
            return most;
        }
        most.min(self.ways(from).longest_by_ring())
    }

    /// A message has come that nobody had asked for; whether the next of its length has to be announced.
    pub(super) fn came_unasked(&mut self, from: Process, bytes: usize) -> bool {
        if self.single_copy_from.is_some() {
            return false;
        }
        let ways = self.ways(from);
        !ways.only_rings && ways.classes[class_of(bytes)].came_unasked()
    }

    /// The bytes of a message that was to be read by the kernel are there.
    pub(super) fn was_read(&mut self, from: Process, chosen: Chosen, bytes: usize) {
        if chosen.is_timed {
            self.note(from, Way::Read, bytes);
        }
    }

    /// The kernel has refused to read from a process.
    pub(super) fn was_refused(&mut self, from: Process) {
        if let Some(ways) = &mut self.peers[from.index()].ways {
            ways.only_rings = true;
        }
    }

    /// A process has ended.
    pub(super) fn forget_ways(&mut self, from: Process) {
        self.peers[from.index()].ways = None;
        self.timed.all.retain(|message| message.from != from);
    }

    /// The bytes of a receive are to come through a ring.
    pub(super) fn is_asked_for(
        &mut self,
        receive: u32,
        from: Process,
        chosen: Chosen,
        bytes: usize,
    ) {
        if chosen.is_timed {
            let receive = self.requests.name(receive);
            self.timed.all.push(OnItsWay {
                receive,
                from,
                bytes,
            });
        }
    }

    /// The bytes of a receive have come through a ring.
    #[inline]
    pub(super) fn has_come(&mut self, receive: u32) {
        if !self.timed.all.is_empty() {
            self.note_ring(receive);
        }
    }

    #[cold]
    fn note_ring(&mut self, receive: u32) {
        let receive = self.requests.name(receive);
        if let Some(OnItsWay { from, bytes, .. }) = self.timed.take(receive) {
            self.note(from, Way::Ring, bytes);
        }
    }

    /// The bytes of a receive will never come.
    pub(super) fn never_comes(&mut self, receive: Name) {
        if let Some(OnItsWay { from, bytes, .. }) = self.timed.take(receive)
            && let Some(ways) = &mut self.peers[from.index()].ways
        {
            ways.classes[class_of(bytes)].lost();
        }
    }

    /// A message that is timed has come.
    #[cold]
    fn note(&mut self, from: Process, way: Way, bytes: usize) {
        let class = class_of(bytes);
        let ring_is_empty = self.timed.has_none(from, class);
        if let Some(ways) = &mut self.peers[from.index()].ways {
            ways.classes[class].came(way, bytes, Instant::now(), ring_is_empty);
        }
    }
}
