//! The entries of a log as nodes of chains.

use super::super::super::key::Key;
use super::super::chains::Nodes;
use super::kind::Kind;
use crate::slab::Slab;

/// The entries of one queue as nodes, which are their slots. The links are those of the slab; `chain` is `home`.
pub(super) struct Chained<'a, K: Kind, T> {
    pub(super) slab: &'a mut Slab<K::Stored, T>,
}

impl<K: Kind, T> Nodes for Chained<'_, K, T> {
    type Key = Key<K::Bits>;

    #[inline(always)]
    fn has_key(&self, node: u32, key: Self::Key) -> bool {
        K::has(&self.slab.entry_inline(node).key, key)
    }
    #[inline(always)]
    fn chain(&self, node: u32) -> u32 {
        self.slab.entry_inline(node).home
    }
    #[inline(always)]
    fn next(&self, node: u32) -> u32 {
        self.slab.entry_inline(node).next
    }
    #[inline(always)]
    fn prev(&self, node: u32) -> u32 {
        self.slab.entry_inline(node).prev
    }
    #[inline(always)]
    fn set_chain(&mut self, node: u32, to: u32) {
        self.slab.entry_inline_mut(node).home = to;
    }
    #[inline(always)]
    fn set_next(&mut self, node: u32, to: u32) {
        self.slab.entry_inline_mut(node).next = to;
    }
    #[inline(always)]
    fn set_prev(&mut self, node: u32, to: u32) {
        self.slab.entry_inline_mut(node).prev = to;
    }
}
