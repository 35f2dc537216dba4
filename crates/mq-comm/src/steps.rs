//! The steps of the protocol between two calls of the transport, at which a process can be made to kill
//! itself.
//!
//! With the feature `_steps`, `MQ_DIE=STEP` and `MQ_DIE=STEP:N` work for these steps as they do for those of
//! [`mq_shm`]. Without it, a step does nothing.

macro_rules! steps {
    ($($(#[$meaning:meta])* $step:ident,)*) => {
        /// Every step. Their names are what `MQ_DIE` takes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Step {
            $($(#[$meaning])* $step,)*
        }

        #[cfg(feature = "_steps")]
        impl Step {
            /// Not formatted, which would allocate in the programs that are to be stopped.
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$step => stringify!($step),)*
                }
            }
        }

        /// The names of all steps of the protocol.
        #[cfg(feature = "_steps")]
        pub const STEPS: &[&str] = &[$(stringify!($step)),*];
    };
}

steps! {
    /// A receive is in the queue, and the transport does not yet know that its message is wanted.
    ReceivePosted,
    /// A message for which no receive is posted is kept.
    MessageKept,
    /// A later part of a message has come.
    PartTaken,
    /// A message waits behind others for a cell.
    Deferred,
    /// A message that had to wait has been sent.
    Flushed,
    /// A large message is about to be announced.
    Announcing,
    /// A large message has been announced.
    Announced,
    /// An announced message has its receive, and has not been fetched yet.
    Matched,
    /// A large message has been read; its sender does not know yet.
    Fetched,
    /// A large message could not be read; its sender does not know yet.
    NotFetched,
    /// The sender knows that its buffer is free.
    BufferFree,
    /// The receiver of a large message wants a ring.
    RingAskedFor,
    /// The receiver of a large message has lent a ring.
    RingBorrowed,
    /// The sender of a large message has a ring, and has not told the receiver.
    RingFound,
    /// The sender of a large message has told the receiver which ring it has.
    RingOffered,
    /// The receiver of a large message knows its ring.
    RingKnown,
    /// A message is about to go ahead: its buffers are reserved, and the receiver does not know yet.
    GoingAhead,
    /// The receiver has been told of a message that goes ahead.
    GoneAhead,
    /// A message has come ahead without a posted receive, and its sender does not know yet.
    CameTooEarly,
    /// Too many messages are unexpected, and the sender of the last one does not know yet.
    Flooded,
    /// There is room again, and a sender that was held back does not know yet.
    FloodOver,
    /// Some of a message is in a ring.
    RingFilled,
    /// All of a message is in a ring, which is not free yet.
    RingFilledLast,
    /// Some of a message is out of a ring.
    RingEmptied,
    /// All of a message is out of a ring.
    RingEmptiedLast,
    /// An announced message is about to be withdrawn.
    Withdrawing,
    /// The receiver has given a withdrawn message up; the sender does not know yet.
    GivenUp,
    /// A barrier: a round's message is sent.
    BarrierSaid,
    /// A barrier: a round's message has come.
    BarrierHeard,
    /// A broadcast: a part has come, and has not been passed on.
    PartHeard,
    /// A broadcast: a part has been passed on to one child.
    PartPassedOn,
    /// New communicators: this rank has said what it has to say.
    NumberSaid,
    /// New communicators: rank 0 has told one other rank what they agree on.
    NumberTold,
    /// New communicators: all agree, and the communicator does not exist yet.
    NumberAgreed,
    /// An agreement: this rank's opinion has been sent to one other rank.
    OpinionSaid,
    /// An agreement: another rank's opinion has come, or never will.
    OpinionHeard,
    /// An agreement: the decision is known here, and no higher rank has it from here yet.
    Decided,
    /// An agreement: one of the higher ranks has been told.
    DecisionSaid,
    /// The live ranks have agreed on a communicator, which does not exist yet.
    RestAgreed,
    /// A communicator is over here.
    CommunicatorFreed,
    /// One of a communicator's members has been told that it is over here.
    EndSaid,
    /// A communicator is revoked, and one of its members has been told.
    RevocationSaid,
    /// A process begins to leave.
    Leaving,
    /// What others wait for has been seen through.
    SeenThrough,
}

#[cfg(not(feature = "_steps"))]
#[inline(always)]
pub(crate) fn step(_step: Step) {}

#[cfg(feature = "_steps")]
pub(crate) fn step(step: Step) {
    mq_shm::at_step(step.name());
}
