//! How the ranks that make a communicator agree on its number.

use super::Communicator;
use crate::collective::Answered;
use crate::error::Error;
use crate::protocol::{Agreed, Number, Offer};
use crate::transport::Transport;

impl<T: Transport> Communicator<T> {
    /// A number that is free at all ranks, and the words that follow it in the answer. `ask` tells the others what this
    /// rank offers of the numbers from a first one on; the answer begins with what is [`Agreed`].
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
            match words.first_chunk().copied().and_then(Agreed::of_words) {
                Some(Agreed::AskFrom(later)) => first = later,
                Some(Agreed::Free(number)) if offer.has(first, number) => {
                    return Ok((number, words.split_off(2)));
                }
                _ => return Err(Error::Disagreement(operation)),
            }
        }
    }
}
