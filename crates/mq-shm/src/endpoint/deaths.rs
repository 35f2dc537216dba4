//! Processes that have ended: how that is found, and what is given up with them.

use core::time::Duration;
use std::time::Instant;

use crate::endpoint::incoming::Held;
use crate::endpoint::peer::NO_MESSAGE;
use crate::endpoint::{Arrival, Endpoint, Incoming};
use crate::error::ShmError;
use crate::estate;
use crate::fastbox::SLOTS;
use crate::ids::Process;
use crate::liveness::{Gone, Watch};
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};

/// A resting process looks for deaths once in this time. A look takes system calls, and a process that is
/// woken for each of many messages, or sleeps for short times only, would make them again and again.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a process knows of the ends of others.
#[derive(Debug)]
pub(super) struct Deaths {
    pub(super) watch: Watch,
    /// When it last looked for processes that have ended.
    pub(super) looked: Option<Instant>,
    /// Peers that have ended, until what they sent has been received.
    pub(super) ending: Vec<Ending>,
    /// Peers whose end has been reported, and whose memory this process may still look into.
    reported: Vec<Process>,
}

impl Deaths {
    pub(super) fn new(processes: u32) -> Self {
        Self {
            watch: Watch::new(processes),
            looked: None,
            ending: Vec::new(),
            reported: Vec::new(),
        }
    }
}

/// A process that is known to have ended, and has not been reported yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ending {
    process: Process,
    how: Gone,
    /// How often the queue had been taken when that was found.
    takes: u32,
    /// Messages that there may still be in its box: no more than a box holds, even if it goes on sending.
    in_box: u32,
    /// The number of the last of these that a poll has shown.
    shown: u64,
    /// This process has taken back what is its own: only the report is left. It still looks into what is the other's,
    /// until it [strikes it out](Endpoint::strike_out).
    buried: bool,
}

impl Ending {
    pub(super) const fn found(process: Process, how: Gone, takes: u32) -> Self {
        Self {
            process,
            how,
            takes,
            in_box: SLOTS,
            shown: NO_MESSAGE,
            buried: false,
        }
    }
}

impl<M: Memory> Endpoint<M> {
    /// How long a resting process must wait before it looks for deaths again.
    pub(super) fn until_look(&self) -> Duration {
        let since = self.deaths.looked.map(|looked| looked.elapsed());
        since.map_or(Duration::ZERO, |since| LOOK_EVERY.saturating_sub(since))
    }

    /// Whether an end has been [found](Self::check_peers) that [`poll`](Self::poll) has not reported yet, since
    /// something that the process had sent is still to be taken out. Sends to it fail already.
    #[must_use]
    pub fn has_ends_to_report(&self) -> bool {
        !self.deaths.ending.is_empty()
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
        self.deaths.watch.ask_all();
        // Processes that hold up the memory of one that has ended: perhaps no other process has dealings with
        // them.
        let peers = (0..).map(Process).zip(&self.peers);
        let struck_out = peers.filter(|(_, peer)| peer.struck_out);
        let struck_out = struck_out.map(|(process, _)| process);
        let (awaited, is_due) = estate::awaited(&self.memory, struck_out);
        let mut found = 0;
        // Also if a process had no descriptor with which to give it back.
        let mut settles = is_due;
        let all = self.peers.len();
        let first = self.deaths.watch.first_in_turn();
        for number in (first..all).chain(0..first) {
            let process = Process(number as u32);
            let peer = &self.peers[number];
            if process == self.me || peer.gone.is_some() {
                continue;
            }
            // A process that was about to send something is noted, and nothing else is known about it.
            let concerns = peer.met
                || self.inlets.is_any_wanted()
                || estate::is_noted(&self.memory, process, self.me);
            if !concerns && !awaited.contains(&process) {
                continue;
            }
            let Some(how) = self.deaths.watch.find_end_in_turn(process, &peer.place) else {
                continue;
            };
            settles = true;
            if concerns {
                self.peers[number].gone = Some(how);
                self.close_outlet(process);
                self.deaths
                    .ending
                    .push(Ending::found(process, how, self.inbox.takes));
                found += 1;
            }
        }
        if settles {
            // They may have been the last to hold something of others.
            estate::settle(&self.memory, Some(self.me));
        }
        self.deaths.looked = Some(Instant::now());
        found
    }

    /// While a process is known to have ended: what it has sent, then its end. Its box and the queue come
    /// before everything else, so that others that send without end do not hide them.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_ending(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        let Some(&Ending {
            process,
            takes,
            in_box,
            shown,
            buried,
            ..
        }) = self.deaths.ending.last()
        else {
            return Ok(None);
        };
        if buried {
            return self.report_end();
        }
        let next = if in_box > 0 || shown == self.peers[process.index()].due {
            self.in_box(process).map(Held::in_box)
        } else {
            None
        };
        let found = match next {
            Some(held) => {
                // One that was forgotten is found again, and is still the same.
                let due = self.peers[process.index()].due;
                if let Some(ending) = self.deaths.ending.last_mut()
                    && ending.shown != due
                {
                    ending.in_box -= 1;
                    ending.shown = due;
                }
                Some((process, held))
            }
            // All that was in the queue when its end was found has been received.
            None if self.inbox.shadow.is_empty() && self.inbox.takes != takes => None,
            None => self.next_from_queue()?,
        };
        match found {
            Some((from, held)) => Ok(Some(Arrival::Message(Incoming {
                endpoint: self,
                from,
                held,
            }))),
            None => self.report_end(),
        }
    }

    /// Reports a process that has ended and from which nothing is left. If what it had turns out to be
    /// damaged, that is reported now, and the end at the next look.
    #[cold]
    fn report_end(&mut self) -> Result<Option<Arrival<'_, M>>, ShmError> {
        let Some(ending) = self.deaths.ending.last_mut() else {
            return Ok(None);
        };
        let Ending { process, how, .. } = *ending;
        if !core::mem::replace(&mut ending.buried, true) {
            self.bury(process)?;
        }
        self.deaths.ending.pop();
        self.deaths.reported.push(process);
        Ok(Some(Arrival::Gone(process, how)))
    }

    /// No longer looks into what is theirs of processes whose end has been reported, and says so in the segment.
    pub(super) fn strike_out(&mut self) {
        if self.deaths.reported.is_empty() {
            return;
        }
        for process in self.deaths.reported.drain(..) {
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

    /// Takes back what is ours: what was in transit to a process that has ended, and the rings to it, except those in
    /// which it has left something; and gives up its box to this process.
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
            self.inlets.closed(process);
        }
        reclaimed.map(|_| ())
    }
}
