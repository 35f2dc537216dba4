//! The classes of wildcard receives in use: those that care about the same bits.

use super::super::CLASSES;
use super::super::hash::Seed;
use super::super::key::Key;
use super::filling::part_of;
use super::view::{KEEPING, LONG, View};
use crate::envelope::{Envelope, MatchBits};
use crate::memory::vec_bytes;
use crate::slab::Slab;

/// Searches of a class that look at every message before the messages are indexed for it: one costs
/// about a twentieth of the index, and most receives of a rarely used class need no more. If many
/// messages come between two searches, more searches are needed before indexing pays off.
const SCANS: u8 = 4;

#[derive(Debug)]
struct Class<B> {
    care: B,
    /// Posted receives of the class.
    posted: u32,
    /// The unexpected messages under this mask, if receives of the class keep looking for them.
    view: Option<View<B>>,
    /// The cost of searches without a view, in slots looked at, less the cost of keeping one.
    cost: u32,
    /// How many messages had been [stored](Slab::stored) at the last of these searches.
    searched_at: u32,
    /// Whether its receives will search often, as they did before.
    is_wanted: bool,
}

impl<B> Class<B> {
    const fn new(care: B) -> Self {
        Self {
            care,
            posted: 0,
            view: None,
            cost: 0,
            searched_at: 0,
            is_wanted: false,
        }
    }

    /// A search would have to look at `slots` slots, after `come` messages have come. Returns whether to index
    /// the messages for the class; otherwise counts the search.
    fn weigh_view(&mut self, slots: u32, come: u32) -> bool {
        let since = come.wrapping_sub(self.searched_at);
        self.searched_at = come;
        if slots <= LONG {
            self.cost = self.cost.saturating_sub(since.saturating_mul(KEEPING));
        }
        if self.is_wanted || self.cost >= slots.saturating_mul(SCANS.into()) {
            return true;
        }
        self.cost = self.cost.saturating_add(slots);
        false
    }
}

/// The classes, and how many of them need attention.
#[derive(Debug)]
pub(super) struct Classes<B> {
    classes: Vec<Class<B>>,
    /// Posted receives of all classes.
    posted: u32,
    /// Classes with a view.
    views: u32,
    /// The memory of an empty view, for the next one: making it takes as long as hundreds of
    /// searches.
    spare: Option<View<B>>,
}

impl<B> Default for Classes<B> {
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            posted: 0,
            views: 0,
            spare: None,
        }
    }
}

impl<B: MatchBits> Classes<B> {
    /// Posted receives of all classes.
    #[inline(always)]
    pub(super) const fn posted(&self) -> u32 {
        self.posted
    }

    /// Classes for which messages are indexed.
    #[inline(always)]
    pub(super) const fn views(&self) -> u32 {
        self.views
    }

    /// The classes that have posted receives: number and mask of each.
    #[inline(always)]
    pub(super) fn masks_in_use(&self) -> impl Iterator<Item = (usize, B)> {
        let classes = self.classes.iter().enumerate();
        let in_use = classes.filter(|(_, class)| class.posted > 0);
        in_use.map(|(i, class)| (i, class.care))
    }

    /// The class of a mask, made if there is room.
    fn class(&mut self, care: B) -> Option<&mut Class<B>> {
        let known = self.classes.iter().position(|class| class.care == care);
        let i = match known {
            Some(i) => i,
            None => self.make(care)?,
        };
        Some(&mut self.classes[i])
    }

    #[cold]
    fn make(&mut self, care: B) -> Option<usize> {
        let fresh = Class::new(care);
        if self.classes.len() < CLASSES {
            self.classes.push(fresh);
            return Some(self.classes.len() - 1);
        }
        // Not one with a view: alternating masks would rebuild theirs each time.
        let unused = |class: &Class<B>| class.posted == 0 && class.view.is_none();
        let i = self.classes.iter().position(unused)?;
        self.classes[i] = fresh;
        Some(i)
    }

    /// Counts a receive that is being posted; false if there is no room for its class.
    pub(super) fn add_posted(&mut self, care: B) -> bool {
        let Some(class) = self.class(care) else {
            return false;
        };
        class.posted += 1;
        self.posted += 1;
        true
    }

    /// A receive of the class with a number from [`masks_in_use`](Self::masks_in_use) has left the
    /// queue.
    #[inline(always)]
    pub(super) fn remove_posted_of(&mut self, class: usize) {
        self.classes[class].posted -= 1;
        self.posted -= 1;
    }

    /// A receive of a class has left the queue.
    pub(super) fn remove_posted(&mut self, care: B) {
        if let Some(class) = self.class(care) {
            class.posted -= 1;
            self.posted -= 1;
        }
    }

    /// Indexes messages for a class that searches them, or some of them, if it has searched often enough and they
    /// `may_be`; returns whether it has a view. At least `least` are indexed at a time.
    pub(super) fn ensure_view<E: Envelope<Bits = B>, M>(
        &mut self,
        care: B,
        unexpected: &Slab<E, M>,
        seed: Seed,
        least: u32,
        may_be: bool,
    ) -> bool {
        let Some(class) = self.class(care) else {
            return false;
        };
        let part = part_of(unexpected.slots(), least);
        if let Some(view) = &mut class.view {
            view.fill(unexpected, seed, part);
            return true;
        }
        if !class.weigh_view(unexpected.slots(), unexpected.stored()) || !may_be {
            return false;
        }
        let mut view = self.spare.take().unwrap_or_default();
        view.take_up(care, unexpected);
        view.fill(unexpected, seed, part);
        self.views += 1;
        self.class(care).is_some_and(|class| {
            class.view = Some(view);
            true
        })
    }

    /// Receives of a class have searched often enough, if there is room for it.
    pub(super) fn expect_searches_by(&mut self, care: B) {
        if let Some(class) = self.class(care) {
            class.is_wanted = true;
        }
    }

    /// The messages as a class sees them, if they are indexed for it.
    pub(super) fn view(&mut self, care: B) -> Option<&mut View<B>> {
        let class = self.classes.iter_mut().find(|class| class.care == care);
        class?.view.as_mut()
    }

    /// Links the newest message in all views, and drops views that are maintained but not used; returns
    /// whether there were any. The message's key may not be in its slot yet.
    #[inline(never)]
    pub(super) fn link<E: Envelope<Bits = B>, M>(
        &mut self,
        unexpected: &Slab<E, M>,
        slot: u32,
        key: Key<B>,
        seed: Seed,
    ) -> bool {
        let mut stale = false;
        for view in self.classes.iter_mut().filter_map(|c| c.view.as_mut()) {
            view.link(unexpected, slot, key, seed);
            stale |= view.is_stale();
        }
        if stale {
            self.retire();
        }
        stale
    }

    /// Arrivals stop paying for the views that no receive has asked for in a long while.
    #[cold]
    fn retire(&mut self) {
        for class in &mut self.classes {
            if class.view.as_ref().is_some_and(View::is_stale) {
                class.view = None;
                class.cost = 0;
                class.is_wanted = false;
                self.views -= 1;
            }
        }
    }

    /// Unlinks a message that is leaving from all views.
    #[inline(never)]
    pub(super) fn unlink<E: Envelope<Bits = B>, M>(&mut self, unexpected: &Slab<E, M>, slot: u32) {
        for view in self.classes.iter_mut().filter_map(|c| c.view.as_mut()) {
            view.unlink(unexpected, slot);
        }
    }

    /// Unlinks a message from all views except that of a class, which has found it.
    pub(super) fn unlink_from_others<E: Envelope<Bits = B>, M>(
        &mut self,
        care: B,
        unexpected: &Slab<E, M>,
        slot: u32,
    ) {
        if self.views > 1 {
            let others = self.classes.iter_mut().filter(|class| class.care != care);
            for view in others.filter_map(|class| class.view.as_mut()) {
                view.unlink(unexpected, slot);
            }
        }
    }

    /// All entries have left: forgets all classes except those whose views were worthwhile, and keeps the
    /// memory of a small view.
    pub(super) fn rest(&mut self) {
        let Self { classes, spare, .. } = self;
        classes.retain_mut(|class| {
            let Some(mut view) = class.view.take() else {
                return false;
            };
            let was_worth_it = view.was_worth_it();
            class.is_wanted = view.times_asked() > SCANS;
            if view.is_small() {
                view.rest();
                *spare = Some(view);
            }
            class.posted = 0;
            was_worth_it
        });
        self.posted = 0;
        self.views = 0;
    }

    /// Entries are to be indexed, `messages` of them messages: begins a view for each class whose
    /// view was worthwhile before the last [`rest`](Self::rest), or whose searches are
    /// [expected](Self::expect_searches_by). A program that receives from any source in one step will do
    /// so in the next, and then nothing has to be looked at twice. Returns the number of views.
    pub(super) fn begin(&mut self, messages: u32) -> u32 {
        for class in &mut self.classes {
            let mut view = self.spare.take().unwrap_or_default();
            view.begin(class.care, messages);
            class.view = Some(view);
            self.views += 1;
        }
        self.views
    }

    pub(super) fn bytes(&self) -> usize {
        let views = self.classes.iter().filter_map(|c| c.view.as_ref());
        let views = views.chain(self.spare.as_ref());
        vec_bytes(&self.classes) + views.map(View::bytes).sum::<usize>()
    }
}
