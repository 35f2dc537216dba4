//! [`Watch`]: what is recorded about an engine, if anything is.
//!
//! Receives and messages get numbers, kept in separate tables: the queues hold an index in place of
//! the caller's cookie, so unwatched engines carry nothing of this.

mod recording;
mod removal;
mod table;

use core::ffi::{c_int, c_void};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{Engine, Entry, Handle, MessageHandle, Queue, Visits};

use self::table::{Noted, Table};
use crate::allocator::Debt;
use crate::matching::{EntryOf, Message, Queues, Taken, Waiting};
use crate::session::{Session, Tally, mq_statistics};
use crate::shown::Shown;
use crate::status::{MQ_ERR_MEMORY, status_of};

/// Statistics and a session, for one engine.
#[derive(Debug)]
pub(crate) struct Watch {
    tally: Tally,
    session: Option<Arc<Session>>,
    receives: Table,
    messages: Table,
    contexts: HashMap<u32, Named>,
    /// A search for a message; it may be a probe or the first half of a receive.
    pending: Option<Search>,
    /// Probes in the trace that saw nothing, since a message was last queued. They would miss again, so a
    /// program that polls does not fill the trace.
    missed: HashSet<MpiPattern>,
}

/// A context as the session knows it.
#[derive(Clone, Copy, Debug)]
struct Named {
    number: u32,
    /// The communicator's size and this process's rank in it, as far as they are known.
    group: Option<(u32, u32)>,
}

#[derive(Debug)]
struct Search {
    pattern: MpiPattern,
    seen: Option<(MessageHandle, u32)>,
}

impl Watch {
    pub(crate) fn new(session: Option<Arc<Session>>) -> Self {
        Self {
            tally: Tally::default(),
            session,
            receives: Table::default(),
            messages: Table::default(),
            contexts: HashMap::new(),
            pending: None,
            missed: HashSet::new(),
        }
    }

    /// What was counted. The last search has not been counted yet; unless a receive follows, it was a
    /// probe.
    pub(crate) fn read(&self) -> mq_statistics {
        let mut counted = self.tally.read();
        counted.probes += u64::from(self.pending.is_some());
        counted
    }

    pub(crate) fn bytes(&self) -> usize {
        self.receives.bytes() + self.messages.bytes()
    }

    pub(crate) fn context_created(&mut self, context: u32, group: Option<(u32, u32)>) {
        if let Some(session) = &self.session {
            let number = session.context_created(group);
            let group = group.filter(|(size, rank)| rank < size);
            self.contexts.insert(context, Named { number, group });
        }
    }

    /// A context has another size, a size at last, or none any more. What is queued stays with the communicator that
    /// it was recorded for, so only an empty context can be another communicator from now on. One whose size is
    /// withdrawn is: the next may have the same size, or none, as between two groups.
    pub(crate) fn context_updated(
        &mut self,
        context: u32,
        group: Option<(u32, u32)>,
        is_empty: bool,
    ) {
        // A probe that has found nothing is of the communicator that the context was.
        self.settle_search();
        // As in `Recorder::context_created`: a group that is not this process's has no line.
        let group = group.filter(|(size, rank)| rank < size);
        let Some(session) = &self.session else {
            return;
        };
        let Some(named) = self.contexts.get_mut(&context) else {
            return;
        };
        match (named.group, group) {
            (None, Some(group)) => session.size_known(named.number, group),
            (Some(known), Some(group)) if known == group => return,
            _ if !is_empty => return,
            _ => {
                session.context_freed(named.number);
                named.number = session.context_created(group);
                self.missed.retain(|pattern| pattern.context().0 != context);
            }
        }
        named.group = group;
    }

    fn each_tally(&self, note: impl Fn(&Tally)) {
        note(&self.tally);
        if let Some(session) = &self.session {
            note(&session.tally);
        }
    }

    fn searched(&self, queue: Queue, visits: &Visits) {
        let visited = match queue {
            Queue::Posted => visits.posted,
            Queue::Unexpected => visits.unexpected,
        };
        self.each_tally(|tally| tally.searched(queue, visited));
    }

    fn message_left(&mut self, message: Message) -> (Message, u32) {
        let noted = self.messages.remove(message.cookie);
        self.each_tally(|tally| tally.left(Queue::Unexpected, message.bytes));
        let cookie = noted.cookie;
        (Message { cookie, ..message }, noted.number)
    }

    fn receive_left(&mut self, receive: *mut c_void) -> Noted {
        self.each_tally(|tally| tally.left(Queue::Posted, 0));
        self.receives.remove(receive)
    }

    /// A receive, or a waiting probe, was cancelled or purged; returns the caller's cookie.
    fn withdrawn(&mut self, receive: *mut c_void) -> *mut c_void {
        let noted = self.receive_left(receive);
        if !noted.probes {
            self.record_cancel(noted.number);
            self.each_tally(Tally::cancelled);
        }
        noted.cookie
    }

    pub(crate) fn extract(
        &mut self,
        engine: &mut Engine<Queues>,
        pattern: &MpiPattern,
    ) -> Result<Option<(MpiEnvelope, Message)>, c_int> {
        self.settle_search();
        let mut visits = Visits::default();
        let taken = engine
            .extract_metered(pattern, &mut visits)
            .map_err(status_of)?;
        self.searched(Queue::Unexpected, &visits);
        let Some((envelope, message)) = taken else {
            self.pending = Some(Search {
                pattern: *pattern,
                seen: None,
            });
            return Ok(None);
        };
        let (message, number) = self.message_left(message);
        self.record_receive(pattern, Some(number));
        self.each_tally(|tally| tally.received(true));
        Ok(Some((envelope, message)))
    }

    pub(crate) fn find(
        &mut self,
        engine: &mut Engine<Queues>,
        pattern: &MpiPattern,
    ) -> Result<Option<(MessageHandle, Taken)>, c_int> {
        self.settle_search();
        let mut visits = Visits::default();
        let found = engine
            .find_metered(pattern, &mut visits)
            .map_err(status_of)?;
        self.searched(Queue::Unexpected, &visits);
        let found = found.map(|(name, envelope, message)| {
            let noted = self.messages.get(message.cookie);
            (name, envelope, noted)
        });
        self.pending = Some(Search {
            pattern: *pattern,
            seen: found.map(|(name, _, noted)| (name, noted.number)),
        });
        Ok(found.map(|(name, envelope, noted)| (name, (envelope, noted.cookie))))
    }

    pub(crate) fn take(
        &mut self,
        engine: &mut Engine<Queues>,
        name: MessageHandle,
    ) -> Option<(MpiEnvelope, Message)> {
        let (envelope, message) = engine.take(name)?;
        let (message, number) = self.message_left(message);
        match self.pending.take() {
            Some(search) if search.seen.is_some_and(|(seen, _)| seen == name) => {
                self.record_receive(&search.pattern, Some(number));
                self.each_tally(|tally| tally.received(true));
            }
            other => {
                self.pending = other;
                self.settle_search();
                let stays = self.earliest_like(engine, &envelope);
                self.record_removal(&envelope, number, stays);
                self.each_tally(Tally::removed);
            }
        }
        Some((envelope, message))
    }

    pub(crate) fn deliver(
        &mut self,
        engine: &mut Engine<Queues>,
        envelope: &MpiEnvelope,
    ) -> Result<Option<(MpiPattern, *mut c_void)>, c_int> {
        self.settle_search();
        let mut visits = Visits::default();
        let taken = engine
            .deliver_metered(envelope, &mut visits)
            .map_err(status_of)?;
        self.searched(Queue::Posted, &visits);
        let Some((pattern, receive)) = taken else {
            return Ok(None);
        };
        let noted = self.receive_left(receive);
        // After a waiting probe the message goes on to the next receive, or is queued: its line is
        // still to come.
        if !noted.probes {
            self.record_message(envelope, Some(noted.number));
            self.each_tally(|tally| tally.arrived(true));
        }
        Ok(Some((pattern, noted.cookie)))
    }

    pub(crate) fn queue_receive(
        &mut self,
        engine: &mut Engine<Queues>,
        pattern: MpiPattern,
        cookie: *mut c_void,
        waiting: Waiting,
        debt: &mut Debt,
    ) -> Result<Handle, c_int> {
        // The preceding search was this receive's first half.
        let first_half = |search: &Search| search.seen.is_none() && search.pattern == pattern;
        if self.pending.as_ref().is_some_and(first_half) {
            self.pending = None;
        }
        self.settle_search();
        let index = self.receives.add(Noted {
            cookie,
            number: 0,
            probes: waiting == Waiting::Probe,
        });
        match engine.queue_receive(pattern, index) {
            // Before anything is recorded about it.
            Ok(handle) if debt.reckon() => {
                let _ = engine.cancel(handle);
                self.receives.remove(index);
                Err(MQ_ERR_MEMORY)
            }
            Ok(handle) => {
                match waiting {
                    Waiting::Receive => {
                        let number = self.record_receive(&pattern, None);
                        self.receives.set_number(index, number);
                        self.each_tally(|tally| tally.received(false));
                    }
                    // It has looked and seen nothing. The rest of its life moves nothing, and the
                    // message that it waits for may go to a receive before anybody could see it.
                    Waiting::Probe => {
                        self.record_probe(&pattern, None);
                        self.each_tally(Tally::probed);
                    }
                }
                self.each_tally(|tally| tally.queued(Queue::Posted, 0));
                Ok(handle)
            }
            Err(refused) => {
                self.receives.remove(index);
                Err(status_of(refused.error))
            }
        }
    }

    pub(crate) fn queue_message(
        &mut self,
        engine: &mut Engine<Queues>,
        envelope: MpiEnvelope,
        message: Message,
        debt: &mut Debt,
    ) -> Result<MessageHandle, c_int> {
        self.settle_search();
        let Message { cookie, bytes } = message;
        let noted = |number| Noted {
            cookie,
            number,
            probes: false,
        };
        let index = self.messages.add(noted(0));
        let stored = Message {
            cookie: index,
            bytes,
        };
        match engine.queue_message(envelope, stored) {
            Ok(name) if debt.reckon() => {
                let _ = engine.take(name);
                self.messages.remove(index);
                Err(MQ_ERR_MEMORY)
            }
            Ok(name) => {
                self.forget_missed();
                let number = self.record_message(&envelope, None);
                self.messages.set_number(index, number);
                self.each_tally(|tally| {
                    tally.arrived(false);
                    tally.queued(Queue::Unexpected, bytes);
                });
                if let Some(session) = &self.session {
                    session.check_budget();
                }
                Ok(name)
            }
            Err(refused) => {
                self.messages.remove(index);
                Err(status_of(refused.error))
            }
        }
    }

    pub(crate) fn cancel(
        &mut self,
        engine: &mut Engine<Queues>,
        handle: Handle,
    ) -> Option<*mut c_void> {
        let receive = engine.cancel(handle)?;
        self.settle_search();
        Some(self.withdrawn(receive))
    }
}

impl Watch {
    /// What the caller may see of an entry: its own cookie.
    pub(crate) fn shown(&self, entry: &EntryOf<'_>) -> Shown {
        match *entry {
            Entry::Posted(name, pattern, receive) => {
                Shown::Posted(name, pattern, self.receives.get(*receive).cookie)
            }
            Entry::Unexpected(name, envelope, message) => {
                let cookie = self.messages.get(message.cookie).cookie;
                Shown::Unexpected(name, envelope, Message { cookie, ..*message })
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.settle_search();
        if let Some(session) = &self.session {
            // Of an engine that a panic has broken, whose entries did not leave.
            session.tally.forget_queued(&self.tally);
            for named in self.contexts.values() {
                session.context_freed(named.number);
            }
        }
    }
}
