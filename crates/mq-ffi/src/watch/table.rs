//! [`Table`]: the caller's queued entries and their numbers.

use core::ffi::c_void;

/// A queued entry of the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) cookie: *mut c_void,
    pub(super) number: u32,
    /// Whether it is a probe that waits.
    pub(super) probes: bool,
}

/// Queued entries by index.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Option<Noted>>,
    free: Vec<usize>,
}

impl Table {
    pub(super) fn add(&mut self, noted: Noted) -> *mut c_void {
        let index = self.free.pop().unwrap_or(self.entries.len());
        if index == self.entries.len() {
            self.entries.push(None);
        }
        self.entries[index] = Some(noted);
        core::ptr::without_provenance_mut(index)
    }

    pub(super) fn get(&self, index: *mut c_void) -> Noted {
        self.entries[index.addr()].expect("the entry is queued")
    }

    /// Gives an entry the number that the trace gave it.
    pub(super) fn set_number(&mut self, index: *mut c_void, number: u32) {
        if let Some(noted) = &mut self.entries[index.addr()] {
            noted.number = number;
        }
    }

    pub(super) fn remove(&mut self, index: *mut c_void) -> Noted {
        let noted = self.entries[index.addr()].take();
        self.free.push(index.addr());
        noted.expect("the entry was queued")
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Option<Noted>>()
            + self.free.capacity() * size_of::<usize>()
    }
}
