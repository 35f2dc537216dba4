//! [`CommonBudget`]: one budget for threads that queue messages at the same time.

use super::ledger::{HighWaterCall, Ledger};
use super::{Budget, HighWater, Used};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::shared::sync::Mutex;

/// A ledger under a lock. The lock is the innermost: its holder takes no other. The function called at
/// a high mark runs under it and must not use the engine.
pub(crate) struct CommonBudget<M>(Mutex<Box<Ledger<M>>>);

impl<M> CommonBudget<M> {
    /// `None` if there is neither a limit nor a mark: then there is nothing to keep.
    pub(crate) fn new(
        budget: Budget<M>,
        high_water: Option<(HighWater, HighWaterCall)>,
    ) -> Option<Self> {
        let ledger = Ledger::new(budget, high_water)?;
        Some(Self(Mutex::new(ledger)))
    }

    /// Counts a message about to be queued; returns whether a high mark has been reached, so that
    /// [`ring`](Self::ring) must follow once it is queued.
    ///
    /// # Errors
    /// There is no room for it, and nothing was counted.
    pub(crate) fn take<E: Envelope>(&self, envelope: &E, message: &M) -> Result<bool, Error> {
        let mut ledger = self.0.lock();
        let weight = ledger.room_for(envelope, message)?;
        Ok(ledger.count(envelope, weight))
    }

    /// Makes the call if a high mark has been reached. It is the caller's function, so no other lock may
    /// be held.
    pub(crate) fn ring(&self) {
        self.0.lock().ring();
    }

    /// What is queued at the moment.
    pub(crate) fn used(&self) -> Used {
        self.0.lock().used()
    }

    /// Bytes of the ledger and of its table of sources.
    pub(crate) fn heap_bytes(&self) -> usize {
        let ledger = self.0.lock();
        size_of::<Ledger<M>>() + ledger.heap_bytes()
    }

    /// A message has left.
    pub(crate) fn release<E: Envelope>(&self, envelope: &E, message: &M) {
        self.0.lock().release(envelope, message);
    }
}
