//! Ranks die, and the live ones go on among themselves: all of them with the same members.

mod common;

use std::sync::Mutex;

use common::watchdog;
use mq_comm::{Communicator, Error, Options, Process, Source, World};

/// What a rank dies of.
fn dies() -> Result<(), Error> {
    Err(Error::Cancelled)
}

/// A message from each to the next.
fn pass_round(ranks: &Communicator) {
    let (me, size) = (ranks.rank(), ranks.size());
    let before = (me + size - 1) % size;
    ranks.send(&[me], (me + 1) % size, 1).unwrap();
    let mut word = [0];
    ranks.recv(&mut word, before, 1).unwrap();
    assert_eq!(word, [before]);
}

#[test]
fn where_nobody_has_died_all_are_members() {
    let _dog = watchdog("all live");
    for size in [1, 2, 3, 40] {
        World::threads(size, |world| {
            let all = world.shrink()?;
            assert_eq!((all.rank(), all.size()), (world.rank(), size));
            all.barrier()?;
            pass_round(&all);
            assert_eq!(all.agree(0b1000 | (world.rank() & 1))?, 0b1000);
            assert_eq!(all.agree(u32::MAX)?, u32::MAX);
            Ok(())
        })
        .unwrap();
    }
}

/// In each round the first or the last of those that are left dies, of an error or by leaving, beside
/// the call or long before it.
#[test]
fn they_die_one_after_the_other() {
    const SIZE: u32 = 6;
    let _dog = watchdog("one after the other");
    let run = World::threads(SIZE, |world| {
        let mut rest = world.dup()?;
        for round in 0..SIZE - 1 {
            let dying = if round % 2 == 0 { 0 } else { rest.size() - 1 };
            if rest.rank() == dying {
                return if round % 3 == 0 { Ok(()) } else { dies() };
            }
            if round % 2 == 0 {
                // Where it is known already.
                let heard = rest.recv(&mut [0_u8], dying, 9);
                assert!(matches!(heard, Err(Error::Gone { .. })), "{heard:?}");
            }
            let before = rest.agree(!(1 << rest.rank()))?;
            let lived = (0..rest.size()).filter(|rank| before >> rank & 1 == 0);
            assert!(lived.eq((0..rest.size()).filter(|&rank| rank != dying)));
            let fewer = rest.shrink()?;
            assert_eq!(fewer.size(), rest.size() - 1);
            assert_eq!(fewer.rank(), rest.rank() - u32::from(dying == 0));
            rest = fewer;
            rest.barrier()?;
            pass_round(&rest);
            pass_round(&rest.dup()?);
        }
        assert_eq!(rest.size(), 1);
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}

/// Several die at the same time, during the call: all live ranks have the same members.
#[test]
fn those_that_live_agree_on_who_does() {
    const SIZE: u32 = 7;
    let _dog = watchdog("several at once");
    for dying in [0b000_0111_u32, 0b101_0001, 0b011_1110, 0b111_1110] {
        let sizes = Mutex::new(Vec::new());
        let run = World::threads(SIZE, |world| {
            if dying >> world.rank() & 1 == 1 {
                return dies();
            }
            let mut rest = world.shrink()?;
            // A rank that died meanwhile may be a member.
            loop {
                let all_are_in = rest.barrier().is_ok();
                if rest.agree(u32::from(all_are_in))? == 1 {
                    break;
                }
                rest = rest.shrink()?;
            }
            sizes.lock().unwrap().push(rest.size());
            pass_round(&rest);
            Ok(())
        });
        assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
        let living = SIZE - dying.count_ones();
        assert_eq!(sizes.into_inner().unwrap(), vec![living; living as usize]);
    }
}

/// All say their opinions before they hear any.
#[test]
fn they_agree_where_no_message_is_eager() {
    let _dog = watchdog("no eager messages");
    let options = Options::default().with(|o| o.eager_limit = 0);
    let run = World::threads_with(3, &options, |world| {
        if world.rank() == 1 {
            return dies();
        }
        while world.barrier().is_ok() {}
        assert_eq!(world.agree(3)?, 3);
        assert_eq!(world.shrink()?.size(), 2);
        // What says that one is gone is as short.
        assert!(world.barrier().is_err());
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}

/// Numbers of which 64 are taken at one rank or the other.
#[test]
fn a_number_is_found_where_none_of_the_first_is_free_with_all() {
    let _dog = watchdog("numbers");
    World::threads(4, |world| {
        // With the lower two others than with the higher two.
        let mut kept = Vec::new();
        for number in 0..140 {
            let is_in = (number + world.rank() / 2).is_multiple_of(2);
            kept.push(world.split(is_in.then_some(0), 0)?);
        }
        let all = world.shrink()?;
        assert_eq!(all.size(), 4);
        all.barrier()?;
        pass_round(&all);
        drop(kept);
        let all = world.shrink()?;
        pass_round(&all);
        all.barrier()
    })
    .unwrap();
}

#[test]
fn who_calls_something_else_is_told_so() {
    let _dog = watchdog("something else");
    let run = World::threads(3, |world| {
        if world.rank() == 1 {
            world.agree(1).map(|_| ())
        } else {
            world.shrink().map(|_| ())
        }
    });
    assert!(matches!(run, Err(Error::Disagreement(_))), "{run:?}");
}

/// The last one is told that a message from any source cannot come, also where it is the only member.
#[test]
fn the_last_survivor_waits_for_nobody() {
    let _dog = watchdog("the last survivor");
    let run = World::threads(2, |world| {
        if world.rank() == 1 {
            return dies();
        }
        assert!(world.barrier().is_err());
        let rest = world.shrink()?;
        assert_eq!(rest.size(), 1);
        // From itself, a message comes.
        rest.send(&[5_u8], 0, 3)?;
        assert_eq!(rest.recv(&mut [0_u8], Source::Any, 3)?.source(), 0);
        let is_gone = |error| {
            matches!(
                error,
                Error::Gone {
                    process: Process(1),
                    ..
                }
            )
        };
        assert!(rest.recv(&mut [0_u8], Source::Any, 3).is_err_and(is_gone));
        assert!(rest.probe(Source::Any, 3).is_err_and(is_gone));
        assert!(rest.mprobe(Source::Any, 3).is_err_and(is_gone));
        let posted = rest.irecv(vec![0_u8], Source::Any, 3)?;
        assert!(posted.wait().is_err_and(is_gone));
        // One that is not waited for may yet be answered.
        let posted = rest.irecv(vec![0_u8], Source::Any, 3)?;
        assert!(!posted.test()?);
        rest.send(&[6_u8], 0, 3)?;
        assert_eq!(posted.wait()?.0, [6]);
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}
