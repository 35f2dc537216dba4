//! What an open front may do before its entries have to move: get more room, learn a context, search to its end.

use super::layout::{MQ_FRONT_SCAN, mq_front};
use super::memory::Memory;
use super::rest::Rest;
use super::terms::learn;
use crate::matching::Matching;

/// Gives the front of a new engine its memory.
pub(crate) fn furnish(front: &mut mq_front, matching: &mut Matching) {
    if matching.may_use_front() {
        matching.front_memory = [Memory::new(front.sequence), Memory::new(front.sequence)];
        front.receives = matching.front_memory[0].empty();
        front.messages = matching.front_memory[1].empty();
        matching.rest = Rest::from(front.sequence);
    }
}

/// An open front may yet be able to answer once it knows the context, or once it has room for one
/// more entry if the operation `queues`: whether anything of that was done.
pub(crate) fn prepare(
    front: &mut mq_front,
    matching: &mut Matching,
    context: u32,
    queues: bool,
) -> bool {
    if !front.is_open() {
        return false;
    }
    if front.known(context).is_none() {
        learn(front, matching, context);
        return front.known(context).is_some();
    }
    let [receives, messages] = &mut matching.front_memory;
    queues && receives.grow(&mut front.receives) | messages.grow(&mut front.messages)
}

/// Which array of an open front a search looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Searched {
    Receives,
    Messages,
}

/// Lets a search that found nothing among the first entries of an open front look at all entries if it may; returns
/// whether. Far entries are seldom wanted if queues are taken in order, for example if a program exchanges something
/// else, on another context, while many messages wait.
pub(crate) fn grant_far_look(
    front: &mq_front,
    matching: &mut Matching,
    searched: Searched,
    has_wildcard: bool,
) -> bool {
    let [receives, messages] = &mut matching.front_memory;
    let (queue, memory) = match searched {
        Searched::Receives => (&front.receives, receives),
        Searched::Messages => (&front.messages, messages),
    };
    let entries = queue.len();
    front.is_open()
        && entries > MQ_FRONT_SCAN
        && memory.grant_far_look(entries, front.sequence, has_wildcard)
}
