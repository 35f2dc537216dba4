//! A region as a process sees it: mapped from the segment's file, or on the heap.
#![allow(unsafe_code, reason = "maps memory and copies out of it")]

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::io;
use std::sync::Arc;

use rustix::mm::{MprotectFlags, munmap};

use crate::copy::Way;
use crate::error::ShmError;
use crate::layout::PAGE;
use crate::segment::{File, map};
#[cfg(mq_loom)]
use crate::sync::Guarded;

/// What a process may do with a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The region is its own: give pages memory, write to them, give them back.
    Own,
    /// Read messages out of it.
    Read,
}

/// A region, for as long as this value exists.
pub(crate) struct Window {
    base: NonNull<u8>,
    bytes: usize,
    backing: Backing,
}

enum Backing {
    /// Mapped; for the own region also the file, and where the region begins in it.
    Mapped(Option<(File, u64)>),
    Heap(Arc<Chunk>),
}

// SAFETY: the mapping, or the chunk, belongs to no thread; the protocol decides who touches the
// bytes.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl core::fmt::Debug for Window {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Window")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Window {
    /// This many bytes of a file, more than none, from one of its pages on.
    pub(crate) fn of_file(
        file: &File,
        at: u64,
        bytes: usize,
        access: Access,
    ) -> Result<Self, ShmError> {
        let failed = |reason: io::Error| ShmError::System {
            what: "mapping shared buffers".into(),
            reason,
        };
        // The file that has the descriptor's number now may be shorter, and reading beyond its end
        // is SIGBUS.
        file.check().map_err(failed)?;
        let (allowed, file_of_owner) = match access {
            Access::Own => {
                let copy = file.try_clone().map_err(failed)?;
                (MprotectFlags::READ | MprotectFlags::WRITE, Some((copy, at)))
            }
            Access::Read => (MprotectFlags::READ, None),
        };
        Ok(Self {
            base: map(file, at, bytes, allowed).map_err(|error| failed(error.into()))?,
            bytes,
            backing: Backing::Mapped(file_of_owner),
        })
    }

    /// A region on the heap.
    pub(crate) fn of_heap(chunk: Arc<Chunk>) -> Self {
        Self {
            base: chunk.base,
            bytes: chunk.layout.size() - PAGE,
            backing: Backing::Heap(chunk),
        }
    }

    /// Bytes of the region.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Requests memory for some pages of the own region.
    pub(crate) fn commit(&self, at: u64, bytes: u64) -> Result<(), ShmError> {
        match &self.backing {
            Backing::Mapped(Some((file, begin))) => {
                file.reserve(begin + at, bytes, "a shared buffer")
            }
            _ => Ok(()),
        }
    }

    /// Gives back the memory of some pages of the own region, which have it and which no process reads; whether they
    /// are zeros now. A system that cannot take the memory out of a file (gVisor) leaves it to them.
    pub(crate) fn discard(&self, at: u64, bytes: u64) -> bool {
        let Some(from) = self.range(at, bytes) else {
            return false;
        };
        // SAFETY: these bytes are the region's and have memory, nothing reads them, and nothing else writes to them.
        let clear = || unsafe { from.write_bytes(0, bytes as usize) };
        match &self.backing {
            Backing::Mapped(Some((file, begin))) => {
                let is_taken = file.punch(begin + at, bytes);
                if !is_taken && file.check().is_ok() {
                    clear();
                    return true;
                }
                is_taken
            }
            Backing::Heap(chunk) => {
                chunk.write(clear);
                true
            }
            Backing::Mapped(None) => false,
        }
    }

    /// The address of some bytes, if they lie in the region.
    pub(crate) fn range(&self, at: u64, bytes: u64) -> Option<NonNull<u8>> {
        let end = at.checked_add(bytes)?;
        // SAFETY: `at` is no more than the length of the mapping, or chunk.
        (end <= self.bytes()).then(|| unsafe { self.base.add(at as usize) })
    }

    /// The offset of these bytes in the region, if all of them lie in it.
    pub(crate) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let base = self.base.as_ptr().addr();
        let at = bytes.as_ptr().addr().checked_sub(base)?;
        let end = at.checked_add(bytes.len())?;
        (end <= self.bytes && !bytes.is_empty()).then_some(at as u64)
    }

    /// Copies bytes of the region, from `at` on, into the caller's buffer until it is full. Whether
    /// they lie in the region; if not, nothing is copied.
    pub(crate) fn read(&self, at: u64, into: &mut [u8], way: Way) -> bool {
        let Some(from) = self.range(at, into.len() as u64) else {
            return false;
        };
        // SAFETY: the range was checked, and the mapping or chunk exists as long as `self`. Any bytes are
        // valid message content. An owner in this process does not write to them meanwhile, as required by
        // `Endpoint::read`; another process, which may, makes them wrong and nothing else, since this one has
        // no reference to them. `into` is borrowed exclusively from the caller: it may be in a shared buffer of
        // the same region, but in another block than the message.
        let mut read = || unsafe { way.copy(from.as_ptr(), into.as_mut_ptr(), into.len()) };
        match &self.backing {
            Backing::Mapped(_) => read(),
            Backing::Heap(chunk) => chunk.read(read),
        }
        true
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Backing::Mapped(_) = self.backing {
            let base = self.base.as_ptr().cast::<c_void>();
            // SAFETY: the mapping made in `of_file`; every holder of an address in it keeps `self`.
            let unmapped = unsafe { munmap(base, self.bytes) };
            debug_assert_eq!(unmapped, Ok(()));
        }
    }
}

/// The region of a process of a [`Heap`](crate::Heap).
pub(crate) struct Chunk {
    /// The first whole page.
    base: NonNull<u8>,
    raw: NonNull<u8>,
    /// One page longer than the region: a layout with page alignment would be zeroed by touching
    /// all of its pages.
    layout: Layout,
    /// Stands for all of its bytes: the model fails if one thread reads them while another writes.
    #[cfg(mq_loom)]
    guard: Guarded<()>,
}

// SAFETY: as for `Window`.
unsafe impl Send for Chunk {}
// SAFETY: as for `Window`.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// This many bytes, more than none.
    pub(crate) fn new(bytes: usize) -> Self {
        let layout = Layout::array::<u8>(bytes + PAGE).expect("a region fits into memory");
        // SAFETY: it is not empty.
        let raw = unsafe { alloc_zeroed(layout) };
        let raw = NonNull::new(raw).unwrap_or_else(|| handle_alloc_error(layout));
        let skipped = raw.as_ptr().addr().wrapping_neg() % PAGE;
        Self {
            // SAFETY: the allocation is a page longer than the region, and less than a page is
            // skipped.
            base: unsafe { raw.add(skipped) },
            raw,
            layout,
            #[cfg(mq_loom)]
            guard: Guarded::new(()),
        }
    }

    #[cfg(not(mq_loom))]
    fn read(&self, read: impl FnOnce()) {
        read();
    }

    #[cfg(not(mq_loom))]
    fn write(&self, write: impl FnOnce()) {
        write();
    }

    #[cfg(mq_loom)]
    fn read(&self, read: impl FnOnce()) {
        self.guard.with(|_| read());
    }

    /// For the owner, and for a process that gives the region back.
    #[cfg(mq_loom)]
    pub(crate) fn write(&self, write: impl FnOnce()) {
        self.guard.with_mut(|_| write());
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: made in `new` with this layout; every holder of an address in it keeps `self`.
        unsafe { dealloc(self.raw.as_ptr(), self.layout) };
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

    use super::*;

    fn window(bytes: usize) -> Window {
        Window::of_heap(Arc::new(Chunk::new(bytes)))
    }

    #[test]
    fn what_lies_outside_is_not_read() {
        let window = window(2 * PAGE);
        let all = window.bytes();
        let mut into = [7_u8; 16];
        for at in [all - 15, all, all + 1, u64::MAX, u64::MAX - 15, 1 << 63] {
            assert!(!window.read(at, &mut into, Way::Lines), "{at}");
        }
        assert_eq!(into, [7; 16]);
        assert!(window.read(all - 16, &mut into, Way::Lines));
        assert_eq!(into, [0; 16]);
        assert!(window.read(all, &mut [], Way::Lines));
    }

    #[test]
    fn what_the_system_does_not_take_back_is_cleared() {
        let file = memfd_create("window", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, 2 * PAGE as u64).unwrap();
        let file = File::new(file).unwrap();
        let window = Window::of_file(&file, 0, 2 * PAGE, Access::Own).unwrap();
        window.commit(0, 2 * PAGE as u64).unwrap();
        let begin = window.range(0, 2 * PAGE as u64).unwrap();
        // SAFETY: the bytes of the window, which nothing else uses.
        unsafe { begin.write_bytes(7, 2 * PAGE) };
        // From here on no hole can be made in the file, as on systems that know none.
        fcntl_add_seals(&file, SealFlags::FUTURE_WRITE).unwrap();
        assert!(!file.punch(0, PAGE as u64));
        assert!(window.discard(0, PAGE as u64));
        let mut both = vec![1; 2 * PAGE];
        assert!(window.read(0, &mut both, Way::Lines));
        assert!(both[..PAGE].iter().all(|&byte| byte == 0));
        assert!(both[PAGE..].iter().all(|&byte| byte == 7));
        assert!(
            !window.discard(PAGE as u64, 2 * PAGE as u64),
            "it ends before"
        );
    }

    #[test]
    fn bytes_are_found_in_the_region_and_nowhere_else() {
        let window = window(PAGE);
        let at = window.range(0, PAGE as u64).unwrap();
        // SAFETY: these are the bytes of the chunk, and nothing writes to them.
        let all = unsafe { core::slice::from_raw_parts(at.as_ptr(), PAGE) };
        assert_eq!(window.offset_of(all), Some(0));
        assert_eq!(window.offset_of(&all[40..]), Some(40));
        assert_eq!(window.offset_of(&all[PAGE..]), None, "no bytes");
        assert_eq!(window.offset_of(&[1, 2, 3]), None);
    }
}
