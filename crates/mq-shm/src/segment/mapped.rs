//! A segment shared between processes: a memory file that each one maps.
//!
//! The file of [`Mapped::create`] has no name: processes that [inherit](Mapped::inherited) a descriptor of it share it,
//! and it disappears with the last of them however they end. Processes without a common parent to hand them a
//! descriptor [meet](Mapped::meet), as those of a world do. If they cannot have sockets they may open a
//! [name](Mapped::named) instead, which some process has to remove.
#![allow(unsafe_code, reason = "maps memory and lays types over it")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MprotectFlags, madvise, munmap};
use rustix::process::{Resource, getrlimit};

use crate::buffers::window::{Access, Window};
use crate::cell::Cell;
use crate::error::ShmError;
use crate::estate::{self, Holders};
use crate::fastbox::FastBox;
use crate::ids::{CellId, Process};
use crate::large::ring::Ring;
use crate::layout::{Geometry, PAGE};
use crate::liveness::{self, Gone};
use crate::place::Place;
use crate::segment::{File, Memory, Part, header, map};

/// A segment in a memory file.
#[derive(Debug)]
pub struct Mapped {
    geometry: Geometry,
    base: NonNull<u8>,
    bytes: usize,
    file: File,
}

// SAFETY: the mapping belongs to no thread; its contents are made for sharing.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Makes a segment without a name, for processes that inherit a descriptor: its own is closed on `exec`,
    /// [`inheritable`](Self::inheritable) gives one that is not.
    ///
    /// # Errors
    /// [`ShmError::System`] if the kernel has no memory file to give, [`ShmError::NoMemory`] if there is no
    /// memory for the entries of the processes.
    pub fn create(geometry: Geometry) -> Result<Self, ShmError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // A system may want it to be said that nothing in the file will be executed (`vm.memfd_noexec`); one before
        // Linux 6.3 does not know that.
        let file = match memfd_create("mq-segment", flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => memfd_create("mq-segment", flags),
            made => made,
        };
        let file = file.map_err(system("making a memory file"))?;
        let file = known(file, "a new segment")?;
        Self::fill(&file, &geometry, "a new segment")?;
        // No process can pull memory from under those that have mapped it.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)
            .map_err(system("sealing a memory file"))?;
        Self::map(file, "a new segment")
    }

    /// Opens the segment behind a descriptor; `what` names it in errors.
    ///
    /// # Errors
    /// [`ShmError::Foreign`], [`ShmError::Version`] or [`ShmError::Damaged`] if it is not a segment of this
    /// version, [`ShmError::System`] if it cannot be read or mapped.
    pub fn open(file: OwnedFd, what: &str) -> Result<Self, ShmError> {
        Self::map(known(file, what)?, what)
    }

    pub(super) fn map(file: File, what: &str) -> Result<Self, ShmError> {
        let mut head = [0; header::BYTES];
        let read =
            rustix::io::pread(&file, &mut head, 0).map_err(system(&format!("reading {what}")))?;
        if read < header::BYTES {
            let (first, _) = head.split_at(8);
            let found = first.try_into().map_or(0, u64::from_le_bytes);
            let what = what.into();
            return Err(match found {
                header::MAGIC => ShmError::Damaged {
                    what,
                    field: "length",
                    found: read as u64,
                    wanted: format!("at least {} expected", header::BYTES),
                },
                _ => ShmError::Foreign { what, found },
            });
        }
        if head.starts_with(&header::MAGIC.to_le_bytes()) {
            // It is written last, and the kernel may have copied the rest before it.
            rustix::io::pread(&file, &mut head, 0).map_err(system(&format!("reading {what}")))?;
        }
        // After the header was read: a process that is still making the file sets its length before its
        // header.
        let status = fstat(&file).map_err(system(&format!("looking at {what}")))?;
        let length = status.st_size as u64;
        let geometry = header::read(&head, length, what)?;
        let bytes = geometry.bytes();
        let base = map(&file, 0, bytes, MprotectFlags::READ | MprotectFlags::WRITE)
            .map_err(|error| not_mapped(error, bytes, what))?;
        Ok(Self {
            geometry,
            base,
            bytes,
            file,
        })
    }

    /// This segment, if its geometry is as expected.
    pub(super) fn of_geometry(self, expected: &Geometry, name: &str) -> Result<Self, ShmError> {
        if self.geometry == *expected {
            return Ok(self);
        }
        let (field, found, expected) = self.geometry.differs_from(expected);
        Err(ShmError::Mismatch {
            what: name.into(),
            field,
            found,
            expected,
        })
    }

    /// Gives a file its length, its header and memory for the entries.
    pub(super) fn fill(file: &File, geometry: &Geometry, what: &str) -> Result<(), ShmError> {
        check_limit(geometry.length())?;
        ftruncate(file, geometry.length()).map_err(system(&format!("sizing {what}")))?;
        let entries = geometry.cells_at() as u64;
        file.reserve(0, entries, "the entries of the processes")?;
        let write = |bytes: &[u8], at| {
            rustix::io::pwrite(file, bytes, at).map_err(system(&format!("writing {what}")))
        };
        write(&header::write(geometry), 8)?;
        write(&header::MAGIC.to_le_bytes(), 0)?;
        Ok(())
    }

    /// The memory file, to hand it to another process. Nobody may write to it by any other means than this crate: it is
    /// memory that is in use, and [shared buffers](crate::Endpoint::allocate) may be borrowed as ordinary memory.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reports that a process has ended; for the one that has started it and waited for it. The others find
    /// out by themselves unless it ended before it joined. Nothing changes if the kernel says that the
    /// process that has joined lives: it was started by the one that has ended. If the kernel cannot be
    /// asked, as for a process in a container of its own, the caller is believed: the others take no more
    /// messages from it, and give up what they share with it, so it must really have ended. Returns how it has ended,
    /// if it had joined.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    pub fn ended(&self, process: Process) -> Result<Option<Gone>, ShmError> {
        self.geometry.check(process)?;
        let how = liveness::mark_end(self.place(process));
        estate::settle(self, None);
        Ok(how)
    }

    /// Whether the memory that a process had for its messages has been given back to the system. That happens
    /// once the process has ended and all others have received what it had sent them, or have ended too.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    pub fn is_given_back(&self, process: Process) -> Result<bool, ShmError> {
        self.geometry.check(process)?;
        Ok(estate::is_given_back(self.place(process)))
    }

    /// Bytes of memory behind the segment at present, including the header's.
    ///
    /// # Errors
    /// [`ShmError::System`] if the system does not say.
    pub fn committed(&self) -> Result<u64, ShmError> {
        let looking = "looking at the segment";
        self.check_file(looking)?;
        let status = fstat(&self.file).map_err(system(looking))?;
        Ok(status.st_blocks as u64 * 512)
    }

    /// An error if the program has closed the segment's descriptor; `what` was to be done.
    pub(super) fn check_file(&self, what: &str) -> Result<(), ShmError> {
        self.file.check().map_err(|reason| ShmError::System {
            what: what.into(),
            reason,
        })
    }

    /// Maps the pages of a part that has memory into this process, all at once: otherwise each is mapped when
    /// it is first touched, which takes longer, and in the middle of a message. That is what happens where the
    /// kernel refuses: before Linux 5.14, or with pages that are longer.
    fn map_now(&self, offset: usize, bytes: usize) {
        debug_assert!(offset.is_multiple_of(PAGE) && offset + bytes <= self.bytes);
        // SAFETY: the range lies within the mapping, whose content this does not change.
        let _ = unsafe {
            let at = self.base.as_ptr().add(offset).cast::<c_void>();
            madvise(at, bytes, Advice::LinuxPopulateWrite)
        };
    }

    #[inline]
    fn at<T>(&self, offset: usize) -> &T {
        assert!(
            offset + size_of::<T>() <= self.bytes,
            "a part lies within its segment"
        );
        // SAFETY: the range was checked, the mapping is page aligned and lives as long as `self`, offsets
        // come from `Geometry`, which aligns its parts; the types are atomics and guarded memory, for which
        // any bytes are valid, and which others may change at any time.
        unsafe { self.base.add(offset).cast::<T>().as_ref() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let base = self.base.as_ptr().cast::<c_void>();
        // SAFETY: the mapping made in `map`, to which no reference outlives `self`.
        let unmapped = unsafe { munmap(base, self.bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}

/// The file behind a descriptor.
pub(super) fn known(file: OwnedFd, what: &str) -> Result<File, ShmError> {
    File::new(file).map_err(|reason| ShmError::System {
        what: format!("looking at {what}"),
        reason,
    })
}

/// Whether this process may have a file of that length. Exceeding its limit is not an error for the system:
/// SIGXFSZ ends the process.
fn check_limit(length: u64) -> Result<(), ShmError> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < length => Err(ShmError::NoMemory {
            what: "a segment",
            bytes: length as usize,
            reason: io::Error::other(format!(
                "files are limited to {limit} bytes here (`ulimit -f`)"
            )),
        }),
        _ => Ok(()),
    }
}

/// Why there are no addresses for a segment.
fn not_mapped(error: Errno, bytes: usize, what: &str) -> ShmError {
    match getrlimit(Resource::As).current {
        Some(limit) if error == Errno::NOMEM => ShmError::NoMemory {
            what: "a segment",
            bytes,
            reason: io::Error::other(format!(
                "addresses are limited to {limit} bytes here (`ulimit -v`)"
            )),
        },
        _ => system(&format!("mapping {what}"))(error),
    }
}

pub(super) fn system(what: &str) -> impl FnOnce(Errno) -> ShmError {
    let what = what.to_owned();
    move |error| ShmError::System {
        what,
        reason: error.into(),
    }
}

#[allow(private_interfaces, reason = "sealed: nobody else can name the parts")]
impl Memory for Mapped {
    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }

    #[inline]
    fn place(&self, process: Process) -> &Place {
        self.at(self.geometry.place(process))
    }

    #[inline]
    fn holders(&self, owner: Process, word: u32) -> &Holders {
        self.at(self.geometry.holders(owner, word))
    }

    #[inline]
    fn cell(&self, cell: CellId) -> &Cell {
        self.at(self.geometry.cell(cell))
    }

    #[inline]
    fn fastbox(&self, from: Process, to: Process) -> &FastBox {
        self.at(self.geometry.fastbox(from, to))
    }

    #[inline]
    fn ring(&self, owner: Process, number: u32) -> &Ring {
        self.at(self.geometry.ring(owner, number))
    }

    fn buffers(&self, owner: Process, access: Access) -> Result<Window, ShmError> {
        let (at, bytes) = (self.geometry.buffers_at(owner), self.geometry.buffers());
        Window::of_file(&self.file, at, bytes as usize, access)
    }

    fn commit(&self, part: Part) -> Result<(), ShmError> {
        let (offset, bytes) = part.extent(&self.geometry);
        self.file
            .reserve(offset as u64, bytes as u64, part.name())?;
        // Of a ring, programs with few large messages use only a part.
        if matches!(part, Part::Cells { .. } | Part::FastBox(..)) {
            self.map_now(offset, bytes);
        }
        Ok(())
    }

    fn discard(&self, part: Part) -> bool {
        let (offset, bytes) = part.extent(&self.geometry);
        debug_assert!(offset.is_multiple_of(PAGE));
        // An empty range is not valid for the system.
        bytes == 0 || self.file.punch(offset as u64, bytes as u64)
    }
}
