//! Buffers from which the other processes can read messages: one plain copy by the receiver, except for what
//! the sender copies of long ones ([`cooperative`](crate::large::cooperative)).
//!
//! Every process has its own region after the rest of the segment, without memory at first. Only the owner
//! hands out pages of it, from a private list (`space.rs`), so its death leaves nothing half done. Pages get
//! memory when they are handed out, a point at which that can be refused, and give it back with the [`Block`]
//! they belong to. The others map the region read-only, when they have a first message to fetch from it
//! (`window.rs`).
//!
//! | | by whom | when |
//! | --- | --- | --- |
//! | pages are taken from the list and given memory | the owner | [`Endpoint::allocate`](crate::Endpoint::allocate) |
//! | they are written | the owner | before it sends the message that says where they are |
//! | they are read | the receiver | after that message, before its answer |
//! | they are written again, or given back | the owner | after the answer |
//! | all of them are given back | an heir, see `estate` | when the owner has ended, and no process holds anything of it |
//!
//! So the messages about a buffer order its bytes, and no state in the segment is needed.

mod space;
pub(crate) mod window;

use core::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::ShmError;
use crate::origin::Origin;
use crate::steps::{Step, step};
use space::Space;
use window::Window;

/// A process's own region. It stays mapped as long as one of its blocks exists.
#[derive(Debug)]
pub(crate) struct Region {
    window: Window,
    list: Mutex<List>,
    /// The process itself: a child may have a copy of this.
    origin: Origin,
}

#[derive(Debug)]
struct List {
    space: Space,
    /// Nothing is given back any more: a process that cannot be asked may still read it.
    keeps: bool,
}

impl Region {
    pub(crate) fn new(window: Window) -> Arc<Self> {
        let space = Space::new(window.bytes());
        Arc::new(Self {
            window,
            list: Mutex::new(List {
                space,
                keeps: false,
            }),
            origin: Origin::here(),
        })
    }

    /// Pages for this many bytes, with memory behind them.
    pub(crate) fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Block, ShmError> {
        let mut list = self.list();
        let Some(pages) = list.space.take(bytes as u64) else {
            return Err(ShmError::NoBuffer {
                bytes,
                longest: list.space.longest(),
                all: self.window.bytes(),
            });
        };
        step(Step::SharedTaken);
        if let Err(error) = self.window.commit(pages.at, pages.bytes) {
            // What had got memory gave it back, or keeps it; nobody has written there.
            list.space.give_back(pages);
            return Err(error);
        }
        step(Step::SharedMade);
        let address = self.window.range(pages.at, pages.bytes);
        let address = address.expect("the list has pages of the region only");
        Ok(Block {
            region: Arc::clone(self),
            pages,
            address,
            bytes,
        })
    }

    /// The offset of these bytes in the region, if they lie in it.
    pub(crate) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        self.window.offset_of(bytes)
    }

    /// Gives nothing back from now on.
    pub(crate) fn keep(&self) {
        self.list().keeps = true;
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // Nothing panics while it is held; if it did, the list would still be right.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory of this process from which the others can read messages. Dropping it gives it back.
///
/// It is initially zero, and begins at a multiple of [`PAGE`](crate::layout::PAGE).
///
/// The memory exists until the block or its [`Endpoint`](crate::Endpoint) is dropped, whichever is first: after
/// that, others may take what the process had.
#[derive(Debug)]
pub struct Block {
    region: Arc<Region>,
    pages: space::Pages,
    address: NonNull<u8>,
    bytes: usize,
}

impl Block {
    /// The address of the first byte.
    #[inline]
    #[must_use]
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// The number of bytes requested.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "who asks for none knows it")]
    pub fn len(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if !self.region.origin.is_here() {
            // A child that has a copy of the process owns none of its memory.
            return;
        }
        let mut list = self.region.list();
        if list.keeps {
            return;
        }
        let given_back = self.region.window.discard(self.pages.at, self.pages.bytes);
        step(Step::SharedGivenBack);
        if given_back {
            list.space.give_back(self.pages);
        }
    }
}
