//! Processes that have ended: how that is found, and what is given up with them.

use core::time::Duration;
use std::time::Instant;

use crate::endpoint::peer::NO_MESSAGE;
use crate::endpoint::{Ending, Endpoint};
use crate::error::ShmError;
use crate::estate;
use crate::ids::Process;
use crate::liveness::Gone;
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};

/// A resting process looks for deaths once in this time. A look takes system calls, and a process that is
/// woken for each of many messages, or sleeps for short times only, would make them again and again.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl<M: Memory> Endpoint<M> {
    /// How long a resting process must wait before it looks for deaths again.
    pub(super) fn until_look(&self) -> Duration {
        let since = self.looked.map(|looked| looked.elapsed());
        since.map_or(Duration::ZERO, |since| LOOK_EVERY.saturating_sub(since))
    }

    /// Whether an end has been [found](Self::check_peers) that [`poll`](Self::poll) has not reported yet, since
    /// something that the process had sent is still to be taken out. Sends to it fail already.
    #[must_use]
    pub fn has_ends_to_report(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Looks for processes that have ended, among those that this one has dealings with; returns how many
    /// were found. [`poll`](Self::poll) reports each once everything that it sent has been received. Every
    /// call looks; a process that [rests](Self::rest) does so now and then, unasked.
    ///
    /// What it reads from others it takes as it is: damage elsewhere in the segment is found by those that
    /// send and receive.
    ///
    /// # Cost
    /// One system call for all processes of which a descriptor is kept, and some more for each the first time. If
    /// more than a quarter of the files that this process may open would be such descriptors, or the kernel gives
    /// none, some more for each of sixteen of the rest, which take turns. Some memory, in a world of more than two.
    pub fn check_peers(&mut self) -> usize {
        self.strike_out();
        self.watch.ask_all();
        // Processes that hold up the memory of one that has ended: perhaps no other process has dealings with
        // them.
        let peers = (0..).map(Process).zip(&self.peers);
        let buried = peers.filter(|(_, peer)| peer.struck_out);
        let (awaited, is_due) = estate::awaited(&self.memory, buried.map(|(process, _)| process));
        let mut found = 0;
        // Also if a process had no descriptor with which to give it back.
        let mut settles = is_due;
        let all = self.peers.len();
        let first = self.watch.first_in_turn();
        for number in (first..all).chain(0..first) {
            let process = Process(number as u32);
            let peer = &self.peers[number];
            if process == self.me || peer.gone.is_some() {
                continue;
            }
            // A process that was about to send something is noted, and nothing else is known about it.
            let concerns = peer.met
                || self.wanted_from_any > 0
                || estate::is_noted(&self.memory, process, self.me);
            if !concerns && !awaited.contains(&process) {
                continue;
            }
            let Some(how) = self.watch.gone_in_turn(process, &peer.place) else {
                continue;
            };
            settles = true;
            if concerns {
                self.peers[number].gone = Some(how);
                self.close_outlet(process);
                self.ending.push(Ending::found(process, how, self.takes));
                found += 1;
            }
        }
        if settles {
            // They may have been the last to hold something of others.
            estate::settle(&self.memory, Some(self.me));
        }
        self.looked = Some(Instant::now());
        found
    }

    /// Gives up everything shared with processes that have ended.
    pub(super) fn strike_out(&mut self) {
        if self.buried.is_empty() {
            return;
        }
        for process in self.buried.drain(..) {
            self.peers[process.index()].struck_out = true;
            self.buffers.forget(process);
            self.rings.abandon(&self.memory, self.me, process, true);
            step(Step::Buried);
            estate::strike_out(&self.memory, process, self.me);
            step(Step::StruckOut);
        }
        estate::settle(&self.memory, Some(self.me));
    }

    /// How a process has ended, as far as is known here.
    #[must_use]
    pub fn gone(&self, process: Process) -> Option<Gone> {
        self.peers.get(process.index())?.gone
    }

    /// Gives up the fastbox to a process that has ended: it would go on accepting messages that nobody reads.
    fn close_outlet(&mut self, process: Process) {
        let peer = &mut self.peers[process.index()];
        if peer.outlet.take().is_some() {
            self.memory.discard(Part::FastBox(self.me, process));
            self.counters.boxes -= 1;
        }
        if core::mem::take(&mut peer.is_naming) {
            self.naming.retain(|&naming| naming != process);
        }
    }

    /// Takes back what was in transit to a process that has ended, and gives up the memory shared with it.
    /// All of this is done even if something turns out to be damaged, which is reported then.
    pub(super) fn bury(&mut self, process: Process) -> Result<(), ShmError> {
        let peer = &mut self.peers[process.index()];
        (peer.lent, peer.borrowed) = (None, None);
        peer.due = NO_MESSAGE;
        let reclaimed = self.pool.reclaim(&self.memory, process);
        self.rings.abandon(&self.memory, self.me, process, false);
        let peer = &mut self.peers[process.index()];
        if peer.inlet.take().is_some() {
            self.memory.discard(Part::FastBox(process, self.me));
            self.open.retain(|&open| open != process);
            self.wanted.retain(|&wanted| wanted != process);
        }
        reclaimed.map(|_| ())
    }
}
