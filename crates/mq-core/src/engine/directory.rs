//! Which queues serve a context, and on what terms.

use super::terms::{Promises, Terms};
use crate::envelope::{ContextId, Rank};
use crate::hash::MixMap;
use crate::memory::vec_bytes;

/// Contexts below this number are found by indexing, the others by hash.
const DENSE: u32 = 4096;

const NO_OBJECT: u32 = u32::MAX;

/// One context of an engine, 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// Senders below this number exist, and only the queues need to see their messages. All ranks but one
    /// if the size is unknown; 0 if there is no context, or if the engine counts its messages.
    quick_ranks: u32,
    /// Number of the object that holds its queues.
    object: u32,
    // The terms in parts: as a whole they would make this 20 bytes, and finding it a multiplication.
    last_rank: u32,
    promises: Promises,
    /// Whether other contexts use the same object.
    pub(super) shares_object: bool,
}

impl Context {
    const ABSENT: Self = Self::new(NO_OBJECT, Terms::NONE, false);

    pub(super) const fn new(object: u32, terms: Terms, shares_object: bool) -> Self {
        let (last_rank, promises) = terms.parts();
        Self {
            quick_ranks: 0,
            object,
            last_rank,
            promises,
            shares_object,
        }
    }

    /// The same, on other terms.
    pub(super) const fn on(self, terms: Terms) -> Self {
        Self::new(self.object, terms, self.shares_object)
    }

    /// The same, to be found by [`Directory::quick`].
    pub(super) const fn quick(mut self) -> Self {
        self.quick_ranks = self.terms().quick_ranks();
        self
    }

    /// Number of the object that holds its queues.
    #[inline(always)]
    pub(super) const fn object(&self) -> usize {
        self.object as usize
    }

    #[inline(always)]
    pub(super) const fn terms(&self) -> Terms {
        Terms::of_parts(self.last_rank, self.promises)
    }
}

/// The contexts of an engine, by number.
#[derive(Debug, Default)]
pub(super) struct Directory {
    dense: Vec<Context>,
    sparse: MixMap<ContextId, Context>,
}

impl Directory {
    // A reference: a copy would be written to the stack in pieces and read back across them, a stall
    // longer than a search of a short queue.
    #[inline(always)]
    pub(super) fn get(&self, id: ContextId) -> Option<&Context> {
        match self.dense.get(id.0 as usize) {
            Some(context) if context.object != NO_OBJECT => Some(context),
            _ => self.get_sparse(id),
        }
    }

    #[cold]
    fn get_sparse(&self, id: ContextId) -> Option<&Context> {
        self.sparse.get(&id)
    }

    /// The context of an operation with this sender (rank 0 for any sender), if one comparison shows that
    /// the context exists, admits the sender, and is in an engine without a ledger. On `None` the caller
    /// asks [`get`](Self::get).
    #[inline(always)]
    pub(super) fn quick(&self, id: ContextId, rank: Rank) -> Option<&Context> {
        let context = self.dense.get(id.0 as usize)?;
        (rank.0 < context.quick_ranks).then_some(context)
    }

    pub(super) fn insert(&mut self, id: ContextId, context: Context) {
        if id.0 >= DENSE {
            self.sparse.insert(id, context);
            return;
        }
        let needed = id.0 as usize + 1;
        if self.dense.len() < needed {
            if self.dense.is_empty() {
                // Many engines have one context and should not pay for four.
                self.dense.reserve_exact(needed);
            }
            self.dense.resize(needed, Context::ABSENT);
        }
        self.dense[id.0 as usize] = context;
    }

    pub(super) fn remove(&mut self, id: ContextId) {
        match self.dense.get_mut(id.0 as usize) {
            Some(context) => *context = Context::ABSENT,
            None => drop(self.sparse.remove(&id)),
        }
    }

    /// The numbers of all contexts, in no order.
    pub(super) fn ids(&self) -> impl Iterator<Item = ContextId> + '_ {
        let dense = (0..).zip(&self.dense);
        let dense = dense.filter(|(_, context)| context.object != NO_OBJECT);
        dense
            .map(|(id, _)| ContextId(id))
            .chain(self.sparse.keys().copied())
    }

    pub(super) fn bytes(&self) -> usize {
        vec_bytes(&self.dense) + self.sparse.allocation_size()
    }
}
