//! Sleeping while nothing arrives, and waking a process that sleeps.
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
use crate::sync::{AtomicU32, Ordering, compiler_fence, fence};

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

/// The bits of a process's word that give its state. The remaining bits count its sleeps, so that a late report
/// of a wake-up does not affect another sleep.
const STATE_MASK: u32 = 0b11 << 30;
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
const fn with_state(word: u32, state: u32) -> u32 {
    word & !STATE_MASK | state
}

#[cold]
fn wake_now(word: &AtomicU32) {
    let order = Ordering::Relaxed;
    let asleep = with_state(word.load(order), ASLEEP);
    let being_woken = with_state(asleep, BEING_WOKEN);
    let (Ok(was) | Err(was)) = word.compare_exchange(asleep, being_woken, order, order);
    if is_to_be_woken(was) {
        step(Step::Waking);
        #[cfg(not(mq_loom))]
        let _ = futex::wake(word, futex::Flags::empty(), 1);
        // Senders have nothing to do until it runs again. If it has run and sleeps once more, the word is
        // another.
        let _ = word.compare_exchange(being_woken, with_state(asleep, WOKEN), order, order);
    }
}

/// Whether a sleeping process has been woken.
#[cfg(test)]
pub(crate) fn is_woken(place: &Place) -> bool {
    place.asleep.load(Ordering::Relaxed) & STATE_MASK == WOKEN
}

/// Whether a process has recorded that it is awake.
#[cfg(all(test, not(mq_loom)))]
pub(crate) fn is_awake(place: &Place) -> bool {
    place.asleep.load(Ordering::Relaxed) & STATE_MASK == AWAKE
}

/// A minute, or as many times that as this machine is slower than usual (`MQ_SLOWER`): what takes longer hangs.
#[cfg(all(test, not(mq_loom)))]
pub(crate) fn a_minute() -> Duration {
    let slower = std::env::var("MQ_SLOWER").ok();
    let slower: u64 = slower.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"));
    Duration::from_secs(60 * slower)
}

/// Records that a process sleeps. The caller then looks once more for messages, and calls [`sleep`] or
/// [`stay_awake`].
pub(crate) fn lie_down(place: &Place, fences: Fences) {
    let sleep = place.asleep.load(Ordering::Relaxed).wrapping_add(1);
    place
        .asleep
        .store(with_state(sleep, ASLEEP), Ordering::Relaxed);
    // SLEEP: the word, then the last look.
    fences.heavy();
}

/// The last look found something.
pub(crate) fn stay_awake(place: &Place) {
    let sleep = place.asleep.load(Ordering::Relaxed);
    place
        .asleep
        .store(with_state(sleep, AWAKE), Ordering::Relaxed);
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
        if word & STATE_MASK == ASLEEP {
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

    #[test]
    fn who_is_late_to_say_that_it_woke_one_says_nothing_of_the_next_sleep() {
        let place = Place::default();
        let order = Ordering::Relaxed;
        lie_down(&place, Fences::Both);
        let first = with_state(place.asleep.load(order), BEING_WOKEN);
        place.asleep.store(first, order);
        stay_awake(&place);
        assert!(is_awake(&place));
        lie_down(&place, Fences::Both);
        let second = with_state(place.asleep.load(order), BEING_WOKEN);
        place.asleep.store(second, order);
        // As at the end of `wake_now`.
        let late = (place.asleep).compare_exchange(first, with_state(first, WOKEN), order, order);
        assert_eq!(late, Err(second));
        wake(&place, Fences::Both);
        assert_eq!(place.asleep.load(order), with_state(second, WOKEN));
    }

    /// The first process to wake it was killed before it did.
    #[test]
    fn one_that_is_being_woken_is_woken_by_the_next_too() {
        let longest = a_minute();
        let place = Place::default();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lie_down(&place, Fences::Sleeper);
                sleep(&place, Fences::Sleeper, longest);
            });
            while place.asleep.load(Ordering::Relaxed) & STATE_MASK != ASLEEP {
                std::thread::yield_now();
            }
            // Most likely it sleeps by then.
            std::thread::sleep(Duration::from_millis(20));
            let asleep = place.asleep.load(Ordering::Relaxed);
            let word = with_state(asleep, BEING_WOKEN);
            place.asleep.store(word, Ordering::Relaxed);
            wake(&place, Fences::Both);
        });
        let slept = begun.elapsed();
        assert!(
            slept < longest,
            "it was not woken (on a slow machine: MQ_SLOWER=5)"
        );
        assert!(is_awake(&place));
    }

    #[test]
    fn one_that_is_awake_is_not_said_to_be_woken() {
        let place = Place::default();
        wake_now(&place.asleep);
        assert!(is_awake(&place));
    }
}
