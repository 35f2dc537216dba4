//! What is sent: from memory of the process's own, or from a shared buffer.

use std::ops::{Deref, DerefMut};

use mq_comm::{Error, SharedBuffer, World};

use super::sampling::pattern;

/// The bytes of a message.
pub(super) enum Outgoing {
    Own(Vec<u8>),
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
            return Ok(Self::Own(bytes));
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
