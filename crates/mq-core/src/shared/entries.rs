//! All entries of a context, whatever their places: counted, removed, and their memory.

use crossbeam_utils::CachePadded;

use super::all::All;
use super::context::Context;
use super::lock::Lock;
use super::place::MeantLife;
use crate::error::Error;
use crate::memory::{Footprint, Memory, arc_bytes};
use crate::queues::{EntryOf, MatchQueues, Removed, RemovedOf};

impl<Q: MatchQueues> Context<Q> {
    /// Takes out the entries that `select` chooses: all receives, then all messages. `select` is asked
    /// about all entries before any is taken, so if it panics, all stay where they are.
    pub(super) fn purge(
        &self,
        all: &mut All<'_, Q>,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
    ) -> Vec<RemovedOf<Q>> {
        let mut chosen = Vec::new();
        all.visit(&mut |entry| chosen.push(select(entry)));
        // The early ones are shown before all others.
        let early = chosen.iter().take(all.undivided.before.receives);
        let early = early.filter(|&&is_chosen| is_chosen).count();
        // Queues are purged in the order in which they are shown.
        let mut chosen = chosen.into_iter();
        let select = &mut |_: EntryOf<'_, Q>| chosen.next() == Some(true);
        let mut receives = Vec::new();
        let mut messages = Vec::new();
        let mut back = |removed: RemovedOf<Q>| match removed {
            Removed::Posted(..) => receives.push(removed),
            Removed::Unexpected(..) => messages.push(removed),
        };
        all.undivided.queues.purge(select, &mut back);
        all.undivided.after_receives_left(early);
        for shard in &mut all.shards {
            shard.queues.purge(select, &mut back);
        }
        if all.undivided.standing.mode.is_divided() {
            all.tell_what_was_before(all.undivided.standing.mode);
        }
        if let Some(budget) = &self.budget {
            budget.release_all(messages.iter().filter_map(|removed| match removed {
                Removed::Posted(..) => None,
                Removed::Unexpected(envelope, message) => Some((envelope, message)),
            }));
        }
        receives.append(&mut messages);
        receives
    }

    /// [`purge`](Self::purge), which calls `back` with no lock held.
    pub(super) fn purge_alive(
        &self,
        life: MeantLife,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let mut all = self.lock_alive(life)?;
        let removed = self.purge(&mut all, select);
        drop(all);
        removed.into_iter().for_each(back);
        Ok(())
    }

    /// Posted receives and unexpected messages at one moment.
    pub(super) fn lengths(&self, life: MeantLife) -> Result<(usize, usize), Error> {
        let all = self.lock_alive(life)?;
        Ok((all.posted_len(), all.unexpected_len()))
    }

    /// Empties all places, which forget what they learned. The caller drops the returned entries when it
    /// holds no lock.
    pub(super) fn clear(&self) -> Vec<RemovedOf<Q>> {
        let mut all = self.lock_all();
        let removed = self.purge(&mut all, &mut |_| true);
        all.undivided.queues.clear();
        for shard in &mut all.shards {
            shard.queues.clear();
        }
        removed
    }
}

impl<Q: MatchQueues + Footprint> Context<Q> {
    pub(super) fn memory(&self) -> Memory {
        let all = self.lock_all();
        let own = Memory {
            entries: 0,
            index: arc_bytes::<Self>() + all.shards.len() * size_of::<CachePadded<Lock<Q>>>(),
        };
        let shards = all.shards.iter().map(|shard| shard.queues.memory());
        shards.fold(own + all.undivided.queues.memory(), |a, b| a + b)
    }
}
