//! The arrays of a front: searching them, adding and removing entries.

use super::layout::{MQ_FRONT_SCAN, mq_front_queue, mq_parked};

/// What an entry must have for a search to end at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) context: u32,
    pub(super) bits: u64,
    /// The bits that matter; when searching receives, each receive gives its own.
    pub(super) care: u64,
}

/// Which entries a search looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// The first [`MQ_FRONT_SCAN`].
    Near,
    /// Those after these, if nothing was found there.
    Far,
    /// All.
    All,
}

impl mq_front_queue {
    /// Where the near entries end.
    #[inline(always)]
    fn stop(&self) -> *mut mq_parked {
        const SCAN: usize = MQ_FRONT_SCAN * size_of::<mq_parked>();
        if self.end.addr() - self.first.addr() > SCAN {
            self.first.wrapping_add(MQ_FRONT_SCAN)
        } else {
            self.end
        }
    }

    /// The first entry for which `is` is true, or that there is none, or `None` if that is not
    /// known.
    #[inline(always)]
    fn search(
        &self,
        reach: Reach,
        is: impl Fn(&mq_parked) -> bool,
    ) -> Option<Option<*mut mq_parked>> {
        const AT_ONCE: usize = 4;
        if self.first == self.end {
            return Some(None);
        }
        let (mut at, stop) = match reach {
            Reach::Near => (self.first, self.stop()),
            Reach::Far => (self.stop(), self.end),
            Reach::All => (self.first, self.end),
        };
        while stop.addr() - at.addr() >= AT_ONCE * size_of::<mq_parked>() {
            for i in 0..AT_ONCE {
                let each = at.wrapping_add(i);
                // SAFETY: from `first` to `end` the array holds entries.
                if is(unsafe { &*each }) {
                    return Some(Some(each));
                }
            }
            at = at.wrapping_add(AT_ONCE);
        }
        while at != stop {
            // SAFETY: as above.
            if is(unsafe { &*at }) {
                return Some(Some(at));
            }
            at = at.wrapping_add(1);
        }
        (stop == self.end).then_some(None)
    }

    /// The first message for a receive.
    #[inline(always)]
    pub(super) fn message(&self, wanted: Wanted, reach: Reach) -> Option<Option<*mut mq_parked>> {
        self.search(reach, |at| {
            (at.bits ^ wanted.bits) & wanted.care == 0 && at.context() == wanted.context
        })
    }

    /// The entry with this name, or that there is none, or `None` if it is not near and too many others would have to
    /// move up when it leaves.
    pub(super) fn named(
        &self,
        sequence: u64,
        context: u32,
        reach: Reach,
    ) -> Option<Option<*mut mq_parked>> {
        const MOST_TO_MOVE: usize = 512;
        // Entries are in the order of their numbers.
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            // SAFETY: from `first` to `end` the array holds entries.
            let at = unsafe { &*self.first.wrapping_add(middle) };
            if at.sequence < sequence {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        if from == self.len() {
            return Some(None);
        }
        let found = self.first.wrapping_add(from);
        // SAFETY: as above.
        let at = unsafe { &*found };
        if at.sequence != sequence || at.context() != context {
            return Some(None);
        }
        let to_move = from.min(self.len() - 1 - from);
        let may_leave = to_move <= MOST_TO_MOVE || !matches!(reach, Reach::Near);
        may_leave.then_some(Some(found))
    }

    /// The first receive for a message.
    #[inline(always)]
    pub(super) fn receive(&self, wanted: Wanted, reach: Reach) -> Option<Option<*mut mq_parked>> {
        self.search(reach, |at| {
            (at.bits ^ wanted.bits) & at.care == 0 && at.context() == wanted.context
        })
    }

    /// Takes out the first entry.
    pub(super) fn pop(&mut self) -> Option<mq_parked> {
        if self.first == self.end {
            return None;
        }
        // SAFETY: from `first` to `end` the array holds entries.
        let entry = unsafe { self.first.read() };
        self.remove(self.first);
        Some(entry)
    }

    /// Takes out an entry; the shorter part of the others closes the gap.
    #[inline(always)]
    pub(super) fn remove(&mut self, gap: *mut mq_parked) {
        let last = self.end.wrapping_sub(1);
        if gap == self.first {
            self.first = gap.wrapping_add(1);
        } else if gap == last {
            self.end = last;
        } else {
            self.close(gap);
        }
        if self.first == self.end {
            self.first = self.start;
            self.end = self.start;
        }
    }

    fn close(&mut self, mut gap: *mut mq_parked) {
        let last = self.end.wrapping_sub(1);
        if gap.addr() - self.first.addr() <= last.addr() - gap.addr() {
            while gap != self.first {
                let from = gap.wrapping_sub(1);
                move_entry(gap, from);
                gap = from;
            }
            self.first = self.first.wrapping_add(1);
        } else {
            while gap != last {
                let from = gap.wrapping_add(1);
                move_entry(gap, from);
                gap = from;
            }
            self.end = last;
        }
    }

    /// Moves the entries back to the start, unless they are too many for that; whether there is room
    /// now.
    #[cold]
    fn slide(&mut self) -> bool {
        let (mut from, mut to) = (self.first, self.start);
        if self.is_full() {
            return false;
        }
        while from != self.end {
            move_entry(to, from);
            to = to.wrapping_add(1);
            from = from.wrapping_add(1);
        }
        self.first = self.start;
        self.end = to;
        true
    }

    /// Puts an entry at the end, if there is room.
    #[inline(always)]
    pub(super) fn add(&mut self, entry: mq_parked) -> Option<()> {
        if self.end == self.limit && !self.slide() {
            return None;
        }
        // SAFETY: there is room for entries between `end` and `limit`.
        unsafe { self.end.write(entry) };
        self.end = self.end.wrapping_add(1);
        Some(())
    }
}

/// Word by word: recent stores are not yet in the cache, and cannot be loaded in larger pieces. Volatile, or the
/// compiler would join words.
#[inline(always)]
fn move_entry(to: *mut mq_parked, from: *const mq_parked) {
    /// # Safety
    /// `from` is valid for a read, `to` for a write.
    #[inline(always)]
    unsafe fn word<T>(to: *mut T, from: *const T) {
        // SAFETY: as required of the caller.
        let kept = unsafe { from.read() };
        // SAFETY: as required of the caller.
        unsafe { to.write_volatile(kept) };
    }
    macro_rules! fields {
        ($($field:ident)*) => { $(
            // SAFETY: `from` points to an entry.
            let source = unsafe { &raw const (*from).$field };
            // SAFETY: `to` points to the place of an entry.
            let target = unsafe { &raw mut (*to).$field };
            // SAFETY: fields of the two.
            unsafe { word(target, source) };
        )* };
    }
    fields!(bits care place sequence cookie);
}
