//! The operations of a scope, on memory that it is lent.

use std::ops::Range;

use mq_comm::{Completion, Error, RequestId, Scope, ScopedRequest, Status};

use crate::draw::bytes_of;
use crate::pattern::{Envelope, Pattern};
use crate::plan::Fate;
use crate::rank::{Posted, Rank};
use crate::receives::UNTOUCHED;
use crate::record::Outcome;
use crate::requests::Pending;
use crate::scope::{End, RETURNED, Unseen};

/// The number of a receive, or of a message that is sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum What {
    Receive(usize),
    Send(usize),
}

pub(crate) struct Lender<'r, 'p, 'scope, 'env> {
    pub(crate) rank: &'r mut Rank<'p>,
    pub(crate) scope: &'scope Scope<'scope, 'env>,
    pub(crate) communicator: usize,
    pub(crate) end: End,
    /// What has not been lent yet, and where it begins.
    free: &'scope mut [u8],
    lent: usize,
    pub(crate) operations: Vec<Operation<'scope>>,
    /// Those whose handles are gone and whose results are known.
    pub(crate) unseen: Vec<Unseen>,
    /// Requests that are over.
    pub(crate) over: Vec<RequestId>,
    /// The last drain of the scope, by which all that was sent before is received.
    pub(crate) drain: Option<usize>,
}

pub(crate) struct Operation<'scope> {
    pub(crate) what: What,
    pub(crate) id: RequestId,
    pub(crate) handle: Option<Handle<'scope>>,
    at: Range<usize>,
    /// What became of it, if that was reported.
    pub(crate) result: Option<Result<Status, Error>>,
    /// It is known that it will be complete.
    pub(crate) will_end: bool,
    /// It is known that it will fail.
    pub(crate) fails: bool,
}

pub(crate) enum Handle<'scope> {
    /// Of a receive, or of what may be written again when it has been sent.
    Written(ScopedRequest<&'scope mut [u8]>),
    Read(ScopedRequest<&'scope [u8]>),
}

impl Handle<'_> {
    pub(crate) fn test(&self) -> bool {
        match self {
            Self::Written(request) => request.test(),
            Self::Read(request) => request.test(),
        }
        .unwrap()
    }
}

impl<'r, 'p, 'scope, 'env> Lender<'r, 'p, 'scope, 'env> {
    pub(crate) fn new(
        rank: &'r mut Rank<'p>,
        scope: &'scope Scope<'scope, 'env>,
        communicator: usize,
        end: End,
        memory: &'scope mut [u8],
    ) -> Self {
        Self {
            rank,
            scope,
            communicator,
            end,
            free: memory,
            lent: 0,
            operations: Vec::new(),
            unseen: Vec::new(),
            over: Vec::new(),
            drain: None,
        }
    }

    /// So many bytes, and where they are.
    fn lend(&mut self, bytes: usize) -> Option<(Range<usize>, &'scope mut [u8])> {
        let lent = self.free.split_off_mut(..bytes)?;
        let at = self.lent..self.lent + bytes;
        self.lent = at.end;
        Some((at, lent))
    }

    fn keep(&mut self, what: What, id: RequestId, handle: Handle<'scope>, at: Range<usize>) {
        self.operations.push(Operation {
            what,
            id,
            handle: Some(handle),
            at,
            result: None,
            will_end: false,
            fails: false,
        });
    }

    pub(crate) fn post(&mut self) {
        let (number, mut pattern) = self.rank.pattern_on(&[self.communicator]);
        if self.rank.draw.chance(40)
            && let Some(next) = self.rank.expected.streams(number, &pattern).first()
        {
            pattern = Pattern::new(Some(next.from), next.message.tag, 0);
        }
        let room = self.rank.room(number, &pattern);
        let Some((at, buffer)) = self.lend(room) else {
            return;
        };
        let receive = self.rank.record.begin(number, pattern);
        let (source, selector) = (pattern.source(), pattern.selector());
        let request = self.scope.irecv(buffer, source, selector).unwrap();
        self.rank.posted.push(Posted {
            receive,
            communicator: number,
            pattern,
            pending: Pending::Lent,
            has_matched: false,
            is_awaited: false,
        });
        let id = request.id();
        self.keep(What::Receive(receive), id, Handle::Written(request), at);
    }

    pub(crate) fn send(&mut self, number: usize) {
        let (_, to, bytes) = self.rank.outgoing(number);
        let Some((at, buffer)) = self.lend(bytes.len()) else {
            return self.rank.send(number);
        };
        buffer.copy_from_slice(&bytes);
        let tag = self.rank.plan.messages[number].tag;
        let (id, handle) = if self.rank.draw.chance(50) {
            let request = self.scope.isend_mut(buffer, to, tag).unwrap();
            (request.id(), Handle::Written(request))
        } else {
            let request = self.scope.isend(buffer, to, tag).unwrap();
            (request.id(), Handle::Read(request))
        };
        self.keep(What::Send(number), id, handle, at);
        if self.rank.draw.chance(30) {
            self.drop_handle(self.operations.len() - 1);
        }
    }

    /// Whether it will be complete.
    pub(crate) fn will_end(&mut self, at: usize) -> bool {
        let operation = &self.operations[at];
        let will_end = operation.will_end
            || operation.result.is_some()
            || match operation.what {
                What::Send(number) => self.rank.is_eager(&self.rank.plan.messages[number]),
                What::Receive(receive) => {
                    let posted = &self.rank.posted;
                    let its = posted.iter().position(|posted| posted.receive == receive);
                    its.is_some_and(|its| self.rank.will_end(its))
                }
            };
        self.operations[at].will_end = will_end;
        will_end
    }

    /// Drops a handle, if what becomes of the operation can be found out without.
    pub(crate) fn drop_handle(&mut self, at: usize) {
        let is_send = matches!(self.operations[at].what, What::Send(_));
        if is_send || self.will_end(at) && self.will_be_known(at) {
            let operation = &mut self.operations[at];
            operation.handle = None;
            if operation.result.is_some() {
                self.has_been_seen(at);
            }
        }
    }

    /// Whether the memory, or the error of the scope, will say what became of a receive that will be complete.
    pub(crate) fn will_be_known(&mut self, at: usize) -> bool {
        let operation = &self.operations[at];
        let (What::Receive(receive), None) = (operation.what, &operation.result) else {
            return true;
        };
        let (room, pattern) = (
            operation.at.len(),
            self.rank.record.receives[receive].pattern,
        );
        let still = self.rank.expected.streams(self.communicator, &pattern);
        if still.iter().any(|its| its.message.fate == Fate::Loose) {
            return false;
        }
        if still.iter().all(|its| its.message.bytes > room) {
            let others = self.operations.iter().any(|other| other.fails);
            let is_first = operation.fails || !others;
            self.operations[at].fails |= is_first;
            return is_first;
        }
        let is_readable = |bytes: usize| bytes >= 8 && bytes <= room;
        still.iter().all(|its| is_readable(its.message.bytes))
    }

    /// Waits for one, and says how it failed, if it did.
    pub(crate) fn finish(&mut self, at: usize) -> Option<String> {
        let operation = self.operations.swap_remove(at);
        self.over.push(operation.id);
        let handle = operation.handle.expect("it has one");
        let (bytes, result) = match handle {
            Handle::Written(request) => {
                let (memory, result) = request.finish().unwrap();
                let bytes = memory.to_vec();
                // It is the program's again.
                memory.fill(RETURNED);
                (bytes, result)
            }
            Handle::Read(request) => {
                let (memory, result) = request.finish().unwrap();
                (memory.to_vec(), result)
            }
        };
        if let Some(reported) = operation.result {
            assert_eq!(format!("{reported:?}"), format!("{result:?}"));
        }
        let failed = result.as_ref().err().map(|error| format!("{error:?}"));
        match operation.what {
            What::Receive(receive) => {
                self.rank.forget_lent(receive);
                self.rank.received(receive, (bytes, result));
            }
            What::Send(number) => self.rank.sent(number, &bytes, &result),
        }
        failed
    }

    /// Cancels a receive that has a handle; returns whether it could.
    pub(crate) fn cancel(&mut self, at: usize) -> bool {
        let operation = &mut self.operations[at];
        let (What::Receive(receive), None) = (operation.what, &operation.result) else {
            return false;
        };
        let Some(Handle::Written(request)) = operation.handle.take() else {
            return false;
        };
        match request.cancel() {
            Ok(memory) => {
                let is_untouched = memory.iter().all(|&byte| byte == UNTOUCHED);
                assert!(is_untouched, "{:?}", self.rank.record.receives[receive]);
                memory.fill(RETURNED);
                self.rank.forget_lent(receive);
                self.rank.record.end(receive, Outcome::Cancelled);
                let operation = self.operations.swap_remove(at);
                self.over.push(operation.id);
                true
            }
            Err(request) => {
                operation.handle = Some(Handle::Written(request));
                operation.will_end = true;
                false
            }
        }
    }

    /// An operation whose handle is gone and whose result is known.
    pub(crate) fn has_been_seen(&mut self, at: usize) {
        let operation = self.operations.swap_remove(at);
        self.over.push(operation.id);
        self.unseen.push(operation.into_unseen());
    }

    /// The scope has reported what became of an operation.
    pub(crate) fn report(&mut self, completion: Completion) {
        let id = completion.id();
        let is_it = |operation: &Operation<'_>| operation.id == id;
        let at = self.operations.iter().position(is_it);
        let at = at.unwrap_or_else(|| panic!("the scope has no {id:?}"));
        let result = completion.into_result();
        let operation = &mut self.operations[at];
        assert!(operation.result.is_none(), "reported twice");
        match (operation.what, &result) {
            (What::Send(number), _) => {
                let bytes = self.rank.plan.messages[number].bytes;
                self.rank.sent(number, &bytes_of(number, bytes), &result);
            }
            (What::Receive(receive), Ok(status)) => {
                self.rank.forget_lent(receive);
                self.rank.took(receive, Envelope::from(*status), &[]);
            }
            (
                What::Receive(receive),
                &Err(Error::Truncated {
                    from, tag, sent, ..
                }),
            ) => {
                self.rank.forget_lent(receive);
                let bytes = sent;
                self.rank.took(receive, Envelope { from, tag, bytes }, &[]);
            }
            (What::Receive(receive), Err(_)) => self.rank.forget_lent(receive),
        }
        let operation = &mut self.operations[at];
        operation.result = Some(result);
        if operation.handle.is_none() {
            self.has_been_seen(at);
        }
    }
}

impl Operation<'_> {
    pub(crate) fn into_unseen(self) -> Unseen {
        Unseen {
            what: self.what,
            at: self.at,
            result: self.result,
            fails: self.fails,
        }
    }
}
