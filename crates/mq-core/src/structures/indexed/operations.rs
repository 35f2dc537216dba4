//! The operations, each in the form that the queues have at the moment.

use super::deep::{AGAIN, is_slot, slot_in};
use super::short::Windowed;
use super::{Indexed, short_limit};
use crate::arrangement::Slabs;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::handle::{Handle, MessageHandle};
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::queues::{
    Arrive, Entry, FoundMessageOf, FoundReceiveOf, MatchQueues, Post, Removed, Scope,
    TakenMessageOf,
};
use crate::slab::{LAST_ASKED, Window};

impl<P: Pattern, R, M> MatchQueues for Indexed<P, R, M> {
    type Pattern = P;
    type Receive = R;
    type Message = M;

    fn with_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            posted: Window::EMPTY,
            unexpected: Window::EMPTY,
            finders: None,
            hash_seed: config.tuning.hash_seed.unwrap_or(0),
            scan_limit: u8::try_from(config.tuning.scan_limit.max(1)).unwrap_or(u8::MAX),
            short_limit: short_limit(config.tuning.short_limit),
        }
    }

    fn scope(_: &Config) -> Scope {
        Scope::Context
    }

    // Searches of windows take out what they find; those of the deep form only say where it is.
    // There is one place for each answer, whatever the form: only then are answers in registers. A step of
    // the deep form ends at a node, whose sign tells its queue: an enum value would be built and taken
    // apart.

    #[inline(always)]
    fn post_metered(
        &mut self,
        pattern: P,
        receive: R,
        meter: &mut impl Meter,
    ) -> Post<P::Envelope, R, M> {
        let sequence = self.slabs.posted.next_sequence();
        let queued = 'queued: {
            let (envelope, message) = match self.take_message_in_window(&pattern, meter) {
                Windowed::Found(found) => found,
                Windowed::Nothing => {
                    // `push_receive`, written out: by a call, though inlined, the step takes three instructions more.
                    break 'queued match self.posted.has_room(&self.slabs.posted) {
                        true => self.posted.push(&mut self.slabs.posted, pattern, receive),
                        false => self.queue_one_more_receive(pattern, receive),
                    };
                }
                Windowed::Away => {
                    let mut node = self.search_for_receive(&pattern, meter);
                    loop {
                        if is_slot(node) {
                            self.slabs.posted.fill(node, pattern, receive);
                            break 'queued node;
                        }
                        if node != AGAIN {
                            break self.slabs.unexpected.remove(slot_in(node));
                        }
                        node = self.post_rarely(pattern, meter);
                    }
                }
            };
            return Post::Matched {
                envelope,
                message,
                receive,
            };
        };
        Post::Queued(Handle::new(pattern.context(), queued, sequence))
    }

    #[inline(always)]
    fn arrive_metered(
        &mut self,
        envelope: P::Envelope,
        message: M,
        meter: &mut impl Meter,
    ) -> Arrive<P, R, M> {
        let (pattern, receive) = match self.take_receive_in_window(&envelope, meter) {
            Windowed::Found(found) => found,
            Windowed::Nothing => {
                self.push_message(envelope, message);
                return Arrive::Unexpected;
            }
            Windowed::Away => {
                let (context, bits) = (envelope.context(), envelope.bits());
                let mut node = self.search_for_message(context, bits, meter);
                loop {
                    if is_slot(node) {
                        break self.slabs.posted.remove(node);
                    }
                    if node != AGAIN {
                        let slot = slot_in(node);
                        self.slabs.unexpected.fill(slot, envelope, message);
                        return Arrive::Unexpected;
                    }
                    node = self.arrive_rarely(envelope, meter);
                }
            }
        };
        Arrive::Matched {
            pattern,
            receive,
            message,
        }
    }

    #[inline(always)]
    fn extract_metered(&mut self, pattern: &P, meter: &mut impl Meter) -> Option<(P::Envelope, M)> {
        match self.take_message_in_window(pattern, meter) {
            Windowed::Found(found) => Some(found),
            Windowed::Nothing => None,
            Windowed::Away => {
                let slot = self.take_message_deep(pattern, meter);
                is_slot(slot).then(|| self.slabs.unexpected.remove(slot))
            }
        }
    }

    #[inline(always)]
    fn deliver_metered(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<(P, R)> {
        match self.take_receive_in_window(envelope, meter) {
            Windowed::Found(found) => Some(found),
            Windowed::Nothing => None,
            Windowed::Away => {
                let slot = self.take_receive_deep(envelope, meter);
                is_slot(slot).then(|| self.slabs.posted.remove(slot))
            }
        }
    }

    fn find_metered(
        &mut self,
        pattern: &P,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        let slot = self.peek_unexpected(pattern, meter)?;
        self.slabs.message_in(slot)
    }

    fn find_receive_metered(
        &mut self,
        envelope: &P::Envelope,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        let slot = self.peek_posted(envelope, meter)?;
        self.slabs.receive_in(slot)
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        let handle = message.handle();
        let unexpected = &self.slabs.unexpected;
        let slot = self
            .unexpected
            .slot_of(unexpected, handle, self.first_message())?;
        // A context may have moved here from another object, which numbered differently.
        if unexpected.key(slot).context() != handle.context() {
            return None;
        }
        Some(self.take_message(slot))
    }

    #[inline(always)]
    fn queue_receive(&mut self, pattern: P, receive: R) -> Handle {
        let sequence = self.slabs.posted.next_sequence();
        let slot = if self.is_deep() {
            self.queue_receive_deep(pattern, receive)
        } else {
            self.push_receive(pattern, receive)
        };
        Handle::new(pattern.context(), slot, sequence)
    }

    #[inline(always)]
    fn queue_message(&mut self, envelope: P::Envelope, message: M) -> MessageHandle {
        let sequence = self.slabs.unexpected.next_sequence();
        let slot = if self.is_deep() {
            self.queue_message_deep(envelope, message)
        } else {
            self.push_message(envelope, message)
        };
        MessageHandle::new(Handle::new(envelope.context(), slot, sequence))
    }

    fn cancel(&mut self, handle: Handle) -> Option<R> {
        let posted = &self.slabs.posted;
        let slot = self.posted.slot_of(posted, handle, self.first_receive())?;
        // As in `take`.
        if posted.key(slot).context() != handle.context() {
            return None;
        }
        Some(self.take_receive(slot).1)
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(Entry<'_, P, R, M>) -> bool,
        back: &mut dyn FnMut(Removed<P, R, M>),
    ) {
        let (receives, messages) = self.slabs.select(select);
        // By handle: entries move when few are left.
        let handle = |&slot: &u32| self.slabs.receive_in(slot).map(|(handle, ..)| handle);
        let receives: Vec<Handle> = receives.iter().filter_map(handle).collect();
        let handle = |&slot: &u32| {
            self.slabs
                .message_in(slot)
                .map(|(message, ..)| message.handle())
        };
        let messages: Vec<Handle> = messages.iter().filter_map(handle).collect();
        for handle in receives {
            let first = self.first_receive();
            if let Some(slot) = self.posted.slot_of(&self.slabs.posted, handle, first) {
                let (pattern, receive) = self.take_receive(slot);
                back(Removed::Posted(pattern, receive));
            }
        }
        for handle in messages {
            let first = self.first_message();
            let unexpected = &self.slabs.unexpected;
            if let Some(slot) = self.unexpected.slot_of(unexpected, handle, first) {
                let (envelope, message) = self.take_message(slot);
                back(Removed::Unexpected(envelope, message));
            }
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(Entry<'_, P, R, M>)) {
        self.slabs.visit(visitor);
    }

    fn posted_len(&self) -> usize {
        let len = match self.is_deep() {
            true => self.slabs.posted.len(),
            false => self.posted.len(),
        };
        len as usize
    }

    fn unexpected_len(&self) -> usize {
        let len = match self.is_deep() {
            true => self.slabs.unexpected.len(),
            false => self.unexpected.len(),
        };
        len as usize
    }

    fn next_sequence(&self) -> u64 {
        self.slabs.next_sequence()
    }

    fn queued_total(&self) -> u32 {
        self.slabs.stored()
    }

    fn raise_sequence(&mut self, sequence: u64) {
        self.slabs.raise_sequence(sequence.min(LAST_ASKED));
    }

    fn add_context(&mut self, config: &Config) {
        self.slabs.raise_sequence(config.first_sequence);
    }

    fn clear(&mut self) {
        let Slabs { posted, unexpected } = &mut self.slabs;
        posted.clear_window();
        unexpected.clear_window();
        self.posted.restart();
        self.unexpected.restart();
        if let Some(finders) = &mut self.finders {
            finders.clear();
        }
    }
}
