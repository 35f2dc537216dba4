//! Bytes that go through rings.
#![allow(unsafe_code, reason = "copies to and from shared memory")]

use crate::copy::Way;
use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::ring::{BUFFER_BYTES, BUFFERS, Pulled, Pushed, Ring, Share, Stretch};
use crate::layout::RINGS;
use crate::segment::Memory;
use crate::sleeper;
use crate::steps::{Step, step};

/// Bytes that go into or out of a ring in one call, or a few more.
const AT_ONCE: usize = BUFFERS as usize * BUFFER_BYTES;

fn no_ring(process: Process) -> ShmError {
    ShmError::Corrupt {
        what: "the number of a ring",
        process,
    }
}

impl<M: Memory> Endpoint<M> {
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
            return Ok(match done == bytes {
                true => Pushed::All,
                false => Pushed::Upto(done),
            });
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

    /// The process that empties the buffers that this process fills; `None` for a ring that it does not have.
    fn other_end(&self, stretch: Stretch) -> Result<Option<Process>, ShmError> {
        let (owner, ring) = (stretch.owner, stretch.ring);
        if owner == self.me {
            let Some(state) = self.rings.own.get(ring.0 as usize) else {
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
}
