//! How often the same signal has asked the ranks to end.

use std::time::{Duration, Instant};

use crate::signals::THE_SAME;

/// How many times in a row the same signal is passed on before the next one kills the ranks.
pub(super) const PATIENCE: u32 = 2;

/// Signals within this time of each other count as consecutive.
pub(super) const IN_A_ROW: Duration = Duration::from_secs(5);

/// How often the same signal has come in a row.
#[derive(Default)]
pub(super) struct Asked {
    last: Option<(i32, Instant)>,
    times: u32,
}

impl Asked {
    /// A signal has come; how many that makes in a row, or none if it repeats the last one too soon.
    pub(super) fn once_more(&mut self, signal: i32, now: Instant) -> Option<u32> {
        let last = self.last.filter(|(last, _)| *last == signal);
        self.times = match last.map(|(_, at)| now - at) {
            Some(since) if since < THE_SAME => return None,
            Some(since) if since < IN_A_ROW => self.times + 1,
            _ => 1,
        };
        self.last = Some((signal, now));
        Some(self.times)
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGINT, SIGTERM};

    use super::*;

    #[test]
    fn a_signal_that_comes_again_at_once_is_the_same() {
        let begin = Instant::now();
        let mut asked = Asked::default();
        let mut at = |signal, millis| {
            let now = begin + Duration::from_millis(millis);
            asked.once_more(signal, now)
        };
        assert_eq!(at(SIGTERM, 0), Some(1));
        assert_eq!(at(SIGTERM, 1), None);
        assert_eq!(at(SIGTERM, 999), None);
        assert_eq!(at(SIGTERM, 1000), Some(2), "counted from the first");
        assert_eq!(at(SIGTERM, 1001), None);
        assert_eq!(at(SIGTERM, 5999), Some(3));
        assert_eq!(at(SIGTERM, 10_999), Some(1), "not in a row any more");
        assert_eq!(at(SIGINT, 11_000), Some(1), "another");
    }
}
