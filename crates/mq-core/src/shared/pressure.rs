//! [`Pressure`]: whether threads wait for a place so often that the context is worth dividing, or
//! that each of them should wait longer.

/// Waits and entries that have to be counted before the question is asked: of fewer entries too few
/// would show how many are for any source, and one long look at all of them would count as a crowd.
const WAITS: u32 = 32;
const ENTRIES: u32 = 1024;

/// A place is fought for if no more entries than this are queued from one wait to the next. A wait
/// costs as much as a hundred operations or more, and a thread that lets go of a lock often has it
/// again before another sees that it is free, so that even where two do nothing else only one
/// operation in ten to a hundred waits.
const FOUGHT_FOR: u32 = 1024;

/// The same where those who wait are patient, which lets eight times as much be queued meanwhile as
/// where they are not, and more.
const FOUGHT_FOR_PATIENTLY: u32 = 8 * FOUGHT_FOR;

/// Patience is in vain if no more than so many entries are queued from one wait to the next: nobody
/// has used the lock again and again meanwhile. So it is where threads have other work between their
/// operations, or where one does nothing but probe (then 1 to 36 were counted, and 76 to 657 where two
/// to eight threads did nothing but post and arrive).
const IN_VAIN: u32 = 48;

/// So often the question is then asked before patience is tried again.
const REST: u32 = 64;

/// With more than one operation for any source to so many entries a context stays whole: divided, each
/// of them would lock every shard.
const WILDCARDS: u32 = 32;

/// Counts of a place, kept under its lock, from when its queues were made. An operation that neither waits nor is for any source
/// counts nothing: the queues know how many entries have come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pressure {
    waits: u32,
    wildcards: u32,
    /// The entries that had come when this count began.
    since: u32,
    /// Whoever waits should be patient.
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

    /// Whether those who wait should be patient.
    pub(super) const fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// An operation had to wait, when so many entries had come; whether it is time to divide the
    /// context, if that can be.
    pub(super) fn waited(&mut self, come: u32, can_divide: bool) -> bool {
        self.waits = self.waits.saturating_add(1);
        let entries = come.wrapping_sub(self.since);
        // Where those who wait are patient, few entries say that it is in vain.
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
            // Whether the context is divided is decided by waits without patience.
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

    /// Lets threads wait until the question is asked, with so many entries from one wait to the next
    /// and of a hundred entries so many wildcards.
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
            // The count of entries begins anew meanwhile.
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
        // But that patience is in vain.
        let mut pressure = Pressure::default();
        assert!(!ask(&mut pressure, 20, 10, true));
        assert!(pressure.is_crowded());
        for _ in 0..WAITS {
            assert!(!pressure.waited(pressure.since, true));
        }
        assert!(!pressure.is_crowded());
    }
}
