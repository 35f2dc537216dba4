//! Scopes: a rank does some items of the plan while operations on borrowed memory are under way (`lent.rs`).
//!
//! When a scope has ended well, all that it began is complete, and what failed without being reported is its error.
//! When it ends with an error or a panic, its receives are dropped, and its messages withdrawn if they were announced;
//! the others are received like any. However it ends, its memory is then left alone: it is written over at once, which
//! changes no message, and looked at in the end.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mq_comm::{Error, Status};

use crate::draw::{bytes_of, number_in};
use crate::lent::{Lender, What};
use crate::pattern::{ANY, Envelope, Pattern};
use crate::plan::Item;
use crate::rank::Rank;
use crate::receives::untouched;

/// What is in the memory of a scope after it.
pub(crate) const RETURNED: u8 = 0x3c;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum End {
    Well,
    Error,
    Panic,
}

/// Why a scope ends early.
#[derive(Debug)]
pub(crate) enum Early {
    ByIntention,
    Failed(Error),
}

impl From<Error> for Early {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// An operation whose memory can be seen only after the scope.
pub(crate) struct Unseen {
    pub(crate) what: What,
    /// Where its memory is.
    pub(crate) at: Range<usize>,
    /// What became of it, if that was reported.
    pub(crate) result: Option<Result<Status, Error>>,
    /// It fails, and the scope says so.
    pub(crate) fails: bool,
}

impl Rank<'_> {
    /// Does some items in a scope, if there is any before the next communicator is dropped; returns the next item.
    pub(crate) fn scope(&mut self, begin: usize) -> usize {
        let here = self.here();
        // Mostly on the last one, of which messages may be lost.
        let number = match self.draw.chance(60) {
            true => here[here.len() - 1],
            false => self.draw.pick(&here),
        };
        let most = 1 + self.draw.below(60);
        let its = self.plan.items[begin..].iter().take(most);
        let its = its.take_while(|item| !matches!(item, Item::Drop(_)));
        let items = begin..begin + its.count();
        let end = match self.draw.below(10) {
            0..6 => End::Well,
            6..9 => End::Error,
            _ => End::Panic,
        };
        let communicator = self.communicator(number);
        let mut memory = untouched(self.memory_for(number, items.clone()));
        let mut unseen = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            communicator.try_scope(|scope| {
                let mut lender = Lender::new(self, scope, number, end, &mut memory);
                lender.carry_out(items.clone());
                lender.end(&mut unseen)
            })
        }));
        let failed = match (end, ended) {
            (End::Well, Ok(Ok(()))) | (End::Error, Ok(Err(Early::ByIntention))) => None,
            (End::Well, Ok(Err(Early::Failed(error)))) => Some(error),
            (_, Ok(other)) => panic!("a scope that was to end by {end:?}: {other:?}"),
            (End::Panic, Err(panic)) if panic.is::<Early>() => None,
            (_, Err(panic)) => resume_unwind(panic),
        };
        self.after_scope(unseen, failed, &memory);
        memory.fill(RETURNED);
        self.returned.push(memory);
        items.end
    }

    /// Bytes for the messages that are sent in a scope, and for some receives.
    fn memory_for(&self, number: usize, items: Range<usize>) -> usize {
        let all = Pattern::new(None, 0, ANY);
        let longest = self.expected.longest(number, &all);
        let sent = self.plan.messages.iter().filter(|message| {
            (message.communicator, message.from) == (number, self.me) && items.contains(&message.at)
        });
        let sent: usize = sent.map(|message| message.bytes).sum();
        sent + (8 * longest).min(1 << 20)
    }

    fn after_scope(&mut self, unseen: Vec<Unseen>, mut failed: Option<Error>, memory: &[u8]) {
        for its in unseen {
            let bytes = &memory[its.at];
            let receive = match its.what {
                What::Send(number) => {
                    let message = &self.plan.messages[number];
                    assert!(bytes == bytes_of(number, bytes.len()), "{message:?}");
                    continue;
                }
                What::Receive(receive) => receive,
            };
            if let Some(result) = its.result {
                self.received(receive, (bytes.to_vec(), result));
                continue;
            }
            self.forget_lent(receive);
            if its.fails {
                let error = failed.take().unwrap_or_else(|| {
                    panic!(
                        "no scope says what became of {:?}",
                        self.record.receives[receive]
                    )
                });
                self.received(receive, (bytes.to_vec(), Err(error)));
                continue;
            }
            let sent = number_in(bytes).and_then(|number| self.plan.messages.get(number));
            let sent = sent
                .unwrap_or_else(|| panic!("no message is in {:?}", self.record.receives[receive]));
            let envelope = Envelope {
                from: self.plan.rank(sent.communicator, self.me, sent.from),
                tag: sent.tag,
                bytes: sent.bytes as u64,
            };
            self.filled(receive, envelope, bytes);
        }
        assert!(failed.is_none(), "a scope failed by {failed:?}");
    }

    /// A receive of a scope no longer waits.
    pub(crate) fn forget_lent(&mut self, receive: usize) {
        self.posted.retain(|posted| posted.receive != receive);
    }

    /// What scopes have given back was not written to.
    pub(crate) fn check_returned(&self) {
        for memory in &self.returned {
            let is_left_alone = memory.iter().all(|&byte| byte == RETURNED);
            assert!(is_left_alone, "a scope's memory was written to afterwards");
        }
    }
}
