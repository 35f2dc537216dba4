//! How one process sends to the others and receives from them.
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
//! Messages from one process to another arrive in the order in which they were sent, whichever paths they
//! took. Between different senders there is no order.
//!
//! | file | of |
//! | --- | --- |
//! | `join` | joining |
//! | `send`, `cells` | sending, and the cells and fastboxes that it takes |
//! | `receive`, `inlets`, `short`, `incoming` | receiving; the fastboxes that are looked at, messages that lie there, and those in cells |
//! | `rings`, `transfer` | large messages through a ring; `single_copy`, `cooperative`: read from the sender's memory; `buffers`: from a shared buffer |
//! | `rest`, `in_vain`, `deaths` | waiting, when patience does not pay, and who has ended meanwhile |
//! | `peer` | what an endpoint knows of each other one |

#![allow(unsafe_code, reason = "remembers addresses of the segment")]

mod buffers;
mod cells;
mod cooperative;
mod deaths;
mod in_vain;
mod incoming;
mod inlets;
mod join;
mod peer;
mod receive;
mod rest;
mod rings;
mod send;
mod short;
mod single_copy;
mod transfer;

use deaths::Deaths;
use in_vain::InVain;
pub use incoming::Incoming;
use inlets::Inlets;
pub use receive::Arrival;
use receive::{Inbox, Rotation};
pub use send::Sent;
pub use short::{Peeked, Short};

use crate::channel::{Counters, Policy, Tuning};
use crate::error::ShmError;
use crate::estate;
use crate::ids::Process;
use crate::large::cooperative::Shown;
use crate::layout::Geometry;
use crate::liveness::{self, Gone, State};
use crate::origin::Origin;
use crate::place::Place;
use crate::pool::Pool;
use crate::segment::{Mapped, Memory};
use crate::segment_ref::SegmentRef;
use crate::sleeper::{self, Fences};
use crate::steps::{Step, step};
use crate::wait::Patience;
use peer::Peer;

/// Options of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Which buffers eager messages use.
    pub policy: Policy,
    /// The parameters of the policy.
    pub tuning: Tuning,
    /// Use fastboxes, if the policy has them.
    pub fastbox: bool,
    /// Read large messages from the sender's memory, if the kernel permits it.
    pub single_copy: bool,
    /// When a receiver reads a message from this process's memory, copy a part of it into the receiver's, and
    /// ask the same of others: see [`cooperative`](crate::large::cooperative). Has no effect without
    /// [`single_copy`](Self::single_copy); a process whose `patience` has no more than two looks does not
    /// ask.
    pub cooperative_copy: bool,
    /// Tell the receiver where a message in a shared buffer lies, so that it copies the message straight from
    /// there.
    pub shared_copy: bool,
    /// The shortest message, in bytes, that is copied with non-temporal stores into a ring, or into a cell that
    /// a slot of a fastbox names; if not set, whichever is faster at the moment. Cells in the queue are copied
    /// line by line.
    pub nontemporal_from: Option<usize>,
    /// What to do while nothing arrives; if not set, by the number of processes and cores, and by whether patience
    /// turns out to be in vain.
    pub patience: Option<Patience>,
}

impl Options {
    /// A changed copy: `Options::default().with(|o| o.fastbox = false)`.
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

/// A process's membership in a segment, through which it sends and receives.
///
/// It is for one thread at a time. Dropping it means that the process leaves: what it has sent still arrives.
/// A child that has a copy of it (`fork`) is not the process and must not use it; dropping the copy does
/// nothing.
#[derive(Debug)]
pub struct Endpoint<M: Memory = Mapped> {
    me: Process,
    /// The process itself: a child may have a copy of this.
    origin: Origin,
    options: Options,
    fences: Fences,
    patience: Patience,
    /// After this many more waits that give up the core, check whether there is a core for each process;
    /// `None` if that is never checked.
    ask_in: Option<u32>,
    /// How many others had not joined when that was last checked.
    #[cfg(not(mq_loom))]
    absent: usize,
    /// The waits that came to giving the core up.
    in_vain: InVain,
    /// A message that goes through a fastbox has found no room there, and waits, since the last sleep.
    awaits_room: bool,
    /// The process's own entry.
    place: SegmentRef<Place>,
    peers: Vec<Peer>,
    pool: Pool,
    counters: Counters,
    inbox: Inbox,
    inlets: Inlets,
    rotation: Rotation,
    /// The process whose message was last peeked at, if it was a long one, and its number.
    peeked: (Process, u64),
    /// Peers to whom slots name cells that are not known to be taken: of many peers, only these few return
    /// cells through their counts.
    naming: Vec<Process>,
    deaths: Deaths,
    rings: rings::Rings,
    buffers: buffers::Buffers,
    /// Whether dropping it counts as a death.
    has_failed: bool,
    /// Whether it was made while its thread panicked: then another panic is not what ends it.
    is_of_panic: bool,
    /// What others read from this process's memory.
    shown: Box<Shown>,
    /// The number of the last message whose sender was asked to help.
    offers: u32,
    /// Last, as everything else may refer to it.
    memory: M,
}

impl<M: Memory> Endpoint<M> {
    /// The number of this process.
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

    /// What this process has sent, and how.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A message from `process` is wanted, or from anyone: its fastbox is looked into at every
    /// [`poll`](Self::poll), others only in turn. Undone by [`unwant`](Self::unwant).
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    #[inline]
    pub fn want(&mut self, process: Option<Process>) -> Result<(), ShmError> {
        let Some(process) = process else {
            self.inlets.want_any();
            return Ok(());
        };
        self.geometry().check(process)?;
        let peer = &mut self.peers[process.index()];
        peer.wanted += 1;
        peer.met = true;
        if peer.wanted == 1 && peer.inlet.is_some() {
            self.inlets.want(process);
        }
        Ok(())
    }

    /// Undoes one [`want`](Self::want); any surplus call is ignored.
    #[inline]
    pub fn unwant(&mut self, process: Option<Process>) {
        let Some(process) = process else {
            self.inlets.unwant_any();
            return;
        };
        let Some(peer) = self.peers.get_mut(process.index()) else {
            return;
        };
        peer.wanted = peer.wanted.saturating_sub(1);
        if peer.wanted == 0 {
            self.inlets.unwant(process);
        }
    }

    /// Cells of this process that are in transit, or with a receiver to which they have not been lent for its
    /// answer.
    ///
    /// # Errors
    /// [`ShmError::Corrupt`] if the segment is damaged.
    pub fn cells_out(&mut self) -> Result<u32, ShmError> {
        self.collect()?;
        Ok(self.pool.out())
    }

    /// The number of cells available.
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
    /// The program that runs as this process has failed: dropping the endpoint counts as a death, as in a
    /// panic, and not as leaving.
    pub const fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl<M: Memory> Drop for Endpoint<M> {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            // A child that has a copy of the process does not leave in its name.
            return;
        }
        let panics = std::thread::panicking() && !self.is_of_panic;
        let how = if self.has_failed || panics {
            Gone::Died
        } else {
            Gone::Left
        };
        liveness::record_end(&self.place, how);
        step(Step::Left);
        estate::settle(&self.memory, Some(self.me));
        for peer in self.peers.iter().filter(|peer| peer.met) {
            sleeper::wake(&peer.place, self.fences);
        }
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests;
