//! What a process does while nothing arrives: look again, yield, and at last sleep (`sleeper.rs`).

use core::time::Duration;

use crate::sync::spin_loop;

/// How long to spin before yielding, and how long to yield before sleeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// Looks without giving up the processor.
    pub spins: u32,
    /// Looks with a yield after each.
    pub yields: u32,
    /// Longest single sleep. Deaths are checked for before a sleep, not during the looks; if that was done
    /// less than 20 ms ago, the sleep ends when the 20 ms are over.
    pub sleep: Duration,
}

impl Patience {
    /// A changed copy: `Patience::YIELDING.with(|p| p.spins = 100)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// For processes that have a core each.
    pub const SPINNING: Self = Self {
        spins: 20_000,
        yields: 200,
        sleep: Duration::from_millis(20),
    };
    /// For more processes than cores: the awaited process often waits for this very core, so the core is
    /// yielded almost immediately, and a few times before a sleep, which takes the kernel longer. Not
    /// often: the kernel charges a yielding process for a turn, and one that has yielded hundreds of times
    /// waits long for the core when a message has come.
    pub const YIELDING: Self = Self {
        spins: 2,
        yields: 40,
        sleep: Duration::from_millis(20),
    };

    /// Whether a process with this patience has its core to itself, and may wait for what another does
    /// meanwhile: it looks more often than [`YIELDING`](Self::YIELDING).
    pub(crate) const fn keeps_its_core(&self) -> bool {
        self.spins > Self::YIELDING.spins
    }

    /// Number of waits that gave up the core after which the process checks again who shares the core. The
    /// check takes some tens of microseconds. A patient wait takes 400, and each costs as much if the
    /// awaited process waits for this core; an impatient wait takes one at least.
    pub(crate) const fn asks_after(&self) -> u32 {
        if self.spins >= Self::SPINNING.spins {
            16
        } else {
            16_384
        }
    }

    /// The patience that suits this many processes, given the cores that this one may use.
    #[must_use]
    pub fn for_processes(processes: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if processes as usize <= cores {
            Self::SPINNING
        } else {
            Self::YIELDING
        }
    }
}

/// Looks at the most likely source for each look at everything.
const GLANCES: u32 = 16;

/// A process in the middle of a message sleeps after this many rounds of spinning and yielding that found
/// nothing.
const ROUNDS_UNTIL_LONG: u32 = 8;

/// For how long nothing has arrived.
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle {
    looks: u32,
    /// How often it was time to sleep.
    sleeps: u32,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Again,
    /// Others have had their turn.
    Yielded,
    Sleep,
}

impl Idle {
    /// Whether there has been no waiting since something arrived.
    #[inline]
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.looks == 0
    }

    /// How often it was time to sleep since something arrived.
    #[inline]
    #[must_use]
    pub fn sleeps(&self) -> u32 {
        self.sleeps
    }

    /// Something has arrived.
    #[inline]
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Whether the first yield of this wait, or since the last time to sleep, has just happened.
    pub(crate) fn has_begun_to_yield(&self, patience: &Patience) -> bool {
        self.looks == patience.spins.saturating_add(1)
    }

    /// Whether it was time to sleep so often that the awaited process must be busy with something else.
    pub(crate) fn is_long(&self) -> bool {
        self.sleeps >= ROUNDS_UNTIL_LONG
    }

    /// Looks for something a few times without giving up the processor; whether it was seen.
    #[inline(always)]
    pub(crate) fn watch(&mut self, patience: &Patience, mut seen: impl FnMut() -> bool) -> bool {
        for _ in 0..GLANCES {
            if self.looks >= patience.spins {
                return false;
            }
            self.looks += 1;
            spin_loop();
            if seen() {
                return true;
            }
        }
        false
    }

    /// Passes the time until the next look, unless it is time to sleep.
    #[inline]
    pub(crate) fn rest(&mut self, patience: &Patience) -> Rest {
        self.looks = self.looks.saturating_add(1);
        if self.looks <= patience.spins {
            spin_loop();
            return Rest::Again;
        }
        self.rest_longer(patience)
    }

    /// After a look of a program that does not wait, but will look again: gives up the core when it is time to,
    /// and never sleeps. After all yields, one follows now and then: the kernel charges each for a turn.
    #[inline]
    pub(crate) fn give_way(&mut self, patience: &Patience) -> Rest {
        self.looks = self.looks.saturating_add(1);
        if self.looks <= patience.spins {
            return Rest::Again;
        }
        self.give_way_at_last(patience)
    }

    #[cold]
    fn give_way_at_last(&mut self, patience: &Patience) -> Rest {
        let often = patience.spins.saturating_add(patience.yields);
        if self.looks > often {
            if self.looks - often < Patience::SPINNING.spins {
                return Rest::Again;
            }
            self.looks = often;
        }
        std::thread::yield_now();
        Rest::Yielded
    }

    #[cold]
    fn rest_longer(&mut self, patience: &Patience) -> Rest {
        if self.looks <= patience.spins.saturating_add(patience.yields) {
            std::thread::yield_now();
            return Rest::Yielded;
        }
        self.looks = patience.spins;
        self.sleeps = self.sleeps.saturating_add(1);
        Rest::Sleep
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    /// Watches for what is seen at the `at`th look, from 1; whether it was, and how often it looked.
    fn watch(idle: &mut Idle, patience: &Patience, at: u32) -> (bool, u32) {
        let mut looks = 0;
        let seen = idle.watch(patience, || {
            looks += 1;
            looks == at
        });
        (seen, looks)
    }

    #[test]
    fn who_watches_looks_until_something_is_seen_and_not_for_ever() {
        let mut idle = Idle::default();
        assert_eq!(watch(&mut idle, &Patience::SPINNING, 1), (true, 1));
        assert_eq!(watch(&mut idle, &Patience::SPINNING, 9), (true, 9));
        let in_vain = watch(&mut idle, &Patience::SPINNING, u32::MAX);
        assert_eq!(in_vain, (false, GLANCES));
    }

    #[test]
    fn watching_takes_no_longer_than_the_processor_is_kept() {
        let patience = Patience {
            spins: 3,
            ..Patience::YIELDING
        };
        let mut idle = Idle::default();
        assert_eq!(watch(&mut idle, &patience, u32::MAX), (false, 3));
        assert_eq!(watch(&mut idle, &patience, 1), (false, 0));
        idle.reset();
        assert_eq!(watch(&mut idle, &patience, 3), (true, 3));
    }

    #[test]
    fn sleep_comes_after_all_looks_and_yields() {
        let patience = Patience {
            spins: 20,
            yields: 5,
            ..Patience::SPINNING
        };
        let mut idle = Idle::default();
        assert!(!watch(&mut idle, &patience, u32::MAX).0);
        let rests = (0..100).take_while(|_| idle.rest(&patience) != Rest::Sleep);
        let left = patience.spins - GLANCES + patience.yields;
        assert_eq!(rests.count(), left as usize);
    }

    #[test]
    fn who_only_asks_gives_way_often_and_then_now_and_then() {
        let patience = Patience::YIELDING;
        let mut idle = Idle::default();
        let mut yields = |looks: u32| {
            let given = (0..looks).filter(|_| idle.give_way(&patience) == Rest::Yielded);
            given.count() as u32
        };
        assert_eq!(yields(patience.spins), 0);
        assert_eq!(yields(patience.yields), patience.yields);
        assert_eq!(yields(5 * Patience::SPINNING.spins), 5);
        let never = Patience::YIELDING.with(|p| (p.spins, p.yields) = (u32::MAX, u32::MAX));
        let mut idle = Idle::default();
        assert!((0..100).all(|_| idle.give_way(&never) == Rest::Again));
    }

    #[test]
    fn a_wait_is_long_when_it_was_time_to_sleep_a_few_times() {
        let mut idle = Idle::default();
        for _ in 0..ROUNDS_UNTIL_LONG {
            assert!(!idle.is_long());
            while idle.rest(&Patience::YIELDING) != Rest::Sleep {}
        }
        assert!(idle.is_long());
        idle.reset();
        assert!(!idle.is_long());
    }
}
