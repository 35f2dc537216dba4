//! How a process becomes one of a segment.

#![allow(unsafe_code, reason = "remembers addresses of the segment")]

use crate::channel::Counters;
use crate::endpoint::deaths::Deaths;
use crate::endpoint::in_vain::InVain;
use crate::endpoint::inlets::Inlets;
use crate::endpoint::peer::Peer;
use crate::endpoint::receive::{Inbox, Rotation};
use crate::endpoint::{Endpoint, Options, buffers, rings, single_copy};
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::cooperative::Shown;
use crate::liveness::{self, State};
use crate::origin::Origin;
use crate::place::Place;
use crate::pool::Pool;
use crate::segment::Memory;
use crate::segment_ref::SegmentRef;
use crate::sleeper::Fences;
use crate::steps::{Step, step};
use crate::sync::Ordering;
use crate::wait::Patience;

impl<M: Memory> Endpoint<M> {
    /// Joins a segment as one of its processes.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`] for a number outside the segment, [`ShmError::Taken`] if the number is
    /// or was in use, by this process or another; [`ShmError::ForWorlds`].
    pub fn join(memory: M, me: Process, options: Options) -> Result<Self, ShmError> {
        refuse_worlds(&memory)?;
        Self::join_as(memory, me, options)
    }

    /// [`join`](Self::join) for a segment [for worlds](crate::Geometry::for_worlds) too.
    ///
    /// # Errors
    /// As [`join`](Self::join), but not [`ShmError::ForWorlds`].
    ///
    /// # Safety
    /// If the segment is for worlds, the endpoint goes into a `World` of `mq-comm` before it sends anything. A world
    /// takes the word of another for which memory of the segment only the two of them use.
    pub unsafe fn join_worlds(memory: M, me: Process, options: Options) -> Result<Self, ShmError> {
        Self::join_as(memory, me, options)
    }

    fn join_as(memory: M, me: Process, options: Options) -> Result<Self, ShmError> {
        memory.geometry().check(me)?;
        liveness::join(memory.place(me), me, memory.pid())?;
        Self::enter(memory, me, options)
    }

    /// Joins a segment as the first of its processes whose number has not been used: for processes that come and go
    /// and are not told who they are. [`me`](Self::me) says which it is.
    ///
    /// # Errors
    /// [`ShmError::Full`] if there is none. [`ShmError::Taken`] as for [`join`](Self::join), if a launcher has reported
    /// meanwhile that the process has ended; [`ShmError::ForWorlds`].
    pub fn join_any(memory: M, options: Options) -> Result<Self, ShmError> {
        refuse_worlds(&memory)?;
        let processes = memory.geometry().processes();
        for me in (0..processes).map(Process) {
            let place = memory.place(me);
            if State::of(place) != State::Absent {
                continue;
            }
            match liveness::join(place, me, memory.pid()) {
                // Another has just taken it.
                Err(ShmError::Taken { .. }) => {}
                joined => {
                    joined?;
                    return Self::enter(memory, me, options);
                }
            }
        }
        Err(ShmError::Full { processes })
    }

    /// Completes the entry of a process that has its place.
    fn enter(memory: M, me: Process, mut options: Options) -> Result<Self, ShmError> {
        let processes = memory.geometry().processes();
        let shown = Box::new(Shown::new(single_copy::token(me, memory.pid())));
        let place = memory.place(me);
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
            origin: Origin::here(),
            options,
            fences: Fences::agree(),
            patience,
            // A process that may use fewer cores than there are processes may still have one for itself.
            ask_in: (options.patience.is_none() && is_process).then(|| match patience {
                Patience::YIELDING => 0,
                _ => patience.asks_after(),
            }),
            #[cfg(not(mq_loom))]
            absent: 0,
            in_vain: InVain::default(),
            awaits_room: false,
            peers: (0..processes)
                .map(|number| Peer::new(place_of(&memory, Process(number))))
                .collect(),
            place: place_of(&memory, me),
            pool: Pool::new(me, processes),
            counters: Counters::default(),
            inbox: Inbox::default(),
            inlets: Inlets::default(),
            rotation: Rotation::default(),
            peeked: (me, 0),
            naming: Vec::new(),
            deaths: Deaths::new(processes),
            has_failed: false,
            is_of_panic: std::thread::panicking(),
            rings: rings::Rings::default(),
            buffers: buffers::Buffers::default(),
            shown,
            offers: 0,
            memory,
        })
    }
}

/// An error if only worlds may join.
fn refuse_worlds(memory: &impl Memory) -> Result<(), ShmError> {
    if memory.geometry().is_for_worlds() {
        return Err(ShmError::ForWorlds);
    }
    Ok(())
}

fn place_of<M: Memory>(memory: &M, process: Process) -> SegmentRef<Place> {
    // SAFETY: the segment lives as long as the endpoint that remembers this, and does not move.
    unsafe { SegmentRef::at(memory.place(process)) }
}
