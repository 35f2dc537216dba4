//! Where a segment has the words that processes rely on: for tests in which a stray write hits
//! there.

use core::mem::offset_of;

use crate::cell::{Cell, CellBody, CellHead};
use crate::fastbox::FastBox;
use crate::ids::{CellId, Process};
use crate::large::claims::Claims;
use crate::large::ring::Ring;
use crate::layout::{Geometry, RINGS};
use crate::place::Place;

/// The words of a process's entry, and where they are.
const IN_PLACES: [(&str, usize); 12] = [
    ("queues", offset_of!(Place, queue)),
    ("returned cells", offset_of!(Place, returns)),
    ("states", offset_of!(Place, state)),
    ("sleepers", offset_of!(Place, asleep)),
    ("heirs", offset_of!(Place, heir)),
    ("numbers of processes", offset_of!(Place, pid)),
    ("numbers of processes", offset_of!(Place, started)),
    ("numbers of processes", offset_of!(Place, namespace)),
    ("words of their memory", offset_of!(Place, token)),
    ("words of their memory", offset_of!(Place, token_at)),
    ("offers", offset_of!(Place, claims)),
    ("offers", offset_of!(Place, claims) + Claims::COPIED),
];

const HEAD: usize = offset_of!(Cell, body) + offset_of!(CellBody, head);

/// The same for a cell.
const IN_CELLS: [(&str, usize); 6] = [
    ("links of cells", offset_of!(Cell, link)),
    ("heads of cells", HEAD + offset_of!(CellHead, sequence)),
    ("heads of cells", HEAD + offset_of!(CellHead, total)),
    ("heads of cells", HEAD + offset_of!(CellHead, offset)),
    ("heads of cells", HEAD + offset_of!(CellHead, len)),
    ("heads of cells", HEAD + offset_of!(CellHead, flags)),
];

/// The words of a segment, each of at most eight bytes: its kind, and where it begins.
#[must_use]
pub fn words_of(geometry: &Geometry) -> Vec<(&'static str, u64)> {
    let processes = || (0..geometry.processes()).map(Process);
    let mut words = Vec::new();
    let mut add = |kind, at: usize| words.push((kind, at as u64));
    for process in processes() {
        for (kind, at) in IN_PLACES {
            add(kind, geometry.place(process) + at);
        }
        for word in 0..geometry.holder_words() {
            add("holders", geometry.holders(process, word));
        }
        for number in 0..geometry.cells() {
            let cell = geometry.cell(CellId::of(geometry, process, number));
            for (kind, at) in IN_CELLS {
                add(kind, cell + at);
            }
        }
        for to in processes() {
            for (kind, at) in FastBox::words() {
                add(kind, geometry.fastbox(process, to) + at);
            }
        }
        for number in 0..RINGS {
            for at in Ring::COUNTS {
                add("counts of rings", geometry.ring(process, number) + at);
            }
        }
    }
    words
}
