//! Entries that leave without a match: purged, freed with their context or with the engine.

use core::ffi::c_int;

use mq_core::{Engine, Error, Removed};

use super::{EntryOf, Matching, Queues, RemovedOf};
use crate::shown::Shown;
use crate::status::status_of;

impl Matching {
    /// Removes what `select` chooses, of one context or of all.
    pub(crate) fn purge(
        &mut self,
        context: Option<u32>,
        select: &mut dyn FnMut(Shown) -> bool,
        back: &mut dyn FnMut(&RemovedOf),
    ) -> Result<(), c_int> {
        let mut owners = self.aliases.owners();
        let select = &mut |entry| select(owners.named(entry));
        let mut left = Left::default();
        let back = &mut |removed: &RemovedOf| left.hand(removed, back);
        let purged = match &mut self.watch {
            None => purge(
                &mut self.engine,
                context,
                &mut |entry| select(Shown::of(&entry)),
                &mut |removed| back(&removed),
            ),
            Some(watch) => watch.purge(&mut self.engine, context, select, back),
        };
        self.have_left(left);
        purged.map_err(status_of)
    }

    pub(crate) fn free_context(
        &mut self,
        context: u32,
        back: &mut dyn FnMut(&RemovedOf),
    ) -> Result<(), c_int> {
        let mut left = Left::default();
        let back = &mut |removed: &RemovedOf| left.hand(removed, back);
        let freed = match &mut self.watch {
            None => self
                .engine
                .free_context(context, &mut |removed| back(&removed)),
            Some(watch) => watch.free_context(&mut self.engine, context, back),
        };
        self.have_left(left);
        freed.map_err(status_of)
    }

    /// The engine is about to be freed, and is not broken.
    pub(crate) fn end(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.engine_freed(&mut self.engine);
        }
    }

    /// Counts off what has left. To ask the engine instead takes time for each context that it ever had at a time.
    fn have_left(&mut self, left: Left) {
        self.posted -= left.posted;
        self.unexpected -= left.unexpected;
    }
}

/// How many entries a call has removed.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    posted: u32,
    unexpected: u32,
}

impl Left {
    fn hand(&mut self, removed: &RemovedOf, back: &mut dyn FnMut(&RemovedOf)) {
        match removed {
            Removed::Posted(..) => self.posted += 1,
            Removed::Unexpected(..) => self.unexpected += 1,
        }
        back(removed);
    }
}

/// Removes the entries that `select` chooses from one context, or from all; fails only if the context is unknown.
pub(crate) fn purge(
    engine: &mut Engine<Queues>,
    context: Option<u32>,
    select: &mut dyn FnMut(EntryOf<'_>) -> bool,
    back: &mut dyn FnMut(RemovedOf),
) -> Result<(), Error> {
    match context {
        Some(context) => engine.purge_context(context, select, back),
        None => {
            engine.purge(select, back);
            Ok(())
        }
    }
}
