//! The rings of a process: which process is at the other end of each, and which buffers are
//! promised.

use crate::ids::Process;
use crate::large::ring::{BUFFER_BYTES, BUFFERS, Ring};
use crate::layout::RINGS;
use crate::segment::Memory;

/// The rings of this process: which process is at the other end of each.
#[derive(Debug, Default)]
pub(super) struct Rings {
    pub(super) rings: [State; RINGS as usize],
}

/// What a ring's owner knows about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Whether its memory is there.
    pub(super) committed: bool,
    /// The process at the other end, until all that was promised has gone through.
    pub(super) with: Option<Process>,
    /// The previous one.
    pub(super) before: Option<Process>,
    /// The newest stretch is lent: the other process fills it.
    pub(super) lent: bool,
    /// Buffers promised to messages since the segment began.
    pub(super) promised: u64,
    /// The same count, at the end of the newest stretch that was lent.
    lent_until: u64,
    /// The first buffer of those promised since the ring was empty.
    begun: u64,
}

impl Rings {
    /// Whether something promised is on its way through any ring: then the process only naps.
    pub(super) fn busy(&self) -> bool {
        self.rings.iter().any(|ring| ring.with.is_some())
    }

    /// The ring between this process and another in which something is in transit, or was the last
    /// time.
    pub(super) fn leading_to(&self, other: Process) -> Option<usize> {
        let find = |is: &dyn Fn(&State) -> bool| self.rings.iter().position(is);
        find(&|ring| ring.with == Some(other))
            .or_else(|| find(&|ring| ring.with.is_none() && ring.before == Some(other)))
    }

    /// A ring in which nothing is in transit.
    pub(super) fn free(&self) -> Option<usize> {
        let free = |ring: &State| ring.with.is_none();
        let has_memory = |ring: &State| free(ring) && ring.committed;
        let find = |is: &dyn Fn(&State) -> bool| self.rings.iter().position(is);
        find(&has_memory).or_else(|| find(&free))
    }

    /// Whether there is a ring other than this one in which nothing is in transit.
    pub(super) fn has_other_free<M: Memory>(&self, memory: &M, me: Process, number: usize) -> bool {
        let rings = self.rings.iter().enumerate();
        let mut others = rings.filter(|&(at, _)| at != number);
        others.any(|(at, state)| {
            state.with.is_none() || memory.ring(me, at as u32).is_empty(state.promised)
        })
    }

    /// Frees the rings to a process that has died, or left. What it had put into rings lent to it can be read until it
    /// is `buried`.
    pub(super) fn abandon<M: Memory>(
        &mut self,
        memory: &M,
        me: Process,
        process: Process,
        buried: bool,
    ) {
        for (number, state) in self.rings.iter_mut().enumerate() {
            let ring = memory.ring(me, number as u32);
            if state.with == Some(process) && (buried || !ring.awaits(state.lent_until)) {
                ring.restart_after(state.promised);
                state.with = None;
            }
        }
    }
}

impl State {
    /// Promises buffers for this many bytes between this process and `other`, which fills them if
    /// they are lent; returns the number of the first.
    pub(super) fn promise(&mut self, ring: &Ring, other: Process, bytes: usize, lent: bool) -> u64 {
        if ring.is_empty(self.promised) {
            if self.before == Some(other) && self.lent != lent {
                // An answer begins where the message began: the process that fills the buffers now
                // has read them.
                let buffers = u64::from(BUFFERS);
                self.promised += self.begun.wrapping_sub(self.promised) % buffers;
                ring.restart_after(self.promised);
            }
            self.begun = self.promised;
        }
        let first = self.promised;
        self.promised = first.wrapping_add(bytes.div_ceil(BUFFER_BYTES) as u64);
        if lent {
            self.lent_until = self.promised;
        }
        (self.with, self.before, self.lent) = (Some(other), Some(other), lent);
        first
    }
}
