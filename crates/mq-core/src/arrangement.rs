//! [`Arrangement`]: the short way to write a structure.
//!
//! Entries live in two [`Slab`]s; a structure only decides how they are linked and searched. Every
//! arrangement is a [`MatchQueues`](crate::MatchQueues).

mod queues;

use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::{ContextId, Envelope};
use crate::handle::{Handle, MessageHandle};
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::queues::{Arrive, Post, Scope};
use crate::slab::Slab;
pub use crate::slab::Slabs;

/// The storage type of an arrangement.
pub type SlabsOf<A> =
    Slabs<<A as Arrangement>::Pattern, <A as Arrangement>::Receive, <A as Arrangement>::Message>;

/// The envelope type of an arrangement.
pub type EnvelopeIn<A> = <<A as Arrangement>::Pattern as Pattern>::Envelope;

/// How the entries of two slabs are linked and searched.
///
/// The blanket implementation of [`MatchQueues`](crate::MatchQueues) stores and removes the entries, hands payloads
/// back, and derives cancel, purge and visit.
///
/// # Contract
/// A search returns the earliest matching entry by the order of
/// [`Slab::sequence`], decided by [`matches`](crate::matches). A `Place` is used immediately after the
/// failed search that gave it, for the entry of that search, or never. No method panics: an entry may be lost
/// otherwise, or be stored and never found.
pub trait Arrangement: Sized {
    /// What receives ask for.
    type Pattern: Pattern;
    /// The caller's payload of a receive.
    type Receive;
    /// The caller's payload of a message.
    type Message;
    /// Where a failed search ended: the point of insertion.
    type Place: Copy;

    /// Empty queues.
    ///
    /// Engines also call this with `Config::default()`, for places that no context uses: it must succeed with any
    /// configuration.
    fn from_config(config: &Config) -> Self;

    /// See [`MatchQueues::scope`](crate::MatchQueues::scope).
    fn scope_of(config: &Config) -> Scope;

    /// The storage.
    fn slabs(&self) -> &SlabsOf<Self>;

    /// The storage, to change.
    fn slabs_mut(&mut self) -> &mut SlabsOf<Self>;

    /// The slot of the earliest posted receive that `envelope` matches, or where the message would
    /// be linked as unexpected.
    fn find_posted(
        &mut self,
        envelope: &EnvelopeIn<Self>,
        meter: &mut impl Meter,
    ) -> Result<u32, Self::Place>;

    /// The slot of the earliest unexpected message that `pattern` matches, or where the receive
    /// would be linked as posted.
    fn find_unexpected(
        &mut self,
        pattern: &Self::Pattern,
        meter: &mut impl Meter,
    ) -> Result<u32, Self::Place>;

    /// [`find_posted`](Self::find_posted) without preparing an insertion.
    fn peek_posted(&mut self, envelope: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32>;

    /// [`find_unexpected`](Self::find_unexpected) without preparing an insertion.
    fn peek_unexpected(&mut self, pattern: &Self::Pattern, meter: &mut impl Meter) -> Option<u32>;

    /// Where a receive would be linked as posted, without a search.
    fn place_of_receive(&mut self, pattern: &Self::Pattern) -> Self::Place;

    /// Where a message would be linked as unexpected, without a search.
    fn place_of_message(&mut self, envelope: &EnvelopeIn<Self>) -> Self::Place;

    /// Links the newest posted receive, just stored in `slot`.
    fn link_posted(&mut self, slot: u32, place: Self::Place);

    /// Links the newest unexpected message, just stored in `slot`.
    fn link_unexpected(&mut self, slot: u32, place: Self::Place);

    /// Unlinks a posted receive, which is removed from storage next.
    fn unlink_posted(&mut self, slot: u32);

    /// Unlinks an unexpected message, which is removed from storage next.
    fn unlink_unexpected(&mut self, slot: u32);

    /// Forgets all links and everything learned; the slabs are already cleared.
    fn reset(&mut self);

    /// See [`MatchQueues::add_context`](crate::MatchQueues::add_context); the numbers of entries are already taken care
    /// of.
    fn context_added(&mut self, _config: &Config) {}

    /// See [`MatchQueues::update_context`](crate::MatchQueues::update_context).
    fn context_updated(&mut self, _context: ContextId, _config: &Config) {}

    /// See [`MatchQueues::remove_context`](crate::MatchQueues::remove_context).
    fn context_removed(&mut self, _context: ContextId) {}

    /// See [`MatchQueues::announce`](crate::MatchQueues::announce).
    fn announced(&mut self, _call: &CollectiveCall) {}

    /// [`MatchQueues::post`](crate::MatchQueues::post), assembled from the methods above. A structure overrides
    /// it if its own way is faster.
    #[inline]
    fn post_step(
        &mut self,
        pattern: Self::Pattern,
        receive: Self::Receive,
        meter: &mut impl Meter,
    ) -> Post<EnvelopeIn<Self>, Self::Receive, Self::Message> {
        post_by_parts(self, pattern, receive, meter)
    }

    /// [`MatchQueues::arrive`](crate::MatchQueues::arrive), assembled from the methods above; see
    /// [`post_step`](Self::post_step).
    #[inline]
    fn arrive_step(
        &mut self,
        envelope: EnvelopeIn<Self>,
        message: Self::Message,
        meter: &mut impl Meter,
    ) -> Arrive<Self::Pattern, Self::Receive, Self::Message> {
        arrive_by_parts(self, envelope, message, meter)
    }

    /// [`MatchQueues::extract`](crate::MatchQueues::extract), assembled from the methods above; see
    /// [`post_step`](Self::post_step).
    #[inline]
    fn extract_step(
        &mut self,
        pattern: &Self::Pattern,
        meter: &mut impl Meter,
    ) -> Option<(EnvelopeIn<Self>, Self::Message)> {
        let slot = self.peek_unexpected(pattern, meter)?;
        Some(take_unexpected(self, slot))
    }

    /// [`MatchQueues::deliver`](crate::MatchQueues::deliver), assembled from the methods above; see
    /// [`post_step`](Self::post_step).
    #[inline]
    fn deliver_step(
        &mut self,
        envelope: &EnvelopeIn<Self>,
        meter: &mut impl Meter,
    ) -> Option<(Self::Pattern, Self::Receive)> {
        let slot = self.peek_posted(envelope, meter)?;
        Some(take_posted(self, slot))
    }
}

#[inline]
pub(crate) fn post_by_parts<A: Arrangement>(
    queues: &mut A,
    pattern: A::Pattern,
    receive: A::Receive,
    meter: &mut impl Meter,
) -> Post<EnvelopeIn<A>, A::Receive, A::Message> {
    match queues.find_unexpected(&pattern, meter) {
        Ok(slot) => {
            let (envelope, message) = take_unexpected(queues, slot);
            Post::Matched {
                envelope,
                message,
                receive,
            }
        }
        Err(place) => {
            let posted = &mut queues.slabs_mut().posted;
            let (slot, handle) = store_receive(posted, pattern, receive);
            queues.link_posted(slot, place);
            Post::Queued(handle)
        }
    }
}

#[inline]
pub(crate) fn arrive_by_parts<A: Arrangement>(
    queues: &mut A,
    envelope: EnvelopeIn<A>,
    message: A::Message,
    meter: &mut impl Meter,
) -> Arrive<A::Pattern, A::Receive, A::Message> {
    match queues.find_posted(&envelope, meter) {
        Ok(slot) => {
            let (pattern, receive) = take_posted(queues, slot);
            Arrive::Matched {
                pattern,
                receive,
                message,
            }
        }
        Err(place) => {
            let slot = queues.slabs_mut().unexpected.insert(envelope, message, 0);
            queues.link_unexpected(slot, place);
            Arrive::Unexpected
        }
    }
}

/// Stores a receive that is to be linked next.
#[inline]
pub(crate) fn store_receive<P: Pattern, R>(
    posted: &mut Slab<P, R>,
    pattern: P,
    receive: R,
) -> (u32, Handle) {
    let sequence = posted.next_sequence();
    let slot = posted.insert(pattern, receive, 0);
    (slot, Handle::new(pattern.context(), slot, sequence))
}

/// Stores a message that is to be linked next.
#[inline]
pub(crate) fn store_message<E: Envelope, M>(
    unexpected: &mut Slab<E, M>,
    envelope: E,
    message: M,
) -> (u32, MessageHandle) {
    let sequence = unexpected.next_sequence();
    let slot = unexpected.insert(envelope, message, 0);
    let handle = Handle::new(envelope.context(), slot, sequence);
    (slot, MessageHandle::new(handle))
}

#[inline]
fn take_posted<A: Arrangement>(queues: &mut A, slot: u32) -> (A::Pattern, A::Receive) {
    queues.unlink_posted(slot);
    queues.slabs_mut().posted.remove(slot)
}

#[inline]
fn take_unexpected<A: Arrangement>(queues: &mut A, slot: u32) -> (EnvelopeIn<A>, A::Message) {
    queues.unlink_unexpected(slot);
    queues.slabs_mut().unexpected.remove(slot)
}
