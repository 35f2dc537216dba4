//! The shared memory: what a transport needs of it, and its two forms.
//!
//! [`Mapped`] is memory shared between processes; [`Heap`] is memory of one process, for threads,
//! tests and the model checker. The transport is the same code over both.

mod file;
mod header;
mod heap;
mod inherited;
mod mapped;
mod mapping;
mod meeting;
mod named;

pub(crate) use file::{File, Inode, inode_of};
pub use heap::Heap;
pub use mapped::Mapped;
pub(crate) use mapping::map;
pub use meeting::Host;

use crate::buffers::window::{Access, Window};
use crate::cell::Cell;
use crate::error::ShmError;
use crate::estate::Holders;
use crate::fastbox::FastBox;
use crate::ids::{CellId, Process};
use crate::large::ring::Ring;
use crate::layout::{Geometry, RINGS};
use crate::place::Place;

/// Where the parts of a segment are. Implemented by [`Mapped`] and [`Heap`] only.
#[allow(private_interfaces, reason = "sealed: nobody else can name the parts")]
pub trait Memory: sealed::Sealed {
    /// The sizes.
    fn geometry(&self) -> &Geometry;
    /// The kernel's number of this process; 0 if the others are threads of it.
    #[doc(hidden)]
    fn pid(&self) -> u32;
    #[doc(hidden)]
    fn place(&self, process: Process) -> &Place;
    /// A word of a process's table of holders.
    #[doc(hidden)]
    fn holders(&self, owner: Process, word: u32) -> &Holders;
    #[doc(hidden)]
    fn cell(&self, cell: CellId) -> &Cell;
    #[doc(hidden)]
    fn fastbox(&self, from: Process, to: Process) -> &FastBox;
    #[doc(hidden)]
    fn ring(&self, owner: Process, number: u32) -> &Ring;
    /// The region of a process's shared buffers, if it has any bytes.
    #[doc(hidden)]
    fn buffers(&self, owner: Process, access: Access) -> Result<Window, ShmError>;
    /// Makes sure that there is memory behind a part, so that touching it cannot fail.
    #[doc(hidden)]
    fn commit(&self, part: Part) -> Result<(), ShmError>;
    /// Gives back the memory behind a part, which no process looks into any more. Whether the
    /// system took it: a program may have closed the segment's descriptor.
    #[doc(hidden)]
    fn discard(&self, part: Part) -> bool;
}

/// A part of a segment whose memory comes and goes as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Some cells of a process.
    Cells {
        owner: Process,
        first: u32,
        count: u32,
    },
    /// The box of an ordered pair.
    FastBox(Process, Process),
    /// The boxes from a process to all others.
    FastBoxes(Process),
    /// A ring of a process.
    Ring(Process, u32),
    /// All rings of a process.
    Rings(Process),
    /// The region of a process's shared buffers.
    Buffers(Process),
}

impl Part {
    /// Where the part begins and how long it is.
    pub(crate) fn extent(self, geometry: &Geometry) -> (usize, usize) {
        match self {
            Self::Cells {
                owner,
                first,
                count,
            } => (
                geometry.cell(CellId::of(geometry, owner, first)),
                count as usize * size_of::<Cell>(),
            ),
            Self::FastBox(from, to) => (geometry.fastbox(from, to), size_of::<FastBox>()),
            Self::FastBoxes(from) => (
                geometry.fastbox(from, Process(0)),
                geometry.processes() as usize * size_of::<FastBox>(),
            ),
            Self::Ring(owner, number) => (geometry.ring(owner, number), size_of::<Ring>()),
            Self::Rings(owner) => (geometry.ring(owner, 0), RINGS as usize * size_of::<Ring>()),
            Self::Buffers(owner) => (
                geometry.buffers_at(owner) as usize,
                geometry.buffers() as usize,
            ),
        }
    }

    /// The part's name in errors.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cells { .. } => "message cells",
            Self::FastBox(..) | Self::FastBoxes(..) => "a fastbox",
            Self::Ring(..) | Self::Rings(..) => "a ring for large messages",
            Self::Buffers(..) => "shared buffers",
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Mapped {}
    impl Sealed for std::sync::Arc<super::Heap> {}
}
