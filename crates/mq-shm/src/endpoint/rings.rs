//! The rings of a process: which process is at the other end of each, which buffers are promised, and who gets the
//! next.

use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::ring::{BUFFER_BYTES, BUFFERS, Ring, RingId};
use crate::layout::RINGS;
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};

/// The rings of this process: which process is at the other end of each.
#[derive(Debug, Default)]
pub(super) struct Rings {
    pub(super) own: [OwnRing; RINGS as usize],
}

/// Which of the two processes of a ring writes into buffers of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Filler {
    #[default]
    Owner,
    /// The buffers are lent to the other process.
    Other,
}

/// What a ring's owner knows about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnRing {
    /// Whether its memory is there.
    pub(super) committed: bool,
    /// The process at the other end, until all that was promised has gone through.
    pub(super) with: Option<Process>,
    /// The previous one.
    pub(super) before: Option<Process>,
    /// Who fills the newest stretch.
    pub(super) filler: Filler,
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
        self.own.iter().any(|ring| ring.with.is_some())
    }

    /// The ring between this process and another in which something is in transit, or was the last
    /// time.
    pub(super) fn leading_to(&self, other: Process) -> Option<usize> {
        let find = |is: &dyn Fn(&OwnRing) -> bool| self.own.iter().position(is);
        find(&|ring| ring.with == Some(other))
            .or_else(|| find(&|ring| ring.with.is_none() && ring.before == Some(other)))
    }

    /// A ring in which nothing is in transit.
    pub(super) fn free(&self) -> Option<usize> {
        let free = |ring: &OwnRing| ring.with.is_none();
        let has_memory = |ring: &OwnRing| free(ring) && ring.committed;
        let find = |is: &dyn Fn(&OwnRing) -> bool| self.own.iter().position(is);
        find(&has_memory).or_else(|| find(&free))
    }

    /// Takes back the rings through which all that was promised has gone; whether there were any.
    pub(super) fn take_back<M: Memory>(&mut self, memory: &M, me: Process) -> bool {
        let mut any = false;
        for (number, state) in self.own.iter_mut().enumerate() {
            any |= state.take_back(memory.ring(me, number as u32));
        }
        any
    }

    /// Whether there is a ring other than this one in which nothing is in transit.
    pub(super) fn has_other_free<M: Memory>(&self, memory: &M, me: Process, number: usize) -> bool {
        let rings = self.own.iter().enumerate();
        let mut others = rings.filter(|&(at, _)| at != number);
        others.any(|(at, state)| {
            state.with.is_none() || memory.ring(me, at as u32).is_empty(state.promised)
        })
    }

    /// Frees the rings to a process that has died, or left. What it had put into rings lent to it can be read until it
    /// is `struck_out`.
    pub(super) fn abandon<M: Memory>(
        &mut self,
        memory: &M,
        me: Process,
        process: Process,
        struck_out: bool,
    ) {
        for (number, state) in self.own.iter_mut().enumerate() {
            let ring = memory.ring(me, number as u32);
            if state.with == Some(process) && (struck_out || !ring.awaits(state.lent_until)) {
                ring.restart_after(state.promised);
                state.with = None;
            }
        }
    }
}

impl OwnRing {
    /// Takes the ring back if all that was promised has gone through; whether it was in use until now.
    fn take_back(&mut self, ring: &Ring) -> bool {
        let is_through = self.with.is_some() && ring.is_empty(self.promised);
        if is_through {
            self.with = None;
        }
        is_through
    }

    /// Promises buffers for this many bytes between this process and `other`; returns the number of the first.
    pub(super) fn promise(
        &mut self,
        ring: &Ring,
        other: Process,
        bytes: usize,
        filler: Filler,
    ) -> u64 {
        if ring.is_empty(self.promised) {
            if self.before == Some(other) && self.filler != filler {
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
        if filler == Filler::Other {
            self.lent_until = self.promised;
        }
        (self.with, self.before, self.filler) = (Some(other), Some(other), filler);
        first
    }
}

impl<M: Memory> Endpoint<M> {
    /// A ring for this many bytes of a message to `to`, and the number of the message's first buffer in it:
    /// after the other messages on their way there, or in a free ring, if there is one. All of the bytes must
    /// be [pushed](Self::push) and pulled, as those of later messages wait for them.
    ///
    /// The ring is free again when the receiver has emptied it, which is looked for when no other ring is free,
    /// before a [`rest`](Self::rest) sleeps, and by [`free_ring`](Self::free_ring); or when the receiver has ended.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::Gone`] if `to` has ended; [`ShmError::NoMemory`] for a ring
    /// that has not been used before.
    pub fn take_ring(
        &mut self,
        to: Process,
        bytes: usize,
    ) -> Result<Option<(RingId, u64)>, ShmError> {
        self.geometry().check(to)?;
        if let Some(how) = self.gone(to) {
            return Err(ShmError::Gone { process: to, how });
        }
        let mut found = self.rings.leading_to(to).or_else(|| self.rings.free());
        if found.is_none() && self.rings.take_back(&self.memory, self.me) {
            found = self.rings.free();
        }
        let Some(number) = found else {
            return Ok(None);
        };
        let state = &mut self.rings.own[number];
        if !state.committed {
            self.memory.commit(Part::Ring(self.me, number as u32))?;
            state.committed = true;
        }
        step(Step::RingTaken);
        Ok(Some(self.promise(number, to, bytes, Filler::Owner)))
    }

    /// [`take_ring`](Self::take_ring) for a message that `to` has not asked for, and may leave in the ring:
    /// only from a ring that has led there and has room for all of the bytes now, while another is free.
    #[must_use = "bytes are promised to a ring that was taken, and those behind them wait for them"]
    pub fn take_ring_with_room(&mut self, to: Process, bytes: usize) -> Option<(RingId, u64)> {
        if self.gone(to).is_some() {
            return None;
        }
        let number = self.rings.leading_to(to)?;
        if !self.rings.has_other_free(&self.memory, self.me, number) {
            return None;
        }
        let state = &self.rings.own[number];
        let ring = self.memory.ring(self.me, number as u32);
        let is_lent = state.filler == Filler::Other && !ring.is_empty(state.promised);
        let buffers = bytes.div_ceil(BUFFER_BYTES) as u64;
        if is_lent || ring.room_after(state.promised) < buffers {
            return None;
        }
        step(Step::RingTaken);
        Some(self.promise(number, to, bytes, Filler::Owner))
    }

    /// A ring of this process's for this many bytes of a message *from* another: one that has led there and
    /// holds only messages from there, while another ring is free. The sender must be told immediately: all of
    /// the bytes must be pushed and [pulled](Self::pull). The ring is [taken back](Self::free_ring) when they
    /// are, or when the sender has ended.
    ///
    /// Of two processes only the one with the lower number lends, so that not both do.
    #[must_use = "bytes are promised to a ring that was lent, and those behind them wait for them"]
    pub fn lend_ring(&mut self, from: Process, bytes: usize) -> Option<(RingId, u64)> {
        if from <= self.me || self.gone(from).is_some() {
            return None;
        }
        let number = self.rings.leading_to(from)?;
        // The sender may be busy with something else for long: others must have a ring meanwhile.
        if !self.rings.has_other_free(&self.memory, self.me, number) {
            return None;
        }
        let state = &self.rings.own[number];
        let ring = self.memory.ring(self.me, number as u32);
        if !(state.filler == Filler::Other || ring.is_empty(state.promised)) {
            return None;
        }
        let promised = self.promise(number, from, bytes, Filler::Other);
        step(Step::RingLent);
        Some(promised)
    }

    /// Promises buffers of a ring of this process's: see [`OwnRing::promise`].
    fn promise(
        &mut self,
        number: usize,
        other: Process,
        bytes: usize,
        filler: Filler,
    ) -> (RingId, u64) {
        let id = RingId(number as u32);
        let ring = self.memory.ring(self.me, id.0);
        let first = self.rings.own[number].promise(ring, other, bytes, filler);
        (id, first)
    }

    /// Takes back a ring of this process's if all that was promised has gone through; whether it is free.
    pub fn free_ring(&mut self, ring: RingId) -> bool {
        let Some(state) = self.rings.own.get_mut(ring.0 as usize) else {
            return true;
        };
        state.take_back(self.memory.ring(self.me, ring.0));
        state.with.is_none()
    }

    /// Whether a ring of this process's has led to another, all that was promised to it has gone through, and another
    /// ring is free: one that can be [lent](Self::lend_ring), if the other process has the higher number.
    #[must_use]
    pub fn has_ring_to_lend(&self, other: Process) -> bool {
        let is_empty = |number: usize| {
            let state = &self.rings.own[number];
            (self.memory.ring(self.me, number as u32)).is_empty(state.promised)
                && self.rings.has_other_free(&self.memory, self.me, number)
        };
        self.rings.leading_to(other).is_some_and(is_empty)
    }
}
