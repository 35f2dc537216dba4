//! Which way the bytes of an announced message take: read from the sender's memory by the kernel, or
//! through a ring.
//!
//! The kernel copies once, but looks every page up, and one process copies alone. Through a ring
//! both copy, one beside the other, from and to caches that the other one has just used. Which is
//! quicker depends on the processor, on where the two cores are, on how long a message is and on
//! whether its lines have been written since they were last read: on some processors the kernel has
//! 1.7 times the bandwidth of a ring for messages of 32 KiB that nobody has written anew, and two
//! thirds of it for those that are written each time.
//!
//! So either way is timed, for each sender and each size up to a power of two: some messages by the
//! ring, as many by the kernel, and then many by the one that was quicker; the more, the more slowly
//! the other one went and the more often that has been found. In between a few are timed, and if
//! they take much longer than they did, or much less long, things have changed and both are looked at
//! again. A message counts from when it was asked for, or from the end of the one before it, since
//! several are under way at a time. If this process was away meanwhile, computing or put off by the
//! system, it does not count.

mod class;
mod watch;

use std::time::Instant;

use mq_shm::Process;

use super::State;
pub(super) use class::Way;
use class::{Class, Part};
use watch::Running;
pub(super) use watch::Stopwatch;

/// Messages from `1 << SHORTEST` bytes on have a class for each power of two, up to `1 << LONGEST`.
const SHORTEST: u32 = 14;
const LONGEST: u32 = 23;
const CLASSES: usize = (LONGEST - SHORTEST + 1) as usize;

/// What is known of the ways from one process.
#[derive(Debug)]
pub(crate) struct Ways {
    classes: [Class; CLASSES],
    /// When the last message came of those before one that is timed.
    last: Option<Instant>,
    /// The kernel has refused.
    only_rings: bool,
}

impl Ways {
    fn new() -> Self {
        Self {
            classes: std::array::from_fn(|at| Class::new(1 << (SHORTEST as usize + at))),
            last: None,
            only_rings: false,
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
    timed: Option<(Instant, Part)>,
}

impl Chosen {
    pub(super) const fn always(way: Way) -> Self {
        Self { way, timed: None }
    }
}

impl State {
    /// The way for so many bytes from a process.
    pub(super) fn choose_way(&mut self, from: Process, bytes: usize) -> Chosen {
        let ways = self.peers[from.index()]
            .ways
            .get_or_insert_with(|| Box::new(Ways::new()));
        if ways.only_rings {
            return Chosen::always(Way::Ring);
        }
        let class = &mut ways.classes[class_of(bytes)];
        if class.is_due() {
            class.begin_look();
            ways.last = None;
            self.watch.forget(from);
        }
        let (way, part) = class.next(|| self.watch.is_timing(from));
        Chosen {
            way,
            timed: part.map(|part| (Instant::now(), part)),
        }
    }

    /// The bytes of a message that was to be read by the kernel are there.
    pub(super) fn was_read(&mut self, from: Process, chosen: Chosen, bytes: usize) {
        if let Some((since, part)) = chosen.timed {
            let now = Instant::now();
            self.note(from, Way::Read, part, bytes, (since, now));
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
        self.watch.forget(from);
    }

    /// The bytes of a receive are to come through a ring.
    pub(super) fn is_asked_for(
        &mut self,
        receive: u32,
        from: Process,
        chosen: Chosen,
        bytes: usize,
    ) {
        if let Some((since, part)) = chosen.timed {
            let receive = self.requests.name(receive);
            self.watch.start(Running {
                receive,
                from,
                since,
                bytes,
                part,
            });
        }
    }

    /// The bytes of a receive have come through a ring.
    #[inline]
    pub(super) fn has_come(&mut self, receive: u32, from: Process) {
        if self.watch.is_running() {
            self.note_ring(receive, from);
        }
    }

    #[cold]
    fn note_ring(&mut self, receive: u32, from: Process) {
        let now = Instant::now();
        let receive = self.requests.name(receive);
        match self.watch.take(receive) {
            Some(Running {
                since, bytes, part, ..
            }) => self.note(from, Way::Ring, part, bytes, (since, now)),
            None => {
                if let Some(ways) = &mut self.peers[from.index()].ways {
                    ways.last = Some(now);
                }
            }
        }
    }

    /// A message that is timed has come, between these times.
    fn note(
        &mut self,
        from: Process,
        way: Way,
        part: Part,
        bytes: usize,
        (since, now): (Instant, Instant),
    ) {
        let Some(ways) = &mut self.peers[from.index()].ways else {
            return;
        };
        let since = ways.last.map_or(since, |last| last.max(since));
        ways.last = Some(now);
        if way == Way::Ring && self.watch.was_away(since) {
            return;
        }
        let nanos = (now - since).as_nanos() as u64;
        ways.classes[class_of(bytes)].note(way, part, bytes, nanos);
    }
}
