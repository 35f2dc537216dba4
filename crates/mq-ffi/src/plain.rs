//! The steps of engines that nobody watches or limits: straight from the caller's words to the
//! structure and back.
//!
//! Each step is compiled together with each structure's own code, so that a pattern is made where
//! it is compared, and an answer is written where it is found. Passed through memory in between, a
//! small struct is written in pieces and read whole, and the processor waits longer for that than a
//! short search takes.

use core::ffi::{c_int, c_void};

use mq_core::mpi::MpiPattern;
use mq_core::structures::QueuesVisitor;
use mq_core::{Arrive, MatchQueues, Post, Rank, Source};

use crate::gate::write;
use crate::matching::{Message, Queues};
use crate::operations::show_message;
use crate::status::{MQ_ERR_ARGUMENT, MQ_ERR_RANK, MQ_MATCHED, MQ_NONE, of};
use crate::types::{
    MQ_ANY_SOURCE, MQ_ANY_TAG, mq_envelope, mq_handle, mq_message_handle, mq_pattern,
};
use mq_core::Engine;

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
    queues.map_err(of)
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
        .map_err(of)
}

/// Makes a visitor of a struct and the body of its step.
macro_rules! step {
    ($name:ident { $($field:ident: $type:ty),* }, $self:ident, $queues:ident => $body:expr) => {
        struct $name<'a> { $($field: $type,)* what: core::marker::PhantomData<&'a ()> }

        impl QueuesVisitor<MpiPattern, *mut c_void, Message> for $name<'_> {
            type Output = Result<c_int, c_int>;

            #[inline(always)]
            fn visit<Q>($self, $queues: &mut Q) -> Self::Output
            where
                Q: MatchQueues<Pattern = MpiPattern, Receive = *mut c_void, Message = Message>,
            {
                $body
            }
        }
    };
}

step!(PostStep { wanted: &'a mq_pattern, receive: *mut c_void, handle: *mut mq_handle, out: Outputs },
self, queues => match queues.post(self.wanted.read()?, self.receive) {
    Post::Queued(queued) => {
        // SAFETY: as required of the caller of `post`.
        unsafe { write(self.handle, mq_handle::of(queued)) };
        Ok(MQ_NONE)
    }
    Post::Matched { envelope, message, .. } => {
        let taken = (envelope, message.cookie);
        // SAFETY: as required of the caller of `post`.
        Ok(unsafe { show_message(self.out.message, self.out.envelope, &taken) })
    }
});

/// `mq_post`.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn post(
    engine: &mut Engine<Queues>,
    wanted: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
    out: Outputs,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_receive(engine, wanted)?.with(PostStep {
        wanted,
        receive,
        handle,
        out,
        what,
    })
}

step!(ArriveStep { carried: &'a mq_envelope, message: Message, receive: *mut *mut c_void },
self, queues => match queues.arrive(self.carried.read()?, self.message) {
    Arrive::Unexpected => Ok(MQ_NONE),
    Arrive::Matched { receive, .. } => {
        // SAFETY: as required of the caller of `arrive`.
        unsafe { write(self.receive, receive) };
        Ok(MQ_MATCHED)
    }
});

/// `mq_arrive`.
///
/// # Safety
/// `receive` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn arrive(
    engine: &mut Engine<Queues>,
    carried: &mq_envelope,
    message: Message,
    receive: *mut *mut c_void,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_message(engine, carried)?.with(ArriveStep {
        carried,
        message,
        receive,
        what,
    })
}

step!(ExtractStep { wanted: &'a mq_pattern, out: Outputs },
self, queues => match queues.extract(&self.wanted.read()?) {
    None => Ok(MQ_NONE),
    Some((envelope, message)) => {
        let taken = (envelope, message.cookie);
        // SAFETY: as required of the caller of `extract`.
        Ok(unsafe { show_message(self.out.message, self.out.envelope, &taken) })
    }
});

/// `mq_extract`.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn extract(
    engine: &mut Engine<Queues>,
    wanted: &mq_pattern,
    out: Outputs,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_receive(engine, wanted)?.with(ExtractStep { wanted, out, what })
}

step!(FindStep { wanted: &'a mq_pattern, found: *mut mq_message_handle, out: Outputs },
self, queues => match queues.find(&self.wanted.read()?) {
    None => Ok(MQ_NONE),
    Some((name, envelope, message)) => {
        let seen = (envelope, message.cookie);
        // SAFETY: as required of the caller of `find`.
        unsafe { write(self.found, mq_message_handle::of(name)) };
        // SAFETY: as above.
        Ok(unsafe { show_message(self.out.message, self.out.envelope, &seen) })
    }
});

/// `mq_find`.
///
/// # Safety
/// The outputs are null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn find(
    engine: &mut Engine<Queues>,
    wanted: &mq_pattern,
    found: *mut mq_message_handle,
    out: Outputs,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_receive(engine, wanted)?.with(FindStep {
        wanted,
        found,
        out,
        what,
    })
}

step!(DeliverStep { carried: &'a mq_envelope, receive: *mut *mut c_void },
self, queues => match queues.deliver(&self.carried.read()?) {
    None => Ok(MQ_NONE),
    Some((_, receive)) => {
        // SAFETY: as required of the caller of `deliver`.
        unsafe { write(self.receive, receive) };
        Ok(MQ_MATCHED)
    }
});

/// `mq_deliver`.
///
/// # Safety
/// `receive` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn deliver(
    engine: &mut Engine<Queues>,
    carried: &mq_envelope,
    receive: *mut *mut c_void,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_message(engine, carried)?.with(DeliverStep {
        carried,
        receive,
        what,
    })
}

step!(QueueReceiveStep { wanted: &'a mq_pattern, receive: *mut c_void, handle: *mut mq_handle },
self, queues => {
    let queued = queues.queue_receive(self.wanted.read()?, self.receive);
    // SAFETY: as required of the caller of `queue_receive`.
    unsafe { write(self.handle, mq_handle::of(queued)) };
    Ok(MQ_NONE)
});

/// `mq_queue_receive`.
///
/// # Safety
/// `handle` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn queue_receive(
    engine: &mut Engine<Queues>,
    wanted: &mq_pattern,
    receive: *mut c_void,
    handle: *mut mq_handle,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_receive(engine, wanted)?.with(QueueReceiveStep {
        wanted,
        receive,
        handle,
        what,
    })
}

step!(QueueMessageStep { carried: &'a mq_envelope, message: Message, queued: *mut mq_message_handle },
self, queues => {
    let name = queues.queue_message(self.carried.read()?, self.message);
    // SAFETY: as required of the caller of `queue_message`.
    unsafe { write(self.queued, mq_message_handle::of(name)) };
    Ok(MQ_NONE)
});

/// `mq_queue_message`.
///
/// # Safety
/// `queued` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn queue_message(
    engine: &mut Engine<Queues>,
    carried: &mq_envelope,
    message: Message,
    queued: *mut mq_message_handle,
) -> Result<c_int, c_int> {
    let what = core::marker::PhantomData;
    for_message(engine, carried)?.with(QueueMessageStep {
        carried,
        message,
        queued,
        what,
    })
}
