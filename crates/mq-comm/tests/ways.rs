//! Large messages whose way is found out: all come whole, some by the ring and some by the kernel.

mod common;

use std::collections::VecDeque;

use common::{kernel_reads_memory, watchdog};
use mq_comm::{Error, Options, Profile, World};

const LENGTHS: [usize; 3] = [40_000, 65_536, 1_000_003];
const MESSAGES: usize = 200;

fn content(number: usize, bytes: usize) -> Vec<u8> {
    let mut content = vec![number as u8; bytes];
    for (at, chunk) in content.chunks_mut(4096).enumerate() {
        chunk[0] = (at ^ number) as u8;
    }
    content
}

/// Both directions at the same time, several messages under way, of alternating lengths.
fn exchange(single_copy_from: Option<usize>) -> Result<Vec<Profile>, Error> {
    let options = Options::default().with(|o| o.single_copy_from = single_copy_from);
    World::threads_with(2, &options, |world| {
        let (me, other) = (world.rank() as usize, 1 - world.rank());
        for number in 0..MESSAGES {
            for bytes in LENGTHS {
                let out = content(number + me, bytes);
                let mut into = vec![0; bytes];
                world.sendrecv(&out, other, 1, &mut into, other, 1)?;
                assert!(into == content(number + other as usize, bytes), "{number}");
            }
        }
        Ok(world.profile())
    })
}

#[test]
fn both_ways_are_tried_and_all_comes_whole() {
    let _dog = watchdog("both ways");
    let all = (MESSAGES * LENGTHS.len()) as u64;
    let may_read = kernel_reads_memory();
    for profile in exchange(Some(0)).expect("by the kernel") {
        assert_eq!(profile.single_copy > 0, may_read, "{profile:?}");
    }
    for profile in exchange(None).expect("by what is quicker") {
        assert_eq!(profile.single_copy + profile.ring, all);
        assert!(profile.ring > 0, "{profile:?}");
        assert_eq!(profile.single_copy > 0, may_read, "{profile:?}");
    }
    for profile in exchange(Some(usize::MAX)).expect("by rings") {
        assert_eq!((profile.single_copy, profile.ring), (0, all));
    }
}

/// Messages of one length in one direction, with receives for them: they go ahead until it is time to
/// time the ways, and are announced then; so that the kernel has its turn too.
#[test]
fn messages_that_go_ahead_are_announced_when_the_ways_are_timed() {
    const BYTES: usize = 40_000;
    const STANDING: usize = 4;
    const MESSAGES: usize = 3_000;
    let _dog = watchdog("ahead or announced");
    let profiles = World::threads(2, |world| {
        if world.rank() == 0 {
            for number in 0..MESSAGES {
                world.send(&content(number, BYTES), 1, 1)?;
            }
        } else {
            let receive = || world.irecv(vec![0_u8; BYTES], 0, 1).map_err(Error::from);
            let mut posted: VecDeque<_> =
                (0..STANDING).map(|_| receive()).collect::<Result<_, _>>()?;
            for number in 0..MESSAGES {
                let (into, _) = posted.pop_front().expect("some stand").wait()?;
                assert!(into == content(number, BYTES), "{number}");
                if number + STANDING < MESSAGES {
                    posted.push_back(receive()?);
                }
            }
        }
        Ok(world.profile())
    })
    .expect("all come");
    let [sender, receiver] = &profiles[..] else {
        unreachable!("there are two");
    };
    assert_eq!(sender.ahead + sender.rendezvous, MESSAGES as u64);
    assert_eq!(receiver.ring + receiver.single_copy, MESSAGES as u64);
    // Where both processes share a core, the kernel's way may be the quicker one.
    let is_read = receiver.single_copy > receiver.ring;
    assert!(sender.ahead > 0 || is_read, "{sender:?}, {receiver:?}");
    assert_eq!(
        receiver.single_copy > 0,
        kernel_reads_memory(),
        "{receiver:?}"
    );
}

/// The same out of shared buffers, at first without a ring.
#[test]
fn messages_in_shared_buffers_come_both_ways() {
    const BYTES: usize = 300_000;
    let _dog = watchdog("shared buffers");
    let profiles = World::threads(2, |world| {
        let other = 1 - world.rank();
        let mut out = world.shared_buffer::<u8>(BYTES)?;
        let mut into = vec![0; BYTES];
        for number in 0..MESSAGES {
            out.copy_from_slice(&content(number + world.rank() as usize, BYTES));
            world.sendrecv(&out, other, 1, &mut into, other, 1)?;
            assert!(into == content(number + other as usize, BYTES), "{number}");
        }
        Ok(world.profile())
    });
    for profile in profiles.expect("all come") {
        assert_eq!(profile.shared_copy + profile.ring, MESSAGES as u64);
        assert!(profile.shared_copy > 0 && profile.ring > 0, "{profile:?}");
    }
}

/// Two ranks that send each other messages, alternately: when one begins to time the ways, the other does
/// so too, long before it is time for that.
#[test]
fn both_time_the_ways_at_once() {
    const BYTES: usize = 1 << 20;
    /// Of a way, and those before the first.
    const LOOK: usize = 8;
    const BEFORE: usize = 2;
    let _dog = watchdog("both at once");
    let send = |world: &World, messages: usize, from: u32| -> Result<(), Error> {
        let mut bytes = vec![from as u8; BYTES];
        for _ in 0..messages {
            if world.rank() == from {
                world.send(&bytes, 1 - from, 1)?;
            } else {
                world.recv(&mut bytes, from, 1)?;
            }
        }
        Ok(())
    };
    let read = World::threads(2, |world| {
        // A whole look at rank 0, and as many messages after it as have to be between two.
        send(world, BEFORE + 2 * LOOK + 2 * LOOK + 1, 1)?;
        let before = world.profile();
        // Rank 1 begins.
        send(world, BEFORE + 1, 0)?;
        send(world, 2 * LOOK, 1)?;
        let after = world.profile();
        Ok((
            after.single_copy - before.single_copy,
            after.ring - before.ring,
        ))
    });
    let (by_kernel, by_ring) = read.expect("all come")[0];
    let read = if kernel_reads_memory() { LOOK } else { 0 };
    assert_eq!(
        (by_kernel, by_ring),
        (read as u64, (2 * LOOK - read) as u64)
    );
}
