//! Collective operations, and communicators that are made, used and left while a member dies.

use mq_comm::{Communicator, Error, Source, World};

use super::child::{bytes, meet, others, unless_gone, with_peer};
use super::{NEVER, SIZE, VICTIM};

/// The tag of messages in a ring of ranks.
const RING: i32 = 400;

/// Barriers and broadcasts. A rank that is told of the death goes on to the next all the same.
pub(super) fn collectives(world: &Communicator, round: u32) {
    unless_gone(world, world.barrier());
    for root in [0, VICTIM, 3] {
        for len in [8, 16, 1_000, 300_000] {
            let mut content = if world.rank() == root {
                bytes(root, root, round, len)
            } else {
                vec![0_u8; len]
            };
            if unless_gone(world, world.broadcast(&mut content, root)).is_some() {
                assert!(content == bytes(root, root, round, len), "from {root}");
            }
        }
    }
    unless_gone(world, world.barrier());
}

/// What live ranks decide is the same at all of them, and so is who they are.
pub(super) fn survive(world: &World, from: &Communicator, round: u32) {
    let (me, tag) = (world.rank(), 900 + round as i32);
    let copy = unless_gone(world, from.dup());
    let all_have_one = from.agree(u32::from(copy.is_some())).unwrap();
    let agreed = from.agree(0b10 | u32::from(me != VICTIM)).unwrap();
    assert!([0b10, 0b11].contains(&agreed), "{agreed}");
    let rest = from.shrink().unwrap();
    assert!([SIZE, SIZE - 1].contains(&rest.size()));
    for peer in others(world) {
        let mine = [all_have_one, agreed, rest.size()];
        let mut theirs = [0_u32; 3];
        let said = world.sendrecv(&mine, peer, tag, &mut theirs, peer, tag);
        if with_peer(world, peer, said).is_some() {
            assert_eq!(theirs, mine, "of {peer}");
        }
    }
    if all_have_one == 1 {
        unless_gone(world, copy.expect("all have one").barrier());
    }
    if rest.size() < SIZE {
        rest.barrier().unwrap();
        pass_round(&rest, round);
    } else {
        unless_gone(world, rest.barrier());
    }
}

/// A communicator is revoked by the victim, while the others wait on it: one of them for the victim, and the rest for
/// that one, which lives and sends nothing.
pub(super) fn interrupt(world: &World, round: u32) {
    let made = unless_gone(world, world.dup());
    if world.agree(u32::from(made.is_some())).unwrap() == 0 {
        return;
    }
    let on = made.expect("all have one");
    if world.rank() == VICTIM {
        on.revoke().unwrap();
    } else if world.rank() == 0 {
        let heard = on.recv(&mut [0_u8], VICTIM, NEVER);
        if !matches!(heard, Err(Error::Revoked)) {
            assert!(unless_gone(world, heard).is_none());
        }
        on.revoke().unwrap();
    } else {
        let heard = on.recv(&mut [0_u8], 0, NEVER);
        assert!(matches!(heard, Err(Error::Revoked)), "{heard:?}");
    }
    let rest = on.shrink().unwrap();
    if rest.size() < SIZE {
        pass_round(&rest, round);
    } else {
        unless_gone(world, rest.barrier());
    }
}

/// A broadcast of the dead, from whom all parts have come: the announced ones, which are lost, and
/// the last one, whole. It is begun when the death is known.
pub(super) fn late(world: &World) {
    if world.rank() != VICTIM {
        let heard = world.recv(&mut [0_u8], VICTIM, NEVER);
        assert!(unless_gone(world, heard).is_none());
    }
    let mut content = vec![0_u8; 300_000];
    let heard = world.broadcast(&mut content, VICTIM);
    assert!(unless_gone(world, heard).is_none());
    // Nothing of it is left for the next, which one of them was to pass on to the dead.
    for len in [8, 300_000] {
        let mut content = vec![world.rank() as u8; len];
        unless_gone(world, world.broadcast(&mut content, 3));
        assert!(content.iter().all(|&byte| byte == 3));
    }
}

/// A communicator of all that have `from`, which is used if all that live get it. Short and
/// announced messages of it stay where they are when it ends, while the `pair` has a new one of its
/// own: if the pair did not hear which number was given, and others did, it may not have that.
pub(super) fn another(world: &World, from: &Communicator, pair: Option<&Communicator>, round: u32) {
    let (me, tag) = (world.rank(), 300 + round as i32);
    let made = if round.is_multiple_of(2) {
        from.dup().map(Some)
    } else {
        from.split(Some(7), from.rank() as i32)
    };
    let other = unless_gone(world, made).flatten();
    let mut all = other.is_some();
    for peer in others(world) {
        let mut theirs = [0_u8];
        let mine = [u8::from(other.is_some())];
        let said = world.sendrecv(&mine, peer, tag, &mut theirs, peer, tag);
        if with_peer(world, peer, said).is_some() && peer != VICTIM {
            all &= theirs == [1];
        }
    }
    // The rank of each there: those of the world, or with the victim as the first.
    let shift = (from.rank() + SIZE - me) % SIZE;
    let there = |peer: u32| (peer + shift) % SIZE;
    if let (Some(other), true) = (&other, all) {
        unless_gone(world, other.barrier());
        for peer in others(world) {
            let (mine, mut theirs) = ([me], [0_u32]);
            let rank = there(peer);
            let said = other.sendrecv(&mine, rank, tag, &mut theirs, rank, tag);
            if with_peer(world, peer, said).is_some() {
                assert_eq!(theirs, [peer]);
            }
        }
    }
    let theirs = pair.map(|pair| pair.dup().unwrap());
    meet(world, tag);
    if let Some(other) = other {
        for peer in others(world) {
            // Nobody receives them, so a send might wait for ever.
            for left_behind in [vec![me, round], vec![me; 21_000]] {
                let begun = other.isend(left_behind, there(peer), RING);
                drop(with_peer(world, peer, begun.map_err(Error::from)));
            }
        }
    }
    meet(world, tag);
    if let Some(theirs) = theirs {
        pass_round(&theirs, round);
    }
}

/// Live ranks, among themselves, make communicators for as long as they like: nobody is gone.
pub(super) fn renew(living: &Communicator, round: u32) {
    for number in 0..3 {
        pass_round(&living.dup().unwrap(), round * 3 + number);
    }
}

/// In a new communicator, a message from the rank before comes from any source, and not what was
/// left behind on one that had its number. Something is left behind again.
pub(super) fn pass_round(new: &Communicator, round: u32) {
    let (rank, size) = (new.rank(), new.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let sent = [rank, round, !round];
    let mut words = [0_u32; 3];
    // Not one after the other: what was left behind may be so much that senders are held back.
    let heard = new.sendrecv(&sent, next, RING, &mut words, Source::Any, RING);
    let status = heard.unwrap();
    assert_eq!((status.source(), words), (before, [before, round, !round]));
    // In the last round it may have left by now.
    let left_behind = new.isend(sent.to_vec(), next, RING).map_err(Error::from);
    assert!(matches!(left_behind, Ok(_) | Err(Error::Gone { .. })));
}
