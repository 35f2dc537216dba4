//! What a rank says of a wait in which nothing happens.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use common::{TASK, child, watchdog};
use mq_comm::{Error, Options, Source, TagSelector, World};

/// What rank 0 waits for, and what it is to say. Rank 1 does not do its part before it is told to.
struct Case {
    name: &'static str,
    rank_0: fn(&World) -> Result<(), Error>,
    rank_1: fn(&World) -> Result<(), Error>,
    says: &'static str,
}

const ANY: (Source, TagSelector) = (Source::Any, TagSelector::Any);

const CASES: [Case; 12] = [
    Case {
        name: "a receive, and a message with another tag",
        rank_0: |world| {
            world.recv(&mut [0_u8], 1, 0)?;
            world.recv(&mut [0_u8], 1, 7)?;
            world.recv(&mut [0_u8; 16], 1, 8).map(drop)
        },
        rank_1: |world| {
            world.send(&[0_u8; 16], 0, 8)?;
            world.send(&[0_u8], 0, 0)?;
            when_told();
            world.send(&[0_u8], 0, 7)
        },
        says: "waiting for a message from process 1 with tag 7; \
               no receive has asked for what has come from process 1 with tag 8 (16 bytes)",
    },
    Case {
        name: "a receive that goes straight to the transport",
        rank_0: |world| world.recv(&mut [0_u8], ANY.0, 3).map(drop),
        rank_1: |world| {
            when_told();
            world.send(&[0_u8], 0, 3)
        },
        says: "waiting for a message from any process with tag 3",
    },
    Case {
        name: "a probe",
        rank_0: |world| {
            world.probe(ANY.0, ANY.1)?;
            world.recv(&mut [0_u8], ANY.0, ANY.1).map(drop)
        },
        rank_1: |world| {
            when_told();
            world.send(&[0_u8], 0, 3)
        },
        says: "waiting for a message from any process with any tag",
    },
    Case {
        name: "a request",
        rank_0: |world| {
            let _other = world.irecv(vec![0_u8], 1, 5)?;
            world.irecv(vec![0_u8], 1, 6)?.wait().map(drop)
        },
        rank_1: |world| {
            when_told();
            world.send(&[0_u8], 0, 6)
        },
        says: "waiting for a message from process 1 with tag 6",
    },
    Case {
        name: "a large message that is not received",
        rank_0: |world| world.send(&vec![0_u8; 1 << 20], 1, 9),
        rank_1: |world| {
            when_told();
            world.recv(&mut vec![0_u8; 1 << 20], 0, 9).map(drop)
        },
        says: "waiting for process 1 to receive 1048576 bytes with tag 9",
    },
    Case {
        name: "more short messages than there is room for",
        rank_0: |world| (0..100_000).try_for_each(|_| world.send(&[0_u8; 64], 1, 4)),
        rank_1: |world| {
            when_told();
            (0..100_000).try_for_each(|_| world.recv(&mut [0_u8; 64], 0, 4).map(drop))
        },
        says: "waiting for room for a message to process 1 with tag 4",
    },
    Case {
        name: "a barrier",
        rank_0: |world| world.barrier(),
        rank_1: |world| {
            when_told();
            world.barrier()
        },
        says: "waiting for a message from process 1 in a collective operation",
    },
    Case {
        name: "some of many requests, of another communicator",
        rank_0: |world| {
            let other = world.dup()?;
            let mut set = other.request_set();
            for tag in 0..6 {
                set.add(other.irecv(vec![0_u8], 1, tag)?);
            }
            set.wait_all().map(drop)
        },
        rank_1: |world| {
            let other = world.dup()?;
            when_told();
            (0..6).try_for_each(|tag| other.send(&[0_u8], 0, tag))
        },
        says: "waiting for a message from process 1 with tag 0 of communicator 1, \
               a message from process 1 with tag 1 of communicator 1, \
               a message from process 1 with tag 2 of communicator 1, \
               a message from process 1 with tag 3 of communicator 1 and 2 more",
    },
    Case {
        name: "a wait of a scope in a queue behind others",
        rank_0: |world| {
            let mut bytes = [[0_u8]; 2];
            let [one, two] = &mut bytes;
            world.scope(|s| {
                // The second is not in front: the first could take its message.
                s.irecv(one, ANY.0, ANY.1)?;
                s.irecv(two, 1, 2)?;
                s.wait_all()
            })
        },
        rank_1: |world| {
            when_told();
            (1..3).try_for_each(|tag| world.send(&[0_u8], 0, tag))
        },
        says: "waiting for a message from any process with any tag, \
               a message from process 1 with tag 2",
    },
    Case {
        name: "a request that is tested",
        rank_0: |world| {
            let request = world.irecv(vec![0_u8], 1, 6)?;
            while !request.test()? {}
            request.wait().map(drop)
        },
        rank_1: |world| {
            when_told();
            world.send(&[0_u8], 0, 6)
        },
        says: "asking again and again for a message from process 1 with tag 6",
    },
    Case {
        name: "a set that is tested",
        rank_0: |world| {
            let mut set = world.request_set();
            set.add(world.irecv(vec![0_u8], 1, 6)?);
            set.add(world.irecv(vec![0_u8], 1, 7)?);
            while set.test_all()?.is_none() {}
            Ok(())
        },
        rank_1: |world| {
            when_told();
            (6..8).try_for_each(|tag| world.send(&[0_u8], 0, tag))
        },
        says: "asking again and again for a message from process 1 with tag 6, \
               a message from process 1 with tag 7",
    },
    Case {
        name: "a probe that does not wait",
        rank_0: |world| {
            while world.iprobe(ANY.0, 3)?.is_none() {}
            world.recv(&mut [0_u8], ANY.0, 3).map(drop)
        },
        rank_1: |world| {
            when_told();
            world.send(&[0_u8], 0, 3)
        },
        says: "asking again and again for a message from any process with tag 3",
    },
];

fn when_told() {
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}

#[test]
fn a_child_does_its_task() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let _dog = watchdog("a child");
    let case = CASES.iter().find(|case| case.name == task);
    let case = case.expect("a case of that name");
    let options = Options::default().with(|o| o.say_waits = Some(Duration::from_millis(50)));
    World::threads_with(2, &options, |world| match world.rank() {
        0 => (case.rank_0)(world),
        _ => (case.rank_1)(world),
    })
    .unwrap();
}

#[test]
fn a_rank_says_what_it_waits_for() {
    let _dog = watchdog("what ranks wait for");
    for case in CASES {
        let mut child = child(case.name);
        child.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let begin = "mq: rank 0: nothing has happened for ";
        // It may have waited for long before.
        let mut before = Vec::new();
        let is_said = lines.any(|line| {
            let is_it = line.starts_with(begin) && line.ends_with(&format!(" s, {}", case.says));
            before.push(line);
            is_it
        });
        assert!(is_said, "{}: {before:?}", case.name);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        // Whatever else is said while it goes on.
        lines.for_each(drop);
        assert!(child.wait().unwrap().success(), "{}", case.name);
    }
}
