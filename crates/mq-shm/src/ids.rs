//! Names of things in a segment. None of them is an address, and each is checked when it is read.

use core::fmt;

use crate::layout::Geometry;

/// A process of the segment: 0 to the number of processes minus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(pub u32);

impl Process {
    /// The position of this process in a list of all.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A cell of the segment; those of one process are consecutive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellId(u32);

impl CellId {
    /// Cell `number` of `owner`.
    #[inline]
    pub(crate) const fn of(geometry: &Geometry, owner: Process, number: u32) -> Self {
        Self(owner.0 * geometry.cells() + number)
    }

    /// The cell of `owner` that another process names; a number that its owner does not write is
    /// another cell's.
    #[inline]
    pub(crate) const fn named(geometry: &Geometry, owner: Process, number: u64) -> Self {
        Self::of(geometry, owner, (number % geometry.cells() as u64) as u32)
    }

    /// Its number among those of its owner.
    #[inline]
    pub(crate) const fn number(self, geometry: &Geometry) -> u32 {
        self.0 % geometry.cells()
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The process whose cell this is.
    #[inline]
    pub(crate) const fn owner(self, geometry: &Geometry) -> Process {
        Process(self.0 / geometry.cells())
    }
}

/// What a slot of a fastbox says about the cell that holds a message.
///
/// | bits | what |
/// | --- | --- |
/// | 0 to 31 | its number among its owner's cells |
/// | 32 | it is the sender's, and lent: the next answer may be written into it |
/// | 33 | it is the one that the receiver of this message has lent; no number |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellName(pub(crate) u64);

impl CellName {
    const LENT: u64 = 1 << 32;
    const BACK: u64 = 1 << 33;

    /// For a cell of the sender's, which may be lent.
    #[inline]
    pub(crate) const fn own(number: u32, lent: bool) -> Self {
        Self(number as u64 | if lent { Self::LENT } else { 0 })
    }

    /// For the cell that the receiver has lent.
    #[inline]
    pub(crate) const fn back() -> Self {
        Self(Self::BACK)
    }

    #[inline]
    pub(crate) const fn is_lent(self) -> bool {
        self.0 & Self::LENT != 0
    }

    #[inline]
    pub(crate) const fn is_back(self) -> bool {
        self.0 & Self::BACK != 0
    }

    #[inline]
    pub(crate) const fn number(self) -> u64 {
        self.0 & 0xffff_ffff
    }
}

/// A [`CellId`] or none, as stored in shared memory: 0 for none, so that fresh memory links to
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) u32);

impl Link {
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) const fn to(cell: CellId) -> Self {
        Self(cell.0 + 1)
    }

    /// The cell, if the segment has one with that number.
    #[inline]
    pub(crate) const fn cell(self, geometry: &Geometry) -> Option<CellId> {
        // Zero wraps round to a number that no segment has.
        let number = self.0.wrapping_sub(1);
        if number < geometry.all_cells() {
            Some(CellId(number))
        } else {
            None
        }
    }
}
