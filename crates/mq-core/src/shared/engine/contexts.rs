//! The contexts of a [`SharedEngine`]: made, freed, found, listed.

use std::sync::Arc;

use super::SharedEngine;
use crate::config::Config;
use crate::engine::{ContextOptions, ContextTerms, Terms};
use crate::envelope::ContextId;
use crate::error::Error;
use crate::queues::{MatchQueues, RemovedOf};
use crate::shared::context::Context;
use crate::shared::shared_context::SharedContext;

impl<Q: MatchQueues> SharedEngine<Q> {
    /// Creates a context, and returns its [`SharedContext`], which saves looking it up.
    ///
    /// # Cost
    /// Contexts are created one at a time. A context below 4,096 stays in memory, empty, after it is freed,
    /// for reuse: some 700 bytes, and its shards if it had any.
    ///
    /// # Errors
    /// [`Error::ContextExists`]; [`Error::NoRanks`] for a size of 0.
    pub fn create_context(
        &self,
        context: impl Into<ContextId>,
        options: ContextOptions,
    ) -> Result<SharedContext<Q>, Error> {
        let id = context.into();
        let registry = self.registry.lock();
        let found = self.directory.get(id).map(|found| Arc::clone(&found));
        let known = found.is_some();
        let context = found.unwrap_or_else(|| {
            let budget = self.budget.clone();
            Arc::new(Context::new(id, self.sharding, budget))
        });
        let terms = Terms::new(id, &options);
        let config = Config {
            kind: options.kind.unwrap_or(self.kind),
            size: options.size,
            allow_overtaking: options.allow_overtaking,
            first_sequence: registry.retired,
            tuning: match options.tuning {
                Some(tuning) => *tuning,
                None => self.tuning.clone(),
            },
        };
        let life = context.begin(terms, config)?;
        if !known {
            self.directory.insert(id, Arc::clone(&context));
        }
        drop(registry);
        Ok(SharedContext::new(context, life))
    }

    /// Removes a context and hands every entry left in it to `back`, all receives first
    /// (`MPI_Comm_free`, MPI 4.1 §7.4.3). Handles of the context stay stale forever.
    ///
    /// Operations that other threads have already begun take effect before, or find the context unknown.
    /// The parts of a divided context, which are the undivided queues and the shards, are in order each for itself.
    ///
    /// # Cost
    /// Takes all locks of the context; visits and sorts its entries. `back` is called with no lock
    /// held.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// If `back` does: the context no longer exists, and the entries that were not yet handed back are dropped.
    pub fn free_context(
        &self,
        context: impl Into<ContextId>,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = context.into();
        let mut registry = self.registry.lock();
        let (removed, retired) = self.find(id)?.end()?;
        registry.retired = registry.retired.max(retired);
        self.directory.remove(id);
        drop(registry);
        removed.into_iter().for_each(back);
        Ok(())
    }

    /// The [`SharedContext`] of a context; `None` if it is unknown.
    ///
    /// # Cost
    /// Takes the lock of the undivided queues: keep what it returns, and do not ask for it in every operation.
    pub fn context(&self, context: impl Into<ContextId>) -> Option<SharedContext<Q>> {
        let found = self.directory.get(context.into())?;
        let life = found.undivided().standing.life_now()?;
        Some(SharedContext::new(Arc::clone(&found), life))
    }

    /// The size and the promises of a context, for a caller that checks arguments itself; `None` for an unknown
    /// context.
    ///
    /// # Cost
    /// Takes the lock of the undivided queues, which operations on a divided context otherwise avoid.
    pub fn terms(&self, context: impl Into<ContextId>) -> Option<ContextTerms> {
        let found = self.directory.get(context.into())?;
        let standing = found.undivided().standing;
        standing.life_now().map(|_| standing.terms.shown())
    }

    /// The contexts that existed when each was asked, in no order.
    ///
    /// # Cost
    /// Takes the lock of each context's undivided queues in turn; allocates.
    #[must_use]
    pub fn contexts(&self) -> Vec<ContextId> {
        let contexts = self.directory.contexts();
        let present = contexts
            .iter()
            .filter(|context| context.undivided().standing.is_alive(None));
        present.map(|context| context.id).collect()
    }
}
