//! The shared memory of one machine as a transport.

use core::time::Duration;

use mq_shm::channel::Counters;
use mq_shm::segment::Memory;
use mq_shm::wait::Idle;
use mq_shm::{
    Arrival, Block, Copied, Endpoint, Incoming, Peeked, Process, Pulled, Pushed, Remote, RingId,
    Sent, ShmError, Short, Stretch,
};

use super::{Arrived, Caller, Event, Transport};

impl<M: Memory> Arrived for Incoming<'_, M> {
    #[inline(always)]
    fn source(&self) -> Process {
        Incoming::source(self)
    }

    #[inline(always)]
    fn header(&self) -> [u64; 2] {
        Incoming::header(self)
    }

    #[inline(always)]
    fn total(&self) -> u64 {
        Incoming::total(self)
    }

    #[inline(always)]
    fn offset(&self) -> u64 {
        Incoming::offset(self)
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn copy_to(&mut self, into: &mut [u8]) -> usize {
        Incoming::copy_to(self, into)
    }
}

impl Arrived for Short<'_> {
    #[inline(always)]
    fn source(&self) -> Process {
        Short::source(self)
    }

    #[inline(always)]
    fn header(&self) -> [u64; 2] {
        Short::header(self)
    }

    #[inline(always)]
    fn total(&self) -> u64 {
        self.len() as u64
    }

    #[inline(always)]
    fn offset(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn copy_to(&mut self, into: &mut [u8]) -> usize {
        Short::copy_to(self, into)
    }
}

// SAFETY: a block is cut out of the process's own part of the segment, and holds the mapping; an
// endpoint keeps no address of what it is lent.
#[allow(unsafe_code, reason = "the contract of blocks")]
unsafe impl<M: Memory> Transport for Endpoint<M> {
    type Arrived<'a>
        = Incoming<'a, M>
    where
        M: 'a;
    type Short<'a>
        = Short<'a>
    where
        M: 'a;

    #[inline(always)]
    fn me(&self) -> Process {
        Endpoint::me(self)
    }

    fn processes(&self) -> u32 {
        self.geometry().processes()
    }

    #[inline(always)]
    fn try_send(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        done: usize,
    ) -> Result<Sent, ShmError> {
        Endpoint::try_send(self, to, header, message, done)
    }

    #[inline(always)]
    fn poll(&mut self, caller: Caller) -> Result<Option<Event<Incoming<'_, M>>>, ShmError> {
        let arrival = match caller {
            Caller::Waits => self.poll_waiting()?,
            Caller::Asks => Endpoint::poll(self)?,
        };
        Ok(match arrival {
            None => None,
            Some(Arrival::Message(message)) => Some(Event::Message(message)),
            Some(Arrival::Gone(process, how)) => Some(Event::Gone(process, how)),
        })
    }

    #[inline(always)]
    fn poll_wanted(&mut self) -> Option<Short<'_>> {
        Endpoint::poll_wanted(self)
    }

    #[inline(always)]
    fn poll_wanted_by_turns(&mut self) -> Option<Short<'_>> {
        Endpoint::poll_wanted_by_turns(self)
    }

    #[inline(always)]
    fn watch_wanted(&self, idle: &mut Idle) -> bool {
        Endpoint::watch_wanted(self, idle)
    }

    #[inline(always)]
    fn peek_wanted(&mut self) -> Option<Peeked> {
        Endpoint::peek_wanted(self)
    }

    #[inline(always)]
    fn is_due(&self, peeked: Peeked) -> bool {
        Endpoint::is_due(self, peeked)
    }

    #[inline(always)]
    fn watch_to_peek(&self, idle: &mut Idle) -> bool {
        Endpoint::watch_to_peek(self, idle)
    }

    #[inline(always)]
    fn poll_again(&mut self, from: Process) -> Option<Short<'_>> {
        self.poll_short_from(from)
    }

    #[inline(always)]
    fn rest(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        Endpoint::rest(self, idle)
    }

    #[inline]
    fn rest_within(&mut self, idle: &mut Idle, longest: Duration) -> Result<(), ShmError> {
        Endpoint::rest_within(self, idle, longest)
    }

    #[inline]
    fn rest_briefly(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        Endpoint::rest_briefly(self, idle)
    }

    #[inline]
    fn give_way(&mut self, idle: &mut Idle) {
        Endpoint::give_way(self, idle);
    }

    #[inline(always)]
    fn want(&mut self, process: Option<Process>) -> Result<(), ShmError> {
        Endpoint::want(self, process)
    }

    #[inline(always)]
    fn unwant(&mut self, process: Option<Process>) {
        Endpoint::unwant(self, process);
    }

    fn counters(&self) -> Option<&Counters> {
        Some(Endpoint::counters(self))
    }

    fn check_peers(&mut self) -> Result<usize, ShmError> {
        Ok(Endpoint::check_peers(self))
    }

    fn has_ends_to_report(&self) -> bool {
        Endpoint::has_ends_to_report(self)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Block, ShmError> {
        Endpoint::allocate(self, bytes)
    }

    fn fail(&mut self) {
        Endpoint::fail(self);
    }

    fn keep_buffers(&self) {
        Endpoint::keep_buffers(self);
    }

    fn hide_memory(&self) {
        Endpoint::hide_memory(self);
    }

    fn expose(&self, bytes: &[u8]) -> Remote {
        Endpoint::expose(self, bytes)
    }

    #[allow(unsafe_code, reason = "passes on what its caller vouches for")]
    unsafe fn read(
        &mut self,
        from: Process,
        remote: Remote,
        into: &mut [u8],
        asks: Option<[u64; 2]>,
    ) -> Result<Copied, ShmError> {
        match asks {
            // SAFETY: as required of the caller.
            Some(header) => unsafe { self.read_together(from, remote, into, header) },
            // SAFETY: as above.
            None => unsafe { Endpoint::read(self, from, remote, into) },
        }
    }

    fn may_ask_for_help(&self) -> bool {
        Endpoint::may_ask_for_help(self)
    }

    fn help(&mut self, to: Process, message: &[u8], asked: [u8; 8]) -> Result<usize, ShmError> {
        Endpoint::help(self, to, message, asked)
    }

    fn take_ring(&mut self, to: Process, bytes: usize) -> Result<Option<(RingId, u64)>, ShmError> {
        Endpoint::take_ring(self, to, bytes)
    }

    fn take_ring_with_room(&mut self, to: Process, bytes: usize) -> Option<(RingId, u64)> {
        Endpoint::take_ring_with_room(self, to, bytes)
    }

    fn lend_ring(&mut self, from: Process, bytes: usize) -> Option<(RingId, u64)> {
        Endpoint::lend_ring(self, from, bytes)
    }

    fn push(&mut self, stretch: Stretch, message: &[u8], done: usize) -> Result<Pushed, ShmError> {
        Endpoint::push(self, stretch, message, done)
    }

    fn has_ring_to_lend(&self, other: Process) -> bool {
        Endpoint::has_ring_to_lend(self, other)
    }

    fn free_ring(&mut self, ring: RingId) -> bool {
        Endpoint::free_ring(self, ring)
    }

    fn pull(
        &mut self,
        from: Process,
        stretch: Stretch,
        into: &mut [u8],
        done: usize,
    ) -> Result<Pulled, ShmError> {
        Endpoint::pull(self, from, stretch, into, done)
    }

    fn pass(
        &mut self,
        from: Process,
        stretch: Stretch,
        bytes: usize,
        done: usize,
    ) -> Result<Pulled, ShmError> {
        Endpoint::pass(self, from, stretch, bytes, done)
    }
}
