//! [`Pressure`]: whether threads wait for each other often enough that a context is worth dividing.

/// Turns that are looked at together.
#[cfg(not(loom))]
const WINDOW: u32 = 1024;
/// Turns of a window that waited, from which on the context is divided.
#[cfg(not(loom))]
const MANY: u32 = 32;

/// In a model no thread is seen to wait: the fourth operation divides the context, whichever it is.
#[cfg(loom)]
const WINDOW: u32 = 4;
#[cfg(loom)]
const MANY: u32 = 0;

/// Where more than one operation in so many is for any source, the context stays whole: once divided,
/// each of them would lock every shard.
const WILDCARDS: u32 = 16;

/// Counts of the undivided queues' lock, kept under that lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pressure {
    turns: u32,
    waited: u32,
    wildcards: u32,
}

impl Pressure {
    /// Counts an operation; whether it is time to divide the context.
    #[inline]
    pub(super) fn turn(&mut self, waited: bool, wildcard: bool) -> bool {
        self.turns += 1;
        self.waited += u32::from(waited);
        self.wildcards += u32::from(wildcard);
        self.turns == WINDOW && self.window_ends()
    }

    fn window_ends(&mut self) -> bool {
        let divide = self.waited >= MANY && self.wildcards <= WINDOW / WILDCARDS;
        *self = Self::default();
        divide
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Whether a window with so many turns of each kind divides.
    fn divides(waited: u32, wildcards: u32) -> bool {
        let mut pressure = Pressure::default();
        (0..WINDOW).any(|turn| pressure.turn(turn < waited, turn < wildcards))
    }

    #[test]
    fn waiting_divides_unless_receives_from_any_source_are_frequent() {
        assert!(!divides(0, 0));
        assert!(!divides(MANY - 1, 0));
        assert!(divides(MANY, 0));
        assert!(divides(MANY, WINDOW / WILDCARDS));
        assert!(!divides(MANY, WINDOW / WILDCARDS + 1));
    }

    #[test]
    fn seldom_waiting_adds_up_to_nothing() {
        let mut pressure = Pressure::default();
        let divided = (0..100 * WINDOW).any(|turn| pressure.turn(turn % 64 == 0, false));
        assert!(!divided);
    }
}
