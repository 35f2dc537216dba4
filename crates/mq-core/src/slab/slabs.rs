//! The storage of a structure: a slab for each queue.

use super::Slab;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::handle::{Handle, MessageHandle};
use crate::pattern::Pattern;
use crate::queues::Entry;

/// The entries of both queues.
#[derive(Debug)]
pub struct Slabs<P: Pattern, R, M> {
    /// Posted receives.
    pub posted: Slab<P, R>,
    /// Unexpected messages.
    pub unexpected: Slab<P::Envelope, M>,
}

impl<P: Pattern, R, M> Slabs<P, R, M> {
    /// Empty storage that numbers from where the configuration says.
    #[must_use]
    pub const fn new(config: &Config) -> Self {
        Self {
            posted: Slab::new(config.first_sequence),
            unexpected: Slab::new(config.first_sequence),
        }
    }

    /// Whether entries of either queue are far.
    #[inline(always)]
    pub(crate) fn has_far(&self) -> bool {
        self.posted.has_far() || self.unexpected.has_far()
    }

    /// Shows all entries, receives first, each queue in order.
    pub(crate) fn visit(&self, visitor: &mut dyn FnMut(Entry<'_, P, R, M>)) {
        let Self { posted, unexpected } = self;
        let receives = posted.slots_in_order().into_iter();
        receives
            .filter_map(|slot| self.shown_receive(slot))
            .for_each(&mut *visitor);
        let messages = unexpected.slots_in_order().into_iter();
        messages
            .filter_map(|slot| self.shown_message(slot))
            .for_each(visitor);
    }

    /// The slots of the chosen receives, and of the chosen messages, in order.
    pub(crate) fn select(
        &self,
        select: &mut dyn FnMut(Entry<'_, P, R, M>) -> bool,
    ) -> (Vec<u32>, Vec<u32>) {
        let Self { posted, unexpected } = self;
        let mut receives = posted.slots_in_order();
        receives.retain(|&slot| self.shown_receive(slot).is_some_and(&mut *select));
        let mut messages = unexpected.slots_in_order();
        messages.retain(|&slot| self.shown_message(slot).is_some_and(&mut *select));
        (receives, messages)
    }

    fn shown_receive(&self, slot: u32) -> Option<Entry<'_, P, R, M>> {
        let (handle, pattern, receive) = self.receive_in(slot)?;
        Some(Entry::Posted(handle, pattern, receive))
    }

    fn shown_message(&self, slot: u32) -> Option<Entry<'_, P, R, M>> {
        let (handle, envelope, message) = self.message_in(slot)?;
        Some(Entry::Unexpected(handle, envelope, message))
    }

    /// The message in a slot, if there is one, with its handle.
    pub(crate) fn message_in(&self, slot: u32) -> Option<(MessageHandle, P::Envelope, &M)> {
        let entry = self.unexpected.entry(slot);
        let handle = Handle::new(entry.key.context(), slot, entry.sequence);
        let message = entry.payload.as_ref()?;
        Some((MessageHandle::new(handle), entry.key, message))
    }

    /// The receive in a slot, if there is one, with its handle.
    pub(crate) fn receive_in(&self, slot: u32) -> Option<(Handle, P, &R)> {
        let entry = self.posted.entry(slot);
        let handle = Handle::new(entry.key.context(), slot, entry.sequence);
        Some((handle, entry.key, entry.payload.as_ref()?))
    }

    /// Makes the numbers of the next entries at least `sequence`.
    pub(crate) fn raise_sequence(&mut self, sequence: u64) {
        self.posted.raise_sequence(sequence);
        self.unexpected.raise_sequence(sequence);
    }

    /// Greater than the number of every entry.
    pub(crate) fn next_sequence(&self) -> u64 {
        let Self { posted, unexpected } = self;
        posted.next_sequence().max(unexpected.next_sequence())
    }

    /// How many entries of either queue have been stored, as [`Slab::stored`] counts.
    pub(crate) const fn stored(&self) -> u32 {
        self.posted.stored().wrapping_add(self.unexpected.stored())
    }

    /// Heap bytes of both slabs.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.posted.bytes() + self.unexpected.bytes()
    }
}
