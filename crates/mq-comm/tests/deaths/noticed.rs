//! An error about a process that has ended says which call has noticed it.

use std::sync::Barrier;

use mq_comm::{Error, Options, Source, TagSelector, World};

use crate::common::watchdog;
use crate::with_a_death;

/// A call of rank 0, and what it says of rank 1.
type Call = (fn(&World) -> Result<(), Error>, &'static str);

const CALLS: [Call; 9] = [
    (
        |world| world.recv(&mut [0_u8], 1, 7).map(drop),
        " (noticed by a receive from it with tag 7)",
    ),
    (
        |world| world.recv(&mut [0_u8], 1, TagSelector::Any).map(drop),
        " (noticed by a receive from it)",
    ),
    (
        |world| world.recv(&mut [0_u8], Source::Any, 7).map(drop),
        " (noticed by a receive from any rank with tag 7)",
    ),
    (
        |world| world.irecv(vec![0_u8], 1, 8)?.wait().map(drop),
        " (noticed by a receive from it with tag 8)",
    ),
    (
        |world| world.probe(1, 9).map(drop),
        " (noticed by a probe from it with tag 9)",
    ),
    (
        |world| world.improbe(1, 9).map(drop),
        " (noticed by a probe from it with tag 9)",
    ),
    (
        |world| world.send(&[1_u8], 1, 5),
        " (noticed by a send to it)",
    ),
    (
        |world| world.send(&[1_u8; 1 << 20], 1, 6),
        " (noticed by a send to it with tag 6)",
    ),
    (
        |world| world.isend(vec![1_u8], 1, 4)?.wait().map(drop),
        " (noticed by a send to it with tag 4)",
    ),
];

#[test]
fn who_calls_after_a_death_is_told_by_which_call_it_was_noticed() {
    let _dog = watchdog("calls after a death");
    with_a_death(
        &Options::default(),
        |_| {},
        |world| {
            if world.rank() == 0 {
                for (call, how) in CALLS {
                    let said = call(world).expect_err("nobody is there").to_string();
                    assert_eq!(said, format!("process 1 has died{how}"));
                }
            }
            let said = world.broadcast(&mut [1_u8; 100], 1).expect_err("no root");
            let expected = "process 1 has died (noticed by a collective operation)";
            assert_eq!(said.to_string(), expected);
            Ok(())
        },
    );
}

#[test]
fn who_waits_at_a_death_is_told_by_which_call_it_was_noticed() {
    let _dog = watchdog("waits at a death");
    let posted = Barrier::new(2);
    with_a_death(
        &Options::default(),
        |world| {
            let begun = world.isend(vec![1_u8; 1 << 20], 0, 3).unwrap();
            world.send(&[1_u8], 0, 1).unwrap();
            posted.wait();
            drop(begun);
        },
        |world| {
            if world.rank() != 0 {
                return Ok(());
            }
            let named = world.irecv(vec![0_u8], 1, 7)?;
            let any = world.irecv(vec![0_u8], Source::Any, 8)?;
            let sent = world.isend(vec![1_u8; 1 << 20], 1, 9)?;
            world.recv(&mut [0_u8], 1, 1)?;
            let begun = world.mprobe(1, 3)?;
            posted.wait();
            let said = |result: Result<(), Error>| result.expect_err("it has died").to_string();
            let noticed = |by: &str| format!("process 1 has died (noticed by a {by})");
            let receive = said(world.recv(&mut [0_u8], 1, 6).map(drop));
            // Where it is not in the queue, its tag may not be known.
            assert!(receive.starts_with("process 1 has died (noticed by a receive from it"));
            let named = said(named.wait().map(drop));
            assert_eq!(named, noticed("receive from it with tag 7"));
            let any = said(any.wait().map(drop));
            assert_eq!(any, noticed("receive from any rank with tag 8"));
            let sent = said(sent.wait().map(drop));
            assert_eq!(sent, noticed("send to it with tag 9"));
            let begun = said(begun.recv(&mut vec![0_u8; 1 << 20]).map(drop));
            let part = "process 1 has died before all of its message with tag 3 had come";
            assert_eq!(begun, part);
            Ok(())
        },
    );
}
