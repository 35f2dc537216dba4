//! [`Table`]: the caller's queued entries and their numbers.

use core::ffi::c_void;

/// A queued entry of the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) cookie: *mut c_void,
    /// Its number in the trace, unless it is a probe.
    pub(super) number: u32,
    /// Whether it is a waiting probe.
    pub(super) probes: bool,
}

/// A table that has had more entries than this starts anew when it is empty.
const KEPT: usize = 1024;

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

    /// Little of what a burst needed is kept when the last entry leaves.
    pub(super) fn remove(&mut self, index: *mut c_void) -> Noted {
        let noted = self.entries[index.addr()].take();
        self.free.push(index.addr());
        if self.free.len() == self.entries.len() && self.entries.len() > KEPT {
            self.entries = Vec::new();
            self.free = Vec::new();
        }
        noted.expect("the entry was queued")
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Option<Noted>>()
            + self.free.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_little_behind() {
        let mut table = Table::default();
        let noted = Noted {
            cookie: core::ptr::null_mut(),
            number: 0,
            probes: false,
        };
        for burst in [100, 100_000, 100] {
            let entries: Vec<_> = (0..burst).map(|_| table.add(noted)).collect();
            for entry in entries {
                table.remove(entry);
            }
            assert!(table.bytes() < 64 << 10, "{} after {burst}", table.bytes());
        }
    }
}
