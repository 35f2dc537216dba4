//! Messages for receives with wildcards: by views, one for each mask that keeps asking.

use super::super::super::CLASSES;
use super::super::super::key::Key;
use super::super::view::WindowView;
use super::super::{Found, OTHERWISE};
use super::Messages;
use crate::envelope::{Envelope, MatchBits};
use crate::slab::{Entry, NIL, Window};

/// Linking a slot for a class takes the time of looking at this many slots.
const LINKING: u32 = 2;

/// How many slots are looked at before linking is considered.
const LOOKS_AT_FIRST: u32 = 256;

impl<B: MatchBits> Messages<B> {
    /// The masks whose receives keep asking, which are forgotten.
    pub(in super::super) fn forget_masks(&mut self) -> Vec<B> {
        let masks = self.views.drain(..).map(|view| view.care).collect();
        self.set_limit();
        masks
    }

    /// Takes the message for a receive with a wildcard off the chain of its view and out of the window, if it
    /// is the first of its bucket there, and not on the chain of its key: its slot, or [`OTHERWISE`] if it
    /// may be any.
    #[inline(always)]
    pub(in super::super) fn take_first_viewed<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &mut Window,
        key: Key<B>,
    ) -> u32
    where
        E: Envelope<Bits = B>,
    {
        let is = |view: &&mut WindowView<B>| view.care == key.care;
        let Some(view) = self.views.iter_mut().find(is) else {
            return OTHERWISE;
        };
        let slot = view.take_first(near, self.linked, key);
        if slot != OTHERWISE {
            window.leave_hole();
        }
        slot
    }

    /// The earliest message for a receive with a wildcard, which is in no slot before `from`. It is
    /// off the chain of its view if it `leaves`; it may be on that of its key.
    pub(in super::super) fn find_any<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &Window,
        key: Key<B>,
        from: u32,
        leaves: bool,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        let first = self.first;
        let is = |view: &WindowView<B>| view.care == key.care;
        let known = self.views.iter().position(is);
        let worth = self.looks >= LOOKS_AT_FIRST.max(LINKING * (window.end() - first));
        let at = match known {
            Some(at) => at,
            None if worth && self.views.len() < CLASSES => {
                self.looks = 0;
                self.views.push(WindowView::new(key.care, self.seed));
                self.set_limit();
                self.views.len() - 1
            }
            None => return self.look_at_all(near, window, key, from),
        };
        self.views[at].find(near, window, first, key, leaves)
    }

    /// The earliest message for a receive with a wildcard, which is in no slot before `from`, by a look
    /// at each.
    fn look_at_all<E>(
        &mut self,
        near: &[Entry<E, impl Sized>],
        window: &Window,
        key: Key<B>,
        from: u32,
    ) -> Found
    where
        E: Envelope<Bits = B>,
    {
        let messages = near.get(..window.end() as usize).unwrap_or(near);
        let is_free = |entry: &Entry<E, _>| !entry.is_used();
        while messages.get(self.first as usize).is_some_and(is_free) {
            self.first += 1;
        }
        let from = from.max(self.first);
        let (mut visited, mut slot, mut found) = (0, from, NIL);
        for entry in messages.iter().skip(from as usize) {
            // Not a branch: which slots are free is hard to foresee.
            let is_used = entry.is_used();
            visited += u32::from(is_used);
            if key.admits(&entry.key) && is_used {
                found = slot;
                break;
            }
            slot += 1;
        }
        if self.views.len() < CLASSES {
            self.looks = self.looks.saturating_add(slot - from);
        }
        Found {
            slot: found,
            visited,
        }
    }
}
