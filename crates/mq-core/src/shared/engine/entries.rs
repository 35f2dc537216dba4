//! All entries of a [`SharedEngine`], or of one of its contexts: shown, counted, removed.

use super::SharedEngine;
use crate::engine::Used;
use crate::envelope::ContextId;
use crate::error::Error;
use crate::queues::{EntryOf, MatchQueues, RemovedOf};

impl<Q: MatchQueues> SharedEngine<Q> {
    /// Removes the entries that `select` chooses, context by context, each at one moment: see
    /// [`MatchQueues::purge`]. Each context's receives are handed back first; the parts of a
    /// divided context are in order each for itself.
    ///
    /// # Cost
    /// Takes all locks of a context while `select` looks at it, so `select` must not call the engine;
    /// `back` is called with no lock held.
    ///
    /// # Panics
    /// If a callback panics. If `select` panics, nothing has left the context it was looking at; if `back`
    /// panics, the entries already removed from that context but not yet passed to `back` are dropped;
    /// those that were not selected stay queued.
    pub fn purge(
        &self,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        for context in self.directory.contexts() {
            let mut all = context.lock_all();
            let removed = context.purge(&mut all, &mut |entry| select(entry));
            drop(all);
            removed.into_iter().for_each(&mut *back);
        }
    }

    /// Removes the entries that `select` chooses from one context, as [`purge`](Self::purge) does from all.
    ///
    /// # Cost
    /// Takes all locks of the context; visits and sorts its entries; allocates.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// As `purge`.
    pub fn purge_context(
        &self,
        context: impl Into<ContextId>,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        self.find(context.into())?.purge_alive(None, select, back)
    }

    /// Shows all entries, context by context, each at one moment, a divided one part by part: see
    /// [`MatchQueues::visit`]. The visitor must not call the engine; the handles that it sees may be used
    /// afterwards, and name nothing once their entries have left.
    ///
    /// # Cost
    /// Takes all locks of a context while it is shown.
    pub fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        for context in self.directory.contexts() {
            context.lock_all().visit(visitor);
        }
    }

    /// Posted receives and unexpected messages in one context, at one moment.
    ///
    /// # Cost
    /// Takes all locks of the context.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn context_lengths(&self, context: impl Into<ContextId>) -> Result<(usize, usize), Error> {
        self.find(context.into())?.lengths(None)
    }

    /// Drops all entries and forgets what was learned from traffic, context by context, each at one
    /// moment. Contexts, their shards and memory stay. Entries are dropped with no lock held.
    ///
    /// # Cost
    /// Takes all locks of each context in turn.
    ///
    /// # Panics
    /// If dropping a payload panics. The other entries of its context are dropped too; contexts whose turn had not come
    /// keep theirs, and another call drops them.
    pub fn clear(&self) {
        for context in self.directory.contexts() {
            drop(context.clear());
        }
    }

    /// Unexpected messages in all contexts, and their weight, as the budget counts them; 0 in an
    /// engine with neither budget nor high-water marks.
    pub fn used(&self) -> Used {
        let budget = self.budget.as_ref();
        budget.map_or_else(Used::default, |budget| budget.used())
    }

    /// Posted receives in all contexts, each counted at one moment.
    ///
    /// # Cost
    /// Takes all locks of each context in turn, as do `unexpected_len` and `memory`.
    pub fn posted_len(&self) -> usize {
        let contexts = self.directory.contexts();
        contexts.iter().map(|c| c.lock_all().posted_len()).sum()
    }

    /// Unexpected messages in all contexts, each counted at one moment.
    ///
    /// # Cost
    /// As for `posted_len`.
    pub fn unexpected_len(&self) -> usize {
        let contexts = self.directory.contexts();
        contexts.iter().map(|c| c.lock_all().unexpected_len()).sum()
    }
}
