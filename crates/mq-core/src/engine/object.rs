//! Queues, and what most operations need to know about their context.

use super::terms::{Promises, Terms};
use crate::envelope::{ContextId, Rank};
use crate::pattern::Pattern;
use crate::structures::Kind;

/// The queues of one context, or of all contexts that share them.
///
/// Most programs number contexts from 0, and objects are numbered likewise: then one look at the object
/// with the context's own number is enough. Other contexts are found through the directory.
#[derive(Debug)]
pub(super) struct Object<Q> {
    /// Senders below this number exist in the context with this object's number, and only the queues
    /// need to see their messages; 0 if this object serves no such context, or the engine counts its
    /// messages.
    ranks: u32,
    promises: Promises,
    pub(super) queues: Q,
}

/// A structure whose object serves all contexts that name it.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) kind: Kind,
    pub(super) object: u32,
    /// How many contexts these are.
    pub(super) contexts: u32,
}

impl<Q> Object<Q> {
    /// Queues that are found through the directory.
    pub(super) const fn new(queues: Q) -> Self {
        Self {
            ranks: 0,
            promises: Promises::NONE,
            queues,
        }
    }

    /// The queues are for the context that has this object's number.
    pub(super) const fn serve_own(&mut self, terms: Terms) {
        self.ranks = terms.quick_ranks();
        self.promises = terms.parts().1;
    }

    /// The context with this object's number no longer exists.
    pub(super) const fn serve_others(&mut self) {
        self.ranks = 0;
    }
}

/// Whether the object with a context's number serves that context, and this sender exists there.
#[inline(always)]
pub(super) fn serves_own<Q>(objects: &[Object<Q>], id: ContextId, source: Rank) -> bool {
    let object = objects.get(id.0 as usize);
    object.is_some_and(|object| source.0 < object.ranks)
}

/// The queues for a message, if the object with the context's number serves that context. On `None`
/// the caller asks the directory.
#[inline(always)]
pub(super) fn own_for_message<Q>(
    objects: &mut [Object<Q>],
    id: ContextId,
    source: Rank,
) -> Option<&mut Q> {
    let object = objects.get_mut(id.0 as usize)?;
    (source.0 < object.ranks).then_some(&mut object.queues)
}

/// The queues for a receive, likewise.
#[inline(always)]
pub(super) fn own_for_receive<'a, P: Pattern, Q>(
    objects: &'a mut [Object<Q>],
    pattern: &P,
) -> Option<&'a mut Q> {
    let object = objects.get_mut(pattern.context().0 as usize)?;
    if pattern.least_rank().0 >= object.ranks {
        return None;
    }
    let (source, any_tag) = (pattern.source(), pattern.any_tag());
    object
        .promises
        .allow(source, any_tag)
        .then_some(&mut object.queues)
}
