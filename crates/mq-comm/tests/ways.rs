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

/// Both directions at once, several messages under way, of all lengths by turns.
fn exchange(single_copy_from: Option<usize>) -> Result<Vec<Profile>, Error> {
    let options = Options {
        single_copy_from,
        ..Options::default()
    };
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
/// time both ways, and are announced then; so that the kernel has its turn too.
#[test]
fn messages_that_go_ahead_are_announced_when_both_ways_are_timed() {
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
    assert!(sender.ahead > 0, "{sender:?}");
    assert_eq!(receiver.ring + receiver.single_copy, MESSAGES as u64);
    assert_eq!(
        receiver.single_copy > 0,
        kernel_reads_memory(),
        "{receiver:?}"
    );
}
