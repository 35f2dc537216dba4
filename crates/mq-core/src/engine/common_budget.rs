//! [`CommonBudget`]: one budget for threads that queue messages at the same time.

use super::ledger::{HighWaterCall, Ledger};
use super::{Budget, HighWater};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::shared::sync::Mutex;

/// A ledger under a lock, which is the innermost: whoever holds it asks for no other.
pub(crate) struct CommonBudget<M>(Mutex<Box<Ledger<M>>>);

impl<M> CommonBudget<M> {
    /// `None` if nothing is limited or marked: then there is nothing to keep.
    pub(crate) fn new(
        budget: Budget<M>,
        high_water: Option<(HighWater, HighWaterCall)>,
    ) -> Option<Self> {
        let ledger = Ledger::new(budget, high_water)?;
        Some(Self(Mutex::new(ledger)))
    }

    /// Counts a message that is to be queued.
    ///
    /// # Errors
    /// There is no room for it, and nothing was counted.
    pub(crate) fn take<E: Envelope>(&self, envelope: &E, message: &M) -> Result<(), Error> {
        let mut ledger = self.0.lock();
        let weight = ledger.room_for(envelope, message)?;
        ledger.take(envelope, weight);
        Ok(())
    }

    /// A message has left.
    pub(crate) fn release<E: Envelope>(&self, envelope: &E, message: &M) {
        self.0.lock().release(envelope, message);
    }
}
