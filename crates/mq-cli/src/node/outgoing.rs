//! Memory for sending and receiving messages: the process's own, or a shared buffer.

use std::ops::{Deref, DerefMut};

use mq_comm::{Error, SharedBuffer, World};

use super::sampling::pattern;

/// Where messages come from, in words.
pub(super) const fn memory(shared: bool) -> &'static str {
    if shared {
        "shared buffers"
    } else {
        "the processes' own memory"
    }
}

/// The bytes of a message.
pub(super) enum Outgoing {
    Own(Aligned),
    Shared(SharedBuffer<u8>),
}

impl Outgoing {
    /// The [pattern] of a message, in its place.
    pub(super) fn new(
        world: &World,
        shared: bool,
        size: usize,
        message: usize,
    ) -> Result<Self, Error> {
        let mut out = if shared {
            Self::Shared(world.shared_buffer(size)?)
        } else {
            Self::Own(Aligned::filled(0, size)?)
        };
        write(&mut out, message);
        Ok(out)
    }
}

impl Deref for Outgoing {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl DerefMut for Outgoing {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// The process's own memory, page-aligned as in `benches/node/node.c`: its alignment affects how fast
/// it is copied.
pub(super) struct Aligned {
    memory: Vec<u8>,
    from: usize,
    size: usize,
}

impl Aligned {
    const PAGE: usize = 4096;

    pub(super) fn filled(with: u8, size: usize) -> Result<Self, Error> {
        let memory = filled(with, size + Self::PAGE)?;
        let from = memory.as_ptr().align_offset(Self::PAGE).min(Self::PAGE);
        Ok(Self { memory, from, size })
    }
}

/// Memory for a message where the allocator puts it.
///
/// # Errors
/// [`Error::Memory`] if there is none.
pub(super) fn filled(with: u8, size: usize) -> Result<Vec<u8>, Error> {
    let mut memory = Vec::new();
    let room = memory.try_reserve_exact(size);
    room.map_err(|_| Error::Memory { bytes: size as u64 })?;
    memory.resize(size, with);
    Ok(memory)
}

/// Like [`filled`], with the [pattern] of a message.
pub(super) fn patterned(size: usize, message: usize) -> Result<Vec<u8>, Error> {
    let mut memory = filled(0, size)?;
    write(&mut memory, message);
    Ok(memory)
}

/// Writes the [pattern] of a message.
pub(super) fn write(memory: &mut [u8], message: usize) {
    let bytes = pattern(memory.len(), message);
    for (byte, value) in memory.iter_mut().zip(bytes) {
        *byte = value;
    }
}

/// Whether this process could allocate this many bytes; checked before any work, so that it is reported once.
pub(super) fn could_have(bytes: u64) -> bool {
    let mut memory: Vec<u8> = Vec::new();
    let room = usize::try_from(bytes).is_ok_and(|bytes| memory.try_reserve_exact(bytes).is_ok());
    // Unused memory would not be allocated at all.
    std::hint::black_box(&memory);
    room
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.from..][..self.size]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..][..self.size]
    }
}
