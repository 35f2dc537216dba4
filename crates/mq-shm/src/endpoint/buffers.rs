//! Messages in buffers that the receiver can read: see [`crate::buffers`].

use std::sync::Arc;

use crate::buffers::window::{Access, Window};
use crate::buffers::{Block, Region};
use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::single_copy::{self, Copied};
use crate::segment::Memory;
use crate::steps::{Step, step};
use crate::sync::Ordering;

/// The own region and those of others, as far as they are useful.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    own: Option<Arc<Region>>,
    others: Vec<View>,
}

/// The region of another process.
#[derive(Debug, Default)]
enum View {
    #[default]
    Unseen,
    Mapped(Window),
    /// The system does not map it.
    Refused,
}

impl Buffers {
    /// A process has ended, and nothing more will be read from it.
    pub(super) fn forget(&mut self, process: Process) {
        if let Some(view) = self.others.get_mut(process.index()) {
            *view = View::Unseen;
        }
    }

    fn view(&mut self, process: Process) -> &mut View {
        let needed = process.index() + 1;
        if self.others.len() < needed {
            self.others.resize_with(needed, View::default);
        }
        &mut self.others[process.index()]
    }
}

impl<M: Memory> Endpoint<M> {
    /// Memory from which the others can read messages with one plain copy, whatever the kernel otherwise
    /// permits. Messages in it are [exposed](Self::expose) and [read](Self::read) like others.
    ///
    /// # Cost
    /// A system call, plus one for each MiB that the process does not have yet, and zeroing the pages; some
    /// more for the first one.
    ///
    /// # Errors
    /// [`ShmError::NoBuffer`] if there is no free range of this length; [`ShmError::NoMemory`] if there is no
    /// memory for it; [`ShmError::System`] if the region cannot be mapped.
    pub fn allocate(&mut self, bytes: usize) -> Result<Block, ShmError> {
        let region = match &self.buffers.own {
            Some(region) => region,
            None if self.geometry().buffers() == 0 => {
                return Err(ShmError::NoBuffer {
                    bytes,
                    longest: 0,
                    all: 0,
                });
            }
            None => {
                let window = self.memory.buffers(self.me, Access::Own)?;
                self.buffers.own.insert(Region::new(window))
            }
        };
        region.allocate(bytes)
    }

    /// The offset of these bytes in the shared buffers of this process, if others may be told.
    pub(super) fn shared_offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let own = self.buffers.own.as_ref()?;
        own.offset_of(bytes).filter(|_| self.options.shared_copy)
    }

    /// For a process that leaves and cannot learn from the others what they still read: nothing that was
    /// [allocated](Self::allocate) is given back or reused any more, and everything else of this process is
    /// refused from now on. A read that has begun may still see what is written there afterwards.
    ///
    /// # Cost
    /// Sleeps 0.2 ms: for so long, readers do not ask whether a process that they know is still the same.
    pub fn keep_buffers(&self) {
        if let Some(region) = &self.buffers.own {
            region.keep();
        }
        self.shown.hide();
        std::thread::sleep(single_copy::KNOWN_FOR);
    }

    /// For a process that goes on, and cannot wait until the others have read what it has
    /// [exposed](Self::expose): [keeps](Self::keep_buffers) what was allocated, and refuses all reads from now on,
    /// of its own memory and of its shared buffers, also of what is exposed later. Large messages of this process
    /// go through rings then.
    pub fn hide_memory(&self) {
        self.place.token.store(0, Ordering::Relaxed);
        self.keep_buffers();
    }

    /// The part of [`read`](Self::read) for bytes in the region of `from`; at least as many as there is room
    /// for.
    pub(super) fn read_shared(
        &mut self,
        from: Process,
        at: u64,
        bytes: u64,
        into: &mut [u8],
    ) -> Result<Copied, ShmError> {
        let lies_there = at
            .checked_add(bytes)
            .is_some_and(|end| end <= self.geometry().buffers());
        if !lies_there {
            return Err(ShmError::Corrupt {
                what: "the place of a shared buffer",
                process: from,
            });
        }
        if let (true, Some(how)) = (self.peers[from.index()].struck_out, self.gone(from)) {
            return Err(ShmError::Gone { process: from, how });
        }
        if self.memory.place(from).token.load(Ordering::Relaxed) == 0 {
            // It has hidden them.
            return Ok(Copied::Refused(0));
        }
        let view = self.buffers.view(from);
        if matches!(view, View::Unseen) {
            *view = self
                .memory
                .buffers(from, Access::Read)
                .map_or(View::Refused, View::Mapped);
        }
        let View::Mapped(window) = view else {
            return Ok(Copied::Refused(0));
        };
        step(Step::SharedCopying);
        let pace = &mut self.peers[from.index()].reading;
        pace.read(into.len(), |way| {
            let all = window.read(at, into, way);
            debug_assert!(all, "its length is the geometry's");
        });
        step(Step::SharedCopied);
        Ok(Copied::All)
    }
}
