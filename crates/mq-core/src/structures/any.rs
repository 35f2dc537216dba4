//! [`AnyQueues`]: a structure chosen at run time.

use super::*;
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::{ContextId, Envelope};
use crate::handle::{Handle, MessageHandle};
use crate::memory::{Footprint, Memory};
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::queues::{
    ArriveOf, EntryOf, EnvelopeOf, FoundMessageOf, FoundReceiveOf, MatchQueues, PostOf, RemovedOf,
    Scope, TakenMessageOf,
};

macro_rules! any_queues {
    ($($variant:ident, $type:ident, $name:literal, $source:literal, $choose:literal;)*) => {
        /// Queues of the structure that [`Config::kind`] names.
        ///
        /// # Cost
        /// One branch per operation on top of the structure itself, and a call if it is not the default.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyQueues<P: Pattern, R, M> {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($type<P, R, M>),
            )*
        }

        /// Evaluates an expression for whichever structure it is.
        macro_rules! each {
            ($self:expr, $queues:ident => $body:expr) => {
                match $self { $(AnyQueues::$variant($queues) => $body,)* }
            };
        }

        impl<P: Pattern, R, M> AnyQueues<P, R, M> {
            /// Which structure it is.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$variant(_) => Kind::$variant,)* }
            }

            fn make(config: &Config) -> Self {
                match config.kind {
                    $(Kind::$variant => Self::$variant(MatchQueues::with_config(config)),)*
                }
            }

            fn scope_of_kind(config: &Config) -> Scope {
                match config.kind {
                    $(Kind::$variant => <$type<P, R, M> as MatchQueues>::scope(config),)*
                }
            }
        }
    };
}
for_each_structure!(any_queues);

/// Code for a structure that is named at run time, compiled for each structure.
///
/// [`Kind::accept`] calls it; timing loops use it to measure a structure without the branch of
/// [`AnyQueues`].
pub trait KindVisitor<P: Pattern, R, M> {
    /// The result.
    type Output;

    /// Runs with structure `Q`.
    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = P, Receive = R, Message = M> + Footprint + 'static;
}

/// [`KindVisitor`] for code that hands the queues to other threads, as a `SharedEngine` among threads is:
/// [`Kind::accept_send`] calls it.
///
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::structures::{Kind, SendKindVisitor};
/// use mq_core::shared::SharedEngine;
/// use mq_core::{ContextOptions, Footprint, MatchQueues, Post};
///
/// /// Matches with whatever structure it is, from two threads.
/// struct Messages(u64);
///
/// impl SendKindVisitor<MpiPattern, u64, u64> for Messages {
///     type Output = u64;
///
///     fn visit<Q>(self) -> u64
///     where
///         Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint + Send + 'static,
///     {
///         let engine: SharedEngine<Q> = SharedEngine::new();
///         engine.create_context(0, ContextOptions::new()).expect("it is the first");
///         std::thread::scope(|threads| {
///             threads.spawn(|| {
///                 for number in 0..self.0 {
///                     let _ = engine.arrive(MpiEnvelope::new(0, 3, 7), number).expect("no budget");
///                 }
///             });
///         });
///         let posted = (0..self.0).map(|receive| engine.post(MpiPattern::new(0, 3, 7), receive));
///         posted.filter(|posted| matches!(posted, Ok(Post::Matched { .. }))).count() as u64
///     }
/// }
///
/// let kind: Kind = "rbtree".parse()?;
/// assert_eq!(kind.accept_send(Messages(10)), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SendKindVisitor<P: Pattern, R, M> {
    /// The result.
    type Output;

    /// Runs with structure `Q`.
    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = P, Receive = R, Message = M> + Footprint + Send + 'static;
}

/// A step on queues whose structure is named at run time, compiled for each structure.
///
/// [`AnyQueues::with`] calls it. What the step prepares and what it does with the answer are compiled
/// together with the structure's code, so neither passes through memory in between.
pub trait QueuesVisitor<P: Pattern, R, M> {
    /// The result.
    type Output;

    /// Takes the step.
    fn visit<Q>(self, queues: &mut Q) -> Self::Output
    where
        Q: MatchQueues<Pattern = P, Receive = R, Message = M>;
}

impl<P: Pattern, R, M> AnyQueues<P, R, M> {
    /// Calls the visitor with the structure.
    #[inline]
    pub fn with<V: QueuesVisitor<P, R, M>>(&mut self, visitor: V) -> V::Output {
        each!(self, queues => visitor.visit(queues))
    }
}

/// The steps of structures other than the default, each kept out of the caller's code: twelve structures
/// in one function leave it no registers, and then patterns and answers go through memory.
impl<P: Pattern, R, M> AnyQueues<P, R, M> {
    #[inline(never)]
    fn post_rarer(&mut self, pattern: P, receive: R, meter: &mut impl Meter) -> PostOf<Self> {
        each!(self, queues => queues.post_metered(pattern, receive, meter))
    }

    #[inline(never)]
    fn arrive_rarer(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> ArriveOf<Self> {
        each!(self, queues => queues.arrive_metered(envelope, message, meter))
    }

    #[inline(never)]
    fn extract_rarer(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<Self>, M)> {
        each!(self, queues => queues.extract_metered(pattern, meter))
    }

    #[inline(never)]
    fn deliver_rarer(&mut self, envelope: &P::Envelope, meter: &mut impl Meter) -> Option<(P, R)> {
        each!(self, queues => queues.deliver_metered(envelope, meter))
    }
}

macro_rules! accept {
    ($($variant:ident, $type:ident, $name:literal, $source:literal, $choose:literal;)*) => {
        impl Kind {
            /// Calls the visitor with the type of this structure.
            pub fn accept<P, R, M, V>(self, visitor: V) -> V::Output
            where
                P: Pattern + 'static,
                R: 'static,
                M: 'static,
                V: KindVisitor<P, R, M>,
            {
                match self { $(Self::$variant => visitor.visit::<$type<P, R, M>>(),)* }
            }

            /// [`accept`](Self::accept) where receives and messages may be handed to other threads.
            pub fn accept_send<P, R, M, V>(self, visitor: V) -> V::Output
            where
                P: Pattern<Envelope: Envelope<Bits: Send> + Send> + Send + 'static,
                R: Send + 'static,
                M: Send + 'static,
                V: SendKindVisitor<P, R, M>,
            {
                match self { $(Self::$variant => visitor.visit::<$type<P, R, M>>(),)* }
            }
        }
    };
}
for_each_structure!(accept);

impl<P: Pattern, R, M> MatchQueues for AnyQueues<P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;

    fn with_config(config: &Config) -> Self {
        Self::make(config)
    }

    fn scope(config: &Config) -> Scope {
        Self::scope_of_kind(config)
    }

    #[inline]
    fn post_metered(&mut self, pattern: P, receive: R, meter: &mut impl Meter) -> PostOf<Self> {
        match self {
            Self::Indexed(queues) => queues.post_metered(pattern, receive, meter),
            others => others.post_rarer(pattern, receive, meter),
        }
    }

    #[inline]
    fn arrive_metered(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> ArriveOf<Self> {
        match self {
            Self::Indexed(queues) => queues.arrive_metered(envelope, message, meter),
            others => others.arrive_rarer(envelope, message, meter),
        }
    }

    fn extract_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<Self>, M)> {
        match self {
            Self::Indexed(queues) => queues.extract_metered(pattern, meter),
            others => others.extract_rarer(pattern, meter),
        }
    }

    fn deliver_metered(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<(P, R)> {
        match self {
            Self::Indexed(queues) => queues.deliver_metered(envelope, meter),
            others => others.deliver_rarer(envelope, meter),
        }
    }

    fn probe_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<Self>, &M)> {
        each!(self, queues => queues.probe_metered(pattern, meter))
    }

    fn find_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        each!(self, queues => queues.find_metered(pattern, meter))
    }

    fn find_receive_metered(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        each!(self, queues => queues.find_receive_metered(envelope, meter))
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        each!(self, queues => queues.take(message))
    }

    fn queue_receive(&mut self, pattern: P, receive: R) -> Handle {
        each!(self, queues => queues.queue_receive(pattern, receive))
    }

    fn queue_message(&mut self, envelope: EnvelopeOf<Self>, message: M) -> MessageHandle {
        each!(self, queues => queues.queue_message(envelope, message))
    }

    fn cancel(&mut self, handle: Handle) -> Option<R> {
        each!(self, queues => queues.cancel(handle))
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        each!(self, queues => queues.purge(select, back));
    }

    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        each!(self, queues => queues.visit(visitor));
    }

    fn posted_len(&self) -> usize {
        each!(self, queues => queues.posted_len())
    }

    fn unexpected_len(&self) -> usize {
        each!(self, queues => queues.unexpected_len())
    }

    fn next_sequence(&self) -> u64 {
        each!(self, queues => queues.next_sequence())
    }

    fn queued_total(&self) -> u32 {
        each!(self, queues => queues.queued_total())
    }

    fn raise_sequence(&mut self, sequence: u64) {
        each!(self, queues => queues.raise_sequence(sequence));
    }

    fn add_context(&mut self, config: &Config) {
        each!(self, queues => queues.add_context(config));
    }

    fn remove_context(&mut self, context: ContextId) {
        each!(self, queues => queues.remove_context(context));
    }

    fn update_context(&mut self, context: ContextId, config: &Config) {
        each!(self, queues => queues.update_context(context, config));
    }

    fn clear(&mut self) {
        each!(self, queues => queues.clear());
    }

    fn announce(&mut self, call: &CollectiveCall) {
        each!(self, queues => queues.announce(call));
    }
}

impl<P: Pattern, R, M> Footprint for AnyQueues<P, R, M> {
    fn memory(&self) -> Memory {
        each!(self, queues => queues.memory())
    }
}
