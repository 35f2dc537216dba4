//! Receives that stay when all others have left the queues, moved back into the front.
//!
//! A server's receive from any source, or one for a message that ends the program, may stay posted
//! for as long as the program runs. Once it has moved into the queues the front could not open again,
//! and every later pair would need a search behind it.

use core::ffi::c_void;

use mq_core::mpi::{MpiPattern, TagSelector};
use mq_core::{Entry, Handle, MatchQueues};

use super::layout::{MQ_FRONT_SLOT, mq_front, mq_parked, wanted_by};
use super::memory::LEAST_ROOM;
use crate::matching::Matching;
use crate::types::{mq_handle, mq_pattern};

/// At most this many staying receives come back, plus one that was just queued: each message is
/// compared with them from then on.
pub(crate) const MOST_BACK: u8 = 4;

const _: () = assert!((MOST_BACK as usize) < LEAST_ROOM, "there is room for them");

/// Brings everything left in the queues, few receives, back to the front, which is empty.
///
/// # Cost
/// A look at the entries of the contexts that the front knows.
pub(super) fn bring_back(front: &mut mq_front, matching: &mut Matching) {
    let Some(receives) = take_all(front, matching) else {
        matching.rest.put_off();
        return;
    };
    matching.receives_taken();
    matching.rest.come_back(front.sequence);
    let names = receives.into_iter().map(|(name, pattern, cookie)| {
        let sequence = front.sequence;
        front.sequence += 1;
        let pattern = mq_pattern::of(&pattern);
        let (bits, care) = wanted_by(pattern.source, pattern.tag);
        let place = u64::from(pattern.traffic_class) << 32 | u64::from(pattern.context);
        let parked = mq_parked {
            bits,
            care,
            place,
            sequence,
            cookie,
        };
        front.receives.add(parked).expect("there is room for a few");
        let now = mq_handle {
            sequence,
            slot: MQ_FRONT_SLOT,
            context: pattern.context,
        };
        (name, now.read())
    });
    matching.aliases.bring_back(names);
}

/// Takes all receives out, in order, each with its name. `None` if one has a masked tag, which the
/// front cannot hold, or belongs to a context that the front does not know: there may be very many of
/// those, and no word that says where the receives are.
fn take_all(
    front: &mq_front,
    matching: &mut Matching,
) -> Option<Vec<(Handle, MpiPattern, *mut c_void)>> {
    let posted = matching.lengths().0 as usize;
    let engine = matching.engine_mut();
    let mut names: Vec<(Handle, MpiPattern)> = Vec::with_capacity(posted);
    for context in front.known_contexts() {
        if let Ok(queues) = engine.queues_for_message(context, 0) {
            queues.visit(&mut |entry| match entry {
                Entry::Posted(name, pattern, _) if name.context().0 == context => {
                    names.push((name, pattern));
                }
                _ => {}
            });
        }
        if names.len() == posted {
            break;
        }
    }
    let is_masked = |pattern: &MpiPattern| matches!(pattern.tag(), TagSelector::Masked { .. });
    if names.len() != posted || names.iter().any(|(_, pattern)| is_masked(pattern)) {
        return None;
    }
    let taken = names.into_iter().map(|(name, pattern)| {
        let receive = engine.cancel(name).expect("it is queued");
        (name, pattern, receive)
    });
    let mut taken: Vec<_> = taken.collect();
    // A structure that serves all contexts numbers its entries through all of them.
    taken.sort_by_key(|(name, ..)| name.sequence());
    Some(taken)
}
