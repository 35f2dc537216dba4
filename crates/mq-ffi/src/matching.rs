//! [`Matching`]: an engine's queues, and what is recorded about them, behind all calls.

mod anew;
mod counts;
mod removal;

use core::ffi::{c_int, c_void};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::AnyQueues;
use mq_core::{
    Arrive, ContextTerms, Engine, Entry, Footprint, Handle, MessageHandle, Post, Removed,
};

pub(crate) use self::removal::purge;
use crate::aliases::Aliases;
use crate::allocator;
use crate::allocator::Debt;
use crate::front;
use crate::shown::Shown;
use crate::status::{MQ_ERR_MEMORY, MQ_ERR_UNKNOWN_CONTEXT, status_of};
use crate::watch::Watch;

/// A message of the caller's, and the bytes that count against the byte budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) cookie: *mut c_void,
    pub(crate) bytes: u64,
}

pub(crate) type Queues = AnyQueues<MpiPattern, *mut c_void, Message>;
pub(crate) type EntryOf<'a> = Entry<'a, MpiPattern, *mut c_void, Message>;
pub(crate) type RemovedOf = Removed<MpiPattern, *mut c_void, Message>;

/// What waits among the posted receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Receive,
    Probe,
}

/// What posting did.
pub(crate) enum Posted {
    Queued(Handle),
    Matched(MpiEnvelope, *mut c_void),
}

/// An unexpected message: what it carries, and the caller's.
pub(crate) type Taken = (MpiEnvelope, *mut c_void);

/// An engine, with its statistics and recording if it has any.
#[derive(Debug)]
pub(crate) struct Matching {
    engine: Engine<Queues>,
    watch: Option<Box<Watch>>,
    /// Receives queued; same width as in the front. Memory runs out long before 2^32 entries.
    posted: u32,
    /// Messages queued.
    unexpected: u32,
    uses_front: bool,
    /// The number of entries that counts as few: as many as the front takes back, plus one that was just
    /// queued. 0 without a front.
    few: u8,
    /// How many entries there were when one of few was last queued, or more than that if entries have moved
    /// here since.
    few_then: u8,
    /// Whether the engine has neither watch nor budget.
    plain: bool,
    /// Memory owed to the caller's allocator.
    debt: Debt,
    pub(crate) aliases: Aliases,
    /// For the receives and the messages in the front.
    pub(crate) front_memory: [front::Memory; 2],
    /// For the front.
    pub(crate) rest: front::Rest,
}

impl Matching {
    pub(crate) fn new(
        engine: Engine<Queues>,
        watch: Option<Watch>,
        limited: bool,
        uses_front: bool,
    ) -> Self {
        let plain = watch.is_none() && !limited;
        let uses_front = uses_front && plain;
        Self {
            engine,
            uses_front,
            few: if uses_front { front::MOST_BACK + 1 } else { 0 },
            few_then: 0,
            plain,
            watch: watch.map(Box::new),
            posted: 0,
            unexpected: 0,
            debt: Debt::default(),
            aliases: Aliases::default(),
            front_memory: Default::default(),
            rest: front::Rest::default(),
        }
    }

    pub(crate) const fn may_use_front(&self) -> bool {
        self.uses_front
    }

    /// The size and the promises of a context.
    ///
    /// # Errors
    /// `MQ_ERR_UNKNOWN_CONTEXT`.
    pub(crate) fn terms(&self, context: u32) -> Result<ContextTerms, c_int> {
        self.engine.terms(context).ok_or(MQ_ERR_UNKNOWN_CONTEXT)
    }

    /// # Errors
    /// `MQ_ERR_UNKNOWN_CONTEXT`.
    pub(crate) fn check_context(&self, context: u32) -> Result<(), c_int> {
        self.terms(context).map(drop)
    }

    /// A context has another size and other promises.
    pub(crate) fn context_updated(&mut self, context: u32, group: Option<(u32, u32)>) {
        if let Some(watch) = &mut self.watch {
            let is_empty = self.engine.context_lengths(context) == Ok((0, 0));
            watch.context_updated(context, group, is_empty);
        }
    }

    /// Whether the engine has neither watch nor budget.
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }

    pub(crate) const fn engine(&self) -> &Engine<Queues> {
        &self.engine
    }

    pub(crate) const fn engine_mut(&mut self) -> &mut Engine<Queues> {
        &mut self.engine
    }

    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.watch.as_deref()
    }

    pub(crate) fn watch_mut(&mut self) -> Option<&mut Watch> {
        self.watch.as_deref_mut()
    }

    pub(crate) fn bytes(&self) -> u64 {
        let watch = self.watch.as_ref().map_or(0, |watch| watch.bytes());
        let front: usize = self.front_memory.iter().map(front::Memory::bytes).sum();
        (self.engine.memory().total() + watch + front + self.aliases.bytes()) as u64
    }
}

/// The operations. Errors are statuses; nothing has changed then.
impl Matching {
    #[inline]
    pub(crate) fn post(
        &mut self,
        pattern: MpiPattern,
        receive: *mut c_void,
    ) -> Result<Posted, c_int> {
        if self.watch.is_some() {
            return self.post_watched(pattern, receive);
        }
        let post = self.engine.post(pattern, receive);
        match post.map_err(|refused| status_of(refused.error))? {
            Post::Queued(handle) => match self.receive_queued(handle) {
                Err(_) if self.begin_anew() => {
                    let handle = self.try_queue_receive(pattern, receive, Waiting::Receive)?;
                    Ok(Posted::Queued(handle))
                }
                queued => queued.map(|()| Posted::Queued(handle)),
            },
            Post::Matched {
                envelope, message, ..
            } => {
                self.unexpected -= 1;
                Ok(Posted::Matched(envelope, message.cookie))
            }
        }
    }

    #[cold]
    fn post_watched(&mut self, pattern: MpiPattern, receive: *mut c_void) -> Result<Posted, c_int> {
        match self.extract(&pattern)? {
            Some((envelope, message)) => Ok(Posted::Matched(envelope, message)),
            None => {
                let handle = self.queue_receive(pattern, receive, Waiting::Receive)?;
                Ok(Posted::Queued(handle))
            }
        }
    }

    #[inline]
    pub(crate) fn arrive(
        &mut self,
        envelope: MpiEnvelope,
        bytes: u64,
        cookie: *mut c_void,
    ) -> Result<Option<*mut c_void>, c_int> {
        if self.watch.is_some() || allocator::is_custom() {
            return self.arrive_in_halves(envelope, bytes, cookie);
        }
        let arrival = self.engine.arrive(envelope, Message { cookie, bytes });
        match arrival.map_err(|refused| status_of(refused.error))? {
            Arrive::Unexpected => {
                self.unexpected += 1;
                Ok(None)
            }
            Arrive::Matched { receive, .. } => {
                self.posted -= 1;
                Ok(Some(receive))
            }
        }
    }

    #[cold]
    fn arrive_in_halves(
        &mut self,
        envelope: MpiEnvelope,
        bytes: u64,
        cookie: *mut c_void,
    ) -> Result<Option<*mut c_void>, c_int> {
        let receive = self.deliver(&envelope)?;
        if receive.is_none() {
            self.queue_message(envelope, bytes, cookie)?;
        }
        Ok(receive)
    }

    #[inline]
    pub(crate) fn extract(&mut self, pattern: &MpiPattern) -> Result<Option<Taken>, c_int> {
        let taken = match &mut self.watch {
            None => self.engine.extract(pattern).map_err(status_of)?,
            Some(watch) => watch.extract(&mut self.engine, pattern)?,
        };
        self.unexpected -= u32::from(taken.is_some());
        Ok(taken.map(|(envelope, message)| (envelope, message.cookie)))
    }

    #[inline]
    pub(crate) fn find(
        &mut self,
        pattern: &MpiPattern,
    ) -> Result<Option<(MessageHandle, Taken)>, c_int> {
        let found = match &mut self.watch {
            None => self.engine.find(pattern).map_err(status_of)?,
            Some(watch) => return watch.find(&mut self.engine, pattern),
        };
        Ok(found.map(|(name, envelope, message)| (name, (envelope, message.cookie))))
    }

    #[inline]
    pub(crate) fn take(&mut self, message: MessageHandle) -> Option<Taken> {
        let message = self.aliases.message(message)?;
        let taken = match &mut self.watch {
            None => self.engine.take(message),
            Some(watch) => watch.take(&mut self.engine, message),
        };
        let (envelope, message) = taken?;
        self.unexpected -= 1;
        Some((envelope, message.cookie))
    }

    #[inline]
    pub(crate) fn deliver(&mut self, envelope: &MpiEnvelope) -> Result<Option<*mut c_void>, c_int> {
        let delivered = match &mut self.watch {
            None => self.engine.deliver(envelope).map_err(status_of)?,
            Some(watch) => watch.deliver(&mut self.engine, envelope)?,
        };
        self.posted -= u32::from(delivered.is_some());
        Ok(delivered.map(|(_, receive)| receive))
    }

    #[inline]
    pub(crate) fn queue_receive(
        &mut self,
        pattern: MpiPattern,
        receive: *mut c_void,
        waiting: Waiting,
    ) -> Result<Handle, c_int> {
        match self.try_queue_receive(pattern, receive, waiting) {
            Err(MQ_ERR_MEMORY) if self.begin_anew() => {
                self.try_queue_receive(pattern, receive, waiting)
            }
            queued => queued,
        }
    }

    #[inline]
    fn try_queue_receive(
        &mut self,
        pattern: MpiPattern,
        receive: *mut c_void,
        waiting: Waiting,
    ) -> Result<Handle, c_int> {
        let (engine, debt) = (&mut self.engine, &mut self.debt);
        let handle = match &mut self.watch {
            None => engine.queue_receive(pattern, receive),
            Some(watch) => {
                let handle = watch.queue_receive(engine, pattern, receive, waiting, debt)?;
                self.posted += 1;
                return Ok(handle);
            }
        };
        let handle = handle.map_err(|refused| status_of(refused.error))?;
        self.receive_queued(handle)?;
        Ok(handle)
    }

    #[inline]
    pub(crate) fn queue_message(
        &mut self,
        envelope: MpiEnvelope,
        bytes: u64,
        cookie: *mut c_void,
    ) -> Result<MessageHandle, c_int> {
        match self.try_queue_message(envelope, bytes, cookie) {
            Err(MQ_ERR_MEMORY) if self.begin_anew() => {
                self.try_queue_message(envelope, bytes, cookie)
            }
            queued => queued,
        }
    }

    #[inline]
    fn try_queue_message(
        &mut self,
        envelope: MpiEnvelope,
        bytes: u64,
        cookie: *mut c_void,
    ) -> Result<MessageHandle, c_int> {
        let message = Message { cookie, bytes };
        let (engine, debt) = (&mut self.engine, &mut self.debt);
        let name = match &mut self.watch {
            None => engine
                .queue_message(envelope, message)
                .map_err(|refused| status_of(refused.error))?,
            Some(watch) => {
                let name = watch.queue_message(engine, envelope, message, debt)?;
                self.unexpected += 1;
                return Ok(name);
            }
        };
        self.unexpected += 1;
        if self.debt.reckon() {
            self.take(name);
            return Err(MQ_ERR_MEMORY);
        }
        Ok(name)
    }

    /// Queues a receive that the engine already owns: a refusal of memory is no reason to lose it.
    pub(crate) fn move_in_receive(
        &mut self,
        pattern: MpiPattern,
        receive: *mut c_void,
    ) -> Result<Handle, c_int> {
        let queued = self.engine.queue_receive(pattern, receive);
        if queued.is_ok() {
            self.posted += 1;
            self.few_then = u8::MAX;
        }
        queued.map_err(|refused| status_of(refused.error))
    }

    /// Queues a message that the engine already owns.
    pub(crate) fn move_in_message(
        &mut self,
        envelope: MpiEnvelope,
        bytes: u64,
        cookie: *mut c_void,
    ) -> Result<MessageHandle, c_int> {
        let queued = self
            .engine
            .queue_message(envelope, Message { cookie, bytes });
        if queued.is_ok() {
            self.unexpected += 1;
            self.few_then = u8::MAX;
        }
        queued.map_err(|refused| status_of(refused.error))
    }

    /// What the caller's allocator has refused for entries that moved in is owed for.
    pub(crate) fn owe_refusals(&mut self) {
        self.debt.add_refusals();
    }

    #[inline]
    fn receive_queued(&mut self, handle: Handle) -> Result<(), c_int> {
        self.posted += 1;
        if self.debt.reckon() {
            self.cancel(handle);
            return Err(MQ_ERR_MEMORY);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<*mut c_void> {
        let handle = self.aliases.receive(handle)?;
        let cancelled = match &mut self.watch {
            None => self.engine.cancel(handle),
            Some(watch) => watch.cancel(&mut self.engine, handle),
        };
        self.posted -= u32::from(cancelled.is_some());
        cancelled
    }

    /// Shows every entry, a receive by its name in the queues.
    pub(crate) fn visit(&self, visitor: &mut dyn FnMut(Shown)) {
        match &self.watch {
            None => self.engine.visit(&mut |entry| visitor(Shown::of(&entry))),
            Some(watch) => self.engine.visit(&mut |entry| visitor(watch.shown(&entry))),
        }
    }
}
