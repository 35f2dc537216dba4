//! [`Directory`]: contexts by number, found without a write to shared memory.

use core::ops::Deref;
use std::sync::Arc;

use super::context::Context;
use super::sync::{Once, RwLock};
use crate::envelope::ContextId;
use crate::hash::MixMap;
use crate::queues::MatchQueues;

/// Contexts per segment. A segment is allocated when first needed, and stays.
#[cfg(not(mq_loom))]
const SEGMENT: u32 = 64;
/// Contexts below this number are found by indexing, the others through a locked map.
#[cfg(not(mq_loom))]
const DENSE: u32 = 64 * SEGMENT;

/// Few cells, since the model creates all of them in every interleaving.
#[cfg(mq_loom)]
const SEGMENT: u32 = 1;
#[cfg(mq_loom)]
const DENSE: u32 = 2;

type Cell<Q> = Once<Arc<Context<Q>>>;
type Segment<Q> = Once<Box<[Cell<Q>]>>;

/// All present and past contexts.
pub(super) struct Directory<Q: MatchQueues> {
    /// The contexts with the lowest numbers, the only ones in most programs, are two loads nearer than
    /// those of a segment: those loads cannot begin before the previous operation's lock is free.
    first: [Cell<Q>; SEGMENT as usize],
    /// Segments of the contexts after those.
    dense: Box<[Segment<Q>]>,
    sparse: RwLock<MixMap<ContextId, Arc<Context<Q>>>>,
}

/// A context that was found: a reference if the directory keeps it forever.
pub(super) enum Found<'a, Q: MatchQueues> {
    Dense(&'a Arc<Context<Q>>),
    Sparse(Arc<Context<Q>>),
}

impl<Q: MatchQueues> Deref for Found<'_, Q> {
    type Target = Arc<Context<Q>>;

    #[inline]
    fn deref(&self) -> &Arc<Context<Q>> {
        match self {
            Self::Dense(context) => context,
            Self::Sparse(context) => context,
        }
    }
}

fn cells<T>(count: u32) -> Box<[Once<T>]> {
    (0..count).map(|_| Once::new()).collect()
}

impl<Q: MatchQueues> Directory<Q> {
    pub(super) fn new() -> Self {
        Self {
            first: core::array::from_fn(|_| Once::new()),
            dense: cells(DENSE / SEGMENT - 1),
            sparse: RwLock::new(MixMap::default()),
        }
    }

    /// The context. It may have been freed, which it reports itself. [DIRECTORY]
    ///
    /// # Cost
    /// For contexts below 64, one load of a word that is not written once the context exists; below
    /// 4,096, two more loads. Otherwise a lock shared by readers, and a reference count.
    #[inline(always)]
    pub(super) fn get(&self, id: ContextId) -> Option<Found<'_, Q>> {
        match self.first.get(id.0 as usize) {
            Some(cell) => cell.get().map(Found::Dense),
            None => self.get_farther(id),
        }
    }

    #[inline(never)]
    fn get_farther(&self, id: ContextId) -> Option<Found<'_, Q>> {
        match self.segment(id) {
            Some(segment) => {
                let cell = &segment.get()?[(id.0 % SEGMENT) as usize];
                cell.get().map(Found::Dense)
            }
            None => self.sparse.read().get(&id).cloned().map(Found::Sparse),
        }
    }

    /// The segment of a context after the first ones; `None` if it has none.
    #[inline]
    fn segment(&self, id: ContextId) -> Option<&Segment<Q>> {
        self.dense.get((id.0 / SEGMENT - 1) as usize)
    }

    /// Adds a context that is not there yet. One thread at a time. [DIRECTORY]
    pub(super) fn insert(&self, id: ContextId, context: Arc<Context<Q>>) {
        if let Some(cell) = self.first.get(id.0 as usize) {
            let _ = cell.set(context);
            return;
        }
        let Some(segment) = self.segment(id) else {
            self.sparse.write().insert(id, context);
            return;
        };
        if segment.get().is_none() {
            let _ = segment.set(cells(SEGMENT));
        }
        if let Some(cells) = segment.get() {
            let _ = cells[(id.0 % SEGMENT) as usize].set(context);
        }
    }

    /// Forgets a freed context, if it is one that can be forgotten.
    pub(super) fn remove(&self, id: ContextId) {
        if id.0 >= DENSE {
            self.sparse.write().remove(&id);
        }
    }

    /// Heap bytes, without those of the contexts.
    pub(super) fn bytes(&self) -> usize {
        let segments = self.dense.iter().filter_map(Once::get);
        let cells: usize = segments.map(|segment| size_of_val(&**segment)).sum();
        size_of_val(&*self.dense) + cells + self.sparse.read().allocation_size()
    }

    /// Every context, in no order.
    pub(super) fn contexts(&self) -> Vec<Arc<Context<Q>>> {
        let segments = self.dense.iter().filter_map(Once::get);
        let cells = self.first.iter().chain(segments.flatten());
        let mut contexts: Vec<_> = cells.filter_map(Once::get).cloned().collect();
        contexts.extend(self.sparse.read().values().cloned());
        contexts
    }
}

/// If dropping a payload panics, a hash map stops at it and leaks the contexts after it. A vector goes on, as the cells
/// do.
impl<Q: MatchQueues> Drop for Directory<Q> {
    fn drop(&mut self) {
        let sparse = core::mem::take(self.sparse.get_mut());
        drop(sparse.into_values().collect::<Vec<_>>());
    }
}
