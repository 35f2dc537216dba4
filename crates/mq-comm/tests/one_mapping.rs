//! Worlds whose processes are threads over memory of their own program, all at the same addresses:
//! what a tool that watches accesses (`ci/tsan.sh`) can follow from one to the other.

mod common;

use common::watchdog;
use mq_comm::{Error, Options, Source, TagSelector, World};
use mq_shm::{Endpoint, Geometry, Heap, Policy, Process};
use std::sync::Arc;

type Over = World<Endpoint<Arc<Heap>>>;

/// Runs a program as threads over one segment.
fn threads(size: u32, policy: Policy, program: impl Fn(&Over) -> Result<(), Error> + Sync) {
    let segment = Heap::new(Geometry::new(size).unwrap());
    let options = mq_shm::Options::default().with(|o| o.policy = policy);
    std::thread::scope(|scope| {
        for rank in 0..size {
            let (segment, program) = (&segment, &program);
            scope.spawn(move || {
                let endpoint = Endpoint::join(Arc::clone(segment), Process(rank), options).unwrap();
                // SAFETY: the others are worlds too.
                #[allow(unsafe_code, reason = "the other ends are the test's")]
                let world = unsafe { World::over(endpoint, &Options::default()) };
                program(&world).unwrap();
            });
        }
    });
}

#[test]
fn everything_by_every_policy() {
    let _dog = watchdog("one mapping");
    for &policy in Policy::ALL {
        threads(3, policy, |world| {
            let (rank, size) = (world.rank(), world.size());
            for round in 0..4_u32 {
                for len in [0, 1, 50, 3_000, 40_000, 300_000] {
                    let mine = vec![(rank * 5 + round) as u8; len];
                    let mut theirs = vec![vec![0_u8; len]; size as usize];
                    world.scope(|s| {
                        for (from, into) in (0..).zip(&mut theirs) {
                            s.irecv(into, from, 1)?;
                        }
                        for to in 0..size {
                            s.isend(&mine, to, 1)?;
                        }
                        s.wait_all()
                    })?;
                    for (from, bytes) in (0..).zip(&theirs) {
                        assert!(
                            bytes
                                .iter()
                                .all(|&byte| u32::from(byte) == from * 5 + round)
                        );
                    }
                }
                for number in 0..50_u32 {
                    world.send(&[number, rank], (rank + 1) % size, 2)?;
                    let mut words = [0_u32; 2];
                    world.recv(&mut words, Source::Any, 2)?;
                    assert_eq!(words, [number, (rank + size - 1) % size]);
                }
                let mut content = vec![rank; 100_000];
                world.broadcast(&mut content, round % size)?;
                assert!(content.iter().all(|&word| word == round % size));
                let other = world.dup()?;
                other.send(&[round], rank, 3)?;
                assert!(other.improbe(rank, TagSelector::Any)?.is_some());
                other.barrier()?;
            }
            Ok(())
        });
    }
}

/// Most are waited for, some come too early, and one is cut.
#[test]
fn messages_go_ahead() {
    const BYTES: usize = 50_001;
    let _dog = watchdog("one mapping, ahead");
    threads(2, Policy::AdaptiveShared, |world| {
        for round in 0..40_u8 {
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..8 {
                    world.send(&vec![round + number; BYTES], 1, 2)?;
                }
                continue;
            }
            let posted = (0..6).map(|_| world.irecv(vec![0_u8; BYTES], 0, 2));
            let posted = posted.collect::<Result<Vec<_>, _>>()?;
            world.send(&[0_u8], 0, 1)?;
            for (number, request) in (0..).zip(posted) {
                let (bytes, _) = request.wait()?;
                assert!(bytes.iter().all(|&byte| byte == round + number));
            }
            let mut part = vec![0_u8; 10_000];
            let heard = world.recv(&mut part, 0, 2);
            assert!(matches!(heard, Err(Error::Truncated { .. })));
            assert!(part.iter().all(|&byte| byte == round + 6));
            let mut last = vec![0_u8; BYTES];
            world.recv(&mut last, 0, 2)?;
            assert!(last.iter().all(|&byte| byte == round + 7));
        }
        assert!(world.rank() == 1 || world.profile().ahead > 0);
        Ok(())
    });
}

#[test]
fn those_that_are_left_go_on() {
    let _dog = watchdog("one mapping, an end");
    threads(3, Policy::AdaptiveShared, |world| {
        if world.rank() == 2 {
            return world.send(&[1_u8; 100], 0, 0);
        }
        let other = 1 - world.rank();
        if world.rank() == 0 {
            world.recv(&mut [0_u8; 100], 2, 0)?;
        }
        assert!(matches!(
            world.recv(&mut [0_u8], 2, 0),
            Err(Error::Gone {
                process: Process(2),
                ..
            })
        ));
        let mut theirs = vec![0_u8; 100_000];
        world.sendrecv(&vec![3_u8; 100_000], other, 1, &mut theirs, other, 1)?;
        assert!(theirs.iter().all(|&byte| byte == 3));
        Ok(())
    });
}
