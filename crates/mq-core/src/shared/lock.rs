//! [`Lock`]: a place behind its lock, and how long a thread waits before it tries the lock again.

use super::place::{MeantLife, Mode, Place};
use super::sync::{Hint, Mutex, MutexGuard};
use crate::queues::MatchQueues;

/// A place behind its lock.
pub(super) struct Lock<Q> {
    place: Mutex<Place<Q>>,
    /// Whether threads wait here so often that each should leave the lock's holders alone for a
    /// while. [CROWD]
    crowded: Hint,
}

impl<Q: MatchQueues> Lock<Q> {
    pub(super) fn new() -> Self {
        Self {
            place: Mutex::new(Place::absent()),
            crowded: Hint::default(),
        }
    }

    #[inline(always)]
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Place<Q>>> {
        self.place.try_lock()
    }

    /// Waits as briefly as possible: for a caller that holds other locks, and for rare operations.
    pub(super) fn lock(&self) -> MutexGuard<'_, Place<Q>> {
        self.place.lock()
    }

    /// Waits as is best for all threads together, for a caller that holds no other lock and means `life`. The second
    /// value says that it is time to divide the context; it is never true if the context cannot be divided.
    ///
    /// A thread that releases the lock has the queues in its caches, and if it takes the lock again it
    /// continues at full speed. A thread that polls without pause gets the lock in between, after a few
    /// operations of the other. Then everything the operations touch must move to its core, and two threads
    /// do a third of the work of one. With pauses they do eight or nine tenths of it.
    pub(super) fn lock_alone(
        &self,
        life: MeantLife,
        can_divide: bool,
    ) -> (MutexGuard<'_, Place<Q>>, bool) {
        if let Some(place) = self.place.try_lock() {
            return (place, false);
        }
        let mut place = if self.crowded.get() {
            look_seldom(&self.place)
        } else {
            self.place.lock()
        };
        if !place.standing.is_alive(life) {
            // It will be refused, and says nothing about those who use the present life.
            return (place, false);
        }
        let come = place.queues.queued_total();
        // Undivided queues stay in use when the context has been divided.
        let can_divide = can_divide && place.standing.mode == Mode::Whole;
        let divide = place.pressure.waited(come, can_divide);
        // Also after the context begins another life, in which nobody has waited yet.
        let crowded = place.pressure.is_crowded();
        if self.crowded.get() != crowded {
            self.crowded.set(crowded);
        }
        (place, divide)
    }
}

/// The first pause lasts some hundred operations of another thread; all pauses together last as long as
/// putting a thread to sleep and waking it.
#[cfg(not(mq_loom))]
const FIRST: core::time::Duration = core::time::Duration::from_micros(2);
#[cfg(not(mq_loom))]
const LONGEST: core::time::Duration = core::time::Duration::from_micros(8);
#[cfg(not(mq_loom))]
const LOOKS: u32 = 6;

#[cfg(not(mq_loom))]
fn look_seldom<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(test)]
    PATIENT.set(PATIENT.get() + 1);
    let mut pause = FIRST;
    for _ in 0..LOOKS {
        let begin = std::time::Instant::now();
        while begin.elapsed() < pause {
            core::hint::spin_loop();
        }
        if let Some(guard) = lock.try_lock() {
            return guard;
        }
        // The holder may have been descheduled from this very core.
        std::thread::yield_now();
        pause = LONGEST.min(2 * pause);
    }
    lock.lock()
}

/// The same for the model checker, which has no time.
#[cfg(mq_loom)]
fn look_seldom<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock()
}

#[cfg(all(test, not(mq_loom)))]
std::thread_local! {
    /// How often this thread was patient.
    static PATIENT: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::super::place::Standing;
    use super::*;
    use crate::mpi::MpiPattern;
    use crate::structures::List;

    type Queues = List<MpiPattern, (), ()>;

    const LIFE: u64 = 1;

    /// The lock of a context in its first life.
    fn alive() -> Lock<Queues> {
        let lock = Lock::new();
        lock.lock().standing = Standing {
            mode: Mode::Whole,
            life: LIFE,
            ..Standing::ABSENT
        };
        lock
    }

    fn queue(lock: &Lock<Queues>, entries: u32) {
        for _ in 0..entries {
            let mut place = lock.lock();
            let handle = place.queues.queue_receive(MpiPattern::new(0, 1, 7), ());
            assert!(place.queues.cancel(handle).is_some());
        }
    }

    /// Lets this thread wait for the lock `times` times while another thread holds it for `held`, with
    /// `between` entries from one wait to the next. Returns how often it was patient.
    fn wait(lock: &Lock<Queues>, times: u32, held: Duration, between: u32) -> u32 {
        let turn = Barrier::new(2);
        let over = Hint::default();
        let patient = PATIENT.get();
        // Nothing may panic in here, or the other thread waits forever.
        let waited = thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    turn.wait();
                    if over.get() {
                        break;
                    }
                    let place = lock.lock();
                    turn.wait();
                    thread::sleep(held);
                    drop(place);
                }
            });
            let mut waited = 0;
            // One that comes late does not wait.
            for _ in 0..1000 * times {
                queue(lock, between);
                let before = lock.lock().pressure.waits();
                turn.wait();
                turn.wait();
                let (place, _) = lock.lock_alone(Some(LIFE), false);
                waited += u32::from(place.pressure.waits() != before);
                drop(place);
                if waited == times {
                    break;
                }
            }
            over.set(true);
            turn.wait();
            waited
        });
        assert_eq!(waited, times);
        PATIENT.get() - patient
    }

    #[test]
    fn threads_are_patient_where_they_wait_often_and_no_longer() {
        let lock = alive();
        let short = Duration::from_micros(100);
        assert!(!lock.crowded.get());
        assert_eq!(wait(&lock, 32, short, 100), 0);
        assert!(lock.crowded.get());
        // A thread that waits longer than it polls gets the lock too.
        assert_eq!(wait(&lock, 32, Duration::from_millis(1), 100), 32);
        assert!(lock.crowded.get());
        assert_eq!(wait(&lock, 32, short, 10_000), 32);
        assert!(!lock.crowded.get());
        assert_eq!(wait(&lock, 1, short, 100), 0);
    }

    #[test]
    fn who_means_another_life_is_not_counted() {
        let lock = alive();
        let waits = |meant: MeantLife| {
            let turn = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let place = lock.lock();
                    turn.wait();
                    thread::sleep(Duration::from_millis(1));
                    drop(place);
                });
                turn.wait();
                lock.lock_alone(meant, false).0.pressure.waits()
            })
        };
        for _ in 0..20 {
            assert_eq!(waits(Some(LIFE + 1)), 0);
        }
        assert!((0..1000).any(|_| waits(Some(LIFE)) > 0));
        assert!((0..1000).any(|_| waits(None) > 1));
    }

    #[test]
    fn who_is_patient_takes_a_free_lock_after_the_first_pause() {
        let lock = Mutex::new(());
        let begin = Instant::now();
        drop(look_seldom(&lock));
        assert!(begin.elapsed() >= FIRST);
    }
}
