//! [`Pressure`]: whether threads wait for each other often enough that a context is worth dividing.

/// Operations that waited, after which the question is asked.
const WAITS: u32 = 32;

/// Entries that may be queued during so many waits. A wait costs as much as a hundred operations or
/// more, and a lock that is fought for is taken again and again by the thread that has it, so that
/// even then only one operation in hundreds waits.
const ENTRIES: u64 = 1024 * WAITS as u64;

/// With more than one operation for any source to so many entries the context stays whole: divided,
/// each of them would lock every shard.
const WILDCARDS: u64 = 32;

/// Counts of the undivided queues, kept under their lock. An operation that neither waits nor is
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

    /// An operation had to wait, when entries had come to number `number`; whether it is time to
    /// divide the context.
    pub(super) fn waited(&mut self, number: u64) -> bool {
        self.waits += 1;
        if self.waits < WAITS {
            return false;
        }
        let entries = number.saturating_sub(self.since);
        let divide = entries <= ENTRIES && u64::from(self.wildcards) * WILDCARDS <= entries;
        *self = Self::from(number);
        divide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether as many waits divide a context as the question takes, with `between` entries from
    /// one to the next and so many wildcards.
    fn divides(between: u64, wildcards: u32) -> bool {
        let mut pressure = Pressure::default();
        (0..wildcards).for_each(|_| pressure.wildcard());
        let mut numbers = (1..=u64::from(WAITS)).map(|wait| wait * between);
        numbers.any(|number| pressure.waited(number))
    }

    #[test]
    fn frequent_waiting_divides_unless_receives_from_any_source_are_frequent() {
        assert!(divides(1, 0));
        assert!(divides(1024, 0));
        assert!(!divides(1025, 0));
        assert!(divides(1024, 1024));
        assert!(!divides(1024, 1025));
        assert!(!divides(1, 2));
    }

    #[test]
    fn what_was_counted_before_the_question_is_forgotten_after_it() {
        let mut pressure = Pressure::default();
        let mut numbers = (1..=u64::from(WAITS)).map(|wait| 5000 * wait);
        assert!(!numbers.any(|number| pressure.waited(number)));
        let last = 5000 * u64::from(WAITS);
        let mut soon = (1..=u64::from(WAITS)).map(|wait| last + wait);
        assert!(soon.any(|number| pressure.waited(number)));
    }
}
