//! A segment in the memory of one process, made of ordinary values.
#![allow(unsafe_code, reason = "is shared between threads")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use std::sync::{Arc, OnceLock};

use crate::buffers::window::{Access, Chunk, Window};
use crate::cell::Cell;
use crate::error::ShmError;
use crate::estate::Holders;
use crate::fastbox::FastBox;
use crate::ids::{CellId, Process};
use crate::large::ring::Ring;
use crate::layout::{Geometry, RINGS};
use crate::place::Place;
use crate::segment::{Memory, Part};

/// A segment for threads of one process, for tests and for the model checker.
///
/// All of it exists from the start, except for the shared buffers.
pub struct Heap {
    geometry: Geometry,
    places: Vec<Place>,
    holders: Vec<Holders>,
    cells: Vec<Cell>,
    boxes: Vec<FastBox>,
    rings: Box<[Ring]>,
    buffers: Vec<OnceLock<Arc<Chunk>>>,
    /// The processes whose cells were given back, in order.
    #[cfg(all(mq_loom, test))]
    given_back: loom::sync::Mutex<Vec<Process>>,
    /// Whether memory is refused, and how often it was.
    #[cfg(all(test, not(mq_loom)))]
    refusals: std::sync::Mutex<(bool, u32)>,
}

impl core::fmt::Debug for Heap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Heap")
            .field("geometry", &self.geometry)
            .finish_non_exhaustive()
    }
}

impl Heap {
    /// A fresh segment.
    #[must_use]
    pub fn new(geometry: Geometry) -> Arc<Self> {
        fn many<T: Default>(count: u32) -> Vec<T> {
            (0..count).map(|_| T::default()).collect()
        }
        let processes = geometry.processes();
        Arc::new(Self {
            geometry,
            places: many(processes),
            holders: many(processes * geometry.holder_words()),
            cells: many(geometry.all_cells()),
            boxes: many(processes * processes),
            rings: rings(processes * RINGS),
            buffers: (0..processes).map(|_| OnceLock::new()).collect(),
            #[cfg(all(mq_loom, test))]
            given_back: loom::sync::Mutex::new(Vec::new()),
            #[cfg(all(test, not(mq_loom)))]
            refusals: std::sync::Mutex::new((false, 0)),
        })
    }
}

/// Rings, allocated in place: they are too long for a thread's stack.
#[cfg(not(mq_loom))]
fn rings(count: u32) -> Box<[Ring]> {
    use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
    let layout = Layout::array::<Ring>(count as usize).expect("a segment has few processes");
    // SAFETY: there is at least one process, so this is not empty; all bytes zero is a ring, see
    // `sync`.
    unsafe {
        let rings = alloc_zeroed(layout).cast::<Ring>();
        if rings.is_null() {
            handle_alloc_error(layout);
        }
        Box::from_raw(core::ptr::slice_from_raw_parts_mut(rings, count as usize))
    }
}

#[cfg(mq_loom)]
fn rings(count: u32) -> Box<[Ring]> {
    (0..count).map(|_| Ring::default()).collect()
}

impl Heap {
    /// The shared buffers of a process, created on first use.
    pub(crate) fn chunk(&self, owner: Process) -> Arc<Chunk> {
        let bytes = self.geometry.buffers() as usize;
        let chunk = || Arc::new(Chunk::new(bytes));
        Arc::clone(self.buffers[owner.index()].get_or_init(chunk))
    }
}

#[cfg(all(mq_loom, test))]
impl Heap {
    /// The processes whose cells were given back, in order.
    pub(crate) fn given_back(&self) -> Vec<Process> {
        self.given_back.lock().unwrap().clone()
    }
}

#[cfg(all(test, not(mq_loom)))]
impl Heap {
    /// From now on memory is refused, or granted.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.refusals.lock().unwrap().0 = refuses;
    }

    /// How often memory was refused.
    pub(crate) fn refused(&self) -> u32 {
        self.refusals.lock().unwrap().1
    }
}

// SAFETY: the parts hold atomics and guarded memory, and the protocol lets one thread at a time
// touch what is guarded: see `cell`, `fastbox` and `large::ring`.
unsafe impl Sync for Heap {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Heap {}

#[allow(private_interfaces, reason = "sealed: nobody else can name the parts")]
impl Memory for Arc<Heap> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn pid(&self) -> u32 {
        0
    }

    fn place(&self, process: Process) -> &Place {
        &self.places[process.index()]
    }

    fn holders(&self, owner: Process, word: u32) -> &Holders {
        &self.holders[(owner.0 * self.geometry.holder_words() + word) as usize]
    }

    fn cell(&self, cell: CellId) -> &Cell {
        &self.cells[cell.index()]
    }

    fn fastbox(&self, from: Process, to: Process) -> &FastBox {
        &self.boxes[from.index() * self.geometry.processes() as usize + to.index()]
    }

    fn ring(&self, owner: Process, number: u32) -> &Ring {
        &self.rings[(owner.0 * RINGS + number) as usize]
    }

    fn buffers(&self, owner: Process, _access: Access) -> Result<Window, ShmError> {
        Ok(Window::of_heap(self.chunk(owner)))
    }

    #[cfg(not(all(test, not(mq_loom))))]
    fn commit(&self, _part: Part) -> Result<(), ShmError> {
        Ok(())
    }

    #[cfg(all(test, not(mq_loom)))]
    fn commit(&self, part: Part) -> Result<(), ShmError> {
        let mut refusals = self.refusals.lock().unwrap();
        if !refusals.0 {
            return Ok(());
        }
        refusals.1 += 1;
        let (_, bytes) = part.extent(&self.geometry);
        Err(ShmError::NoMemory {
            what: part.name(),
            bytes,
            reason: std::io::ErrorKind::StorageFull.into(),
        })
    }

    #[cfg(not(all(mq_loom, test)))]
    fn discard(&self, _part: Part) -> bool {
        true
    }

    /// What is given back is written to: the model fails if a process still reads it. Two do so one
    /// after the other, as in the kernel.
    #[cfg(all(mq_loom, test))]
    fn discard(&self, part: Part) -> bool {
        let mut given_back = self.given_back.lock().unwrap();
        if let Part::FastBoxes(from) = part {
            for to in 0..self.geometry.processes() {
                self.fastbox(from, Process(to)).wipe();
            }
        }
        if let Part::Cells {
            owner,
            first,
            count,
        } = part
        {
            for number in first..first + count {
                let cell = self.cell(CellId::of(&self.geometry, owner, number));
                // SAFETY: any bytes are a cell's content; the model shows that nothing else touches
                // it.
                cell.body.with_mut(|body| unsafe { body.write_bytes(0, 1) });
                cell.link.store(0, crate::sync::Ordering::Relaxed);
            }
            self.chunk(owner).write(|| {});
            given_back.push(owner);
        }
        true
    }
}
