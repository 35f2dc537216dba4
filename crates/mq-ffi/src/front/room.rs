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

/// Which array of an open front is searched, by a pattern or by a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Searched {
    Receives,
    Messages,
}

impl Searched {
    /// How many entries the array has, and its memory.
    fn in_front<'a>(self, front: &mq_front, matching: &'a mut Matching) -> (usize, &'a mut Memory) {
        let [receives, messages] = &mut matching.front_memory;
        match self {
            Self::Receives => (front.receives.len(), receives),
            Self::Messages => (front.messages.len(), messages),
        }
    }
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
    let (entries, memory) = searched.in_front(front, matching);
    front.is_open()
        && entries > MQ_FRONT_SCAN
        && memory.grant_far_look(entries, front.sequence, has_wildcard)
}

/// Lets an entry that is named leave from anywhere in an open front if it may; returns whether. Programs seldom cancel
/// a receive among thousands that are matched in order, or take a message from among them.
pub(crate) fn grant_far_exit(
    front: &mq_front,
    matching: &mut Matching,
    searched: Searched,
) -> bool {
    let (entries, memory) = searched.in_front(front, matching);
    front.is_open() && memory.grant_far_exit(entries, front.sequence)
}
