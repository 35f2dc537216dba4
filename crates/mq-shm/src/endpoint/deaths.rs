//! Processes that have ended: how that is found, and what is given up with them.

use core::time::Duration;
use std::time::Instant;

use crate::endpoint::peer::NO_MESSAGE;
use crate::endpoint::{Ending, Endpoint};
use crate::error::ShmError;
use crate::estate;
use crate::index::Process;
use crate::liveness::Gone;
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};

/// Who rests looks for deaths once in so long. A look takes system calls, and who is woken for each of
/// many messages, or sleeps for short times only, would make them again and again.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl<M: Memory> Endpoint<M> {
    /// How long it is too early to look for deaths again, for who rests.
    pub(super) fn until_look(&self) -> Duration {
        let since = self.looked.map(|looked| looked.elapsed());
        since.map_or(Duration::ZERO, |since| LOOK_EVERY.saturating_sub(since))
    }

    /// Looks for processes that have ended, among those that this one has to do with; how many were
    /// found. Each is reported by [`poll`](Self::poll) once everything that it sent has been
    /// received. It looks at each call; who [rests](Self::rest) does so now and then, unasked.
    ///
    /// What it reads of others it takes as it stands, whatever that is: damage elsewhere in the segment
    /// is found by those that send and receive.
    ///
    /// # Cost
    /// One system call for all processes of which a descriptor is kept, and some more for each the first
    /// time. Where more than a quarter of the files that this process may open would be such descriptors,
    /// some more for each of sixteen of the rest, which take turns. Some memory, in a world of more than two.
    pub fn check_peers(&mut self) -> usize {
        self.strike_out();
        self.watch.ask_all();
        // Those that keep back what one that has ended had: perhaps nobody else has to do with them.
        let peers = (0..).map(Process).zip(&self.peers);
        let buried = peers.filter(|(_, peer)| peer.struck_out);
        let (awaited, is_due) = estate::awaited(&self.memory, buried.map(|(process, _)| process));
        let mut found = 0;
        // Also where one had no descriptor to give it back by.
        let mut settles = is_due;
        let all = self.peers.len();
        let first = self.watch.first_in_turn();
        for number in (first..all).chain(0..first) {
            let process = Process(number as u32);
            let peer = &self.peers[number];
            if process == self.me || peer.gone.is_some() {
                continue;
            }
            // One that was about to send something is noted, and nothing else is known of it.
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
                let takes = self.takes;
                self.ending.push(Ending {
                    process,
                    how,
                    takes,
                    buried: false,
                });
                found += 1;
            }
        }
        if settles {
            // They may have been the last that had something of others.
            estate::settle(&self.memory, Some(self.me));
        }
        self.looked = Some(Instant::now());
        found
    }

    /// Gives up what it had of processes that have ended.
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

    /// Takes back what was on its way to a process that has ended, and gives up the memory shared
    /// with it. All is done, also if something turns out to be damaged, which is said then.
    pub(super) fn bury(&mut self, process: Process) -> Result<(), ShmError> {
        let peer = &mut self.peers[process.index()];
        (peer.lent, peer.borrowed) = (None, None);
        peer.due = NO_MESSAGE;
        let reclaimed = self.pool.reclaim(&self.memory, process);
        self.rings.abandon(&self.memory, self.me, process, false);
        let peer = &mut self.peers[process.index()];
        if peer.outlet.take().is_some() {
            self.memory.discard(Part::FastBox(self.me, process));
            self.counters.boxes -= 1;
        }
        if core::mem::take(&mut peer.is_naming) {
            self.naming.retain(|&naming| naming != process);
        }
        if peer.inlet.take().is_some() {
            self.memory.discard(Part::FastBox(process, self.me));
            self.open.retain(|&open| open != process);
            self.wanted.retain(|&wanted| wanted != process);
        }
        reclaimed.map(|_| ())
    }
}
