//! Communicators that a member has revoked, as in ULFM: nothing waits on them any more, and nothing begins.
//!
//! Who revokes a communicator, or is told that it is revoked, tells all other members, once, before its program can
//! notice: eager reliable broadcast (Cachin, Guerraoui & Rodrigues 2011, §3.3). So if a live member knows, all live
//! ones will, even if the first has died while it told them. A member for which the communicator is not complete yet
//! keeps that in mind, and tells the others when it is.
//!
//! Agreements go on, by which those that live decide how: their messages have tags of their own.

use mq_core::Entry;
use mq_core::mpi::{MpiPattern, TagSelector};
use mq_shm::Process;

use super::{Contexts, Number, Open, Standing, is_of_collectives};
use crate::collective::is_of_agreement;
use crate::error::Error;
use crate::header::{Kind, Payload};
use crate::protocol::{Core, State};
use crate::request::Outcome;
use crate::steps::{Step, step};
use crate::transport::Transport;

impl Contexts {
    /// Whether any communicator is revoked.
    #[inline(always)]
    pub(crate) fn is_any_revoked(&self) -> bool {
        self.revoked > 0
    }

    pub(crate) fn is_revoked(&self, number: Number) -> bool {
        self.numbers.get(&number).is_some_and(Standing::is_revoked)
    }

    /// Whether messages of this context with this tag are neither sent nor taken in, since its communicator is
    /// revoked.
    #[inline(always)]
    pub(crate) fn refuses(&self, context: u32, tag: i32) -> bool {
        self.revoked > 0 && self.refuses_if_any_is_revoked(context, tag)
    }

    #[cold]
    fn refuses_if_any_is_revoked(&self, context: u32, tag: i32) -> bool {
        let goes_on = is_of_collectives(context) && is_of_agreement(tag);
        self.is_revoked(Number::of(context)) && !goes_on
    }

    /// The same for a receive.
    #[inline(always)]
    pub(crate) fn refuses_receive(&self, pattern: &MpiPattern) -> bool {
        self.revoked > 0 && self.refuses_if_any_is_revoked(pattern.context().0, tag_of(pattern))
    }

    /// Whether a process may say that a communicator is revoked: a member, as far as the members are known.
    pub(crate) fn may_revoke(&self, number: Number, process: Process) -> bool {
        match self.numbers.get(&number) {
            Some(Standing::Open(open)) => open.members.contains(&process),
            _ => true,
        }
    }
}

impl Standing {
    pub(super) fn is_revoked(&self) -> bool {
        match self {
            Self::Early { revoked, .. } | Self::Open(Open { revoked, .. }) => *revoked,
            Self::Closing { .. } | Self::Doubtful | Self::Dropped => false,
        }
    }

    /// Revokes it, unless it is revoked already, or over here; returns whether it does.
    fn revoke(&mut self) -> bool {
        match self {
            Self::Early { revoked, .. } | Self::Open(Open { revoked, .. }) => {
                !core::mem::replace(revoked, true)
            }
            Self::Closing { .. } | Self::Doubtful | Self::Dropped => false,
        }
    }
}

impl State {
    /// A communicator is revoked: while there is one, no send or receive goes a way on which that is not asked.
    fn count_in(&mut self) {
        self.contexts.revoked += 1;
        self.count_obstacles();
        self.outboxes.allow(0);
    }

    /// A communicator is over.
    pub(super) fn count_out(&mut self, was_revoked: bool) {
        self.contexts.revoked -= usize::from(was_revoked);
        self.count_obstacles();
    }
}

/// The tag that a receive asks for; of one that asks for several, none that is of an agreement.
fn tag_of(pattern: &MpiPattern) -> i32 {
    match pattern.tag() {
        TagSelector::Exact(tag) => tag.0,
        _ => 0,
    }
}

impl<T: Transport> Core<T> {
    /// A communicator is revoked. The first time that this process hears of it, receives and messages of it leave the
    /// queues, and the other members are told.
    #[cold]
    pub(crate) fn revoke(&mut self, number: Number) -> Result<(), Error> {
        let numbers = &mut self.state.contexts.numbers;
        let standing = numbers.entry(number).or_insert_with(Standing::early);
        if !standing.revoke() {
            return Ok(());
        }
        let (in_engine, members) = match standing {
            Standing::Open(open) => (true, Some(open.members.clone())),
            Standing::Early { in_engine, .. } => (*in_engine, None),
            Standing::Closing { .. } | Standing::Doubtful | Standing::Dropped => return Ok(()),
        };
        self.state.count_in();
        let told = members.map_or(Ok(()), |members| self.tell_of_revocation(number, &members));
        let ended = match in_engine {
            true => self.end_all_but_agreements(number),
            false => Ok(()),
        };
        told.and(ended)
    }

    /// Tells the other members; one that cannot be told now is told later.
    pub(super) fn tell_of_revocation(
        &mut self,
        number: Number,
        members: &[Process],
    ) -> Result<(), Error> {
        let mut told = Ok(());
        for &member in members {
            if member != self.state.me {
                let said = self.answer(member, Kind::Revoked, number.0.into(), Payload::default());
                step(Step::RevocationSaid);
                told = told.and(said);
            }
        }
        told
    }

    /// Ends the receives of a communicator, and discards its messages.
    fn end_all_but_agreements(&mut self, number: Number) -> Result<(), Error> {
        self.end_in_front(number.user(), Outcome::Revoked);
        let mut removed = Vec::new();
        for context in number.contexts() {
            let mut ends = |entry: Entry<'_, MpiPattern, u32, u32>| {
                let tag = match entry {
                    Entry::Posted(_, pattern, _) => tag_of(&pattern),
                    Entry::Unexpected(_, envelope, _) => envelope.tag().0,
                };
                !is_of_agreement(tag)
            };
            (self.state.matching).purge_context(context, &mut ends, &mut removed)?;
        }
        self.end_removed(removed, Outcome::Revoked)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::communicator::Communicator;
    use crate::world::World;

    const NUMBER: Number = Number(1);

    /// Tells one process, as a member does.
    fn tell(world: &World, process: u32) {
        let mut core = world.inner.core();
        let told = core.answer(
            Process(process),
            Kind::Revoked,
            NUMBER.0.into(),
            Payload::default(),
        );
        told.unwrap();
    }

    #[test]
    fn who_hears_of_it_before_the_communicator_is_complete_tells_the_others_later() {
        World::threads(3, |world| {
            let me = world.rank();
            if me == 0 {
                tell(world, 1);
            }
            world.barrier()?;
            let group = world.inner.group.clone();
            let part = Communicator::new(world.inner.core.clone(), NUMBER, me, group);
            assert!(part.is_revoked() || me != 1);
            let heard = part.recv(&mut [0_u8], (me + 1) % 3, 7);
            assert!(matches!(heard, Err(Error::Revoked)), "{heard:?}");
            assert_eq!(part.agree(0b110 | me)?, 0b110);
            drop(part);
            world.barrier()?;
            assert_eq!(world.inner.core().state.contexts.revoked, 0);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn who_is_no_member_is_not_believed() {
        World::threads(2, |world| {
            if world.rank() == 1 {
                tell(world, 0);
                return world.barrier();
            }
            let group: Rc<[Process]> = Rc::from([Process(0)]);
            let part = Communicator::new(world.inner.core.clone(), NUMBER, 0, group);
            let error = loop {
                if let Err(error) = part.progress() {
                    break error.to_string();
                }
            };
            assert!(error.contains("a notice"), "{error}");
            assert!(!part.is_revoked());
            world.barrier()
        })
        .unwrap();
    }
}
