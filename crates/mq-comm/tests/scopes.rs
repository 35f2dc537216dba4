//! Scopes: operations on borrowed memory, which are over when their scope ends.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Source, TagSelector, World};

#[test]
fn a_scope_gives_memory_back_for_the_next_round() {
    let _dog = watchdog("scope rounds");
    World::threads(2, |world| {
        let other = 1 - world.rank();
        let (mut a, mut b, mine) = ([0_u64; 4], [0_u64; 4], [u64::from(world.rank()); 4]);
        world.scope(|s| {
            let (mut first, mut second) = (&mut a[..], &mut b[..]);
            for _ in 0..100 {
                let one = s.irecv(first, other, 0)?;
                let two = s.irecv(second, other, 1)?;
                s.isend(&mine, other, 1)?;
                s.isend(&mine, other, 0)?;
                (first, _) = one.wait()?;
                (second, _) = two.wait()?;
                assert_eq!((first[0], second[3]), (u64::from(other), u64::from(other)));
                first[0] = 9;
            }
            s.wait_all()
        })?;
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_scope_that_fails_takes_its_receives_back() {
    let _dog = watchdog("scope fails");
    let world = World::alone().unwrap();
    let mut x = [0_u8; 4];
    let failed = world.scope(|s| {
        s.irecv(&mut x, 0, 1)?;
        s.isend(&[1_u8], 5, 1)?;
        s.wait_all()
    });
    assert!(matches!(failed, Err(Error::Rank { rank: 5, size: 1 })));
    world.send(&[9_u8; 4], 0, 1).unwrap();
    assert_eq!(x, [0; 4]);
    world.recv(&mut x, 0, 1).unwrap();
    assert_eq!(x, [9; 4]);
}

#[test]
fn a_scope_that_panics_leaves_no_loan_behind() {
    let _dog = watchdog("scope panics");
    for single_copy in [true, false] {
        let options = Options::default().with(|o| {
            o.single_copy = single_copy;
            o.single_copy_from = Some(0);
        });
        World::threads_with(2, &options, |world| {
            let large = vec![world.rank() as u8; 300_000];
            let mut into = vec![0_u8; 300_000];
            if world.rank() == 0 {
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    world.scope(|s| -> Result<(), Error> {
                        s.irecv(&mut into, 1, 1)?;
                        // Announced, and never received.
                        s.isend(&large, 1, 2)?;
                        s.isend(&large[..100], 1, 3)?;
                        panic!("by intention");
                    })
                }));
                assert!(panicked.is_err());
                drop(large);
                world.send(&[1_u8], 1, 4)?;
                // A process that asks for messages of one that has left is told so.
                world.recv(&mut [0_u8], 1, 5)?;
            } else {
                world.recv(&mut [0_u8], 0, 4)?;
                // The short one has been sent; the long one no longer exists.
                world.recv(&mut into, 0, 3)?;
                let lost = world.recv(&mut into, 0, 2);
                assert!(is_gone(&lost, 0, "died"), "{lost:?}");
                world.send(&[1_u8], 0, 5)?;
            }
            Ok(())
        })
        .unwrap();
    }
}

/// A wait for all is over when it returns: what completes later is reported.
#[test]
fn a_scope_that_was_waited_for_reports_what_begins_later() {
    let _dog = watchdog("scope wait_all, then wait_any");
    let world = World::alone().unwrap();
    let mut x = [0_u8];
    world
        .scope(|s| {
            s.wait_all()?;
            s.irecv(&mut x, 0, 1)?;
            world.send(&[1_u8], 0, 1)?;
            assert!(s.wait_any()?.is_some());
            s.wait_all()
        })
        .unwrap();
    assert_eq!(x, [1]);
}

#[test]
fn of_several_failures_in_a_scope_the_first_is_reported() {
    let _dog = watchdog("first failure of a scope");
    let world = World::alone().unwrap();
    let (mut x, mut y) = ([0_u8], [0_u8]);
    let failed = world.scope(|s| {
        s.irecv(&mut x, 0, 1)?;
        s.irecv(&mut y, 0, 2)?;
        // The one that began last fails first.
        for tag in [2, 1] {
            world.send(&[7_u8; 2], 0, tag)?;
        }
        s.wait_all()
    });
    assert!(
        matches!(failed, Err(Error::Truncated { tag: 2, .. })),
        "{failed:?}"
    );
}

#[test]
fn wait_any_in_a_scope_names_the_request() {
    let _dog = watchdog("scope wait_any");
    let world = World::alone().unwrap();
    let (mut x, mut y) = ([0_u8], [0_u8]);
    world
        .scope(|s| {
            let first = s.irecv(&mut x, 0, 1)?;
            let second = s.irecv(&mut y, 0, 2)?;
            s.isend(&[2_u8], 0, 2)?;
            assert_eq!(s.wait_any()?.expect("a receive").id(), second.id());
            let sent = s.wait_any()?.expect("the send");
            assert!(sent.id() != first.id() && sent.id() != second.id());
            assert_eq!(second.wait()?.0, [2]);
            s.isend(&[1_u8], 0, 1)?;
            drop(first);
            let mut both = Vec::new();
            while both.len() < 2 {
                s.wait_some(&mut both)?;
            }
            assert!(s.wait_any()?.is_none());
            Ok(())
        })
        .unwrap();
    assert_eq!(x, [1]);
}

/// An error of a program's own.
#[derive(Debug, PartialEq)]
enum Own {
    Comm(String),
    Gave(u32),
}

impl From<Error> for Own {
    fn from(error: Error) -> Self {
        Self::Comm(error.to_string())
    }
}

#[test]
fn a_scope_that_fails_by_the_programs_own_error_takes_its_receives_back() {
    let world = World::alone().unwrap();
    let mut never = [0_u8; 4];
    let failed: Result<(), Own> = world.try_scope(|s| {
        s.irecv(&mut never, 0, 1)?;
        Err(Own::Gave(7))
    });
    assert_eq!(failed, Err(Own::Gave(7)));
    // Nothing takes this message but the receive that comes now.
    world.send(&[1_u8], 0, 1).unwrap();
    assert_eq!(never, [0; 4]);
    let refused: Result<(), Own> = world.try_scope(|s| {
        s.isend(&[1_u8], 9, 1)?;
        Ok(())
    });
    let text = Error::Rank { rank: 9, size: 1 }.to_string();
    assert_eq!(refused, Err(Own::Comm(text)));
    // What failed without being reported is the scope's error, although the closure's result is `Ok`.
    let mut short = [0_u8];
    let unreported: Result<(), Own> = world.try_scope(|s| {
        s.irecv(&mut short, 0, 2)?;
        Ok(world.send(&[1_u8, 2], 0, 2)?)
    });
    assert!(matches!(unreported, Err(Own::Comm(text)) if text.contains("truncated")));
    let (elements, status) = world.recv_vec::<u8>(Source::Any, TagSelector::Any).unwrap();
    assert_eq!((elements, status.tag()), (vec![1], 1));
}

#[test]
fn the_requests_of_a_scope_are_tested_each_once_and_together() {
    let world = World::alone().unwrap();
    let (mut first, mut second, mut short) = ([0_u8; 2], [0_u8; 2], [0_u8; 1]);
    let failed = world.scope(|s| {
        let ids = [
            s.irecv(&mut first, 0, 1)?.id(),
            s.irecv(&mut second, 0, 2)?.id(),
            s.irecv(&mut short, 0, 3)?.id(),
        ];
        assert!(s.test_any()?.is_none());
        assert!(!s.test_all()?);
        world.send(&[2_u8; 2], 0, 2)?;
        assert_eq!(
            s.test_any()?.map(|completion| completion.id()),
            Some(ids[1])
        );
        assert!(s.test_any()?.is_none(), "it has been reported");
        world.send(&[1_u8; 2], 0, 1)?;
        let mut some = Vec::new();
        assert_eq!(s.test_some(&mut some)?, 1);
        assert_eq!(some[0].id(), ids[0]);
        assert!(!s.test_all()?);
        world.send(&[3_u8; 2], 0, 3)?;
        // One that failed is complete, and `wait_all` says why.
        assert!(s.test_all()?);
        s.wait_all()
    });
    assert!(matches!(
        failed,
        Err(Error::Truncated {
            sent: 2,
            room: 1,
            ..
        })
    ));
    assert_eq!((first, second, short), ([1; 2], [2; 2], [3]));
}

#[test]
fn some_requests_of_a_scope_are_waited_for_while_others_go_on() {
    let _dog = watchdog("wait_for");
    World::threads(2, |world| {
        let other = 1 - world.rank();
        let (mut first, mut second, mut late) = ([0_u8; 2], [0_u8; 1], [0_u8; 2]);
        world.scope(|s| {
            let late = s.irecv(&mut late, other, 3)?;
            let first = s.irecv(&mut first, other, 1)?;
            let second = s.irecv(&mut second, other, 2)?;
            let ids = [first.id(), second.id()];
            for tag in [2, 1] {
                s.isend(&[7_u8; 2], other, tag)?;
            }
            s.wait_for(&ids)?;
            assert!(!late.test()?, "it goes on");
            assert_eq!(first.wait()?.0, [7; 2]);
            // One that has failed is complete, and its handle says why.
            let truncated = second.wait();
            assert!(matches!(truncated, Err(Error::Truncated { .. })));
            // They are over.
            s.wait_for(&ids)?;
            world.barrier()?;
            s.isend(&[9_u8; 2], other, 3)?;
            s.wait_for(&[ids[0], late.id()])?;
            assert_eq!(late.wait()?.0, [9; 2]);
            s.wait_all()
        })
    })
    .unwrap();
}

/// By whatever way a message goes, its buffer comes back as it was sent.
#[test]
fn a_buffer_that_was_sent_is_written_again_in_its_scope() {
    let _dog = watchdog("isend_mut");
    for (len, single_copy) in [(10, true), (300_000, true), (300_000, false)] {
        let options = Options::default().with(|o| {
            o.single_copy = single_copy;
            o.single_copy_from = Some(0);
        });
        World::threads_with(2, &options, |world| {
            let (mut into, mut mine) = (vec![0_u8; len], vec![0_u8; len]);
            // To itself as well as to the other.
            for to in [1 - world.rank(), world.rank()] {
                world.scope(|s| {
                    let (mut into, mut mine) = (&mut into[..], &mut mine[..]);
                    for round in 1..6 {
                        mine.fill(round);
                        let sending = s.isend_mut(mine, to, 1)?;
                        (into, _) = s.irecv(into, to, 1)?.wait()?;
                        assert!(into.iter().all(|&byte| byte == round));
                        (mine, _) = sending.wait()?;
                        assert_eq!((mine.len(), mine[len - 1]), (len, round));
                    }
                    Ok(())
                })?;
            }
            // One that is never received is withdrawn with its scope.
            let failed = world.scope(|s| {
                s.isend_mut(&mut mine, 1 - world.rank(), 2)?;
                Err::<(), _>(Error::Cancelled)
            });
            assert!(matches!(failed, Err(Error::Cancelled)));
            mine.fill(0);
            world.barrier()
        })
        .unwrap();
    }
}
