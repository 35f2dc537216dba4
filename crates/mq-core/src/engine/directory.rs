//! Which queues serve a context, what it promised, and whether an operation keeps to it.

use crate::envelope::{ContextId, Rank};
use crate::error::Error;
use crate::hash::MixMap;
use crate::memory::vec_bytes;
use crate::pattern::Source;

/// Contexts below this number are found by indexing, the others by hash.
const DENSE: u32 = 4096;

const NO_OBJECT: u32 = u32::MAX;

/// One context of an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// Number of the object that holds its queues.
    pub(super) object: u32,
    /// The last rank; `u32::MAX` if the size is unknown.
    pub(super) last_rank: u32,
    pub(super) promises: Promises,
    /// Whether other contexts use the same object.
    pub(super) shares_object: bool,
}

/// Promises that the engine holds its caller to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Promises(u8);

impl Promises {
    pub(super) const NONE: Self = Self(0);
    const NO_ANY_SOURCE: u8 = 1;
    const NO_ANY_TAG: u8 = 2;

    pub(super) const fn new(no_any_source: bool, no_any_tag: bool) -> Self {
        let source = if no_any_source {
            Self::NO_ANY_SOURCE
        } else {
            0
        };
        let tag = if no_any_tag { Self::NO_ANY_TAG } else { 0 };
        Self(source | tag)
    }

    pub(super) const fn no_any_source(self) -> bool {
        self.0 & Self::NO_ANY_SOURCE != 0
    }

    pub(super) const fn no_any_tag(self) -> bool {
        self.0 & Self::NO_ANY_TAG != 0
    }
}

impl Context {
    #[inline(always)]
    pub(super) fn check_rank(&self, context: ContextId, rank: Rank) -> Result<(), Error> {
        if rank.0 > self.last_rank {
            return Err(Error::RankOutOfRange {
                context,
                rank,
                size: self.last_rank + 1,
            });
        }
        Ok(())
    }

    /// Checks what a receive asks for.
    #[inline(always)]
    pub(super) fn check_source(
        &self,
        context: ContextId,
        source: Source,
        any_tag: bool,
    ) -> Result<(), Error> {
        if let Source::Rank(rank) = source {
            self.check_rank(context, rank)?;
        }
        if self.promises != Promises::NONE {
            return self.check_promises(context, source, any_tag);
        }
        Ok(())
    }

    #[cold]
    fn check_promises(
        &self,
        context: ContextId,
        source: Source,
        any_tag: bool,
    ) -> Result<(), Error> {
        if self.promises.no_any_source() && source == Source::Any {
            return Err(Error::AnySourceForbidden(context));
        }
        if self.promises.no_any_tag() && any_tag {
            return Err(Error::AnyTagForbidden(context));
        }
        Ok(())
    }
}

/// What a context admits; see [`Engine::limits`](super::Engine::limits).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The last rank that can send; `u32::MAX` if the size is unknown.
    pub last_rank: u32,
    /// Whether receives from any source are refused.
    pub no_any_source: bool,
    /// Whether receives of any tag are refused.
    pub no_any_tag: bool,
}

impl Context {
    pub(super) const fn limits(&self) -> Limits {
        Limits {
            last_rank: self.last_rank,
            no_any_source: self.promises.no_any_source(),
            no_any_tag: self.promises.no_any_tag(),
        }
    }
}

const ABSENT: Context = Context {
    object: NO_OBJECT,
    last_rank: 0,
    promises: Promises::NONE,
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
