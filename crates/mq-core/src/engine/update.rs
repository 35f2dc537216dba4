//! Changing the terms of a context in use.

use super::{ContextOptions, Engine, Terms};
use crate::envelope::{ContextId, Envelope};
use crate::error::Error;
use crate::pattern::Pattern;
use crate::queues::{Entry, EntryOf, MatchQueues};

impl<Q: MatchQueues> Engine<Q> {
    /// Sets the size and promises of a context to those of `options` (`MPI_Comm_set_info`, MPI 4.1 §7.4.4, or a
    /// communicator that is created after its first messages have arrived). A promise left out is withdrawn, and a size
    /// left out is unknown from then on: to change one of them, begin with [`terms`](Self::terms), which has them
    /// all. The context keeps its structure and its parameters. If the size changes, the
    /// structure redoes what it planned by the size as soon as nothing of the context is queued. `pnp`, `col`
    /// and `col+pnp` use the largest size that they were given since the engine last had no context for them.
    ///
    /// # Cost
    /// Constant, apart from what the structure does, if every operation that was admitted still is. Otherwise (a size
    /// that is smaller or known at last, a promise more) visits the entries of the context or, with a structure of
    /// [process scope](crate::Scope), of all contexts.
    ///
    /// # Errors
    /// [`Error::UnknownContext`]; [`Error::NoRanks`] for a size of 0; if a queued receive or message
    /// violates `options`, the error that its operation would be refused with. Nothing has changed then.
    ///
    /// # Example
    /// ```
    /// use mq_core::mpi::{MpiEnvelope, MpiPattern};
    /// use mq_core::structures::Indexed;
    /// use mq_core::{ContextId, ContextOptions, Engine, Error, Source};
    ///
    /// let mut engine: Engine<Indexed<MpiPattern, u64, &str>> = Engine::new();
    /// engine.create_context(0, ContextOptions::new())?;
    /// engine.update_context(0, ContextOptions::new().size(4).no_any_source())?;
    /// // One promise more.
    /// let now = ContextOptions::from(engine.terms(0).expect("it exists"));
    /// engine.update_context(0, now.no_any_tag())?;
    /// let refused = engine.post(MpiPattern::new(0, Source::Any, 5), 1).unwrap_err();
    /// assert_eq!(refused.error, Error::AnySourceForbidden(ContextId(0)));
    /// # Ok::<(), Error>(())
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are made for one call, as those that create"
    )]
    pub fn update_context(
        &mut self,
        context: impl Into<ContextId>,
        options: ContextOptions,
    ) -> Result<(), Error> {
        let id = context.into();
        let found = *self.context(id)?;
        let terms = Terms::new(id, &options)?;
        if terms.are_stricter_than(&found.terms()) {
            let mut checked = Ok(());
            let queues = &self.objects[found.object()].queues;
            queues.visit(&mut |entry| {
                if checked.is_ok() && entry.context() == id {
                    checked = terms.check_entry::<Q>(id, &entry);
                }
            });
            checked?;
        }
        let config = self.config_of(&options);
        let queues = &mut self.objects[found.object()].queues;
        queues.update_context(id, &config);
        self.enter(id, found.on(terms));
        Ok(())
    }
}

impl Terms {
    /// Whether a queued entry could be queued on these terms.
    pub(crate) fn check_entry<Q: MatchQueues>(
        &self,
        id: ContextId,
        entry: &EntryOf<'_, Q>,
    ) -> Result<(), Error> {
        match entry {
            Entry::Posted(_, pattern, _) => {
                self.check_source(id, pattern.source(), pattern.any_tag())
            }
            Entry::Unexpected(_, envelope, _) => self.check_rank(id, envelope.source()),
        }
    }
}
