//! [`PlannedQueue`]: the lists of one queue, kept and searched as its plan says.

use super::{ListId, Origin, Origins, Plan};
use crate::config::Config;
use crate::envelope::{ContextId, TrafficClass};
use crate::fifo::Fifo;
use crate::memory::vec_bytes;
use crate::slab::Slab;
use crate::structures::best::ListSearch;

/// One queue: a plan, and its lists.
#[derive(Debug)]
pub(super) struct PlannedQueue<L> {
    pub(super) plan: L,
    lists: Vec<Fifo>,
}

impl<L: Plan> PlannedQueue<L> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            plan: L::from_config(config),
            lists: Vec::new(),
        }
    }

    /// Searches the lists of one origin, or those of a class.
    ///
    /// If a plan may put newer elements on an earlier list of the path (a collective is profiled again
    /// while elements of an earlier call still wait), every list is searched.
    #[inline]
    pub(super) fn search<K: Copy, T, S: ListSearch>(
        &self,
        mut search: S,
        origins: Origins,
        slab: &Slab<K, T>,
        wanted: impl Fn(&K) -> bool + Copy,
    ) -> S {
        match origins {
            Origins::One(origin) => {
                let ordered = self.plan.is_ordered(origin);
                self.plan.path(origin, &mut |list| {
                    if let Some(&list) = self.lists.get(list as usize) {
                        search.search(list, slab, wanted);
                    }
                    !(ordered && search.has_found())
                });
            }
            Origins::OfClass(_) if slab.is_empty() => {}
            Origins::OfClass(TrafficClass::Unknown) => {
                for &list in &self.lists {
                    search.search(list, slab, wanted);
                }
            }
            Origins::OfClass(class) => self.plan.lists_of_class(class, &mut |list| {
                if let Some(&list) = self.lists.get(list as usize) {
                    search.search(list, slab, wanted);
                }
            }),
        }
        search
    }

    #[inline]
    pub(super) fn link<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, slot: u32, origin: Origin) {
        let list = self.plan.home(origin);
        if self.lists.len() <= list as usize {
            self.lists.resize(self.plan.lists(), Fifo::EMPTY);
        }
        slab.set_home(slot, list);
        self.lists[list as usize].push_back(slab, slot);
        if self.plan.linked(origin, list) {
            self.tidy();
        }
    }

    #[cold]
    fn tidy(&mut self) {
        let lists = &self.lists;
        let is_empty = |list: ListId| lists.get(list as usize).is_none_or(Fifo::is_empty);
        self.plan.tidied(&is_empty);
    }

    #[inline]
    pub(super) fn unlink<K: Copy, T>(&mut self, slab: &mut Slab<K, T>, slot: u32, origin: Origin) {
        let list = slab.home(slot);
        self.lists[list as usize].unlink(slab, slot);
        self.plan.unlinked(origin, list);
    }

    pub(super) fn remove_context(&mut self, context: ContextId) {
        self.plan.shrunk(context);
        self.tidy();
    }

    pub(super) fn reset(&mut self) {
        self.plan.reset();
        self.lists.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.plan.bytes() + vec_bytes(&self.lists)
    }
}
