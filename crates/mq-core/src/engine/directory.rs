//! Which queues serve a context, and on what terms.

use super::terms::Terms;
use crate::envelope::ContextId;
use crate::hash::MixMap;
use crate::memory::vec_bytes;

/// Contexts below this number are found by indexing, the others by hash.
const DENSE: u32 = 4096;

const NO_OBJECT: u32 = u32::MAX;

/// One context of an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// Number of the object that holds its queues.
    pub(super) object: u32,
    pub(super) terms: Terms,
    /// Whether other contexts use the same object.
    pub(super) shares_object: bool,
}

const ABSENT: Context = Context {
    object: NO_OBJECT,
    terms: Terms::NONE,
    shares_object: false,
};

/// The contexts of an engine, by number.
#[derive(Debug, Default)]
pub(super) struct Directory {
    dense: Vec<Context>,
    sparse: MixMap<ContextId, Context>,
}

impl Directory {
    // A reference: a copy would be written to the stack in pieces and read back across them, and
    // the stall is longer than a search of a short queue.
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

    pub(super) fn insert(&mut self, id: ContextId, context: Context) {
        if id.0 >= DENSE {
            self.sparse.insert(id, context);
            return;
        }
        let needed = id.0 as usize + 1;
        if self.dense.len() < needed {
            self.dense.resize(needed, ABSENT);
        }
        self.dense[id.0 as usize] = context;
    }

    pub(super) fn remove(&mut self, id: ContextId) {
        match self.dense.get_mut(id.0 as usize) {
            Some(context) => *context = ABSENT,
            None => drop(self.sparse.remove(&id)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        vec_bytes(&self.dense) + self.sparse.allocation_size()
    }
}
