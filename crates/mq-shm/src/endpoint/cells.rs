//! Which cell a message gets, and when a pair gets a fastbox: the policies at work.

use super::Endpoint;
use super::peer::Peer;
use crate::channel::Policy;
use crate::error::ShmError;
use crate::fastbox::Outlet;
use crate::ids::{CellId, Process};
use crate::pool::{Pool, UNTIL_ASKED_AGAIN};
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};

impl<M: Memory> Endpoint<M> {
    /// Makes cells, if there are none yet: after this no message is refused for want of memory, since existing
    /// cells come back.
    ///
    /// # Errors
    /// [`ShmError::NoMemory`].
    pub fn prepare(&mut self) -> Result<(), ShmError> {
        if self.counters.cells > 0 {
            return Ok(());
        }
        let tuning = self.options.tuning;
        self.pool.grow(&self.memory, &tuning, &mut self.counters)
    }

    /// A cell for a message to `to`, if its share allows one.
    pub(super) fn cell_for(&mut self, to: Process) -> Result<Option<CellId>, ShmError> {
        let tuning = self.options.tuning;
        if self.options.policy.divides_cells() && self.pool.out_to(to) >= tuning.credits {
            self.collect()?;
            if self.pool.out_to(to) >= tuning.credits {
                return Ok(None);
            }
        }
        if self.pool.is_low(&tuning) {
            self.refill(to)?;
            // A process that does not receive must not hold up those that do.
            if self.pool.keeps_back(to, self.geometry()) {
                return Ok(None);
            }
        }
        Ok(self.pool.take(&self.memory, to))
    }

    /// Gets more cells: from the process that the next cell is for, which often has the most, from all others,
    /// or new ones.
    #[inline(never)]
    fn refill(&mut self, to: Process) -> Result<(), ShmError> {
        let tuning = self.options.tuning;
        take_back(&mut self.peers[to.index()], &mut self.pool, &self.memory);
        if self.pool.is_low(&tuning) {
            self.collect()?;
        }
        if self.pool.wants_more(&tuning) {
            self.pool.grow(&self.memory, &tuning, &mut self.counters)?;
        }
        Ok(())
    }

    /// Fetches the cells that others have brought back or are done with.
    pub(super) fn collect(&mut self) -> Result<(), ShmError> {
        self.pool.collect(&self.memory)?;
        let (peers, pool, memory) = (&mut self.peers, &mut self.pool, &self.memory);
        self.naming.retain(|&to| {
            let peer = &mut peers[to.index()];
            take_back(peer, pool, memory);
            peer.is_naming = peer.outlet.as_ref().is_some_and(Outlet::names_any);
            peer.is_naming
        });
        Ok(())
    }

    /// Commits memory for a fastbox to `to`, if the policy wants one by now; whether the next cell is to announce it.
    pub(super) fn make_box_for(&mut self, to: Process) -> bool {
        let peer = &mut self.peers[to.index()];
        let threshold = match self.options.policy {
            Policy::PerPeer => 0,
            Policy::AdaptivePerPeer | Policy::AdaptiveShared => self.options.tuning.box_after,
            Policy::Shared => return false,
        };
        if peer.outlet.is_some() || !self.options.fastbox || to == self.me {
            return false;
        }
        if peer.before_box < threshold {
            peer.before_box += 1;
            return false;
        }
        if peer.box_wishes > 0 {
            peer.box_wishes -= 1;
            return false;
        }
        if self.memory.commit(Part::FastBox(self.me, to)).is_err() {
            // The queue works as well, only slower.
            peer.box_wishes = UNTIL_ASKED_AGAIN;
            return false;
        }
        step(Step::BoxMade);
        self.counters.boxes += 1;
        self.counters.grown();
        true
    }
}

/// Fetches the cells, named in the fastbox to a process, that the process is done with.
fn take_back<M: Memory>(peer: &mut Peer, pool: &mut Pool, memory: &M) {
    if let Some(outlet) = &mut peer.outlet {
        while let Some(cell) = outlet.take_back() {
            pool.came_back(memory, cell);
        }
    }
}
