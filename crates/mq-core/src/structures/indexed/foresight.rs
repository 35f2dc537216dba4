//! What long searches of the short form have shown, and when queues become deep before the next.

use super::classes::SCANS;

/// A newcomer that is to be queued behind so many is worth a thought of what becomes of them.
const MANY: u32 = 16;

/// How often queues become deep early after a search that was long. Then they have to show again
/// that they need it.
const EARLY_TIMES: u8 = 8;

/// A part of the word counts those.
const TIMES: u8 = 0x0f;

/// The next counts long looks.
const ONE_LOOK: u8 = 0x10;
const LOOKS: u8 = 0x70;

/// The mark that they are about to become deep early.
const EARLY: u8 = 0x80;

const _: () = assert!(EARLY_TIMES <= TIMES && SCANS * ONE_LOOK <= LOOKS);

/// What is remembered of the searches of the short form, in one byte: an object has room for no
/// more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Foresight(u8);

impl Foresight {
    /// Whether the queues are to become deep with a newcomer to a queue of so many that was compared
    /// with others in vain: they will soon be searched out of order, if all is as it was.
    #[inline(always)]
    pub(super) const fn is_early(&mut self, queued: u32) -> bool {
        if self.0 & TIMES == 0 || queued < MANY {
            return false;
        }
        self.0 = (self.0 - 1) | EARLY;
        true
    }

    /// The queues become deep, for a search that was too long or [early](Self::is_early).
    pub(super) const fn becomes_deep(&mut self) {
        self.0 = match self.0 & EARLY {
            0 => (self.0 & LOOKS) | EARLY_TIMES,
            _ => self.0 & !EARLY,
        };
    }

    /// Whether a search with a wildcard may look at every message: [`SCANS`] may, and then the
    /// messages are worth indexing. After that it begins anew.
    pub(super) const fn may_look_at_all(&mut self) -> bool {
        if self.0 & LOOKS == SCANS * ONE_LOOK {
            self.0 &= !LOOKS;
            return false;
        }
        self.0 += ONE_LOOK;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_long_search_queues_become_deep_early_eight_times() {
        let mut foresight = Foresight::default();
        assert!(!foresight.is_early(MANY));
        foresight.becomes_deep();
        assert!(!foresight.is_early(MANY - 1));
        for _ in 0..EARLY_TIMES {
            assert!(foresight.is_early(MANY));
            foresight.becomes_deep();
        }
        assert!(!foresight.is_early(MANY));
    }

    #[test]
    fn of_long_looks_every_fifth_is_one_too_many_whatever_else_happens() {
        let mut foresight = Foresight::default();
        for round in 0..40 {
            assert_eq!(foresight.may_look_at_all(), round % 5 < 4, "{round}");
            if round % 3 == 0 {
                let _ = foresight.is_early(MANY);
                foresight.becomes_deep();
            }
        }
    }
}
