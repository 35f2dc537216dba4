//! The steps of the protocol between two calls of the transport, at which a process can be made to
//! kill itself.
//!
//! With the feature `steps`, `MQ_DIE=STEP` and `MQ_DIE=STEP:N` work for these steps as they do for
//! those of [`mq_shm`]. Without the feature a step is nothing.

macro_rules! steps {
    ($($(#[$meaning:meta])* $step:ident,)*) => {
        /// Every step. Their names are what `MQ_DIE` takes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Step {
            $($(#[$meaning])* $step,)*
        }

        /// The names of all steps of the protocol.
        #[cfg(feature = "steps")]
        pub const STEPS: &[&str] = &[$(stringify!($step)),*];
    };
}

steps! {
    /// A receive is in the queue, and the transport does not know that it is wanted.
    ReceivePosted,
    /// A message that nobody has asked for is kept.
    MessageKept,
    /// A later part of a message has come.
    PartTaken,
    /// A message waits behind others for a cell.
    Deferred,
    /// One that had to wait has been sent.
    Flushed,
    /// A large message is about to be announced.
    Announcing,
    /// It has been announced.
    Announced,
    /// An announced message has its receive, and is not fetched yet.
    Matched,
    /// It has been read; its sender does not know.
    Fetched,
    /// It could not be read; its sender does not know.
    NotFetched,
    /// The sender knows that its buffer is free.
    BufferFree,
    /// The receiver of a large message wants a ring.
    RingAskedFor,
    /// The receiver of a large message has lent one.
    RingBorrowed,
    /// There is one, and the receiver does not know.
    RingFound,
    /// The receiver has been told.
    RingOffered,
    /// The receiver knows.
    RingKnown,
    /// A message is about to go ahead: its buffers are promised, and the receiver does not know.
    GoingAhead,
    /// The receiver has been told.
    GoneAhead,
    /// A message has come ahead that nobody waits for, and its sender does not know.
    CameTooEarly,
    /// Some of a message is in a ring.
    RingFilled,
    /// All of it is, and the ring is not free.
    RingFilledLast,
    /// Some of a message is out of a ring.
    RingEmptied,
    /// All of it is.
    RingEmptiedLast,
    /// An announced message is about to be withdrawn.
    Withdrawing,
    /// The receiver has given it up; the sender does not know.
    GivenUp,
    /// A barrier: a round's message is sent.
    BarrierSaid,
    /// A barrier: a round's message has come.
    BarrierHeard,
    /// A broadcast: a part has come, and is passed on to nobody.
    PartHeard,
    /// A broadcast: a part is passed on to one of those below.
    PartPassedOn,
    /// New communicators: what the own rank says is said.
    NumberSaid,
    /// New communicators: rank 0 has told one of the others what they agree on.
    NumberTold,
    /// New communicators: all agree, and there is none yet.
    NumberAgreed,
    /// An agreement: the own opinion is said to one of the others.
    OpinionSaid,
    /// An agreement: one of the others' has come, or never will.
    OpinionHeard,
    /// An agreement: what is decided is known here, and no rank behind knows it from here.
    Decided,
    /// An agreement: one of those has been told.
    DecisionSaid,
    /// Those that live have agreed on a communicator, and there is none yet.
    RestAgreed,
    /// A communicator is over here.
    CommunicatorFreed,
    /// One of its members has been told so.
    EndSaid,
    /// A process begins to leave.
    Leaving,
    /// What others wait for is seen through.
    SeenThrough,
}

#[cfg(not(feature = "steps"))]
#[inline(always)]
pub(crate) fn step(_step: Step) {}

#[cfg(feature = "steps")]
pub(crate) fn step(step: Step) {
    mq_shm::at_step(&format!("{step:?}"));
}
