//! Every arrangement's [`MatchQueues`].

use super::{Arrangement, store_message, store_receive, take_posted, take_unexpected};
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::{ContextId, Envelope};
use crate::handle::{Handle, MessageHandle};
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::queues::{
    ArriveOf, EntryOf, EnvelopeOf, FoundMessageOf, FoundReceiveOf, MatchQueues, PostOf, Removed,
    RemovedOf, Scope, TakenMessageOf,
};
use crate::slab::LAST_ASKED;

impl<A: Arrangement> MatchQueues for A {
    type Pattern = A::Pattern;
    type Receive = A::Receive;
    type Message = A::Message;

    fn with_config(config: &Config) -> Self {
        A::from_config(config)
    }

    fn scope(config: &Config) -> Scope {
        A::scope_of(config)
    }

    #[inline(always)]
    fn post_metered(
        &mut self,
        pattern: A::Pattern,
        receive: A::Receive,
        meter: &mut impl Meter,
    ) -> PostOf<Self> {
        self.post_step(pattern, receive, meter)
    }

    #[inline(always)]
    fn arrive_metered(
        &mut self,
        envelope: EnvelopeOf<Self>,
        message: A::Message,
        meter: &mut impl Meter,
    ) -> ArriveOf<Self> {
        self.arrive_step(envelope, message, meter)
    }

    #[inline]
    fn extract_metered(
        &mut self,
        pattern: &A::Pattern,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<Self>, A::Message)> {
        self.extract_step(pattern, meter)
    }

    #[inline]
    fn deliver_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<(A::Pattern, A::Receive)> {
        self.deliver_step(envelope, meter)
    }

    fn probe_metered(
        &mut self,
        pattern: &A::Pattern,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeOf<Self>, &A::Message)> {
        let slot = self.peek_unexpected(pattern, meter)?;
        let (_, envelope, message) = self.slabs().message_in(slot)?;
        Some((envelope, message))
    }

    fn find_metered(
        &mut self,
        pattern: &A::Pattern,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        let slot = self.peek_unexpected(pattern, meter)?;
        self.slabs().message_in(slot)
    }

    fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        let slot = self.peek_posted(envelope, meter)?;
        self.slabs().receive_in(slot)
    }

    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        let handle = message.handle();
        let unexpected = &self.slabs().unexpected;
        let slot = unexpected.slot_of(handle)?;
        if unexpected.key(slot).context() != handle.context() {
            return None;
        }
        Some(take_unexpected(self, slot))
    }

    fn queue_receive(&mut self, pattern: A::Pattern, receive: A::Receive) -> Handle {
        let place = self.place_of_receive(&pattern);
        let posted = &mut self.slabs_mut().posted;
        let (slot, handle) = store_receive(posted, pattern, receive);
        self.link_posted(slot, place);
        handle
    }

    fn queue_message(&mut self, envelope: EnvelopeOf<Self>, message: A::Message) -> MessageHandle {
        let place = self.place_of_message(&envelope);
        let unexpected = &mut self.slabs_mut().unexpected;
        let (slot, handle) = store_message(unexpected, envelope, message);
        self.link_unexpected(slot, place);
        handle
    }

    fn cancel(&mut self, handle: Handle) -> Option<A::Receive> {
        let posted = &self.slabs().posted;
        let slot = posted.slot_of(handle)?;
        // A context may have moved here from another object, which numbered differently.
        if posted.key(slot).context() != handle.context() {
            return None;
        }
        Some(take_posted(self, slot).1)
    }

    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        let (posted, unexpected) = self.slabs().select(select);
        for slot in posted {
            let (pattern, receive) = take_posted(self, slot);
            back(Removed::Posted(pattern, receive));
        }
        for slot in unexpected {
            let (envelope, message) = take_unexpected(self, slot);
            back(Removed::Unexpected(envelope, message));
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        self.slabs().visit(visitor);
    }

    fn posted_len(&self) -> usize {
        self.slabs().posted.len() as usize
    }

    fn unexpected_len(&self) -> usize {
        self.slabs().unexpected.len() as usize
    }

    fn next_sequence(&self) -> u64 {
        self.slabs().next_sequence()
    }

    fn queued_total(&self) -> u32 {
        self.slabs().stored()
    }

    fn raise_sequence(&mut self, sequence: u64) {
        self.slabs_mut().raise_sequence(sequence.min(LAST_ASKED));
    }

    fn add_context(&mut self, config: &Config) {
        self.slabs_mut().raise_sequence(config.first_sequence);
        self.context_added(config);
    }

    fn remove_context(&mut self, context: ContextId) {
        self.context_removed(context);
    }

    fn update_context(&mut self, context: ContextId, config: &Config) {
        self.context_updated(context, config);
    }

    fn clear(&mut self) {
        let slabs = self.slabs_mut();
        slabs.posted.clear();
        slabs.unexpected.clear();
        self.reset();
    }

    fn announce(&mut self, call: &CollectiveCall) {
        self.announced(call);
    }
}
