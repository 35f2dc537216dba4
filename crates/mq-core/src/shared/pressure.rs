//! [`Pressure`]: whether threads wait for a place so often that dividing the context is worthwhile, or
//! that each thread should wait longer.

/// Waits and entries counted before the question is asked. Fewer entries would not show how many are
/// for any source, and one long look at all of them would count as a crowd.
const WAITS: u32 = 32;
const ENTRIES: u32 = 1024;

/// A place is contended if no more entries than this are queued from one wait to the next. A wait costs
/// as much as a hundred operations or more. A thread that releases a lock often takes it again before
/// another thread sees that it is free: even if two threads do nothing else, only one operation in ten
/// to a hundred waits.
const FOUGHT_FOR: u32 = 1024;

/// The same if the waiting threads are patient, which lets at least eight times as many entries be
/// queued meanwhile.
const FOUGHT_FOR_PATIENTLY: u32 = 8 * FOUGHT_FOR;

/// Patience is useless if no more entries than this are queued from one wait to the next: nobody has
/// used the lock repeatedly meanwhile. That is so if threads have other work between their operations, or
/// if one only probes (1 to 36 were counted then, and 76 to 657 if two to eight threads only posted and
/// arrived).
const IN_VAIN: u32 = 48;

/// How often the question is then asked before patience is tried again.
const REST: u32 = 64;

/// With more than one operation for any source per this many entries, a context stays whole: after a
/// division each of them would lock every shard.
const WILDCARDS: u32 = 32;

/// Counts of a place, kept under its lock, from when its queues were created. An operation that neither
/// waits nor is for any source counts nothing: the queues know how many entries have come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pressure {
    waits: u32,
    wildcards: u32,
    /// The entries that had come when this count began.
    since: u32,
    /// Waiting threads should be patient.
    crowded: bool,
    rest: u32,
}

impl Pressure {
    /// An operation for any source.
    #[inline]
    pub(super) fn wildcard(&mut self) {
        self.wildcards = self.wildcards.saturating_add(1);
    }

    #[cfg(all(test, not(mq_loom)))]
    pub(super) const fn waits(&self) -> u32 {
        self.waits
    }

    #[cfg(all(test, not(mq_loom)))]
    pub(super) const fn wildcards(&self) -> u32 {
        self.wildcards
    }

    /// Whether waiting threads should be patient.
    pub(super) const fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// An operation had to wait, after `come` entries. Returns whether it is time to divide the context,
    /// if that is possible.
    pub(super) fn waited(&mut self, come: u32, can_divide: bool) -> bool {
        self.waits = self.waits.saturating_add(1);
        let entries = come.wrapping_sub(self.since);
        // If waiting threads are patient, few entries mean that patience is useless.
        if self.waits < WAITS || (entries < ENTRIES && !self.crowded) {
            return false;
        }
        let (each, wildcards) = (entries / self.waits, self.wildcards);
        self.waits = 0;
        self.wildcards = 0;
        self.since = come;
        let divide = can_divide && wildcards <= entries / WILDCARDS;
        if self.crowded {
            self.crowded = !divide && each <= FOUGHT_FOR_PATIENTLY && each > IN_VAIN;
            if each <= IN_VAIN {
                self.rest = REST;
            }
            // Only waits without patience decide whether the context is divided.
            return false;
        }
        if each > FOUGHT_FOR {
            return false;
        }
        self.rest = self.rest.saturating_sub(1);
        self.crowded = !divide && self.rest == 0;
        divide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets threads wait until the question is asked, with `each` entries from one wait to the next and
    /// `percent` wildcards per hundred entries.
    fn ask(pressure: &mut Pressure, each: u32, percent: u32, can_divide: bool) -> bool {
        let mut come = pressure.since;
        let asked = come.wrapping_add(WAITS.max(ENTRIES.div_ceil(each)) * each);
        while come != asked {
            come = come.wrapping_add(each);
            for entry in 0..each {
                if come.wrapping_sub(entry) % 100 < percent {
                    pressure.wildcard();
                }
            }
            let divide = pressure.waited(come, can_divide);
            assert!(!divide || come == asked, "before anything is known");
            if divide {
                return true;
            }
        }
        assert_eq!((pressure.waits, pressure.since), (0, come), "it was asked");
        false
    }

    #[test]
    fn frequent_waiting_divides_unless_receives_from_any_source_are_frequent() {
        let divides = |each, percent| {
            // The count of entries wraps meanwhile.
            let mut pressure = Pressure {
                since: u32::MAX - 9,
                ..Pressure::default()
            };
            ask(&mut pressure, each, percent, true)
        };
        assert!(divides(1, 0));
        assert!(divides(1024, 0));
        assert!(!divides(1025, 0));
        assert!(divides(1024, 3));
        assert!(!divides(1024, 4));
        assert!(!divides(1, 4));
    }

    #[test]
    fn where_a_context_cannot_be_divided_or_should_not_those_who_wait_often_are_patient() {
        for (percent, can_divide) in [(4, true), (4, false), (0, false)] {
            let mut pressure = Pressure::default();
            for (each, is_crowded) in [
                (1025, false),
                (1024, true),
                (8192, true),
                (49, true),
                (8193, false),
                (1025, false),
                (10, true),
            ] {
                assert!(!ask(&mut pressure, each, percent, can_divide));
                assert_eq!(pressure.is_crowded(), is_crowded, "{each}");
            }
        }
    }

    #[test]
    fn patience_that_is_in_vain_is_not_tried_again_soon() {
        let mut pressure = Pressure::default();
        for _ in 0..2 {
            assert!(!ask(&mut pressure, 5, 10, true));
            assert!(pressure.is_crowded());
            assert!(!ask(&mut pressure, 48, 10, true));
            for _ in 1..REST {
                assert!(!pressure.is_crowded());
                assert!(!ask(&mut pressure, 5, 10, true));
            }
        }
    }

    #[test]
    fn a_crowd_whose_receives_have_come_to_name_their_sources_is_divided() {
        let mut pressure = Pressure::default();
        assert!(!ask(&mut pressure, 20, 10, true));
        assert!(pressure.is_crowded());
        assert!(!ask(&mut pressure, 900, 0, true), "they were patient");
        assert!(!pressure.is_crowded());
        assert!(ask(&mut pressure, 20, 0, true));
    }

    #[test]
    fn waits_without_entries_show_nothing() {
        let mut pressure = Pressure::default();
        for _ in 0..1000 {
            assert!(!pressure.waited(1023, true));
        }
        assert!(!pressure.is_crowded());
        assert!(pressure.waited(1024, true));
        // But that patience is useless.
        let mut pressure = Pressure::default();
        assert!(!ask(&mut pressure, 20, 10, true));
        assert!(pressure.is_crowded());
        for _ in 0..WAITS {
            assert!(!pressure.waited(pressure.since, true));
        }
        assert!(!pressure.is_crowded());
    }
}
