//! All entries of an [`Engine`], or of one of its contexts: shown, counted, removed.

use super::{Engine, Used};
use crate::envelope::ContextId;
use crate::error::Error;
use crate::queues::{Entry, EntryOf, MatchQueues, Removed, RemovedOf};

impl<Q: MatchQueues> Engine<Q> {
    /// Removes the entries that `select` chooses from all contexts, in the order of [`visit`](Self::visit). `select` is
    /// asked about all entries of a context, or of all contexts that share queues, before any of them is removed. See
    /// [`MatchQueues::purge`].
    ///
    /// # Cost
    /// Visits and sorts all entries; allocates.
    ///
    /// # Panics
    /// If `select` or `back` does. After a panic of `back`, the entries that were chosen and not yet handed back stay
    /// queued.
    pub fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        for object in 0..self.objects.len() {
            self.purge_object(object, select, back);
        }
    }

    /// Removes the entries that `select` chooses from one context: communicator free, revoke.
    ///
    /// # Cost
    /// Visits and sorts the entries of the context or, with a structure of
    /// [process scope](crate::Scope), of all contexts; allocates.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// As [`purge`](Self::purge).
    pub fn purge_context(
        &mut self,
        context: impl Into<ContextId>,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = context.into();
        let object = self.context(id)?.object();
        self.purge_object(
            object,
            &mut |entry| entry.context() == id && select(entry),
            back,
        );
        Ok(())
    }

    pub(super) fn purge_object(
        &mut self,
        object: usize,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) {
        let ledger = &mut self.ledger;
        self.objects[object]
            .queues
            .purge(&mut |entry| select(entry), &mut |removed| {
                if let Some(ledger) = ledger
                    && let Removed::Unexpected(envelope, message) = &removed
                {
                    ledger.release(envelope, message);
                }
                back(removed);
            });
    }

    /// Shows all entries, context by context; those of contexts that share queues, with a structure of
    /// [process scope](crate::Scope), are mixed. See [`MatchQueues::visit`].
    pub fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        // Contexts may be many, and most of them idle.
        for queues in self.objects.iter().map(|object| &object.queues) {
            if queues.posted_len() + queues.unexpected_len() > 0 {
                queues.visit(visitor);
            }
        }
    }

    /// Posted receives in all contexts.
    ///
    /// # Cost
    /// Asks the queues of every context, and the [places](Self::create_context) of freed ones, as `unexpected_len` and
    /// [`memory`](crate::Footprint::memory) do.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        self.objects
            .iter()
            .map(|object| object.queues.posted_len())
            .sum()
    }

    /// Unexpected messages in all contexts.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        self.objects
            .iter()
            .map(|object| object.queues.unexpected_len())
            .sum()
    }

    /// Posted receives and unexpected messages in one context.
    ///
    /// # Cost
    /// Constant if the structure is of context scope, as `indexed` is; otherwise visits the entries of
    /// all contexts.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub fn context_lengths(&self, context: impl Into<ContextId>) -> Result<(usize, usize), Error> {
        let id = context.into();
        let found = self.context(id)?;
        let queues = &self.objects[found.object()].queues;
        let (mut posted, mut unexpected) = (queues.posted_len(), queues.unexpected_len());
        if found.shares_object && posted + unexpected > 0 {
            (posted, unexpected) = (0, 0);
            queues.visit(&mut |entry| match entry {
                _ if entry.context() != id => {}
                Entry::Posted(..) => posted += 1,
                Entry::Unexpected(..) => unexpected += 1,
            });
        }
        Ok((posted, unexpected))
    }

    /// Unexpected messages in all contexts, and their weight, as the budget counts them; 0 in an
    /// engine with neither budget nor high-water marks.
    pub fn used(&self) -> Used {
        self.ledger
            .as_ref()
            .map_or_else(Used::default, |ledger| ledger.used())
    }

    /// Drops all entries and forgets what was learned about senders, calls and lengths. Contexts stay,
    /// and so does as much memory as if the entries had left one by one.
    ///
    /// # Panics
    /// If dropping a payload panics. Another call drops the rest; until it has, nothing else may be done with the
    /// engine, except dropping it.
    pub fn clear(&mut self) {
        self.objects
            .iter_mut()
            .for_each(|object| object.queues.clear());
        if let Some(ledger) = &mut self.ledger {
            ledger.clear();
        }
    }
}
