//! How the ranks that make a communicator agree on its number.

use super::Communicator;
use crate::collective::Answered;
use crate::error::Error;
use crate::protocol::{Number, Offer};
use crate::transport::Transport;

/// The first word of an answer: the second is the number, or, as none is free at all ranks, the one from which on they
/// are to say which are.
pub(super) const NUMBER: u32 = 0;
pub(super) const FURTHER: u32 = 1;

/// The first two words of an answer, given what all ranks offer of the numbers from `first` on.
pub(super) fn agreed(offers: impl Iterator<Item = Offer>, first: Number) -> [u32; 2] {
    match Offer::agreed(offers, first) {
        Ok(number) => [NUMBER, number.0],
        Err(later) => [FURTHER, later.0],
    }
}

impl<T: Transport> Communicator<T> {
    /// A number that is free at all ranks, and the words that follow it in the answer. `ask` tells the others what this
    /// rank offers of the numbers from a first one on.
    pub(super) fn agree_on_number(
        &self,
        operation: &'static str,
        ask: impl Fn(Number, Offer) -> Result<Answered, Error>,
    ) -> Result<(Number, Vec<u32>), Error> {
        // Others' messages about communicators that are over may have come, and make numbers free. A failure
        // there is no reason to keep the others waiting.
        let _ = self.inner.core().take_in(self.size());
        let mut first = Number::WORLD;
        loop {
            let offer = self.inner.core().state.contexts.offer(first);
            let mut words = match ask(first, offer)? {
                Answered::With(words) => words,
                Answered::Never(error) => {
                    self.inner.core().mark_doubtful(first, offer)?;
                    return Err(error);
                }
            };
            match words[..] {
                [FURTHER, later, ..] => first = Number(later),
                [NUMBER, number, ..] if offer.has(first, Number(number)) => {
                    return Ok((Number(number), words.split_off(2)));
                }
                _ => return Err(Error::Disagreement(operation)),
            }
        }
    }
}
