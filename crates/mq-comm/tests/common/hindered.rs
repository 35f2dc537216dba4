//! A transport that can be made to refuse, or to stop halfway.
#![allow(unsafe_code, reason = "another transport")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use mq_comm::transport::{Caller, Event, Transport};
use mq_comm::{Options, World};
use mq_shm::wait::Idle;
use mq_shm::{
    Copied, Endpoint, Mapped, Process, Pulled, Pushed, Remote, RingId, Sent, ShmError, Stretch,
};

/// What is in the way of a transport at the moment.
#[derive(Default)]
pub(crate) struct Hindrance {
    /// It has no memory for cells.
    pub(crate) refuses: Cell<bool>,
    /// The same until then.
    pub(crate) refuses_until: Cell<Option<Instant>>,
    /// The same, for messages to this process.
    pub(crate) refuses_to: Cell<Option<Process>>,
    pub(crate) refuses_to_until: Cell<Option<(Process, Instant)>>,
    /// How many messages are sent first, and for how many the same holds then.
    pub(crate) refuses_from: Cell<Option<(u32, u32)>>,
    /// It puts no more than the first bytes of a message into a ring.
    pub(crate) stalls: Cell<bool>,
    /// No hindrance: how often the program has asked in vain, and how often in a row.
    pub(crate) asked: Cell<u32>,
    pub(crate) in_a_row: Cell<u32>,
    /// Nor these: how often messages of a process, or of any, are wanted, and how many rings were lent.
    wants: RefCell<BTreeMap<Option<Process>, i32>>,
    pub(crate) lent: Cell<u32>,
}

impl Hindrance {
    /// The processes of which messages are wanted, or any, and how often; less than 0 if more was taken back.
    pub(crate) fn wanted(&self) -> Vec<(Option<Process>, i32)> {
        let wants = self.wants.borrow();
        let all = wants.iter().map(|(&process, &times)| (process, times));
        all.filter(|&(_, times)| times != 0).collect()
    }

    fn is_refused(&self, to: Process) -> bool {
        let until = self.refuses_until.get();
        if let Some((before, count)) = self.refuses_from.get() {
            let left = match before {
                0 => (0, count.saturating_sub(1)),
                _ => (before - 1, count),
            };
            self.refuses_from.set(Some(left));
            if before == 0 && count > 0 {
                return true;
            }
        }
        self.refuses.get()
            || self.refuses_to.get() == Some(to)
            || until.is_some_and(|until| Instant::now() < until)
            || (self.refuses_to_until.get())
                .is_some_and(|(process, until)| process == to && Instant::now() < until)
    }

    fn count(&self, process: Option<Process>, more: i32) {
        *self.wants.borrow_mut().entry(process).or_default() += more;
    }
}

/// How many bytes those are.
pub(crate) const BEFORE_STALL: usize = 8_192;

/// An endpoint with such things in its way.
pub(crate) struct Hindered {
    endpoint: Endpoint,
    hindrance: Rc<Hindrance>,
}

// SAFETY: all is the endpoint's, but for what is refused; it allocates nothing.
unsafe impl Transport for Hindered {
    type Arrived<'a> = <Endpoint as Transport>::Arrived<'a>;
    type Short<'a> = <Endpoint as Transport>::Short<'a>;

    fn me(&self) -> Process {
        self.endpoint.me()
    }
    fn processes(&self) -> u32 {
        self.endpoint.processes()
    }
    fn fail(&mut self) {
        Transport::fail(&mut self.endpoint);
    }
    fn try_send(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        done: usize,
    ) -> Result<Sent, ShmError> {
        if self.hindrance.is_refused(to) {
            return Err(ShmError::NoMemory {
                what: "message cells",
                bytes: 1,
                reason: std::io::Error::from(std::io::ErrorKind::StorageFull),
            });
        }
        self.endpoint.try_send(to, header, message, done)
    }
    fn poll(&mut self, caller: Caller) -> Result<Option<Event<Self::Arrived<'_>>>, ShmError> {
        Transport::poll(&mut self.endpoint, caller)
    }
    fn rest(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        self.endpoint.rest(idle)
    }
    fn rest_briefly(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        self.endpoint.rest_briefly(idle)
    }
    fn give_way(&mut self, idle: &mut Idle) {
        let before = if idle.is_fresh() {
            0
        } else {
            self.hindrance.in_a_row.get()
        };
        self.hindrance.in_a_row.set(before + 1);
        self.hindrance.asked.set(self.hindrance.asked.get() + 1);
        self.endpoint.give_way(idle);
    }
    fn want(&mut self, process: Option<Process>) -> Result<(), ShmError> {
        self.endpoint.want(process)?;
        self.hindrance.count(process, 1);
        Ok(())
    }
    fn unwant(&mut self, process: Option<Process>) {
        self.endpoint.unwant(process);
        self.hindrance.count(process, -1);
    }
    fn check_peers(&mut self) -> Result<usize, ShmError> {
        Ok(self.endpoint.check_peers())
    }
    fn hide_memory(&self) {
        self.endpoint.hide_memory();
    }

    fn expose(&self, bytes: &[u8]) -> Remote {
        self.endpoint.expose(bytes)
    }
    unsafe fn read(
        &mut self,
        from: Process,
        remote: Remote,
        into: &mut [u8],
        _asks: Option<[u64; 2]>,
    ) -> Result<Copied, ShmError> {
        // SAFETY: as required of the caller.
        unsafe { self.endpoint.read(from, remote, into) }
    }
    fn take_ring(&mut self, to: Process, bytes: usize) -> Result<Option<(RingId, u64)>, ShmError> {
        self.endpoint.take_ring(to, bytes)
    }
    fn take_ring_with_room(&mut self, to: Process, bytes: usize) -> Option<(RingId, u64)> {
        self.endpoint.take_ring_with_room(to, bytes)
    }
    fn lend_ring(&mut self, from: Process, bytes: usize) -> Option<(RingId, u64)> {
        let ring = self.endpoint.lend_ring(from, bytes)?;
        self.hindrance.lent.set(self.hindrance.lent.get() + 1);
        Some(ring)
    }
    fn push(&mut self, stretch: Stretch, message: &[u8], done: usize) -> Result<Pushed, ShmError> {
        if !self.hindrance.stalls.get() || message.len() <= BEFORE_STALL {
            return self.endpoint.push(stretch, message, done);
        }
        if done >= BEFORE_STALL {
            return Ok(Pushed::Upto(done));
        }
        let pushed = self
            .endpoint
            .push(stretch, &message[..BEFORE_STALL], done)?;
        Ok(match pushed {
            Pushed::All => Pushed::Upto(BEFORE_STALL),
            upto @ Pushed::Upto(_) => upto,
        })
    }
    fn has_ring_to_lend(&self, other: Process) -> bool {
        self.endpoint.has_ring_to_lend(other)
    }

    fn free_ring(&mut self, ring: RingId) -> bool {
        self.endpoint.free_ring(ring)
    }
    fn pull(
        &mut self,
        from: Process,
        stretch: Stretch,
        into: &mut [u8],
        done: usize,
    ) -> Result<Pulled, ShmError> {
        self.endpoint.pull(from, stretch, into, done)
    }
    fn pass(
        &mut self,
        from: Process,
        stretch: Stretch,
        bytes: usize,
        done: usize,
    ) -> Result<Pulled, ShmError> {
        self.endpoint.pass(from, stretch, bytes, done)
    }
}

/// A world of one of several processes, and what can be put into its way.
pub(crate) fn join(
    memory: Mapped,
    rank: u32,
    options: &Options,
) -> (World<Hindered>, Rc<Hindrance>) {
    let hindrance = Rc::new(Hindrance::default());
    let of_endpoint = mq_shm::Options::default().with(|o| {
        o.fastbox = options.fastbox;
        o.single_copy = options.single_copy;
    });
    let transport = Hindered {
        endpoint: Endpoint::join(memory, Process(rank), of_endpoint).unwrap(),
        hindrance: hindrance.clone(),
    };
    // SAFETY: the others are worlds too.
    #[allow(unsafe_code, reason = "the other ends are the test's")]
    let world = unsafe { World::over(transport, options) };
    (world, hindrance)
}
