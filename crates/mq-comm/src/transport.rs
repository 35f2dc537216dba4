//! What the protocol needs of a transport.
//!
//! A transport moves messages of any length between numbered processes, in the order in which each
//! sends them, and offers ways for large ones; it knows nothing of communicators, tags or requests.
//! [`mq_shm::Endpoint`] is the first implementation.
//!
//! A transport of another kind has what `Transport` requires and leaves the rest to the default methods: no shared
//! buffers, no looks at messages where they lie. Those need [`Block`]s and [`Peeked`] messages, which only an
//! endpoint makes, and a wait that adapts needs its [`Idle`]; so they are for transports that hand on to one.

mod shm;

use core::time::Duration;

use mq_shm::channel::Counters;
use mq_shm::liveness::Gone;
use mq_shm::wait::Idle;
use mq_shm::{
    Block, Copied, Peeked, Process, Pulled, Pushed, Remote, RingId, Sent, ShmError, Stretch,
};

/// A message, or a part of one, in the transport's memory, which the transport gets back when this is
/// dropped. A message that is forgotten instead is found again.
pub trait Arrived {
    /// The sender.
    fn source(&self) -> Process;
    /// The header that the sender gave it.
    fn header(&self) -> [u64; 2];
    /// Bytes of the whole message.
    fn total(&self) -> u64;
    /// Bytes of the message in parts that came before this one.
    fn offset(&self) -> u64;
    /// Bytes here.
    fn bytes(&self) -> usize;
    /// Copies the bytes here into a buffer, as many as it has room for; returns how many.
    fn copy_to(&mut self, into: &mut [u8]) -> usize;
}

/// Who polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caller {
    /// One that wants to know what has come by now.
    Asks,
    /// One that will poll again until something has come.
    Waits,
}

/// What a poll has found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<A> {
    /// A message, or the next part of one.
    Message(A),
    /// A process has ended, and everything that it had sent has been received.
    Gone(Process, Gone),
}

/// A way to send to and receive from other processes, for one thread at a time.
///
/// # Contract
/// What one process sends to another arrives in order, and a message's parts arrive with nothing between
/// them. After [`Event::Gone`] nothing more comes from that process.
///
/// # Safety
/// The library lends users' memory to the transport for the time of a call, and lends users the memory that
/// the transport [allocates](Self::allocate). So a block has at least the bytes asked for, is nobody else's,
/// and exists as long as both the transport and the block do; and no operation touches memory that was lent
/// to an earlier one, nor lets others do so, except that others may read what is [exposed](Self::expose).
#[allow(unsafe_code, reason = "shared buffers are made of its blocks")]
pub unsafe trait Transport {
    /// A message in its memory.
    type Arrived<'a>: Arrived
    where
        Self: 'a;
    /// A message in its memory that is short and whole.
    type Short<'a>: Arrived
    where
        Self: 'a;

    /// Which process this is.
    fn me(&self) -> Process;

    /// How many processes there are.
    fn processes(&self) -> u32;

    /// Sends a message, or what is left of a message of which `done` bytes have been sent. Where there is no room
    /// at present, `Upto(done)` says so at once, and the caller tries again, after it has received for a while.
    ///
    /// # Errors
    /// [`ShmError::Gone`] if the receiver has ended.
    fn try_send(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        done: usize,
    ) -> Result<Sent, ShmError>;

    /// The next message or death, if there is one. What is not [wanted](Self::want) may be left where it is in some of
    /// the polls of a caller that waits.
    ///
    /// # Errors
    /// If the transport is damaged.
    fn poll(&mut self, caller: Caller) -> Result<Option<Event<Self::Arrived<'_>>>, ShmError>;

    // Waiting.

    /// Passes time after a poll that found nothing; checks for deaths now and then.
    ///
    /// # Errors
    /// If the transport is damaged.
    fn rest(&mut self, idle: &mut Idle) -> Result<(), ShmError>;

    /// [`rest`](Self::rest) of a caller that waits no longer than this.
    ///
    /// # Errors
    /// If the transport is damaged.
    fn rest_within(&mut self, idle: &mut Idle, _longest: Duration) -> Result<(), ShmError> {
        self.rest(idle)
    }

    /// [`rest`](Self::rest) while bytes may come that do not always wake this process: sleeps late, and briefly.
    ///
    /// # Errors
    /// If the transport is damaged.
    fn rest_briefly(&mut self, idle: &mut Idle) -> Result<(), ShmError>;

    /// After a poll that found nothing, of a caller that does not wait, but will poll again: lets others have the
    /// core now and then, if they may need it.
    fn give_way(&mut self, _idle: &mut Idle) {}

    /// Messages from this process, or from any, are waited for.
    ///
    /// # Errors
    /// If there is no such process.
    fn want(&mut self, process: Option<Process>) -> Result<(), ShmError>;

    /// Cancels one [`want`](Self::want).
    fn unwant(&mut self, process: Option<Process>);

    // Ends of processes.

    /// Looks for processes that have ended; returns how many it found.
    ///
    /// # Errors
    /// If the transport is damaged.
    fn check_peers(&mut self) -> Result<usize, ShmError>;

    /// Whether it has found an end that [`poll`](Self::poll) has not reported yet.
    fn has_ends_to_report(&self) -> bool {
        false
    }

    /// This process has failed: when the transport ends, the others are told that the process has died, not
    /// that it has left.
    fn fail(&mut self);

    // Short ways to a message that somebody waits for.

    /// A message from a process whose messages are [wanted](Self::want), if that is quicker than everything
    /// that a [`poll`](Self::poll) looks at.
    fn poll_wanted(&mut self) -> Option<Self::Short<'_>> {
        None
    }

    /// A [`poll_wanted`](Self::poll_wanted) that alternates between the processes whose messages are wanted.
    fn poll_wanted_by_turns(&mut self) -> Option<Self::Short<'_>> {
        self.poll_wanted()
    }

    /// A message from the process that the last one was from, if that is quicker still than
    /// [`poll_wanted`](Self::poll_wanted); its messages are wanted as they were then.
    fn poll_again(&mut self, _from: Process) -> Option<Self::Short<'_>> {
        self.poll_wanted()
    }

    /// After a [`poll_wanted`](Self::poll_wanted) that found nothing: looks there a few more times, if that
    /// is quicker than a [`poll`](Self::poll); returns whether `poll_wanted` will find something now.
    fn watch_wanted(&self, _idle: &mut Idle) -> bool {
        false
    }

    /// The next message from a process whose messages are wanted, if it is whole. It stays where it is.
    fn peek_wanted(&mut self) -> Option<Peeked> {
        None
    }

    /// Whether a message that was peeked at is still the next one of its sender.
    fn is_due(&self, _peeked: Peeked) -> bool {
        false
    }

    /// [`watch_wanted`](Self::watch_wanted) for [`peek_wanted`](Self::peek_wanted).
    fn watch_to_peek(&self, _idle: &mut Idle) -> bool {
        false
    }

    // Reading another process's memory.

    /// Where bytes of this process are, so that another can [read](Self::read) them.
    fn expose(&self, bytes: &[u8]) -> Remote;

    /// Reads bytes that another process has exposed. With `asks`, it may send `from` a message with this
    /// header, whose eight bytes are for [`help`](Self::help) there, so that `from` copies a part meanwhile.
    ///
    /// # Errors
    /// If there is no such process.
    ///
    /// # Safety
    /// As for [`Endpoint::read`](mq_shm::Endpoint::read).
    #[allow(unsafe_code, reason = "callers vouch for what the other end says")]
    unsafe fn read(
        &mut self,
        from: Process,
        remote: Remote,
        into: &mut [u8],
        asks: Option<[u64; 2]>,
    ) -> Result<Copied, ShmError>;

    /// Whether it ever asks senders for that.
    fn may_ask_for_help(&self) -> bool {
        false
    }

    /// Copies a part of a message into the memory of its receiver, which asked for it with these bytes;
    /// returns how many bytes it copied, if the receiver was still waiting.
    ///
    /// # Errors
    /// If there is no such process.
    fn help(&mut self, _to: Process, _message: &[u8], _asked: [u8; 8]) -> Result<usize, ShmError> {
        Ok(0)
    }

    /// From now on nothing that was or will be [exposed](Self::expose) is read, except by a read that has begun, and
    /// what was allocated is [kept](Self::keep_buffers).
    fn hide_memory(&self);

    // Shared buffers.

    /// Memory out of which the others can [read](Self::read) messages with one plain copy. A transport that
    /// has none returns an error.
    ///
    /// # Errors
    /// [`ShmError::NoBuffer`]; [`ShmError::NoMemory`].
    fn allocate(&mut self, bytes: usize) -> Result<Block, ShmError> {
        let (longest, all) = (0, 0);
        Err(ShmError::NoBuffer {
            bytes,
            longest,
            all,
        })
    }

    /// This process leaves, and others cannot be asked whether they still read it: nothing that was
    /// [allocated](Self::allocate) is given back any more, and nothing else is read, except by a read that has begun.
    fn keep_buffers(&self) {}

    // Rings, for what cannot be read.

    /// A ring of buffers for this many bytes to another process, and the number of its first buffer, if there
    /// is one. All of the bytes are then to be pushed and pulled; those of later messages wait for them.
    ///
    /// # Errors
    /// [`ShmError::Gone`] if the receiver has ended; [`ShmError::NoMemory`].
    fn take_ring(&mut self, to: Process, bytes: usize) -> Result<Option<(RingId, u64)>, ShmError>;

    /// [`take_ring`](Self::take_ring), if a ring to that process has room for all of the bytes now.
    fn take_ring_with_room(&mut self, _to: Process, _bytes: usize) -> Option<(RingId, u64)> {
        None
    }

    /// A ring of this process for this many bytes *from* another, if there is a suitable one and no message to
    /// that process waits for one. The other process has to be told: all of the bytes are to be pushed and
    /// pulled.
    fn lend_ring(&mut self, _from: Process, _bytes: usize) -> Option<(RingId, u64)> {
        None
    }

    /// Whether a ring that has led to another process is empty, and another is free: so that it can be lent.
    fn has_ring_to_lend(&self, _other: Process) -> bool {
        false
    }

    /// Fills the empty buffers of a ring with `message` from byte `done` on.
    ///
    /// # Errors
    /// [`ShmError::Gone`] if the receiver has ended.
    fn push(&mut self, stretch: Stretch, message: &[u8], done: usize) -> Result<Pushed, ShmError>;

    /// Empties the buffers of a ring that another process has filled, into `into` from byte `done` on.
    ///
    /// # Errors
    /// If there is no such ring.
    fn pull(
        &mut self,
        from: Process,
        stretch: Stretch,
        into: &mut [u8],
        done: usize,
    ) -> Result<Pulled, ShmError>;

    /// Empties the buffers of a ring without reading them, from byte `done` of a message of `bytes` bytes on.
    ///
    /// # Errors
    /// If there is no such ring.
    fn pass(
        &mut self,
        from: Process,
        stretch: Stretch,
        bytes: usize,
        done: usize,
    ) -> Result<Pulled, ShmError>;

    /// Reclaims a ring of this process if it is empty; returns whether it is free.
    fn free_ring(&mut self, ring: RingId) -> bool;

    // Figures.

    /// What it has sent, and through which buffers, if it counts that.
    fn counters(&self) -> Option<&Counters> {
        None
    }
}
