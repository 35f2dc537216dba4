//! Lists of transfers, one for each ring.

use std::collections::VecDeque;

use mq_shm::{Process, RingId, Stretch};

/// Transfers by the ring through which they go, each ring's in its order: it is filled and emptied in that order, so
/// none has to be looked at before those in front of it are done.
#[derive(Debug)]
pub(super) struct ByRing<T> {
    pub(super) busy: Vec<Transfers<T>>,
    /// Memory for others, so that one transfer after the other allocates nothing.
    spare: Vec<VecDeque<T>>,
}

/// What had room for more transfers than this does not keep it.
const KEPT: usize = 256;

/// The transfers through one ring: at least one.
#[derive(Debug)]
pub(super) struct Transfers<T> {
    owner: Process,
    ring: RingId,
    pub(super) all: VecDeque<T>,
}

impl<T> Default for ByRing<T> {
    fn default() -> Self {
        Self {
            busy: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<T> ByRing<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    pub(super) fn use_one_of(&self, owner: Process) -> bool {
        self.busy.iter().any(|transfers| transfers.owner == owner)
    }

    pub(super) fn add(&mut self, stretch: Stretch, transfer: T) {
        let (owner, ring) = (stretch.owner(), stretch.ring());
        let is_its = |its: &&mut Transfers<T>| its.owner == owner && its.ring == ring;
        if let Some(its) = self.busy.iter_mut().find(is_its) {
            its.all.push_back(transfer);
            return;
        }
        let mut all = self.spare.pop().unwrap_or_default();
        all.push_back(transfer);
        self.busy.push(Transfers { owner, ring, all });
    }

    pub(super) fn retain(&mut self, stays: impl Fn(&T) -> bool) {
        for transfers in &mut self.busy {
            transfers.all.retain(&stays);
        }
        self.busy.retain(|transfers| !transfers.all.is_empty());
    }

    /// One through a ring is over; returns whether it was the last.
    pub(super) fn remove(&mut self, index: usize, at: usize) -> bool {
        self.busy[index].all.remove(at);
        let is_empty = self.busy[index].all.is_empty();
        if is_empty {
            let Transfers { all, .. } = self.busy.swap_remove(index);
            if all.capacity() <= KEPT {
                self.spare.push(all);
            }
        }
        is_empty
    }
}
