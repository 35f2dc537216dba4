//! [`Lock`]: a place behind its lock, and how long a thread waits before it looks at it again.

use super::place::Place;
use super::pressure::Waits;
use super::sync::{Hint, Mutex, MutexGuard};
use crate::queues::MatchQueues;

/// A place behind its lock.
pub(super) struct Lock<Q> {
    place: Mutex<Place<Q>>,
    /// Whether threads wait here so often that each should leave those who have the lock to
    /// themselves for a while. [CROWD]
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

    /// Waits as shortly as can be: for who holds other locks, or wants all.
    pub(super) fn lock(&self) -> MutexGuard<'_, Place<Q>> {
        self.place.lock()
    }

    /// Waits as is best for all together, for who holds no other lock; and tells what the waits so far
    /// have shown.
    ///
    /// A thread that has just let go of the lock has its lines still, and works on at full speed if it gets it again. One
    /// that looks without pause gets it after a few operations of the other, and then all lines have to
    /// come to its core: two threads did a third of the work of one, where they do nine tenths of it so.
    pub(super) fn lock_alone(&self) -> (MutexGuard<'_, Place<Q>>, Waits) {
        if let Some(place) = self.place.try_lock() {
            return (place, Waits::Few);
        }
        let crowded = self.crowded.get();
        let mut place = if crowded {
            look_seldom(&self.place)
        } else {
            self.place.lock()
        };
        let number = place.queues.next_sequence();
        let waits = place.pressure.waited(number, crowded);
        match waits {
            Waits::Few => {}
            Waits::Seldom => self.crowded.set(false),
            Waits::Often { .. } => self.crowded.set(true),
        }
        (place, waits)
    }
}

#[cfg(not(loom))]
fn look_seldom<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    use core::time::Duration;
    use std::time::Instant;

    // The first is some hundred operations of another thread, of which each would cost as much as
    // twenty if the two took turns. All together are as long as it takes to put a thread to sleep
    // and wake it.
    const FIRST: Duration = Duration::from_micros(2);
    const LONGEST: Duration = Duration::from_micros(8);
    const LOOKS: u32 = 6;

    let mut pause = FIRST;
    for _ in 0..LOOKS {
        let begin = Instant::now();
        while begin.elapsed() < pause {
            core::hint::spin_loop();
        }
        if let Some(guard) = lock.try_lock() {
            return guard;
        }
        pause = LONGEST.min(2 * pause);
    }
    lock.lock()
}

/// The same to the model checker, which has no time.
#[cfg(loom)]
fn look_seldom<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::mpi::MpiPattern;
    use crate::structures::List;

    type Queues = List<MpiPattern, (), ()>;

    /// Waits for the lock again and again, each time while another thread has it for as long as that,
    /// until the waits show something.
    fn shown(lock: &Lock<Queues>, held: Duration) -> Waits {
        let turn = Barrier::new(2);
        let over = Hint::default();
        thread::scope(|scope| {
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
            // One that was late did not wait.
            let shown = (0..10_000).try_for_each(|_| {
                turn.wait();
                turn.wait();
                match lock.lock_alone().1 {
                    Waits::Few => ControlFlow::Continue(()),
                    shown => ControlFlow::Break(shown),
                }
            });
            over.set(true);
            turn.wait();
            shown.break_value().expect("some of so many waited")
        })
    }

    #[test]
    fn threads_are_patient_where_they_wait_often_and_no_longer() {
        let lock: Lock<Queues> = Lock::new();
        let is_crowded = || lock.crowded.get();
        let often = Waits::Often { divisible: true };
        let short = Duration::from_micros(100);
        assert!(!is_crowded());
        assert_eq!(shown(&lock, short), often);
        assert!(is_crowded());
        // Also those who wait longer than they look get it.
        assert_eq!(shown(&lock, Duration::from_millis(1)), often);
        assert!(is_crowded());
        for _ in 0..1 << 20 {
            let mut place = lock.lock();
            let handle = place.queues.queue_receive(MpiPattern::new(0, 1, 7), ());
            assert!(place.queues.cancel(handle).is_some());
        }
        assert_eq!(shown(&lock, short), Waits::Seldom);
        assert!(!is_crowded());
    }
}
