//! [`CommonBudget`]: one budget for threads that queue messages at the same time.

use super::ledger::{HighWaterCall, Ledger};
use super::{Budget, HighWater, Used};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::memory::arc_bytes;
use crate::shared::sync::Mutex;

/// A ledger under a lock, whose holder takes no other lock, and the high-water call under a lock of its own.
pub(crate) struct CommonBudget<M> {
    ledger: Mutex<Box<Ledger<M>>>,
    /// Taken while no other lock is held, and before the ledger's, so that calls come in the order of what they are
    /// told.
    call: Mutex<Option<HighWaterCall>>,
    /// What the caller's function has captured.
    call_bytes: usize,
}

/// Room that was counted for a message. It is given back unless it is [kept](Self::keep): if the queue panics, the
/// message is not in it.
pub(crate) struct Room<'a, M, E: Envelope> {
    budget: &'a CommonBudget<M>,
    envelope: E,
    weight: u64,
    /// A high mark has been reached.
    reached: bool,
}

impl<M> CommonBudget<M> {
    /// `None` if there is neither a limit nor a mark: then there is nothing to keep.
    pub(crate) fn new(
        budget: Budget<M>,
        high_water: Option<(HighWater, HighWaterCall)>,
    ) -> Option<Self> {
        let mut ledger = Ledger::new(budget, high_water)?;
        let call = ledger.take_call();
        Some(Self {
            call_bytes: call.as_deref().map_or(0, size_of_val),
            call: Mutex::new(call),
            ledger: Mutex::new(ledger),
        })
    }

    /// Counts a message about to be queued.
    ///
    /// # Errors
    /// There is no room for it, and nothing was counted.
    pub(crate) fn take<E: Envelope>(
        &self,
        envelope: E,
        message: &M,
    ) -> Result<Room<'_, M, E>, Error> {
        let mut ledger = self.ledger.lock();
        let weight = ledger.room_for(&envelope, message)?;
        Ok(Room {
            budget: self,
            envelope,
            weight,
            reached: ledger.count(&envelope, weight),
        })
    }

    /// Makes the call if a high mark has been reached. It is the caller's function, so no other lock may
    /// be held.
    pub(crate) fn ring(&self) {
        let mut call = self.call.lock();
        let due = self.ledger.lock().take_due();
        if let (Some(used), Some(call)) = (due, &mut *call) {
            call(used);
        }
    }

    /// What is queued at the moment.
    pub(crate) fn used(&self) -> Used {
        self.ledger.lock().used()
    }

    /// Bytes of the ledger, of its table of sources, and of what the caller's function has captured.
    pub(crate) fn heap_bytes(&self) -> usize {
        arc_bytes::<Self>() + self.ledger.lock().heap_bytes() + self.call_bytes
    }

    /// A message has left.
    pub(crate) fn release<E: Envelope>(&self, envelope: &E, message: &M) {
        self.ledger.lock().release(envelope, message);
    }

    /// Some messages have left, for everybody else at one moment.
    pub(crate) fn release_all<'a, E: Envelope + 'a>(
        &self,
        messages: impl Iterator<Item = (&'a E, &'a M)>,
    ) where
        M: 'a,
    {
        self.ledger.lock().release_all(messages);
    }
}

impl<M, E: Envelope> Room<'_, M, E> {
    /// The message is queued; returns whether [`ring`](CommonBudget::ring) must follow.
    pub(crate) fn keep(self) -> bool {
        let reached = self.reached;
        core::mem::forget(self);
        reached
    }
}

impl<M, E: Envelope> Drop for Room<'_, M, E> {
    fn drop(&mut self) {
        let mut ledger = self.budget.ledger.lock();
        ledger.give_back(&self.envelope, self.weight);
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;
    use crate::mpi::MpiEnvelope;

    #[test]
    fn room_that_is_not_kept_is_given_back_whole() {
        let limits = Budget::UNLIMITED
            .entries(1)
            .entries_per_source(1)
            .bytes(10, |message: &u64| *message);
        let budget = CommonBudget::new(limits, None).unwrap();
        let (envelope, message) = (MpiEnvelope::new(0, 3, 7), 10);
        let room = budget.take(envelope, &message).unwrap();
        let used = budget.used();
        assert_eq!((used.entries, used.bytes), (1, 10));
        drop(room);
        assert_eq!(budget.used(), Used::default());
        // Neither the engine nor the source has any of it left.
        let reached = budget.take(envelope, &message).unwrap().keep();
        assert!(!reached, "there is no mark");
        let refused = budget.take(envelope, &message).err();
        assert_eq!(refused, Some(Error::EntryBudget { limit: 1 }));
        budget.release(&envelope, &message);
        assert_eq!(budget.used(), Used::default());
    }
}
