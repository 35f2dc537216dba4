//! What an endpoint does while nothing arrives, and what it checks before it sleeps.

use core::time::Duration;
use std::time::Instant;

#[cfg(not(mq_loom))]
use crate::cores::{self, CoreSharing};
use crate::endpoint::Endpoint;
use crate::error::ShmError;
use crate::fastbox::Outlet;
use crate::ids::Process;
use crate::liveness;
use crate::segment::Memory;
use crate::sleeper;
use crate::steps::{Step, step};
use crate::wait::{Idle, Patience, Rest};

/// Longest single sleep while a ring is in use, or a message waits for room in a fastbox: who empties a box wakes
/// nobody, and what happens to a ring between the last look at it and the sleep is not noticed.
const NAP: Duration = Duration::from_millis(1);

/// Number of waits that gave up the core, while others may be joining, after which the process asks again who shares
/// its cores: processes that are started together join within milliseconds.
#[cfg(not(mq_loom))]
const WHILE_OTHERS_COME: u32 = 1024;

impl<M: Memory> Endpoint<M> {
    /// Passes the time after a [`poll`](Self::poll) that found nothing: looks again immediately, yields,
    /// or sleeps until a process sends or brings a cell back, depending on how long it has been idle.
    ///
    /// Before it sleeps it looks for processes that have ended, as [`check_peers`](Self::check_peers)
    /// does, once in 20 ms. If it is too early for the next look, it sleeps at most until that is due.
    ///
    /// # Errors
    /// [`ShmError::Corrupt`] if the segment is damaged.
    #[inline]
    pub fn rest(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        self.rest_within(idle, Duration::MAX)
    }

    /// [`rest`](Self::rest) of a caller that waits no longer than this: if it sleeps, it does not sleep longer.
    ///
    /// # Errors
    /// As for `rest`.
    #[inline]
    pub fn rest_within(&mut self, idle: &mut Idle, longest: Duration) -> Result<(), ShmError> {
        match idle.rest(&self.patience) {
            Rest::Again => Ok(()),
            Rest::Yielded => {
                self.note_a_turn(idle);
                Ok(())
            }
            // Who waits for a ring looks again.
            Rest::Sleep if self.rings.take_back(&self.memory, self.me) => Ok(()),
            Rest::Sleep => self.sleep(match self.rings.busy() {
                true => NAP.min(longest),
                false => longest,
            }),
        }
    }

    /// Like [`rest`](Self::rest), while a ring is being filled or emptied and the other end is active.
    /// The other end wakes this one, unless this one lies down at the same moment: so it sleeps late,
    /// and not for long. The core is yielded just as late: the next process may keep it for a whole time
    /// slice, a thousand times as long as a buffer takes. Deaths are looked for as in `rest`.
    ///
    /// # Errors
    /// As for `rest`.
    #[inline]
    pub fn rest_briefly(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        match idle.rest(&self.patience) {
            Rest::Sleep if idle.is_long() => self.sleep(NAP),
            Rest::Sleep if self.until_look().is_zero() => {
                self.check_peers();
                Ok(())
            }
            Rest::Yielded => {
                self.note_a_turn(idle);
                Ok(())
            }
            Rest::Again | Rest::Sleep => Ok(()),
        }
    }

    /// For a caller that does not wait, but will look again, after a look that found nothing: gives up the
    /// core once as many looks in a row have found nothing as are made before a [`rest`](Self::rest) does so.
    /// The awaited process may be waiting for this very core. Never sleeps.
    #[inline]
    pub fn give_way(&mut self, idle: &mut Idle) {
        let before = self.patience;
        if idle.give_way(&before) == Rest::Yielded {
            self.note_a_turn(idle);
            if self.patience != before {
                idle.reset();
            }
        }
    }

    /// Others have had their turn on this core. Some of the waits that get this far check whether there
    /// is a core for each process, or whether the awaited process may be waiting for this very core: the
    /// initial answer is a guess, and processes may be bound to other cores while they run. Whatever the
    /// answer, patience that is in vain (`in_vain`) is given up for a while.
    #[cold]
    fn note_a_turn(&mut self, idle: &Idle) {
        if !idle.has_begun_to_yield(&self.patience) {
            return;
        }
        match &mut self.ask_in {
            None => {}
            Some(waits)
                if self.patience.keeps_its_core() && self.in_vain.count_wait(Instant::now()) =>
            {
                self.patience = Patience::YIELDING;
                *waits = self.patience.asks_after();
            }
            Some(waits) if *waits > 0 && !self.in_vain.impatience_ends(Instant::now) => *waits -= 1,
            Some(_) => self.adapt_patience(),
        }
    }

    /// Asks the kernel who shares the cores. While some places are empty, others may be on their way, as at the start
    /// of a world: until a look finds as many empty as the one before did, the guess from the number of all is kept.
    /// Whoever does not come then is counted out, as those that have ended are.
    fn adapt_patience(&mut self) {
        #[cfg(not(mq_loom))]
        {
            let places = self.peers.iter().enumerate();
            let others = places.filter(|&(number, _)| number != self.me.index());
            let found = cores::sharing(others.map(|(_, peer)| &*peer.place));
            let mut soon = u32::MAX;
            if let Some(CoreSharing {
                a_core_each,
                absent,
            }) = found
            {
                let may_come = absent != 0 && absent != self.absent;
                self.absent = absent;
                match (a_core_each, may_come) {
                    // More would not make it better.
                    (false, _) => self.patience = Patience::YIELDING,
                    (true, false) => self.patience = Patience::SPINNING,
                    (true, true) => soon = WHILE_OTHERS_COME,
                }
            }
            self.ask_in = Some(self.patience.asks_after().min(soon));
        }
    }

    /// Sleeps until woken, at most for the given time and as long as patience allows.
    #[cold]
    fn sleep(&mut self, longest: Duration) -> Result<(), ShmError> {
        self.in_vain.reset();
        let mut longest = longest.min(self.patience.sleep);
        let until_look = self.until_look();
        if until_look.is_zero() {
            if self.check_peers() > 0 {
                return Ok(());
            }
        } else {
            self.strike_out();
            longest = longest.min(until_look);
        }
        longest = self.until_there_may_be_room(longest);
        // Cells that are back would keep it awake forever. A process that waits for one looks again.
        let out = self.pool.out();
        if self.cells_out()? < out {
            return Ok(());
        }
        sleeper::lie_down(&self.place, self.fences);
        step(Step::Sleeping);
        if self.anything_new() {
            sleeper::stay_awake(&self.place);
            if self.one_has_ended() {
                // Now, although early: otherwise it would be kept awake until it is time to look.
                self.check_peers();
            }
            return Ok(());
        }
        sleeper::sleep(&self.place, self.fences, longest);
        Ok(())
    }

    /// The longest sleep allowed in place of `longest`.
    pub(super) fn until_there_may_be_room(&mut self, longest: Duration) -> Duration {
        match core::mem::take(&mut self.awaits_room) {
            true => longest.min(NAP),
            false => longest,
        }
    }

    /// Whether a poll would find something, or cells have come back, or a process has ended.
    pub(crate) fn anything_new(&self) -> bool {
        !self.inbox.shadow.is_empty()
            || !self.place.queue.0.is_empty()
            || !self.place.returns.0.is_empty()
            || self
                .inlets
                .open()
                .iter()
                .any(|&from| self.in_box(from).is_some())
            || self.has_cell_back()
            || self.one_has_ended()
    }

    /// Whether a process that it has met records in its entry that it has ended, which is not known here
    /// yet: a process that leaves wakes those that sleep, but not those that were about to.
    fn one_has_ended(&self) -> bool {
        let mut peers = (0..).map(Process).zip(&self.peers);
        peers.any(|(process, peer)| {
            let is_expected = peer.met && peer.gone.is_none() && process != self.me;
            is_expected && liveness::has_ended(&peer.place)
        })
    }

    /// Whether another process is done with a cell that is named in the fastbox to it.
    fn has_cell_back(&self) -> bool {
        let peers = self.naming.iter().map(|to| &self.peers[to.index()]);
        let mut outlets = peers.filter_map(|peer| peer.outlet.as_ref());
        outlets.any(Outlet::has_cell)
    }
}
