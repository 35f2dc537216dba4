//! One process's way to send to the others and to receive from them.
//!
//! ```
//! use mq_shm::{Arrival, Endpoint, Geometry, Heap, Options, Process};
//!
//! let segment = Heap::new(Geometry::new(2)?);
//! let mut alice = Endpoint::join(segment.clone(), Process(0), Options::default())?;
//! let mut bob = Endpoint::join(segment, Process(1), Options::default())?;
//!
//! alice.try_send(Process(1), [7, 0], b"hello", 0)?;
//! if let Some(Arrival::Message(mut message)) = bob.poll()? {
//!     let mut text = [0; 5];
//!     message.copy_to(&mut text);
//!     assert_eq!((message.source(), message.header()[0], &text), (Process(0), 7, b"hello"));
//! }
//! # Ok::<(), mq_shm::ShmError>(())
//! ```
//!
//! # Order
//! What one process sends to another arrives in the order in which it was sent, whichever way it
//! took. Between senders there is no order.

#![allow(unsafe_code, reason = "remembers addresses of the segment")]

mod buffers;
mod cooperative;
mod deaths;
mod incoming;
mod large;
mod peer;
mod receive;
mod rest;
mod rings;
mod send;
mod short;

pub use incoming::Incoming;
pub use receive::Arrival;
pub use send::Sent;
pub use short::Short;

use std::time::Instant;

use crate::cell::CellHead;
use crate::channel::{Counters, Policy, Tuning};
use crate::error::ShmError;
use crate::estate;
use crate::index::{CellId, Process};
use crate::large::cooperative::Shown;
use crate::layout::Geometry;
use crate::liveness::{self, Gone, State, Watch};
use crate::part::Found;
use crate::place::Place;
use crate::pool::Pool;
use crate::segment::{Mapped, Memory};
use crate::steps::{Step, step};
use crate::sync::Ordering;
use crate::wait::{self, Fences, Patience};
use peer::Peer;

/// How an endpoint goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Which buffers eager messages use.
    pub policy: Policy,
    /// The numbers that the policy goes by.
    pub tuning: Tuning,
    /// Fastboxes, if the policy has them.
    pub fastbox: bool,
    /// Reading large messages from the sender's memory, if the kernel lets it.
    pub single_copy: bool,
    /// Copying a part of a message that its receiver reads from this process's memory, into the
    /// receiver's, and asking the same of others: see [`cooperative`](crate::large::cooperative). Nothing is,
    /// without [`single_copy`](Self::single_copy), nor asked for by whose `patience` has no more than two
    /// looks.
    pub cooperative_copy: bool,
    /// Telling the receiver of a message in a shared buffer where it lies, so that it copies it
    /// straight from there.
    pub shared_copy: bool,
    /// The shortest message that is copied into a ring or a cell past the caches, in bytes; by what
    /// is quicker at the moment unless given.
    pub nontemporal_from: Option<usize>,
    /// What to do while nothing arrives; by the number of processes and cores unless given.
    pub patience: Option<Patience>,
}

impl Options {
    /// The same, changed: `Options::default().with(|o| o.fastbox = false)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            tuning: Tuning::default(),
            fastbox: true,
            single_copy: true,
            cooperative_copy: true,
            shared_copy: true,
            nontemporal_from: None,
            patience: None,
        }
    }
}

/// A process's place in a segment, from which it sends and receives.
///
/// It is for one thread at a time. When it is dropped, the process has left: what it has sent still
/// arrives. A child that has a copy of it (`fork`) is not the process and must not use it; to drop it
/// there does nothing.
#[derive(Debug)]
pub struct Endpoint<M: Memory = Mapped> {
    me: Process,
    /// The operating system's number of the process.
    pid: u32,
    options: Options,
    fences: Fences,
    patience: Patience,
    /// So many waits more that need a core given up, and it is asked whether there is one for each
    /// process; nothing where nobody asks.
    ask_in: Option<u32>,
    /// A message that its fastbox could have taken found no room there, nor a cell, since the last sleep.
    awaits_room: bool,
    /// The own entry.
    place: Found<Place>,
    peers: Vec<Peer>,
    pool: Pool,
    counters: Counters,
    /// Cells taken off the queue, the oldest last: the shadow of the queue's head.
    shadow: Vec<CellId>,
    /// What the next of them says of its message, once it was looked at.
    head: CellHead,
    /// Peers with a fastbox to here.
    open: Vec<Process>,
    /// Those of them from which a message is wanted.
    wanted: Vec<Process>,
    /// Times that a message from anyone is wanted.
    wanted_from_any: u32,
    /// Which of the wanted boxes is looked into first by turns: the one behind that from which a
    /// message was last taken so.
    first_wanted: usize,
    /// Peers in the fastbox to which slots name cells, as far as it is known that they are not taken:
    /// of many, those few that cells come back from by their counts.
    naming: Vec<Process>,
    /// Where among `open` to look next without being asked.
    turn: usize,
    /// Calls of [`poll_waiting`](Self::poll_waiting).
    waiting_looks: u32,
    /// Whether what is not in wanted boxes has had its turn, and they have the next.
    others_had_turn: bool,
    /// Whether the queue is the first to be looked into at their next turn, not another box.
    queue_is_next: bool,
    watch: Watch,
    /// When it was last looked for processes that have ended.
    looked: Option<Instant>,
    /// Peers that have ended, until what they sent has been received.
    ending: Vec<Ending>,
    /// How often the queue was taken.
    takes: u32,
    /// Those of which this was reported, and whose memory this process may still look into.
    buried: Vec<Process>,
    rings: rings::Rings,
    buffers: buffers::Buffers,
    /// Whether it dies when it is dropped.
    has_failed: bool,
    /// What others read of this process's memory.
    shown: Box<Shown>,
    /// The number of the last message that its sender was asked to help with.
    offers: u32,
    /// Last, as all the rest may be in it.
    memory: M,
}

/// A process that is known to have ended, and is not reported yet.
#[derive(Debug, Clone, Copy)]
struct Ending {
    process: Process,
    how: Gone,
    /// How often the queue had been taken when that was found.
    takes: u32,
    /// What it had is given up: nothing is left to do but to report it.
    buried: bool,
}

impl<M: Memory> Endpoint<M> {
    /// Joins a segment as one of its processes.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`] for a number outside the segment, [`ShmError::Taken`] if
    /// somebody has or had it.
    pub fn join(memory: M, me: Process, mut options: Options) -> Result<Self, ShmError> {
        let geometry = *memory.geometry();
        geometry.check(me)?;
        let processes = geometry.processes();
        let shown = Box::new(Shown::new(large::token(me, memory.pid())));
        let place = memory.place(me);
        liveness::join(place, me, memory.pid())?;
        step(Step::Joining);
        place.token.store(shown.token(), Ordering::Relaxed);
        place
            .token_at
            .store(core::ptr::from_ref(&*shown) as u64, Ordering::Relaxed);
        liveness::joined(place, me)?;
        step(Step::Joined);
        // Without any, nothing that needs a cell would ever be sent.
        options.tuning.credits = options.tuning.credits.max(1);
        options.tuning.grow = options.tuning.grow.max(1);
        let patience = options
            .patience
            .unwrap_or_else(|| Patience::for_processes(processes));
        // Threads are where their process is.
        let is_process = memory.pid() != 0;
        Ok(Self {
            me,
            pid: memory.pid(),
            options,
            fences: Fences::agree(),
            patience,
            // One that may use fewer cores than there are processes may have its own all the same.
            ask_in: (options.patience.is_none() && is_process).then(|| match patience {
                Patience::YIELDING => 0,
                _ => patience.asks_after(),
            }),
            awaits_room: false,
            peers: (0..processes)
                .map(|number| Peer::new(place_of(&memory, Process(number))))
                .collect(),
            place: place_of(&memory, me),
            pool: Pool::new(me, processes),
            counters: Counters::default(),
            shadow: Vec::new(),
            head: CellHead::default(),
            open: Vec::new(),
            wanted: Vec::new(),
            wanted_from_any: 0,
            first_wanted: 0,
            naming: Vec::new(),
            turn: 0,
            waiting_looks: 0,
            others_had_turn: false,
            queue_is_next: true,
            watch: Watch::new(processes),
            looked: None,
            ending: Vec::new(),
            takes: 0,
            buried: Vec::new(),
            has_failed: false,
            rings: rings::Rings::default(),
            buffers: buffers::Buffers::default(),
            shown,
            offers: 0,
            memory,
        })
    }

    /// Which process this is.
    #[inline]
    #[must_use]
    pub fn me(&self) -> Process {
        self.me
    }

    /// The sizes of the segment.
    #[inline]
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        self.memory.geometry()
    }

    /// Whether a process has joined, and perhaps ended since.
    #[must_use]
    pub fn has_come(&self, process: Process) -> bool {
        let state = self.peers.get(process.index());
        let state = state.map_or(State::Absent, |peer| State::of(&peer.place));
        !matches!(state, State::Absent | State::Joining)
    }

    /// The segment.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// What has been sent from here, and how.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A message from `process` is wanted, or from anyone: its fastbox is looked into at every
    /// [`poll`](Self::poll), others only in turn. To be taken back by [`unwant`](Self::unwant).
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    #[inline]
    pub fn want(&mut self, process: Option<Process>) -> Result<(), ShmError> {
        let Some(process) = process else {
            self.wanted_from_any += 1;
            return Ok(());
        };
        self.geometry().check(process)?;
        let peer = &mut self.peers[process.index()];
        peer.wanted += 1;
        peer.met = true;
        if peer.wanted == 1 && peer.inlet.is_some() {
            self.wanted.push(process);
        }
        Ok(())
    }

    /// Takes one [`want`](Self::want) back; one more than there were is ignored.
    #[inline]
    pub fn unwant(&mut self, process: Option<Process>) {
        let Some(process) = process else {
            self.wanted_from_any = self.wanted_from_any.saturating_sub(1);
            return;
        };
        let Some(peer) = self.peers.get_mut(process.index()) else {
            return;
        };
        peer.wanted = peer.wanted.saturating_sub(1);
        if peer.wanted == 0
            && let Some(at) = self.wanted.iter().position(|&wanted| wanted == process)
        {
            self.wanted.swap_remove(at);
        }
    }

    /// Cells of this process that are on their way, or with a receiver that has not been lent them
    /// for its answer.
    ///
    /// # Errors
    /// [`ShmError::Corrupt`] if the segment is damaged.
    pub fn cells_out(&mut self) -> Result<u32, ShmError> {
        self.collect()?;
        Ok(self.pool.out())
    }

    /// The cells at hand.
    #[cfg(all(mq_loom, test))]
    pub(crate) fn free_cells(&self) -> Vec<usize> {
        self.pool.free_cells()
    }

    /// Whether a cell of `other`'s is lent to this process.
    #[cfg(all(mq_loom, test))]
    pub(crate) fn has_borrowed(&self, other: Process) -> bool {
        self.peers[other.index()].borrowed.is_some()
    }
}

impl<M: Memory> Endpoint<M> {
    /// What runs as this process has failed: when the endpoint is dropped it dies, as in a panic, and
    /// does not leave.
    pub const fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl<M: Memory> Drop for Endpoint<M> {
    fn drop(&mut self) {
        if self.memory.pid() != self.pid {
            // A child that has a copy of the process does not leave in its name.
            return;
        }
        let how = if self.has_failed || std::thread::panicking() {
            Gone::Died
        } else {
            Gone::Left
        };
        liveness::left(&self.place, how);
        step(Step::Left);
        estate::settle(&self.memory, Some(self.me));
        for peer in self.peers.iter().filter(|peer| peer.met) {
            wait::wake(&peer.place, self.fences);
        }
    }
}

fn place_of<M: Memory>(memory: &M, process: Process) -> Found<Place> {
    // SAFETY: the segment lives as long as the endpoint that remembers this, and does not move.
    unsafe { Found::at(memory.place(process)) }
}

#[cfg(all(test, not(mq_loom)))]
mod tests;
