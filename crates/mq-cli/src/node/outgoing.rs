//! Memory that messages go out of and into: the process's own, or a shared buffer.

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
    /// The [pattern] of a message, where it is to lie.
    pub(super) fn new(
        world: &World,
        shared: bool,
        size: usize,
        message: usize,
    ) -> Result<Self, Error> {
        let bytes = pattern(size, message);
        if !shared {
            let mut own = Aligned::filled(0, size);
            own.copy_from_slice(&bytes);
            return Ok(Self::Own(own));
        }
        let mut buffer = world.shared_buffer(size)?;
        buffer.copy_from_slice(&bytes);
        Ok(Self::Shared(buffer))
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

/// The process's own memory, at the beginning of a page as in `benches/node/node.c`: how quickly it
/// is copied depends on where it begins.
pub(super) struct Aligned {
    memory: Vec<u8>,
    from: usize,
    size: usize,
}

impl Aligned {
    const PAGE: usize = 4096;

    pub(super) fn filled(with: u8, size: usize) -> Self {
        let memory = vec![with; size + Self::PAGE];
        let from = memory.as_ptr().align_offset(Self::PAGE).min(Self::PAGE);
        Self { memory, from, size }
    }
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
