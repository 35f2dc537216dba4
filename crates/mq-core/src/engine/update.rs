//! Other terms for a context that is in use.

use super::{ContextOptions, Engine, Terms, context_of};
use crate::envelope::{ContextId, Envelope};
use crate::error::Error;
use crate::pattern::Pattern;
use crate::queues::{Entry, EntryOf, MatchQueues};

impl<Q: MatchQueues> Engine<Q> {
    /// Gives a context another size and other promises: those of `options`, and none that these
    /// leave out (`MPI_Comm_set_info`, MPI 4.1 §7.4.4, or a communicator whose messages came before
    /// it). Its structure stays the one that it was made with. What that plans by the size it plans anew
    /// if it is told another one while nothing of the context is queued; otherwise it keeps to its plan.
    /// `pnp`, `col` and `col+pnp` heed the largest size that they were told, at any time.
    ///
    /// # Cost
    /// Visits the entries of the context, or, with a structure of
    /// [process scope](crate::Scope), of all.
    ///
    /// # Errors
    /// [`Error::UnknownContext`]; [`Error::NoRanks`] for a size of 0; what an operation would be
    /// refused with, if a queued receive or message is not as `options` say. Nothing has changed
    /// then.
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
    /// let refused = engine.post(MpiPattern::new(0, Source::Any, 5), 1).unwrap_err();
    /// assert_eq!(refused.error, Error::AnySourceForbidden(ContextId(0)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn update_context(&mut self, context: u32, options: ContextOptions) -> Result<(), Error> {
        let id = ContextId(context);
        let found = *self.context(id)?;
        let terms = Terms::new(id, &options)?;
        let mut checked = Ok(());
        let queues = &self.objects[found.object()].queues;
        queues.visit(&mut |entry| {
            if checked.is_ok() && context_of(&entry) == id {
                checked = terms.check_entry::<Q>(id, &entry);
            }
        });
        checked?;
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
            Entry::Posted(pattern, _) => self.check_source(id, pattern.source(), pattern.any_tag()),
            Entry::Unexpected(envelope, _) => self.check_rank(id, envelope.source()),
        }
    }
}
