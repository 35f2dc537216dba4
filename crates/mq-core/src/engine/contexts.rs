//! The contexts of an engine: made, freed, listed, and the objects that serve them.

use super::directory::Context;
use super::object::{Object, Shared};
use super::{ContextOptions, ContextTerms, Engine, Terms};
use crate::config::Config;
use crate::envelope::ContextId;
use crate::error::Error;
use crate::queues::{MatchQueues, RemovedOf, Scope};

impl<Q: MatchQueues> Engine<Q> {
    /// Creates a context.
    ///
    /// # Cost
    /// The place of a freed context is reused: an engine keeps what it took for the most contexts that it ever
    /// had at a time, some 200 bytes each with `indexed`, and every operation that visits all contexts visits
    /// all of these places. If contexts do not come in the order of their numbers, there may be twice as many.
    ///
    /// # Errors
    /// [`Error::ContextExists`]; [`Error::NoRanks`] for a size of 0.
    pub fn create_context(
        &mut self,
        context: impl Into<ContextId>,
        options: ContextOptions,
    ) -> Result<(), Error> {
        let id = context.into();
        if self.directory.get(id).is_some() {
            return Err(Error::ContextExists(id));
        }
        let terms = Terms::new(id, &options)?;
        let mut config = self.config_of(&options);
        if let Some(tuning) = options.tuning {
            config.tuning = *tuning;
        }
        let shares_object = Q::scope(&config) == Scope::Process;
        let object = if shares_object {
            self.object_of_process(id, &config)
        } else {
            self.add_object(id, &config)
        };
        self.enter(id, Context::new(object, terms, shares_object));
        Ok(())
    }

    /// The configuration for the queues of a context with these options.
    pub(super) fn config_of(&self, options: &ContextOptions) -> Config {
        Config {
            kind: options.kind.unwrap_or(self.kind),
            size: options.size,
            allow_overtaking: options.allow_overtaking,
            first_sequence: self.retired,
            tuning: self.tuning.clone(),
        }
    }

    /// Registers a context with its terms.
    pub(super) fn enter(&mut self, id: ContextId, mut context: Context) {
        if self.ledger.is_none() {
            context = context.quick();
            if context.object() == id.0 as usize {
                self.objects[context.object()].serve_own(context.terms());
            }
        }
        self.directory.insert(id, context);
    }

    fn object_of_process(&mut self, id: ContextId, config: &Config) -> u32 {
        let mut shared = self.of_process.iter_mut();
        if let Some(shared) = shared.find(|shared| shared.kind == config.kind) {
            shared.contexts += 1;
            let object = shared.object;
            self.objects[object as usize].queues.add_context(config);
            return object;
        }
        let object = self.add_object(id, config);
        self.of_process.push(Shared {
            kind: config.kind,
            object,
            contexts: 1,
        });
        object
    }

    /// A new object for the queues of a context, with the context's own number if that is available.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most two objects a context"
    )]
    fn add_object(&mut self, id: ContextId, config: &Config) -> u32 {
        self.make_objects_below(id);
        let object = Object::new(Q::with_config(config));
        if let Some(number) = self.free_object(id) {
            self.objects[number as usize] = object;
            return number;
        }
        if self.objects.is_empty() {
            // Libraries make one engine per communicator: one context, and never a second.
            self.objects.reserve_exact(1);
        }
        self.objects.push(object);
        self.objects.len() as u32 - 1
    }

    /// Whether `more` further objects may be free: at most one more than are in use.
    fn may_be_free(&self, more: usize) -> bool {
        let free = self.free_objects.len();
        free + more <= self.objects.len() - free + 1
    }

    /// Adds free objects, unless too many, so that the next object has the context's number: programs
    /// number their contexts from 0 or 1, but do not create them in that order.
    #[expect(clippy::cast_possible_truncation, reason = "as in `add_object`")]
    fn make_objects_below(&mut self, id: ContextId) {
        let (objects, wanted) = (self.objects.len(), id.0 as usize);
        if wanted <= objects || !self.may_be_free(wanted - objects) {
            return;
        }
        // An eighth more, so that numbers with gaps do not have all of them moved each time.
        self.objects
            .reserve_exact((wanted + 1 - objects).max(objects / 8));
        for number in objects..wanted {
            let queues = Q::with_config(&Config::default());
            self.objects.push(Object::new(queues));
            self.free_objects.push(number as u32);
        }
    }

    /// A free object: the one with the context's own number, if it is among those freed last, or the last of those.
    /// None if there is none, or if the next one to be made has that number and not too many are free.
    fn free_object(&mut self, id: ContextId) -> Option<u32> {
        const LOOKED_AT: usize = 64;
        let recent = self.free_objects.iter().rev().take(LOOKED_AT);
        let back = recent.clone().position(|&number| number == id.0);
        if back.is_none() && self.objects.len() == id.0 as usize && self.may_be_free(0) {
            return None;
        }
        let at = self.free_objects.len().checked_sub(back.unwrap_or(0) + 1)?;
        Some(self.free_objects.swap_remove(at))
    }

    /// Removes a context and hands every entry left in it to `back`, receives first, each queue in
    /// order (`MPI_Comm_free`, MPI 4.1 §7.4.3). Handles of the context stay stale forever. With the last context that
    /// uses a structure, the structure's memory is given back, and what it learned is forgotten.
    ///
    /// # Cost
    /// Visits and sorts the entries of all contexts that share the structure.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    ///
    /// # Panics
    /// If `back` does: the entries that were not yet handed back stay queued, and the context exists.
    pub fn free_context(
        &mut self,
        context: impl Into<ContextId>,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let id = context.into();
        let found = *self.context(id)?;
        self.purge_object(found.object(), &mut |entry| entry.context() == id, back);
        self.directory.remove(id);
        let object = &mut self.objects[found.object()];
        if found.object() == id.0 as usize {
            object.serve_others();
        }
        self.retired = self.retired.max(object.queues.next_sequence());
        object.queues.remove_context(id);
        if !found.shares_object || self.leave_shared(found.object() as u32) {
            self.objects[found.object()].queues = Q::with_config(&Config::default());
            self.free_objects.push(found.object() as u32);
        }
        Ok(())
    }

    /// A context has left an object that others may use; returns whether it was the last.
    fn leave_shared(&mut self, object: u32) -> bool {
        let mut shared = self.of_process.iter_mut();
        let Some(at) = shared.position(|shared| shared.object == object) else {
            return false;
        };
        let shared = &mut self.of_process[at];
        shared.contexts -= 1;
        let is_last = shared.contexts == 0;
        if is_last {
            self.of_process.swap_remove(at);
        }
        is_last
    }

    /// The size and the promises of a context, for a caller that checks arguments itself; `None` for an unknown
    /// context.
    pub fn terms(&self, context: impl Into<ContextId>) -> Option<ContextTerms> {
        let context = self.directory.get(context.into())?;
        Some(context.terms().shown())
    }

    /// The contexts that exist, in no order.
    ///
    /// ```
    /// use mq_core::mpi::MpiPattern;
    /// use mq_core::structures::Indexed;
    /// use mq_core::{ContextId, ContextOptions, Engine};
    ///
    /// let mut engine: Engine<Indexed<MpiPattern, (), ()>> = Engine::new();
    /// for context in [7, 0, 70_000] {
    ///     engine.create_context(context, ContextOptions::new())?;
    /// }
    /// let mut contexts: Vec<ContextId> = engine.contexts().collect();
    /// contexts.sort_unstable();
    /// assert_eq!(contexts, [0, 7, 70_000].map(ContextId));
    /// # Ok::<(), mq_core::Error>(())
    /// ```
    pub fn contexts(&self) -> impl Iterator<Item = ContextId> + '_ {
        self.directory.ids()
    }

    /// The queues that serve a context, and their number: contexts with the same number share them. `None` for an
    /// unknown context.
    pub fn queues(&self, context: impl Into<ContextId>) -> Option<(usize, &Q)> {
        let object = self.directory.get(context.into())?.object();
        Some((object, &self.objects[object].queues))
    }

    #[inline(always)]
    pub(super) fn context(&self, id: ContextId) -> Result<&Context, Error> {
        self.directory.get(id).ok_or(Error::UnknownContext(id))
    }
}
