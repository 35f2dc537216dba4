//! What a process does while nothing arrives: look again, yield, sleep.
//!
//! A sender must know whether to wake the receiver, so it reads the receiver's word after each message.
//! Ordering that read after the message becomes visible takes a fence between the two, some tens of cycles
//! per message. As receivers seldom sleep, the fence is theirs: before it sleeps, a receiver has the
//! kernel execute a fence in every participating process (`membarrier`), and looks once more. The sender
//! needs only a load. If the kernel has no such call, senders execute the fence, and receivers sleep for
//! short times only.

use core::time::Duration;

#[cfg(not(mq_loom))]
use rustix::thread::{MembarrierCommand, futex, membarrier};

use crate::place::Place;
use crate::steps::{Step, step};
use crate::sync::{AtomicU32, Ordering, compiler_fence, fence, spin_loop};

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

    /// Suits this many processes, given the cores that this one may use.
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
const TURNS: u32 = 8;

/// For how long nothing has arrived.
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle {
    looks: u32,
    /// How often it was time to sleep.
    turns: u32,
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
        self.turns >= TURNS
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

    #[cold]
    fn rest_longer(&mut self, patience: &Patience) -> Rest {
        if self.looks <= patience.spins.saturating_add(patience.yields) {
            std::thread::yield_now();
            return Rest::Yielded;
        }
        self.looks = patience.spins;
        self.turns = self.turns.saturating_add(1);
        Rest::Sleep
    }
}

/// Which side executes the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fences {
    /// The process that sleeps, through the kernel.
    Sleeper,
    /// Each process.
    Both,
}

impl Fences {
    /// Registers this process with the kernel, if the kernel has the call.
    pub(crate) fn agree() -> Self {
        #[cfg(not(mq_loom))]
        if membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
            && membarrier(MembarrierCommand::GlobalExpedited).is_ok()
        {
            return Self::Sleeper;
        }
        Self::Both
    }

    /// Between a message and the read of the receiver's word.
    #[inline]
    fn light(self) {
        match self {
            Self::Sleeper => compiler_fence(Ordering::SeqCst),
            Self::Both => fence(Ordering::SeqCst),
        }
    }

    /// Between the own word and the last look for messages.
    fn heavy(self) {
        fence(Ordering::SeqCst);
        #[cfg(not(mq_loom))]
        if self == Self::Sleeper {
            // The call has worked once. If a system call filter forbids it later, a message that comes at
            // this moment may wait for the length of one sleep.
            let _ = membarrier(MembarrierCommand::GlobalExpedited);
        }
    }
}

/// The bits of a process's word that give its state. The others count its sleeps, so that a late report of
/// a wake-up does not affect another sleep.
const HOW: u32 = 0b11 << 30;
/// It is awake. Only the process itself writes this: a waker that wrote it, and was killed before waking
/// it, would leave the process asleep but awake in the eyes of all others.
const AWAKE: u32 = 0 << 30;
/// It sleeps, or is about to, and wants to be woken.
const ASLEEP: u32 = 1 << 30;
/// Another process is waking it, or was killed while doing so: any other sender meanwhile wakes it as
/// well.
const BEING_WOKEN: u32 = 2 << 30;
/// The kernel has been told to wake it, and it has not run since.
const WOKEN: u32 = 3 << 30;

/// Wakes a process, if it sleeps, after something was put where it looks.
///
/// # Cost
/// One load of a line that changes when the process falls asleep or wakes; a system call if it sleeps and
/// has not been woken yet.
#[inline]
pub(crate) fn wake(place: &Place, fences: Fences) {
    // SLEEP: the message, then the word; the sleeper does it the other way round.
    fences.light();
    if is_to_be_woken(place.asleep.load(Ordering::Relaxed)) {
        wake_now(&place.asleep);
    }
}

const fn is_to_be_woken(word: u32) -> bool {
    // Asleep or being woken, in one comparison.
    word.wrapping_sub(ASLEEP) < 2 << 30
}

/// The word of the same sleep with another state.
const fn but(word: u32, how: u32) -> u32 {
    word & !HOW | how
}

#[cold]
fn wake_now(word: &AtomicU32) {
    let order = Ordering::Relaxed;
    let asleep = but(word.load(order), ASLEEP);
    let being_woken = but(asleep, BEING_WOKEN);
    let (Ok(was) | Err(was)) = word.compare_exchange(asleep, being_woken, order, order);
    if is_to_be_woken(was) {
        step(Step::Waking);
        #[cfg(not(mq_loom))]
        let _ = futex::wake(word, futex::Flags::empty(), 1);
        // Senders have nothing to do until it runs again. If it has run and sleeps once more, the word is
        // another.
        let _ = word.compare_exchange(being_woken, but(asleep, WOKEN), order, order);
    }
}

/// Whether a sleeping process has been woken.
#[cfg(all(mq_loom, test))]
pub(crate) fn is_woken(place: &Place) -> bool {
    place.asleep.load(Ordering::Relaxed) & HOW == WOKEN
}

/// Whether a process has recorded that it is awake.
#[cfg(all(test, not(mq_loom)))]
pub(crate) fn is_awake(place: &Place) -> bool {
    place.asleep.load(Ordering::Relaxed) & HOW == AWAKE
}

/// Records that a process sleeps. The caller then looks once more for messages, and calls [`sleep`] or
/// [`stay_awake`].
pub(crate) fn lie_down(place: &Place, fences: Fences) {
    let sleep = place.asleep.load(Ordering::Relaxed).wrapping_add(1);
    place.asleep.store(but(sleep, ASLEEP), Ordering::Relaxed);
    // SLEEP: the word, then the last look.
    fences.heavy();
}

/// The last look found something.
pub(crate) fn stay_awake(place: &Place) {
    let sleep = place.asleep.load(Ordering::Relaxed);
    place.asleep.store(but(sleep, AWAKE), Ordering::Relaxed);
}

/// Sleeps until woken, at most for the given time.
pub(crate) fn sleep(place: &Place, fences: Fences, longest: Duration) {
    // A sender that executes no fence may miss the word of a process that could not register.
    let longest = if fences == Fences::Sleeper {
        longest
    } else {
        longest.min(Duration::from_millis(1))
    };
    #[cfg(not(mq_loom))]
    {
        let timeout = rustix::thread::Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(longest.subsec_nanos()),
        };
        // Woken, late, interrupted or too late to sleep: the caller looks again in any case.
        let word = place.asleep.load(Ordering::Relaxed);
        if word & HOW == ASLEEP {
            let _ = futex::wait(&place.asleep, futex::Flags::empty(), word, Some(&timeout));
        }
    }
    #[cfg(mq_loom)]
    let _ = longest;
    stay_awake(place);
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use std::time::Instant;

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
    fn who_is_late_to_say_that_it_woke_one_says_nothing_of_the_next_sleep() {
        let place = Place::default();
        let order = Ordering::Relaxed;
        lie_down(&place, Fences::Both);
        let first = but(place.asleep.load(order), BEING_WOKEN);
        place.asleep.store(first, order);
        stay_awake(&place);
        assert!(is_awake(&place));
        lie_down(&place, Fences::Both);
        let second = but(place.asleep.load(order), BEING_WOKEN);
        place.asleep.store(second, order);
        // As at the end of `wake_now`.
        let late = (place.asleep).compare_exchange(first, but(first, WOKEN), order, order);
        assert_eq!(late, Err(second));
        wake(&place, Fences::Both);
        assert_eq!(place.asleep.load(order), but(second, WOKEN));
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

    /// The first process to wake it was killed before it did.
    #[test]
    fn one_that_is_being_woken_is_woken_by_the_next_too() {
        const LONGEST: Duration = Duration::from_secs(60);
        let place = Place::default();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lie_down(&place, Fences::Sleeper);
                sleep(&place, Fences::Sleeper, LONGEST);
            });
            while place.asleep.load(Ordering::Relaxed) & HOW != ASLEEP {
                std::thread::yield_now();
            }
            // Most likely it sleeps by then.
            std::thread::sleep(Duration::from_millis(20));
            let asleep = place.asleep.load(Ordering::Relaxed);
            let word = but(asleep, BEING_WOKEN);
            place.asleep.store(word, Ordering::Relaxed);
            wake(&place, Fences::Both);
        });
        assert!(begun.elapsed() < LONGEST, "it was not woken");
        assert!(is_awake(&place));
    }

    #[test]
    fn one_that_is_awake_is_not_said_to_be_woken() {
        let place = Place::default();
        wake_now(&place.asleep);
        assert!(is_awake(&place));
    }

    #[test]
    fn a_wait_is_long_when_it_was_time_to_sleep_a_few_times() {
        let mut idle = Idle::default();
        for _ in 0..TURNS {
            assert!(!idle.is_long());
            while idle.rest(&Patience::YIELDING) != Rest::Sleep {}
        }
        assert!(idle.is_long());
        idle.reset();
        assert!(!idle.is_long());
    }
}
