//! [`Pressure`]: whether threads wait for each other so often that a context is worth dividing, or
//! that each should wait longer.

/// Operations that waited, after which the question is asked.
const WAITS: u32 = 32;

/// Entries that may be queued during so many waits. A wait costs as much as a hundred operations or
/// more, and a lock that is fought for is taken again and again by the thread that has it, so that
/// even then only one operation in hundreds waits.
const ENTRIES: u64 = 1024 * WAITS as u64;

/// How many times as many may be queued while somebody waits who is patient, until he is patient no more.
const PATIENT: u64 = 8;

/// With more than one operation for any source to so many entries the context stays whole: divided,
/// each of them would lock every shard.
const WILDCARDS: u64 = 32;

/// Counts of a place, kept under its lock. An operation that neither waits nor is
/// for any source counts nothing: the numbers of the entries tell how many there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pressure {
    waits: u32,
    wildcards: u32,
    since: u64,
}

impl Pressure {
    /// None yet, of queues whose first entry will get this number.
    pub(super) fn from(number: u64) -> Self {
        Self {
            since: number,
            ..Self::default()
        }
    }

    /// An operation for any source.
    #[inline]
    pub(super) fn wildcard(&mut self) {
        self.wildcards = self.wildcards.saturating_add(1);
    }

    #[cfg(all(test, not(loom)))]
    pub(super) const fn wildcards(&self) -> u32 {
        self.wildcards
    }

    /// An operation had to wait, when entries had come to number `number`. A patient one has let the
    /// others do as much as they could meanwhile.
    pub(super) fn waited(&mut self, number: u64, patient: bool) -> Waits {
        self.waits += 1;
        if self.waits < WAITS {
            return Waits::Few;
        }
        let most = if patient { PATIENT * ENTRIES } else { ENTRIES };
        let entries = number.saturating_sub(self.since);
        let divisible = u64::from(self.wildcards) * WILDCARDS <= entries;
        *self = Self::from(number);
        if entries <= most {
            Waits::Often { divisible }
        } else {
            Waits::Seldom
        }
    }
}

/// What the waits so far have shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// Nothing yet: the question is asked once in some of them.
    Few,
    /// Much is queued from one to the next.
    Seldom,
    /// Threads wait for each other more than they should.
    Often {
        /// Operations for any source are few: the context can be divided.
        divisible: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMPATIENT: bool = false;

    /// What as many waits show as the question takes, with `between` entries from one to the next
    /// and so many wildcards.
    fn shown(between: u64, wildcards: u32, patient: bool) -> Waits {
        let mut pressure = Pressure::default();
        (0..wildcards).for_each(|_| pressure.wildcard());
        let numbers = (1..=u64::from(WAITS)).map(|wait| wait * between);
        let shown: Vec<Waits> = numbers
            .map(|number| pressure.waited(number, patient))
            .collect();
        let (last, before) = shown.split_last().expect("some wait");
        assert!(before.iter().all(|&waits| waits == Waits::Few));
        *last
    }

    #[test]
    fn frequent_waiting_divides_unless_receives_from_any_source_are_frequent() {
        let divides = |between, wildcards| {
            shown(between, wildcards, IMPATIENT) == Waits::Often { divisible: true }
        };
        assert!(divides(1, 0));
        assert!(divides(1024, 0));
        assert!(!divides(1025, 0));
        assert!(divides(1024, 1024));
        assert!(!divides(1024, 1025));
        assert!(!divides(1, 2));
    }

    #[test]
    fn where_many_are_for_any_source_threads_wait_often_or_seldom_all_the_same() {
        let crowd = Waits::Often { divisible: false };
        assert_eq!(shown(1024, 1025, IMPATIENT), crowd);
        assert_eq!(shown(1025, 1025, IMPATIENT), Waits::Seldom);
    }

    #[test]
    fn those_who_are_patient_are_a_crowd_for_longer() {
        assert_eq!(shown(8 * 1024, 0, true), Waits::Often { divisible: true });
        assert_eq!(shown(8 * 1024 + 1, 0, true), Waits::Seldom);
    }

    #[test]
    fn what_was_counted_before_the_question_is_forgotten_after_it() {
        let mut pressure = Pressure::default();
        let numbers = (1..=u64::from(WAITS)).map(|wait| 5000 * wait);
        let shown: Vec<Waits> = numbers
            .map(|number| pressure.waited(number, IMPATIENT))
            .collect();
        assert_eq!(shown.last(), Some(&Waits::Seldom));
        let last = 5000 * u64::from(WAITS);
        let soon = (1..=u64::from(WAITS)).map(|wait| last + wait);
        let shown: Vec<Waits> = soon
            .map(|number| pressure.waited(number, IMPATIENT))
            .collect();
        assert_eq!(shown.last(), Some(&Waits::Often { divisible: true }));
    }
}
