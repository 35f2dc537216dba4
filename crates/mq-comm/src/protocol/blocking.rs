//! Blocking sends and receives, and their ways past the queues.
//!
//! A blocking receive for which nothing has come takes the next message straight out of the transport if it
//! is the one it waits for: the receive-queue bypass of Nemesis. As it is the youngest receive of its
//! process, any posted receive is asked first; if there is none, the engine is not entered at all. A blocking
//! send hands its bytes to the transport if nothing waits before them, and receives until there is room for
//! them. Neither has a request then.

mod receive;
mod send;

use super::{Awaited, Core, Failures, Hand};
use crate::error::Error;
use crate::request::Stage;
use crate::status::Status;
use crate::transport::Transport;

pub(crate) use send::Out;

impl<T: Transport> Core<T> {
    /// Waits for a request of lent memory that has begun, or has failed to, and ends it in any case.
    fn see_through(
        &mut self,
        request: u32,
        hand: Option<&Hand>,
        begun: Result<(), Error>,
    ) -> Result<Status, Error> {
        let mut round = match begun {
            // Only the answer was refused, and is sent later.
            Err(error) if error.is_out_of_memory() && self.state.has_message(request) => Ok(()),
            begun => begun,
        };
        let has_begun = round.is_ok();
        self.idle.reset();
        loop {
            if let Some(hand) = hand {
                self.end_if_revoked(hand);
            }
            if round.is_err() || self.is_done(request) {
                break;
            }
            round = self.progress_for(hand, |_| vec![request]);
        }
        if !self.is_done(request)
            && let Err(error) = round
        {
            if !has_begun && self.state.requests.at(request).stage == Stage::Waiting {
                // Nobody knows of it, and it is in no outbox.
                self.state.requests.release(request);
                return Err(error);
            }
            self.abandon(request);
            self.see_off(request);
            return Err(error);
        }
        let mut result = self.state.requests.at(request).result();
        if let Err(error) = round {
            if self.is_its_own(request) {
                result = Err(error);
            } else if has_begun {
                // It has come to its end in a round in which something else failed.
                self.state.failed_elsewhere(error);
            }
        }
        self.state.requests.release(request);
        result
    }

    /// After [`abandon`](Self::abandon) of a request of lent memory: waits for the answer to a withdrawal.
    pub(crate) fn see_off(&mut self, request: u32) {
        let mut failures = Failures::default();
        while self.state.requests.is_lent(request) {
            let is_announced =
                |core: &Self| core.state.requests.at(request).stage == Stage::Announced;
            if !is_announced(self) {
                self.abandon(request);
                continue;
            }
            let progress = self.progress_or_rest(Awaited::Ends);
            if failures.tolerate(progress).is_err() && is_announced(self) {
                // The receiver's transport may work, and the receiver may not have heard of the withdrawal.
                self.transport.hide_memory();
                self.state.requests.release(request);
            }
        }
    }
}
