//! What a message leaves to be done once it is back with the transport.

use mq_shm::Process;

use super::arrive::corrupt;
use super::large::Came;
use super::{Core, Number};
use crate::error::Error;
use crate::header::RingGiven;
use crate::request::{Name, Outcome, Stage};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// What has to be done once a message is back with the transport. A number is a request's slot; a name is one that the
/// message's sender has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Follow {
    Nothing,
    /// A receive has matched; the messages of `unwanted` are wanted once less.
    Matched {
        receive: u32,
        unwanted: Option<Process>,
    },
    /// The buffer of a send is free.
    Finished {
        send: u32,
    },
    /// A part of a send is to be copied, while its receiver reads the rest.
    Help {
        send: u32,
        asked: [u8; 8],
    },
    /// A ring is to be found for a send, or is lent.
    Ring {
        send: u32,
        lent: Option<RingGiven>,
    },
    /// A receive knows its ring, or that there is none: the answer that it waited for has come.
    RingNamed,
    /// An answer that a request waits for is meaningless: there will be no other.
    Damaged {
        request: u32,
    },
    /// A message is not to be fetched after all, perhaps because its sender dies.
    Withdraw {
        name: Name,
        dies: bool,
    },
    /// A message that went ahead came before a receive for it was posted.
    TooEarly,
    /// An unexpected message is one too many.
    Flooded,
    /// All messages to a process are to be announced: also those that wait to be sent.
    AnnounceAll,
    /// A communicator is revoked.
    Revoked {
        number: Number,
    },
    /// An announced message is discarded.
    Discarded {
        name: Name,
    },
}

impl<T: Transport> Core<T> {
    /// Does what is left to do for a message that is back with the transport.
    pub(crate) fn follow(&mut self, from: Process, follow: Follow) -> Result<(), Error> {
        match follow {
            Follow::Nothing => Ok(()),
            Follow::Matched { receive, unwanted } => {
                if let Some(process) = unwanted {
                    self.unwant(process);
                }
                self.fetch_if_large(receive, Came::Expected)
            }
            Follow::Finished { send } => {
                step(Step::BufferFree);
                self.count_answer(from);
                self.state.on_sent(send);
                self.state.requests.complete(send, Outcome::Fine);
                Ok(())
            }
            Follow::Help { send, asked } => self.help(from, send, asked),
            Follow::Ring { send, lent: None } => self.give_ring(send),
            Follow::Ring {
                send,
                lent: Some(lent),
            } => {
                self.use_lent_ring(send, lent);
                Ok(())
            }
            Follow::RingNamed => {
                self.transport.unwant(Some(from));
                Ok(())
            }
            Follow::Damaged { request } => {
                match self.state.requests.at(request).stage {
                    Stage::Announced => self.count_answer(from),
                    _ => self.transport.unwant(Some(from)),
                }
                self.state.requests.complete(request, Outcome::Withdrawn);
                Err(corrupt("an answer", from))
            }
            Follow::Withdraw { name, dies } => self.withdrawn_by(from, name, dies),
            Follow::TooEarly => self.came_too_early(from),
            Follow::Flooded => self.ask_to_announce(from),
            Follow::AnnounceAll => self.announce_waiting(from),
            Follow::Revoked { number } => self.revoke(number),
            Follow::Discarded { name } => self.answer_finished(from, name),
        }
    }

    /// A process has answered an announcement.
    pub(super) fn count_answer(&mut self, by: Process) {
        self.transport.unwant(Some(by));
        self.state.peers[by.index()].announced -= 1;
    }
}
