//! Bytes that are read where they lie: in the sender's own memory or its shared buffers.
#![allow(unsafe_code, reason = "reads shared memory")]

use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::single_copy::{Copied, MemoryId, Remote};
use crate::segment::Memory;
use crate::steps::{Step, step};
use crate::sync::Ordering;

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
        let sender = self.memory_id(from);
        let peer = &mut self.peers[from.index()];
        if peer.memory.is_unreadable || !self.options.single_copy {
            return Ok(Copied::Refused(0));
        }
        step(Step::Copying);
        let copied = sender.read(remote.address, into, &mut peer.memory.seen);
        step(Step::Copied);
        peer.memory.is_unreadable = copied != Copied::All;
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

    /// How the memory of a process is identified, as its entry says.
    pub(super) fn memory_id(&self, process: Process) -> MemoryId {
        let place = self.memory.place(process);
        MemoryId {
            pid: place.pid.load(Ordering::Relaxed),
            token: place.token.load(Ordering::Relaxed),
            token_at: place.token_at.load(Ordering::Relaxed),
        }
    }
}
