//! Large messages: reading them from the sender, or having them sent through a ring.
#![allow(unsafe_code, reason = "copies to and from shared memory")]

use crate::copy::Way;
use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::ring::{BUFFER_BYTES, BUFFERS, Pulled, Pushed, Ring, RingId, Share, Stretch};
use crate::large::single_copy::{Copied, Known, Remote};
use crate::layout::RINGS;
use crate::segment::{Memory, Part};
use crate::sleeper;
use crate::steps::{Step, step};
use crate::sync::Ordering;

/// Bytes that go into or out of a ring in one call, or a few more.
const AT_ONCE: usize = BUFFERS as usize * BUFFER_BYTES;

fn no_ring(process: Process) -> ShmError {
    ShmError::Corrupt {
        what: "the number of a ring",
        process,
    }
}

/// A word of this process that cannot be matched by chance. The process's identity goes into it: the source of
/// the random numbers may be a parent's, and shared with others.
pub(super) fn token(me: Process, pid: u32) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(("mq", me.0, pid)) | 1
}

impl<M: Memory> Endpoint<M> {
    /// Where bytes of this process are, for another process to [read](Self::read).
    #[must_use]
    pub fn expose(&self, bytes: &[u8]) -> Remote {
        Remote {
            address: bytes.as_ptr() as u64,
            bytes: bytes.len() as u64,
            shared: self.shared_offset_of(bytes),
        }
    }

    /// Reads bytes that another process has [exposed](Self::expose), as many as `into` has room for. A refusal
    /// is a normal result: the pair must then use a ring, from the first missing byte. Bytes in a [shared
    /// buffer](Self::allocate) are copied out of it, and others are read through the kernel.
    ///
    /// # Cost
    /// One system call; from a shared buffer none except for the first message.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::Corrupt`] if `into` has room for more than was exposed, or for
    /// a shared buffer outside those of `from`; [`ShmError::Gone`] if it is inside, and `from` has ended and
    /// its memory is given up.
    ///
    /// # Safety
    /// If `from` belongs to this process too, in another thread, nothing writes into those bytes before this
    /// returns: they are what was exposed, and `from` keeps them unchanged until it learns that they have been
    /// read. What another process says need not be true: a lie can do no more than a write into the segment
    /// could.
    pub unsafe fn read(
        &mut self,
        from: Process,
        remote: Remote,
        into: &mut [u8],
    ) -> Result<Copied, ShmError> {
        self.check_remote(from, remote, into.len())?;
        if let Some(at) = remote.shared {
            return self.read_shared(from, at, remote.bytes, into);
        }
        let sender = self.known(from);
        let peer = &mut self.peers[from.index()];
        if peer.is_unreadable || !self.options.single_copy {
            return Ok(Copied::Refused(0));
        }
        step(Step::Copying);
        let copied = sender.read(remote.address, into, &mut peer.seen);
        step(Step::Copied);
        peer.is_unreadable = copied != Copied::All;
        Ok(copied)
    }

    /// Whether at least as many bytes as are wanted have been exposed.
    pub(super) fn check_remote(
        &self,
        from: Process,
        remote: Remote,
        wanted: usize,
    ) -> Result<(), ShmError> {
        self.geometry().check(from)?;
        if wanted as u64 > remote.bytes {
            // Anything after them is not part of the message.
            return Err(ShmError::Corrupt {
                what: match remote.shared {
                    Some(_) => "the place of a shared buffer",
                    None => "the length of a message to be read",
                },
                process: from,
            });
        }
        Ok(())
    }

    /// The memory of a process, as its entry describes it.
    pub(super) fn known(&self, process: Process) -> Known {
        let place = self.memory.place(process);
        Known {
            pid: place.pid.load(Ordering::Relaxed),
            token: place.token.load(Ordering::Relaxed),
            token_at: place.token_at.load(Ordering::Relaxed),
        }
    }

    /// A ring for this many bytes of a message to `to`, and the number of the message's first buffer in it:
    /// after the other messages on their way there, or in a free ring, if there is one. All of the bytes must
    /// be [pushed](Self::push) and pulled, as those of later messages wait for them. The ring is taken back
    /// when the receiver has emptied it, or has ended.
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
        let Some(number) = self.rings.leading_to(to).or_else(|| self.rings.free()) else {
            return Ok(None);
        };
        let state = &mut self.rings.rings[number];
        let number = number as u32;
        if !state.committed {
            self.memory.commit(Part::Ring(self.me, number))?;
            state.committed = true;
        }
        step(Step::RingTaken);
        let first = state.promise(self.memory.ring(self.me, number), to, bytes, false);
        Ok(Some((RingId(number), first)))
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
        let state = &mut self.rings.rings[number];
        let number = number as u32;
        let ring = self.memory.ring(self.me, number);
        let is_lent = state.lent && !ring.is_empty(state.promised);
        let buffers = bytes.div_ceil(BUFFER_BYTES) as u64;
        if is_lent || ring.room_after(state.promised) < buffers {
            return None;
        }
        step(Step::RingTaken);
        let first = state.promise(ring, to, bytes, false);
        Some((RingId(number), first))
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
        let state = &mut self.rings.rings[number];
        let number = number as u32;
        let ring = self.memory.ring(self.me, number);
        if !(state.lent || ring.is_empty(state.promised)) {
            return None;
        }
        let first = state.promise(ring, from, bytes, true);
        step(Step::RingLent);
        Some((RingId(number), first))
    }

    /// Fills empty buffers of a ring with `message` from byte `done` on, once those of the messages before it
    /// are filled. It fills at most one ring's worth per call, however fast they are emptied: a process that
    /// only checks whether something has come must not send all of a long message first.
    ///
    /// # Errors
    /// [`ShmError::Gone`] if the receiver has ended; not once its ring leads to another process, when nothing
    /// more of the message is taken and the answer is the same `Upto(done)` forever.
    /// [`ShmError::NoSuchProcess`] and [`ShmError::Corrupt`] for another process's ring that does not exist.
    ///
    /// # Panics
    /// If `done` exceeds the message's length.
    pub fn push(
        &mut self,
        stretch: Stretch,
        message: &[u8],
        mut done: usize,
    ) -> Result<Pushed, ShmError> {
        let bytes = message.len();
        assert!(done <= bytes, "{done} bytes pushed of a message of {bytes}");
        let Some(to) = self.other_end(stretch)? else {
            return Ok(Pushed::Upto(done));
        };
        let shared: &Ring = self.memory.ring(stretch.owner, stretch.ring.0);
        let before = done;
        let pace = &mut self.peers[to.index()].writing;
        let mut number = stretch.number(done);
        let mut free = 0;
        while done < message.len() && done - before < AT_ONCE {
            if free == 0 {
                free = shared.free_after(number);
            }
            let left = message.len() - done;
            let through = done.saturating_sub(stretch.skipped);
            let Some(share) = Share::to_fill(number, free, through, left, pace.is_far()) else {
                break;
            };
            let part = &message[done..];
            let len = left.min(share.bytes());
            let write = |way: Way| {
                shared.with_mut(share, len, |to, at, len| {
                    // SAFETY: the buffers are empty, so that only the sender touches them until they are
                    // counted; `len` is no more than the part and they have from `at` on.
                    unsafe { way.copy(part[at..].as_ptr(), to, len) };
                });
            };
            match self.options.nontemporal_from {
                Some(from) => write(Way::by_length(message.len(), from)),
                None => pace.write(len, write),
            }
            step(Step::BufferFilled);
            free -= share.end().wrapping_sub(number);
            number = share.end();
            shared.publish_filled(number);
            step(Step::BufferShown);
            done += len;
        }
        if done > before {
            sleeper::wake(self.memory.place(to), self.fences);
        }
        Ok(if done == message.len() {
            Pushed::All
        } else {
            Pushed::Upto(done)
        })
    }

    /// The process that empties the buffers that this process fills; `None` for a ring that it does not have.
    fn other_end(&self, stretch: Stretch) -> Result<Option<Process>, ShmError> {
        let (owner, ring) = (stretch.owner, stretch.ring);
        if owner == self.me {
            let Some(state) = self.rings.rings.get(ring.0 as usize) else {
                return Err(no_ring(owner));
            };
            // For a ring that was taken back from a process that has ended, it is known where it led.
            return match state.with.or(state.before) {
                Some(to) => match self.gone(to) {
                    Some(how) => Err(ShmError::Gone { process: to, how }),
                    None => Ok(state.with),
                },
                None => Ok(None),
            };
        }
        self.geometry().check(owner)?;
        if ring.0 >= RINGS {
            return Err(no_ring(owner));
        }
        match self.gone(owner) {
            // What it owned may be given back.
            Some(how) => Err(ShmError::Gone {
                process: owner,
                how,
            }),
            None => Ok(Some(owner)),
        }
    }

    /// Takes back a ring of this process's if all that was promised has gone through; whether it is free.
    pub fn free_ring(&mut self, ring: RingId) -> bool {
        let Some(state) = self.rings.rings.get_mut(ring.0 as usize) else {
            return true;
        };
        if state.with.is_some() && self.memory.ring(self.me, ring.0).is_empty(state.promised) {
            state.with = None;
        }
        state.with.is_none()
    }

    /// Whether a ring of this process's has led to another, all that was promised to it has gone through, and another
    /// ring is free: one that can be [lent](Self::lend_ring), if the other process has the higher number.
    #[must_use]
    pub fn has_ring_to_lend(&self, other: Process) -> bool {
        let is_empty = |number: usize| {
            let state = &self.rings.rings[number];
            (self.memory.ring(self.me, number as u32)).is_empty(state.promised)
                && self.rings.has_other_free(&self.memory, self.me, number)
        };
        self.rings.leading_to(other).is_some_and(is_empty)
    }

    /// Whether there is a ring between this process and `from` that can still be emptied.
    fn check_to_empty(&self, from: Process, stretch: Stretch) -> Result<(), ShmError> {
        let (owner, ring) = (stretch.owner, stretch.ring);
        self.geometry().check(from)?;
        if ring.0 >= RINGS || (owner != from && owner != self.me) {
            return Err(no_ring(from));
        }
        match self.gone(from) {
            Some(how) if self.peers[from.index()].struck_out => {
                Err(ShmError::Gone { process: from, how })
            }
            _ => Ok(()),
        }
    }

    /// Empties the buffers of a ring that `from` has filled into `into`, from byte `done` on, once those of the
    /// messages before it are empty; at most one ring's worth per call.
    ///
    /// What an ended process had put into a ring can be pulled until the next
    /// [`check_peers`](Self::check_peers) or [`rest`](Self::rest) after its end was reported.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::Corrupt`] for a ring that does not exist, or belongs to
    /// neither; [`ShmError::Gone`] if the sender has ended and its memory is given up.
    ///
    /// # Panics
    /// If `done` exceeds the room.
    pub fn pull(
        &mut self,
        from: Process,
        stretch: Stretch,
        into: &mut [u8],
        mut done: usize,
    ) -> Result<Pulled, ShmError> {
        let room = into.len();
        assert!(done <= room, "{done} bytes pulled of {room}");
        self.check_to_empty(from, stretch)?;
        let shared: &Ring = self.memory.ring(stretch.owner, stretch.ring.0);
        let pace = &mut self.peers[from.index()].reading;
        let before = done;
        let mut number = stretch.number(done);
        let mut full = 0;
        while done < into.len() && done - before < AT_ONCE {
            if full == 0 {
                full = shared.full_after(number);
            }
            let Some(share) = Share::to_empty(number, full, into.len() - done) else {
                break;
            };
            let part = &mut into[done..];
            let len = part.len().min(share.bytes());
            pace.read(len, |way| {
                shared.with(share, len, |from, at, len| {
                    // SAFETY: the buffers are full and not yet counted as emptied: the sender does not touch
                    // them; `len` is no more than the part and they have from `at` on.
                    unsafe { way.copy(from, part[at..].as_mut_ptr(), len) };
                });
            });
            step(Step::BufferRead);
            full -= share.end().wrapping_sub(number);
            number = share.end();
            shared.publish_emptied(number);
            done += len;
        }
        if done > before {
            sleeper::wake(self.memory.place(from), self.fences);
        }
        Ok(if done == into.len() {
            Pulled::All
        } else {
            Pulled::Upto(done)
        })
    }

    /// Counts the buffers of a ring that `from` has filled as emptied, as [`pull`](Self::pull) does, but reads
    /// nothing: for a message of this many bytes, of which the first `done` were pulled or passed.
    ///
    /// # Errors
    /// As for `pull`.
    pub fn pass(
        &mut self,
        from: Process,
        stretch: Stretch,
        bytes: usize,
        done: usize,
    ) -> Result<Pulled, ShmError> {
        self.check_to_empty(from, stretch)?;
        let shared: &Ring = self.memory.ring(stretch.owner, stretch.ring.0);
        // What does not go through the ring needs no passing.
        let done = done.max(stretch.skipped);
        let number = stretch.number_behind(done.min(bytes));
        let end = stretch.number_behind(bytes);
        let left = end.wrapping_sub(number);
        let full = shared.full_after(number).min(left);
        if full > 0 {
            shared.publish_emptied(number.wrapping_add(full));
            sleeper::wake(self.memory.place(from), self.fences);
        }
        Ok(if full == left {
            Pulled::All
        } else {
            Pulled::Upto(done + full as usize * BUFFER_BYTES)
        })
    }
}
