//! [`CommonBudget`]: one budget for threads that queue messages at the same time.

use super::budget::{Budget, Used};
use crate::error::Error;
use crate::shared::sync::Mutex;

/// A budget and what is used of it. Its lock is the innermost: whoever holds it asks for no other.
pub(crate) struct CommonBudget<M> {
    budget: Budget<M>,
    used: Mutex<Used>,
}

impl<M> CommonBudget<M> {
    /// `None` if nothing is limited: then there is nothing to keep.
    pub(crate) fn new(budget: Budget<M>) -> Option<Self> {
        budget.is_limited().then(|| Self {
            budget,
            used: Mutex::new(Used::default()),
        })
    }

    /// Counts a message that is to be queued.
    ///
    /// # Errors
    /// There is no room for it, and nothing was counted.
    pub(crate) fn take(&self, message: &M) -> Result<(), Error> {
        let mut used = self.used.lock();
        let weight = used.room_for(&self.budget, message)?;
        used.take(weight);
        Ok(())
    }

    /// A message has left.
    pub(crate) fn release(&self, message: &M) {
        self.used.lock().release(&self.budget, message);
    }
}
