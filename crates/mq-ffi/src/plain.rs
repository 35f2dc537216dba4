//! The steps of engines that are neither watched nor limited: straight from the caller's words to the
//! structure and back.
//!
//! Each step is compiled together with each structure's own code, so that a pattern is made where it is
//! compared, and an answer is written where it is found. If a small struct passes through memory in
//! between, it is written in pieces and read whole, and the processor waits for that longer than a short
//! search takes.
//!
//! A step has two forms: `on` queues of one structure, and `of` an engine, after all checks, on whichever
//! queues the engine has for it.

use core::ffi::{c_int, c_void};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::QueuesVisitor;
use mq_core::{Arrive, Engine, MatchQueues, Post, Rank, Source};

use crate::boundary::write;
use crate::matching::{Message, Queues};
use crate::operations::show_message;
use crate::status::{MQ_ERR_ARGUMENT, MQ_ERR_RANK, MQ_MATCHED, MQ_NONE, status_of};
use crate::types::{
    MQ_ANY_SOURCE, MQ_ANY_TAG, mq_envelope, mq_handle, mq_message_handle, mq_pattern,
};

/// Where a call writes what it found.
#[derive(Clone, Copy)]
pub(crate) struct Outputs {
    pub(crate) message: *mut *mut c_void,
    pub(crate) envelope: *mut mq_envelope,
}

/// A receive's queues, after its checks.
#[inline(always)]
fn for_receive<'a>(
    engine: &'a mut Engine<Queues>,
    wanted: &mq_pattern,
) -> Result<&'a mut Queues, c_int> {
    let source = match wanted.source {
        MQ_ANY_SOURCE => Source::Any,
        rank => Source::Rank(Rank(u32::try_from(rank).map_err(|_| MQ_ERR_RANK)?)),
    };
    if wanted.tag == MQ_ANY_TAG && wanted.ignore != 0 {
        return Err(MQ_ERR_ARGUMENT);
    }
    let any_tag = wanted.tag == MQ_ANY_TAG || wanted.ignore != 0;
    let queues = engine.queues_for_receive(wanted.context, source, any_tag);
    queues.map_err(status_of)
}

/// A message's queues, after its checks.
#[inline(always)]
fn for_message<'a>(
    engine: &'a mut Engine<Queues>,
    carried: &mq_envelope,
) -> Result<&'a mut Queues, c_int> {
    let source = u32::try_from(carried.source).map_err(|_| MQ_ERR_RANK)?;
    engine
        .queues_for_message(carried.context, source)
        .map_err(status_of)
}

/// What the caller says, to be checked before anything is done with it.
pub(crate) trait Checked {
    /// What a step would check.
    ///
    /// # Errors
    /// The status that the step would return.
    fn check(&self, engine: &mut Engine<Queues>) -> Result<(), c_int>;
}

impl Checked for mq_pattern {
    fn check(&self, engine: &mut Engine<Queues>) -> Result<(), c_int> {
        for_receive(engine, self)?;
        self.read().map(drop)
    }
}

impl Checked for mq_envelope {
    fn check(&self, engine: &mut Engine<Queues>) -> Result<(), c_int> {
        for_message(engine, self)?;
        self.read().map(drop)
    }
}

/// Defines a step: on queues of one structure, and on those that the engine has for it.
macro_rules! step {
    ($name:ident($queues:ident, $what:ident: $read:ty $(, $field:ident: $type:ty)*) $body:block
     from $raw:ty, by $find:path) => {
        pub(crate) mod $name {
            use super::*;

            /// The step, on queues of one structure.
            ///
            /// # Safety
            /// The outputs are null or valid for a write.
            #[inline(always)]
            pub(crate) unsafe fn on<Q>($queues: &mut Q, $what: $read $(, $field: $type)*) -> c_int
            where
                Q: MatchQueues<Pattern = MpiPattern, Receive = *mut c_void, Message = Message>,
            $body

            /// The step, on the queues that the engine has for it.
            ///
            /// # Errors
            /// A status; nothing has changed.
            ///
            /// # Safety
            /// As for [`on`].
            #[inline(always)]
            pub(crate) unsafe fn of(
                engine: &mut Engine<Queues>,
                $what: &$raw
                $(, $field: $type)*
            ) -> Result<c_int, c_int> {
                struct Step<'a> { $what: &'a $raw $(, $field: $type)* }

                impl QueuesVisitor<MpiPattern, *mut c_void, Message> for Step<'_> {
                    type Output = Result<c_int, c_int>;

                    #[inline(always)]
                    fn visit<Q>(self, queues: &mut Q) -> Self::Output
                    where
                        Q: MatchQueues<Pattern = MpiPattern, Receive = *mut c_void, Message = Message>,
                    {
                        let $what = self.$what.read()?;
                        // SAFETY: as required of the caller of `of`.
                        Ok(unsafe { on(queues, $what $(, self.$field)*) })
                    }
                }

                $find(engine, $what)?.with(Step { $what $(, $field)* })
            }
        }
    };
}

step! {
    post(queues, wanted: MpiPattern, receive: *mut c_void, handle: *mut mq_handle, out: Outputs) {
        match queues.post(wanted, receive) {
            Post::Queued(queued) => {
                // SAFETY: as required of the caller.
                unsafe { write(handle, mq_handle::of(queued)) };
                MQ_NONE
            }
            Post::Matched { envelope, message, .. } => {
                let taken = (envelope, message.cookie);
                // SAFETY: as required of the caller.
                unsafe { show_message(out.message, out.envelope, &taken) }
            }
        }
    }
    from mq_pattern, by for_receive
}

step! {
    arrive(queues, carried: MpiEnvelope, message: Message, receive: *mut *mut c_void) {
        match queues.arrive(carried, message) {
            Arrive::Unexpected => MQ_NONE,
            Arrive::Matched { receive: matched, .. } => {
                // SAFETY: as required of the caller.
                unsafe { write(receive, matched) };
                MQ_MATCHED
            }
        }
    }
    from mq_envelope, by for_message
}

step! {
    extract(queues, wanted: MpiPattern, out: Outputs) {
        match queues.extract(&wanted) {
            None => MQ_NONE,
            Some((envelope, message)) => {
                let taken = (envelope, message.cookie);
                // SAFETY: as required of the caller.
                unsafe { show_message(out.message, out.envelope, &taken) }
            }
        }
    }
    from mq_pattern, by for_receive
}

step! {
    find(queues, wanted: MpiPattern, found: *mut mq_message_handle, out: Outputs) {
        match queues.find(&wanted) {
            None => MQ_NONE,
            Some((name, envelope, message)) => {
                let seen = (envelope, message.cookie);
                // SAFETY: as required of the caller.
                unsafe { write(found, mq_message_handle::of(name)) };
                // SAFETY: as above.
                unsafe { show_message(out.message, out.envelope, &seen) }
            }
        }
    }
    from mq_pattern, by for_receive
}

step! {
    deliver(queues, carried: MpiEnvelope, receive: *mut *mut c_void) {
        match queues.deliver(&carried) {
            None => MQ_NONE,
            Some((_, matched)) => {
                // SAFETY: as required of the caller.
                unsafe { write(receive, matched) };
                MQ_MATCHED
            }
        }
    }
    from mq_envelope, by for_message
}

step! {
    queue_receive(queues, wanted: MpiPattern, receive: *mut c_void, handle: *mut mq_handle) {
        let queued = queues.queue_receive(wanted, receive);
        // SAFETY: as required of the caller.
        unsafe { write(handle, mq_handle::of(queued)) };
        MQ_NONE
    }
    from mq_pattern, by for_receive
}

step! {
    queue_message(queues, carried: MpiEnvelope, message: Message, queued: *mut mq_message_handle) {
        let name = queues.queue_message(carried, message);
        // SAFETY: as required of the caller.
        unsafe { write(queued, mq_message_handle::of(name)) };
        MQ_NONE
    }
    from mq_envelope, by for_message
}
