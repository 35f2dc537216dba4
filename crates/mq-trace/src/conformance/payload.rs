//! [`Payload`]: what the suite gives structures to keep.

use std::sync::Arc;

/// A receive or a message that the suite gives to a structure: it has a number, from 0 in the order of their steps.
///
/// With [`Counted`] ones, the suite also compares after each step how many there are with how many are queued, so that
/// it finds a structure that loses one without handing it back or dropping it. A `u32` is only a number.
///
/// For a structure that takes only a type of your own, implement this for it. It is counted if it keeps a clone of the
/// tally.
pub trait Payload: Sized {
    /// The payload with this number.
    fn new(number: u32, tally: &Tally) -> Self;
    /// The number that it was made with.
    fn number(&self) -> u32;
}

impl Payload for u32 {
    fn new(number: u32, _: &Tally) -> Self {
        number
    }

    fn number(&self) -> u32 {
        *self
    }
}

/// How many payloads there are: the clones of this.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<()>);

impl Tally {
    fn alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// A [`Payload`] that is counted.
#[derive(Debug)]
pub struct Counted {
    number: u32,
    _tally: Tally,
}

impl Payload for Counted {
    fn new(number: u32, tally: &Tally) -> Self {
        Self {
            number,
            _tally: tally.clone(),
        }
    }

    fn number(&self) -> u32 {
        self.number
    }
}

/// Makes the payloads of receives, or of messages, and knows how many there are if they are counted.
#[derive(Default)]
pub(super) struct Maker {
    tally: Tally,
    are_counted: bool,
}

impl Maker {
    pub(super) fn make<T: Payload>(&mut self, number: u32) -> T {
        let made = T::new(number, &self.tally);
        self.are_counted |= self.tally.alive() > 0;
        made
    }

    /// How many of those made were not dropped; `None` if they are not counted.
    pub(super) fn alive(&self) -> Option<usize> {
        self.are_counted.then(|| self.tally.alive())
    }
}
