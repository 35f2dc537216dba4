//! Where everything is in a segment.
//!
//! ```text
//! header     one page: magic, version, the sizes below
//! places     one per process: who it is, whether it sleeps, its receive queue, its returned cells
//! holders    one table per process: which processes may hold something of it
//! cells      each process's own, side by side
//! fastboxes  one per ordered pair, at a place computed from its two numbers
//! rings      several per process, for large messages
//! buffers    one region per process, for messages that are read in place; each mapped separately
//! ```
//!
//! Everything has its place from the start, so nothing has to be allocated, recorded or found again after a
//! death. The memory behind a place is committed when it is first needed and costs nothing before. Offsets are
//! computed, never read from the segment.

use crate::cell::Cell;
use crate::error::ShmError;
use crate::estate::HOLDERS;
use crate::fastbox::FastBox;
use crate::ids::{CellId, Process};
use crate::large::ring::Ring;
use crate::place::Place;

/// Bytes of a page, and the alignment of every part of a segment.
pub const PAGE: usize = 4096;
/// The largest page size of Linux, on any machine.
const LARGEST_PAGE: u64 = 64 << 10;
/// The most processes in one segment.
pub const MAX_PROCESSES: u32 = 4096;
/// Rings for large messages per process.
pub const RINGS: u32 = 4;
/// The most bytes of the shared buffers of all processes together: an eighth of what a process can address.
const MOST_BUFFERS: u64 = 1 << 44;

/// The sizes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    processes: u32,
    cells: u32,
    buffers: u64,
    is_for_worlds: bool,
}

impl Geometry {
    /// Maximum number of cells of a process, unless set otherwise: 640 KiB.
    pub const CELLS: u32 = 32;
    /// Maximum bytes of a process's shared buffers, unless set otherwise: 1 GiB. They have neither memory nor
    /// an address before they are used.
    pub const BUFFERS: u64 = if cfg!(mq_loom) { PAGE as u64 } else { 1 << 30 };

    /// A segment for this many processes.
    ///
    /// # Errors
    /// [`ShmError::Processes`] for none or more than [`MAX_PROCESSES`].
    pub const fn new(processes: u32) -> Result<Self, ShmError> {
        Self::with_cells(processes, Self::CELLS)
    }

    /// A segment in which each process has at most this many cells.
    ///
    /// # Errors
    /// [`ShmError::Processes`] for no process or more than [`MAX_PROCESSES`];
    /// [`ShmError::Cells`] for fewer than 2 cells or more than 65,536.
    pub const fn with_cells(processes: u32, cells: u32) -> Result<Self, ShmError> {
        if processes == 0 || processes > MAX_PROCESSES {
            return Err(ShmError::Processes { processes });
        }
        if cells < 2 || cells > 1 << 16 {
            return Err(ShmError::Cells { cells });
        }
        Ok(Self {
            processes,
            cells,
            buffers: Self::BUFFERS,
            is_for_worlds: false,
        })
    }

    /// These sizes, with this many bytes for the shared buffers of each process, or none.
    ///
    /// # Errors
    /// [`ShmError::Buffers`] if all of them together are more than 16 TiB.
    pub const fn with_buffers(self, bytes: u64) -> Result<Self, ShmError> {
        let each = MOST_BUFFERS / self.processes as u64;
        let most = each - each % PAGE as u64;
        if bytes > most {
            return Err(ShmError::Buffers { bytes, most });
        }
        Ok(Self {
            buffers: bytes.next_multiple_of(PAGE as u64),
            ..self
        })
    }

    /// These sizes, for a segment that only worlds of `mq-comm` join: they trust each other with the memory that they
    /// share, so [`Endpoint::join`](crate::Endpoint::join) refuses it.
    #[must_use]
    pub const fn for_worlds(self) -> Self {
        Self {
            is_for_worlds: true,
            ..self
        }
    }

    /// Whether it is [for worlds](Self::for_worlds) only.
    #[must_use]
    pub const fn is_for_worlds(&self) -> bool {
        self.is_for_worlds
    }

    /// Number of processes.
    #[inline]
    #[must_use]
    pub const fn processes(&self) -> u32 {
        self.processes
    }

    /// Cells of each process.
    #[inline]
    #[must_use]
    pub const fn cells(&self) -> u32 {
        self.cells
    }

    /// Cells of all processes.
    #[inline]
    #[must_use]
    pub const fn all_cells(&self) -> u32 {
        self.processes * self.cells
    }

    /// Bytes for the shared buffers of each process.
    #[inline]
    #[must_use]
    pub const fn buffers(&self) -> u64 {
        self.buffers
    }

    /// Checks that the process number is in range.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    #[inline]
    pub const fn check(&self, process: Process) -> Result<Process, ShmError> {
        if process.0 < self.processes {
            Ok(process)
        } else {
            Err(ShmError::NoSuchProcess {
                process,
                processes: self.processes,
            })
        }
    }

    /// Bytes of the parts that every process maps, committed or not: everything but the shared buffers.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.rings_at() + (self.processes * RINGS) as usize * size_of::<Ring>()
    }

    /// Bytes of the whole segment, committed or not.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.buffers_at(Process(self.processes))
    }

    #[inline]
    const fn places_at(&self) -> usize {
        PAGE
    }

    #[inline]
    const fn holders_at(&self) -> usize {
        self.places_at() + self.processes as usize * size_of::<Place>()
    }

    /// Number of words in a process's table of holders.
    #[inline]
    pub(crate) const fn holder_words(&self) -> u32 {
        self.processes.div_ceil(HOLDERS)
    }

    /// Where the cells begin: what is before them has memory from the start.
    #[inline]
    pub(crate) const fn cells_at(&self) -> usize {
        let tables = self.processes as usize * self.holder_words() as usize * size_of::<u64>();
        (self.holders_at() + tables).next_multiple_of(PAGE)
    }

    #[inline]
    const fn fastboxes_at(&self) -> usize {
        self.cells_at() + self.all_cells() as usize * size_of::<Cell>()
    }

    #[inline]
    const fn rings_at(&self) -> usize {
        let pairs = self.processes as usize * self.processes as usize;
        self.fastboxes_at() + pairs * size_of::<FastBox>()
    }

    /// The first number in which two unequal geometries differ: what it is, and both values.
    pub(crate) const fn differs_from(&self, other: &Self) -> (&'static str, u64, u64) {
        if self.processes != other.processes {
            let (ours, theirs) = (self.processes as u64, other.processes as u64);
            ("number of processes", ours, theirs)
        } else if self.cells != other.cells {
            ("number of cells", self.cells as u64, other.cells as u64)
        } else if self.buffers != other.buffers {
            let what = "number of bytes for shared buffers of a process";
            (what, self.buffers, other.buffers)
        } else {
            let (ours, theirs) = (self.is_for_worlds as u64, other.is_for_worlds as u64);
            ("use (1: only by worlds)", ours, theirs)
        }
    }

    /// Where the place of `process` begins.
    #[inline]
    pub(crate) const fn place(&self, process: Process) -> usize {
        self.places_at() + process.index() * size_of::<Place>()
    }

    /// Where a word of a process's table of holders is.
    #[inline]
    pub(crate) const fn holders(&self, owner: Process, word: u32) -> usize {
        let word = owner.index() * self.holder_words() as usize + word as usize;
        self.holders_at() + word * size_of::<u64>()
    }

    /// Where a cell begins.
    #[inline]
    pub(crate) const fn cell(&self, cell: CellId) -> usize {
        self.cells_at() + cell.index() * size_of::<Cell>()
    }

    /// Where the fastbox from one process to another begins.
    #[inline]
    pub(crate) const fn fastbox(&self, from: Process, to: Process) -> usize {
        let pair = from.index() * self.processes as usize + to.index();
        self.fastboxes_at() + pair * size_of::<FastBox>()
    }

    /// Where a ring begins.
    #[inline]
    pub(crate) const fn ring(&self, owner: Process, number: u32) -> usize {
        let ring = owner.index() * RINGS as usize + number as usize;
        self.rings_at() + ring * size_of::<Ring>()
    }

    /// Where the shared buffers of a process begin. They are mapped separately, so they begin at a page of the
    /// system's, which may have 64 KiB.
    pub(crate) const fn buffers_at(&self, owner: Process) -> u64 {
        let first = (self.bytes() as u64).next_multiple_of(LARGEST_PAGE);
        first + owner.0 as u64 * self.buffers.next_multiple_of(LARGEST_PAGE)
    }
}

#[cfg(not(mq_loom))]
const _: () = {
    // The contents of the parts determine their alignment.
    assert!(size_of::<Place>().is_multiple_of(128));
    assert!(size_of::<Cell>().is_multiple_of(PAGE));
    assert!(size_of::<FastBox>() == PAGE);
    assert!(size_of::<Ring>().is_multiple_of(PAGE));
};
