//! What a probe from any source has shown is what the receive after it takes, whoever has sent meanwhile.

#![allow(
    clippy::disallowed_types,
    reason = "what threads tell each other beside their messages"
)]

mod common;

use std::sync::atomic::{AtomicU32, Ordering};

use mq_comm::{Communicator, Error, Options, Policy, Source, Status, TagSelector, World};

use common::watchdog;

const ROUNDS: u32 = 40;

/// A receive, from any source, into one element.
type Receive = fn(&World, &mut [u32; 1]) -> Result<Status, Error>;

const RECEIVES: [(&str, Receive); 6] = [
    ("recv", |world, into| {
        world.recv(into, Source::Any, TagSelector::Any)
    }),
    ("irecv", |world, into| {
        let receiving = world.irecv(vec![0], Source::Any, TagSelector::Any);
        let (elements, status) = receiving.map_err(Error::from)?.wait()?;
        into.copy_from_slice(&elements);
        Ok(status)
    }),
    ("a scope's irecv", |world, into| {
        world.scope(|s| {
            let receiving = s.irecv(into, Source::Any, TagSelector::Any)?;
            Ok(receiving.wait()?.1)
        })
    }),
    ("sendrecv", |world, into| {
        let me = world.rank();
        let status = world.sendrecv(&[0_u32], me, 99, into, Source::Any, TagSelector::Any)?;
        world.recv(&mut [0_u32], me, 99)?;
        Ok(status)
    }),
    ("mprobe", |world, into| {
        world.mprobe(Source::Any, TagSelector::Any)?.recv(into)
    }),
    ("improbe", |world, into| {
        let found = world.improbe(Source::Any, TagSelector::Any)?;
        found.expect("one was shown").recv(into)
    }),
];

fn wait_for(count: &AtomicU32, number: u32) {
    while count.load(Ordering::Acquire) < number {
        std::thread::yield_now();
    }
}

#[test]
fn a_receive_from_any_source_takes_what_was_shown_though_others_have_sent_since() {
    for (name, receive) in RECEIVES {
        let _dog = watchdog("shown");
        // Counts what the senders may send, and what they have sent.
        let (turn, sent) = (AtomicU32::new(0), AtomicU32::new(0));
        World::threads(3, |world| {
            let me = world.rank();
            for round in 0..ROUNDS {
                // Once the one comes first, and once the other.
                let first = 1 + round % 2;
                let at = 2 * round + u32::from(me != first);
                if me > 0 {
                    wait_for(&turn, at + 1);
                    world.send(&[round], 0, i32::try_from(me).expect("small"))?;
                    sent.fetch_add(1, Ordering::Release);
                    continue;
                }
                turn.store(2 * round + 1, Ordering::Release);
                let shown = world.probe(Source::Any, TagSelector::Any)?;
                assert_eq!(shown.source(), first, "{name}, {round}");
                turn.store(2 * round + 2, Ordering::Release);
                wait_for(&sent, 2 * round + 2);
                let mut got = [0];
                let taken = receive(world, &mut got)?;
                assert_eq!((taken, got[0]), (shown, round), "{name}");
                let rest = world.recv(&mut got, Source::Any, TagSelector::Any)?;
                assert_eq!(rest.source(), 3 - first, "{name}, {round}");
            }
            world.barrier()
        })
        .unwrap();
    }
}

#[test]
fn it_does_so_though_messages_are_taken_in_between_and_after_a_second_probe() {
    for probes in [1, 2] {
        let _dog = watchdog("taken in");
        let (turn, sent) = (AtomicU32::new(0), AtomicU32::new(0));
        World::threads(4, |world| {
            let me = world.rank();
            for round in 0..ROUNDS {
                // Each of them is the first in its turn.
                let first = 1 + round % 3;
                if me > 0 {
                    wait_for(&turn, 2 * round + 1 + u32::from(me != first));
                    world.send(&[me], 0, 7)?;
                    sent.fetch_add(1, Ordering::Release);
                    continue;
                }
                turn.store(2 * round + 1, Ordering::Release);
                let mut shown = world.probe(Source::Any, 7)?;
                turn.store(2 * round + 2, Ordering::Release);
                wait_for(&sent, 3 * round + 3);
                world.progress()?;
                if probes == 2 {
                    shown = world.probe(Source::Any, 7)?;
                }
                world.progress()?;
                let mut got = [0_u32];
                let taken = world.recv(&mut got, Source::Any, 7)?;
                assert_eq!((taken, got[0]), (shown, shown.source()), "{round}");
                for _ in 0..2 {
                    world.recv(&mut got, Source::Any, 7)?;
                }
            }
            world.barrier()
        })
        .unwrap();
    }
}

#[test]
fn a_receive_that_is_posted_takes_what_was_shown_and_the_next_one_another() {
    let _dog = watchdog("posted");
    let (turn, sent) = (AtomicU32::new(0), AtomicU32::new(0));
    World::threads(3, |world| {
        let me = world.rank();
        for round in 0..ROUNDS {
            if me > 0 {
                wait_for(&turn, 2 * round + me);
                world.send(&[me], 0, 7)?;
                sent.fetch_add(1, Ordering::Release);
                continue;
            }
            turn.store(2 * round + 1, Ordering::Release);
            let shown = world.probe(Source::Any, 7)?;
            turn.store(2 * round + 2, Ordering::Release);
            wait_for(&sent, 2 * round + 2);
            let receiving = world.irecv(vec![0_u32], shown.source(), 7);
            let receiving = receiving.map_err(Error::from)?;
            // It does not wait for a second message of that sender.
            let other = world.recv(&mut [0_u32], Source::Any, 7)?;
            let (first, _) = receiving.wait()?;
            assert_eq!((first[0], shown.source()), (1, 1), "{round}");
            assert_eq!(other.source(), 2, "{round}");
        }
        world.barrier()
    })
    .unwrap();
}

/// What only the debug format tells.
fn number_of(communicator: &Communicator) -> String {
    let text = format!("{communicator:?}");
    text.split(',')
        .next()
        .expect("it begins with it")
        .to_owned()
}

#[test]
fn what_was_shown_on_a_communicator_is_forgotten_with_it() {
    let _dog = watchdog("forgotten");
    let options = Options::default().with(|o| o.channel = Policy::PerPeer.into());
    let (shown, over) = (AtomicU32::new(0), AtomicU32::new(0));
    World::threads_with(2, &options, |world| {
        let alone = world
            .split(Some(world.rank()), 0)?
            .expect("each has a color");
        let both = world.dup()?;
        if world.rank() == 1 {
            both.send(&[1_u8], 0, 7)?;
            wait_for(&shown, 1);
            drop(both);
            over.store(1, Ordering::Release);
            return world.barrier();
        }
        both.probe(Source::Any, 7)?;
        let before = number_of(&both);
        drop(both);
        shown.store(1, Ordering::Release);
        wait_for(&over, 1);
        for _ in 0..100 {
            world.progress()?;
        }
        let again = alone.dup()?;
        assert_eq!(number_of(&again), before);
        again.send(&[2_u8], 0, 7)?;
        let mut got = [0_u8];
        again.recv(&mut got, Source::Any, 7)?;
        assert_eq!(got, [2]);
        world.barrier()
    })
    .unwrap();
}

#[test]
fn a_receive_that_is_posted_after_it_was_shown_has_it_at_once() {
    let _dog = watchdog("at once");
    let turn = AtomicU32::new(0);
    World::threads(2, |world| {
        for round in 0..ROUNDS {
            if world.rank() == 1 {
                wait_for(&turn, round + 1);
                world.send(&[round], 0, 7)?;
                continue;
            }
            turn.store(round + 1, Ordering::Release);
            let shown = world.probe(Source::Any, 7)?;
            world.send(&[99_u32], 0, 7)?;
            let first = world.irecv(vec![0], Source::Any, 7);
            let first = first.map_err(Error::from)?;
            // A later one takes the other, so the first cannot still wait for one of the two.
            let second = world.mprobe(Source::Any, TagSelector::Any)?;
            let first = first.cancel().expect_err("its message has come");
            assert_eq!(first.wait()?, (vec![round], shown));
            assert_eq!(second.recv_vec::<u32>()?, [99]);
        }
        world.barrier()
    })
    .unwrap();
}
