//! Large messages: reading them from the sender, or having them sent through a ring.
#![allow(unsafe_code, reason = "copies to and from shared memory")]

use crate::copy::{copy, copy_past_caches};
use crate::endpoint::Endpoint;
use crate::endpoint::peer::Reading;
use crate::error::ShmError;
use crate::index::Process;
use crate::large::ring::{BUFFER_BYTES, Pulled, Pushed, Ring, RingId, Stretch};
use crate::large::single_copy::{self, Copied, Remote};
use crate::layout::RINGS;
use crate::liveness::Gone;
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};
use crate::sync::Ordering;
use crate::wait;

/// The rings of this process: to whom each leads.
#[derive(Debug, Default)]
pub(super) struct Rings {
    rings: [State; RINGS as usize],
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    committed: bool,
    to: Option<Process>,
    /// Buffers filled since the segment began.
    filled: u64,
    /// Buffers promised to messages since then.
    promised: u64,
}

impl Rings {
    /// Whether a transfer goes on, which nobody announces step by step.
    pub(super) fn busy(&self) -> bool {
        self.rings.iter().any(|ring| ring.to.is_some())
    }

    /// The receiver of some transfers has ended.
    pub(super) fn abandon<M: Memory>(&mut self, memory: &M, me: Process, process: Process) {
        for (number, state) in self.rings.iter_mut().enumerate() {
            if state.to == Some(process) {
                memory.ring(me, number as u32).abandon(state.promised);
                state.filled = state.promised;
                state.to = None;
            }
        }
    }
}

/// A word that is not found by chance.
pub(super) fn token() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("mq") | 1
}

impl<M: Memory> Endpoint<M> {
    /// Where bytes of this process are, for another to [read](Self::read).
    #[must_use]
    pub fn expose(&self, bytes: &[u8]) -> Remote {
        Remote {
            address: bytes.as_ptr() as u64,
            bytes: bytes.len() as u64,
            shared: self.shared_offset_of(bytes),
        }
    }

    /// Reads bytes of another process that it has [exposed](Self::expose), as many as `into` has room for.
    /// Refused is an answer: the pair is then to use a ring, from the first byte that is missing. Bytes in a
    /// [shared buffer](Self::allocate) are copied out of that, and others read by way of the kernel.
    ///
    /// # Cost
    /// One system call, and one more for the first message of a pair; from a shared buffer none but for the first.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::Corrupt`] for a shared buffer outside of those of `from`;
    /// [`ShmError::Gone`] if it is in one, and `from` has ended and its memory is given up.
    pub fn read(
        &mut self,
        from: Process,
        remote: Remote,
        into: &mut [u8],
    ) -> Result<Copied, ShmError> {
        self.geometry().check(from)?;
        if let Some(at) = remote.shared {
            return self.read_shared(from, at, remote.bytes, into);
        }
        let place = self.memory.place(from);
        let pid = place.pid.load(Ordering::Relaxed);
        let peer = &mut self.peers[from.index()];
        if peer.reading == Reading::Untried {
            let address = place.token_at.load(Ordering::Relaxed);
            let token = place.token.load(Ordering::Relaxed);
            let works = self.options.single_copy && single_copy::probe(pid, address, token);
            peer.reading = if works {
                Reading::Works
            } else {
                Reading::Refused
            };
        }
        if peer.reading == Reading::Refused {
            return Ok(Copied::Refused(0));
        }
        step(Step::Copying);
        let copied = single_copy::read(pid, remote.address, into);
        step(Step::Copied);
        if copied != Copied::All {
            peer.reading = Reading::Refused;
        }
        Ok(copied)
    }

    /// A ring for so many bytes of a message to `to`, and the number with which its buffers begin: behind the other
    /// messages on their way there, or in a ring that is free, if one is. All of the bytes are to be [pushed](Self::push) and
    /// pulled, as those of later messages wait for them. The ring is taken back when the receiver has emptied it, or
    /// has ended.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::NoMemory`] for a ring that was not used before.
    pub fn take_ring(
        &mut self,
        to: Process,
        bytes: usize,
    ) -> Result<Option<(RingId, u64)>, ShmError> {
        self.geometry().check(to)?;
        if let Some(how) = self.gone(to) {
            return Err(ShmError::Gone { process: to.0, how });
        }
        let rings = &mut self.rings.rings;
        let open = |ring: &State| ring.to == Some(to);
        let found = rings.iter().position(open);
        let Some(number) = found.or_else(|| rings.iter().position(|ring| ring.to.is_none())) else {
            return Ok(None);
        };
        let state = &mut rings[number];
        let number = number as u32;
        if !state.committed {
            self.memory.commit(Part::Ring(self.me, number))?;
            state.committed = true;
        }
        state.to = Some(to);
        step(Step::RingTaken);
        let first = state.promised;
        state.promised = first.wrapping_add(bytes.div_ceil(BUFFER_BYTES) as u64);
        Ok(Some((RingId(number), first)))
    }

    /// Fills the buffers of a ring that are empty with `message` from byte `done` on, once those of the messages before it
    /// are filled.
    ///
    /// # Errors
    /// [`ShmError::Gone`] if the receiver has ended.
    pub fn push(
        &mut self,
        stretch: Stretch,
        message: &[u8],
        mut done: usize,
    ) -> Result<Pushed, ShmError> {
        let ring = stretch.ring;
        let Some(state) = self.rings.rings.get_mut(ring.0 as usize) else {
            return Ok(Pushed::Upto(done));
        };
        let Some(to) = state.to else {
            return Err(ShmError::Gone {
                process: self.me.0,
                how: Gone::Died,
            });
        };
        let shared: &Ring = self.memory.ring(self.me, ring.0);
        if done < message.len() && stretch.number(done) != state.filled {
            return Ok(Pushed::Upto(done));
        }
        let before = done;
        let pace = &mut self.peers[to.index()].pace;
        while done < message.len() {
            let Some(buffer) = shared.to_fill(state.filled) else {
                break;
            };
            let part = &message[done..];
            let len = part.len().min(BUFFER_BYTES);
            let write = |past_caches| {
                let copy = if past_caches { copy_past_caches } else { copy };
                // SAFETY: the buffer is empty, so that only the sender touches it until it is counted; `len` is
                // no more than either has.
                buffer.with_mut(|buffer| unsafe { copy(part.as_ptr(), buffer.cast(), len) });
            };
            match self.options.nontemporal_from {
                Some(from) => write(message.len() >= from),
                None => pace.write(len, write),
            }
            step(Step::BufferFilled);
            shared.filled(state.filled);
            step(Step::BufferShown);
            state.filled = state.filled.wrapping_add(1);
            done += len;
        }
        if done > before {
            wait::wake(self.memory.place(to), self.fences);
        }
        Ok(if done == message.len() {
            Pushed::All
        } else {
            Pushed::Upto(done)
        })
    }

    /// Takes a ring back if its receiver has emptied it; whether it is free.
    pub fn free_ring(&mut self, ring: RingId) -> bool {
        let Some(state) = self.rings.rings.get_mut(ring.0 as usize) else {
            return true;
        };
        if state.to.is_some() && self.memory.ring(self.me, ring.0).is_empty(state.promised) {
            state.to = None;
        }
        state.to.is_none()
    }

    /// Empties the buffers of a ring of `from` that are full into `into`, from byte `done` on, once those of the messages
    /// before it are empty.
    ///
    /// What a process that has ended had put into a ring can be pulled until the next
    /// [`check_peers`](Self::check_peers) or [`rest`](Self::rest) after that was reported.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`]; [`ShmError::Corrupt`] for a ring that there is not; [`ShmError::Gone`] if the sender
    /// has ended and its memory is given up.
    pub fn pull(
        &mut self,
        from: Process,
        stretch: Stretch,
        into: &mut [u8],
        mut done: usize,
    ) -> Result<Pulled, ShmError> {
        let ring = stretch.ring;
        self.geometry().check(from)?;
        if ring.0 >= RINGS {
            return Err(ShmError::Corrupt {
                what: "the number of a ring",
                process: from.0,
            });
        }
        if let (true, Some(how)) = (self.peers[from.index()].struck_out, self.gone(from)) {
            return Err(ShmError::Gone {
                process: from.0,
                how,
            });
        }
        let shared: &Ring = self.memory.ring(from, ring.0);
        let before = done;
        while done < into.len() {
            let number = stretch.number(done);
            let Some(buffer) = shared.to_empty(number) else {
                break;
            };
            let part = &mut into[done..];
            let len = part.len().min(BUFFER_BYTES);
            // SAFETY: the buffer is full and not yet counted as emptied: the sender does not touch it.
            buffer.with(|buffer| unsafe { copy(buffer.cast(), part.as_mut_ptr(), len) });
            step(Step::BufferRead);
            shared.emptied(number);
            done += len;
        }
        if done > before {
            wait::wake(self.memory.place(from), self.fences);
        }
        Ok(if done == into.len() {
            Pulled::All
        } else {
            Pulled::Upto(done)
        })
    }
}
