//! A segment shared between processes: a memory file that each one maps.
//!
//! The file of [`Mapped::create`] has no name: processes that inherit its descriptor share it, and it
//! disappears with the last of them however they end. Processes without a common parent to hand them a
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
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, Mode, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{Resource, geteuid, getrlimit};
use rustix::shm;

use crate::buffers::window::{Access, Window};
use crate::cell::Cell;
use crate::error::ShmError;
use crate::estate;
use crate::fastbox::FastBox;
use crate::ids::{CellId, Process};
use crate::large::ring::Ring;
use crate::layout::{Geometry, PAGE};
use crate::liveness;
use crate::place::Place;
use crate::segment::{File, Memory, Part, header};
use crate::sync::AtomicU64;

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
    /// Makes a segment without a name, for processes that inherit its descriptor. The descriptor is closed on
    /// `exec` unless that is changed.
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

    fn map(file: File, what: &str) -> Result<Self, ShmError> {
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
        // After the header was read: a process that is still making the file sets its length before its
        // header.
        let status = fstat(&file).map_err(system(&format!("looking at {what}")))?;
        let length = status.st_size as u64;
        let geometry = header::read(&head, length, what)?;
        let bytes = geometry.bytes();
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe {
            mmap(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                &file,
                0,
            )
        }
        .map_err(system(&format!("mapping {what}")))?;
        let base = NonNull::new(base.cast()).ok_or_else(|| ShmError::System {
            what: format!("mapping {what}"),
            reason: io::ErrorKind::AddrNotAvailable.into(),
        })?;
        Ok(Self {
            geometry,
            base,
            bytes,
            file,
        })
    }

    /// Makes the segment of this name, or opens it if another process has made it.
    ///
    /// The name is that of a file in `/dev/shm`, which [`Mapped::forget`] removes, as soon as all have opened
    /// it. A segment that cannot be completed leaves no name; processes that are killed before one of them
    /// has removed it leave the file. [`Mapped::meet`] leaves nothing.
    ///
    /// Memory is requested before it is used, and a lack of it is an error. A process that overwrites the
    /// segment can make others use parts for which no memory was requested: if `/dev/shm` is full, they then
    /// die from SIGBUS.
    ///
    /// # Errors
    /// As [`Mapped::create`] and [`Mapped::open`]; [`ShmError::Otherwise`] if the segment of that name has
    /// another geometry, [`ShmError::System`] if it is another user's, or if its maker does not finish it
    /// within ten seconds, after which the name is removed.
    pub fn named(name: &str, geometry: Geometry) -> Result<Self, ShmError> {
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = shm::OFlags::RDWR | shm::OFlags::CREATE | shm::OFlags::EXCL;
        loop {
            match shm::open(name, flags, mode) {
                Ok(file) => return Self::make(file, &geometry, name),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(system(&format!("making {name} in /dev/shm"))(error)),
            }
            match Self::wait_for(name, mode, Duration::from_secs(10)) {
                // Another job has removed the name meanwhile.
                Err(ShmError::System { reason, .. })
                    if reason.kind() == io::ErrorKind::NotFound => {}
                opened => return opened?.of_geometry(&geometry, name),
            }
        }
    }

    /// Makes a segment of a file that is new and that no other process uses.
    fn make(file: OwnedFd, geometry: &Geometry, name: &str) -> Result<Self, ShmError> {
        let seen = file.try_clone();
        let made = known(file, name).and_then(|file| {
            Self::fill(&file, geometry, name)?;
            Self::map(file, name)
        });
        if made.is_err() {
            // No process can use it, and no other process knows that it can go: unless its maker took so long
            // that another has removed the name, which may be a third one's segment now.
            let _ = seen.map(|seen| Self::forget_of(name, seen.as_fd()));
        }
        made
    }

    /// The same, if its geometry is as expected.
    pub(super) fn of_geometry(self, expected: &Geometry, name: &str) -> Result<Self, ShmError> {
        if self.geometry == *expected {
            return Ok(self);
        }
        let (field, found, expected) = self.geometry.differs_from(expected);
        Err(ShmError::Otherwise {
            what: name.into(),
            field,
            found,
            expected,
        })
    }

    /// Opens a segment that another process may still be making.
    fn wait_for(name: &str, mode: Mode, patience: Duration) -> Result<Self, ShmError> {
        let began = Instant::now();
        loop {
            let file = shm::open(name, shm::OFlags::RDWR, mode)
                .map_err(system(&format!("opening {name} in /dev/shm")))?;
            check_owner(&file, name)?;
            let seen = file.try_clone();
            match Self::open(file, name) {
                // The magic word is written last.
                Err(ShmError::Foreign { found: 0, .. }) if began.elapsed() < patience => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(ShmError::Foreign { found: 0, .. }) => {
                    // Its maker was killed, and no other process would remove it.
                    let _ = seen.map(|seen| Self::forget_of(name, seen.as_fd()));
                    return Err(ShmError::System {
                        what: format!("waiting for the maker of {name} in /dev/shm"),
                        reason: io::Error::new(
                            io::ErrorKind::TimedOut,
                            "it did not finish; the name has been removed: start all processes again",
                        ),
                    });
                }
                result => return result,
            }
        }
    }

    /// Removes the name of a segment; those that have opened it keep it.
    ///
    /// # Errors
    /// [`ShmError::System`] if there is no such name.
    pub fn forget(name: &str) -> Result<(), ShmError> {
        shm::unlink(name).map_err(system(&format!("removing {name} from /dev/shm")))
    }

    /// Removes a name if it still refers to this file: another process may have removed it, and a third have
    /// made a segment of the same name. Whether it did.
    ///
    /// # Errors
    /// [`ShmError::System`] if it cannot be looked at or removed.
    pub fn forget_of(name: &str, file: BorrowedFd<'_>) -> Result<bool, ShmError> {
        let there = match shm::open(name, shm::OFlags::RDONLY, Mode::empty()) {
            Ok(there) => there,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(system(&format!("looking at {name} in /dev/shm"))(error)),
        };
        let identity = |status: rustix::fs::Stat| (status.st_dev, status.st_ino);
        let is_it = fstat(&there).map(identity) == fstat(file).map(identity);
        if is_it {
            Self::forget(name)?;
        }
        Ok(is_it)
    }

    /// Gives a file its length, its header and memory for the entries.
    fn fill(file: &File, geometry: &Geometry, what: &str) -> Result<(), ShmError> {
        check_limit(geometry.length())?;
        ftruncate(file, geometry.length()).map_err(system(&format!("sizing {what}")))?;
        let (places, _) = Part::Cells(Process(0), 0, 0).extent(geometry);
        file.reserve(0, places as u64, "the entries of the processes")?;
        let write = |bytes: &[u8], at| {
            rustix::io::pwrite(file, bytes, at).map_err(system(&format!("writing {what}")))
        };
        write(&header::write(geometry), 8)?;
        write(&header::MAGIC.to_le_bytes(), 0)?;
        Ok(())
    }

    /// The memory file, to hand it to another process.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reports that a process has ended; for the one that has started it and waited for it. The others find
    /// out by themselves unless it ended before it joined. Nothing changes if the kernel says that the
    /// process that has joined lives: it was started by the one that has ended. If the kernel cannot be
    /// asked, as for a process in a container of its own, the caller is believed: the others take no more
    /// messages from it, and give up what they share with it, so it must really have ended.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    pub fn ended(&self, process: Process) -> Result<(), ShmError> {
        self.geometry.check(process)?;
        liveness::ended(self.place(process));
        estate::settle(self, None);
        Ok(())
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
        self.file.check().map_err(|reason| ShmError::System {
            what: looking.into(),
            reason,
        })?;
        let status = fstat(&self.file).map_err(system(looking))?;
        Ok(status.st_blocks as u64 * 512)
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
fn known(file: OwnedFd, what: &str) -> Result<File, ShmError> {
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

fn system(what: &str) -> impl FnOnce(rustix::io::Errno) -> ShmError {
    let what = what.to_owned();
    move |error| ShmError::System {
        what,
        reason: error.into(),
    }
}

/// Names can be guessed, and the user who made a file could truncate it under those that have mapped it.
fn check_owner(file: &OwnedFd, name: &str) -> Result<(), ShmError> {
    let owner = fstat(file)
        .map_err(system(&format!("looking at {name}")))?
        .st_uid;
    let me = geteuid().as_raw();
    if owner == me {
        return Ok(());
    }
    Err(ShmError::System {
        what: format!("opening {name} in /dev/shm"),
        reason: io::Error::other(format!("it belongs to user {owner}, this is user {me}")),
    })
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
    fn holders(&self, owner: Process, word: u32) -> &AtomicU64 {
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
        let (at, bytes) = (self.geometry.buffers_of(owner), self.geometry.buffers());
        Window::of_file(&self.file, at, bytes as usize, access)
    }

    fn commit(&self, part: Part) -> Result<(), ShmError> {
        let (offset, bytes) = part.extent(&self.geometry);
        self.file
            .reserve(offset as u64, bytes as u64, part.name())?;
        // Of a ring, programs with few large messages use only a part.
        if matches!(part, Part::Cells(..) | Part::FastBox(..)) {
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

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_its_maker_did_not_finish_is_removed() {
        let name = format!("/mq-unfinished-{}", std::process::id());
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = shm::OFlags::RDWR | shm::OFlags::CREATE | shm::OFlags::EXCL;
        let file = shm::open(&name, flags, mode).unwrap();
        // Killed when the entries had memory and there was no header.
        ftruncate(&file, Geometry::new(2).unwrap().length()).unwrap();
        let error = Mapped::wait_for(&name, mode, Duration::from_millis(5)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("waiting for the maker of /mq-unfinished"),
            "{text}"
        );
        assert!(shm::open(&name, shm::OFlags::RDWR, mode).is_err());
    }
}
