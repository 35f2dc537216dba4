//! Patience in vain: a process looks for long, and what it waits for comes as soon as it gives its core up.
//!
//! Then the awaited process, or one before it, has waited for this very core, although there may be a core for each:
//! processes that are not bound get there on a machine that has other work to do. So the process is impatient for a
//! while, and for longer only if that pays. Where many others take the core whenever it is given up, each for a turn of
//! milliseconds, it does not.

use core::time::Duration;
use std::time::Instant;

/// The waits of a patient process that came to giving its core up, and to no sleep, since the last that slept. Those
/// that end while it looks are not counted.
#[derive(Debug, Default)]
pub(super) struct InVain {
    waits: u32,
    /// When the first of them was.
    since: Option<Instant>,
    /// Until when the process is impatient because of them, and how long each of them took.
    until: Option<(Instant, Duration)>,
    /// Waits since it is.
    impatient: u32,
    /// Until when it stays patient, since impatience did not pay.
    patient_until: Option<Instant>,
}

impl InVain {
    /// How many of them make a process impatient.
    const LIMIT: u32 = 16;
    /// If they come within this time: a process with a core for itself waits too long now and then.
    const WITHIN: Duration = Duration::from_millis(250);
    /// How long a process is impatient then: meanwhile, the system may move processes to cores of their own.
    const IMPATIENT_FOR: Duration = Duration::from_millis(100);
    /// How long it stays patient if it then had no more than twice as many waits in that time.
    const PATIENT_FOR: Duration = Duration::from_secs(2);

    /// Counts a wait that gives its core up, and may yet come to a sleep; returns whether the process is to be
    /// impatient.
    pub(super) fn count_wait(&mut self, now: Instant) -> bool {
        if self.patient_until.is_some_and(|until| now < until) {
            return false;
        }
        let since = *self.since.get_or_insert(now);
        self.waits += 1;
        if self.waits < Self::LIMIT {
            return false;
        }
        self.reset();
        let took = now - since;
        if took >= Self::WITHIN {
            return false;
        }
        self.until = Some((now + Self::IMPATIENT_FOR, took / Self::LIMIT));
        self.impatient = 0;
        true
    }

    /// This wait comes to a sleep: neither it nor those before it count.
    pub(super) fn reset(&mut self) {
        (self.waits, self.since) = (0, None);
    }

    /// Counts a wait of an impatient process; returns whether it has been impatient for long enough, because of waits
    /// in vain.
    pub(super) fn impatience_ends(&mut self, now: impl FnOnce() -> Instant) -> bool {
        let Some((until, each)) = self.until else {
            return false;
        };
        self.impatient += 1;
        let now = now();
        if now < until {
            return false;
        }
        self.until = None;
        if each * self.impatient <= 2 * (now - until + Self::IMPATIENT_FOR) {
            self.patient_until = Some(now + Self::PATIENT_FOR);
        }
        true
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    #[test]
    fn waits_in_vain_count_if_none_sleeps_and_they_come_soon() {
        let begun = Instant::now();
        let enough = |in_vain: &mut InVain, waits: u32, apart: Duration| {
            let found = (0..waits).filter(|&wait| in_vain.count_wait(begun + apart * wait));
            found.count()
        };
        let mut in_vain = InVain::default();
        let soon = Duration::from_millis(2);
        assert_eq!(enough(&mut in_vain, InVain::LIMIT - 1, soon), 0);
        // None of them counts after a long one.
        in_vain.reset();
        assert_eq!(enough(&mut in_vain, InVain::LIMIT - 1, soon), 0);
        assert_eq!(enough(&mut in_vain, 1, soon), 1);
        assert_eq!(enough(&mut in_vain, 3 * InVain::LIMIT, soon), 3);
        assert_eq!(
            enough(&mut in_vain, 3 * InVain::LIMIT, InVain::WITHIN / 2),
            0
        );
    }

    #[test]
    fn impatience_goes_on_if_it_pays() {
        for (apart, pays) in [
            (Duration::from_micros(20), true),
            (Duration::from_millis(3), false),
        ] {
            let mut in_vain = InVain::default();
            let mut now = Instant::now();
            let patiently = |in_vain: &mut InVain, now: &mut Instant| {
                (0..InVain::LIMIT).any(|_| {
                    *now += Duration::from_millis(1);
                    in_vain.count_wait(*now)
                })
            };
            assert!(patiently(&mut in_vain, &mut now));
            while !in_vain.impatience_ends(|| now) {
                now += apart;
            }
            assert_eq!(patiently(&mut in_vain, &mut now), pays);
            now += InVain::PATIENT_FOR;
            assert!(pays || patiently(&mut in_vain, &mut now));
        }
    }
}
