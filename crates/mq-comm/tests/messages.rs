//! Sending and receiving between threads: blocking, by request, by probe, of all sizes and by every
//! way.

mod common;

use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Source, TagSelector, World};

/// Options under which messages take different ways.
fn ways() -> Vec<(&'static str, Options)> {
    let all = Options::default;
    vec![
        ("default", all()),
        ("ring", all().with(|o| o.single_copy = false)),
        ("no bypass", all().with(|o| o.bypass = false)),
        ("no fastbox", all().with(|o| o.fastbox = false)),
        ("eager only", all().with(|o| o.eager_limit = usize::MAX)),
        (
            "announced only",
            all().with(|o| {
                o.eager_limit = 0;
                o.single_copy_from = Some(0);
            }),
        ),
        (
            "ring only",
            all().with(|o| {
                o.eager_limit = 0;
                o.single_copy = false;
            }),
        ),
    ]
}

fn filled(len: usize, seed: u32) -> Vec<u32> {
    (0..len as u32)
        .map(|at| at.wrapping_mul(2_654_435_761) ^ seed)
        .collect()
}

const SIZES: [usize; 9] = [0, 1, 2, 10, 100, 4080, 5000, 100_000, 600_000];

#[test]
fn messages_of_all_sizes_arrive_by_every_way() {
    let _dog = watchdog("messages_of_all_sizes_arrive_by_every_way");
    for (name, options) in ways() {
        World::threads_with(2, &options, |world| {
            for round in 0..3 {
                for (at, size) in SIZES.into_iter().enumerate() {
                    let sent = filled(size, round);
                    let mut received = vec![0; size];
                    let tag = at as i32;
                    if world.rank() == 0 {
                        world.send(&sent, 1, tag)?;
                        world.recv(&mut received, 1, tag)?;
                    } else {
                        let status = world.recv(&mut received, Source::Any, TagSelector::Any)?;
                        assert_eq!((status.source(), status.tag()), (0, tag));
                        assert_eq!(status.count::<u32>()?, size, "{name}");
                        world.send(&received, 0, tag)?;
                    }
                    assert!(received == sent, "{name}, {size} elements");
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn unexpected_messages_wait_for_their_receive() {
    let _dog = watchdog("unexpected_messages_wait_for_their_receive");
    for (name, options) in ways() {
        World::threads_with(2, &options, |world| {
            if world.rank() == 0 {
                let sending: Vec<_> = SIZES
                    .into_iter()
                    .zip(0..)
                    .map(|(size, tag)| world.isend(filled(size, 7), 1, tag))
                    .collect::<Result<_, _>>()?;
                world.send(&[0_u8], 1, 99)?;
                for (sending, size) in sending.into_iter().zip(SIZES) {
                    assert_eq!(sending.wait()?.0, filled(size, 7));
                }
            } else {
                world.recv(&mut [0_u8], 0, 99)?;
                for (size, tag) in SIZES.into_iter().zip(0..SIZES.len() as i32).rev() {
                    let mut received = vec![0; size];
                    world.recv(&mut received, 0, tag)?;
                    assert!(received == filled(size, 7), "{name}, {size} elements");
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_message_that_is_too_long_is_cut_and_counts_as_received() {
    let _dog = watchdog("a_message_that_is_too_long_is_cut_and_counts_as_received");
    for (name, options) in ways() {
        World::threads_with(2, &options, |world| {
            for size in [10, 5000, 100_000] {
                if world.rank() == 0 {
                    world.send(&filled(size, 1), 1, 1)?;
                    world.send(&[42_u8], 1, 2)?;
                } else {
                    let mut received = vec![0; size / 2];
                    let error = world.recv(&mut received, 0, 1).unwrap_err();
                    let sizes = (4 * size as u64, 4 * (size / 2) as u64);
                    assert!(
                        matches!(error, Error::Truncated { sent, room, .. } if (sent, room) == sizes),
                        "{name}: {error}"
                    );
                    assert!(received == filled(size, 1)[..size / 2], "{name}, {size}");
                    let mut next = [0_u8];
                    world.recv(&mut next, 0, TagSelector::Any)?;
                    assert_eq!(next, [42]);
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

/// A receiver that probes first keeps the sender waiting, like one that only receives: no more is taken in
/// than is wanted.
#[test]
fn what_was_sent_is_counted_by_the_buffers_that_it_took() {
    let _watchdog = watchdog("what_was_sent_is_counted");
    let options = Options::default().with(|o| {
        o.channel = "adaptive+shared:box_after=2".parse().expect("a channel");
    });
    let counted = World::threads_with(2, &options, |world| {
        if world.rank() == 0 {
            (0..10_u64).try_for_each(|number| world.send(&[number], 1, 1))?;
        } else {
            let mut word = [0_u64];
            (0..10).try_for_each(|_| world.recv(&mut word, 0, 1).map(|_| ()))?;
        }
        Ok(world.counters())
    });
    let [sender, receiver] = &counted.expect("no rank fails")[..] else {
        unreachable!("there are two");
    };
    let (sender, receiver) = (
        sender.as_ref().expect("it counts"),
        receiver.as_ref().expect("it counts"),
    );
    assert_eq!((sender.messages(), receiver.messages()), (10, 0));
    // The two after which there is a box, and the one that opens it.
    assert_eq!((sender.by_queue, sender.by_box(), sender.boxes), (3, 7, 1));
    assert_eq!((sender.by_size[4], sender.bytes_by_size[4]), (10, 80));
}

#[test]
fn who_probes_first_is_not_flooded() {
    const MESSAGES: u32 = 20_000;
    let _dog = watchdog("probes first");
    for takes_out in [false, true] {
        let received = Mutex::new(0_u32);
        World::threads(2, |world| {
            if world.rank() == 0 {
                for _ in 0..MESSAGES {
                    world.send(&[1_u8], 1, 0)?;
                }
                let received = *received.lock().unwrap();
                assert!(received > MESSAGES - 2_000, "{received} of {MESSAGES}");
                return Ok(());
            }
            while *received.lock().unwrap() < MESSAGES {
                let mut byte = [0_u8];
                if takes_out {
                    let Some(message) = world.improbe(Source::Any, TagSelector::Any)? else {
                        continue;
                    };
                    message.recv(&mut byte)?;
                } else {
                    let Some(status) = world.iprobe(Source::Any, TagSelector::Any)? else {
                        continue;
                    };
                    world.recv(&mut byte, status.source(), status.tag())?;
                }
                *received.lock().unwrap() += 1;
                // Each is some work.
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(10) {}
            }
            Ok(())
        })
        .unwrap();
    }
}

/// Neither the time that is given nor what else arrives keeps a probe from an answer.
#[test]
fn a_probe_with_an_end_finds_what_comes_and_gives_up_otherwise() {
    let _dog = watchdog("a probe with an end");
    let brief = Duration::from_millis(2);
    World::threads(3, |world| {
        match world.rank() {
            0 => {
                assert!(world.probe_within(1, 5, Duration::ZERO)?.is_none());
                // Asking alone takes in what comes.
                while world.probe_within(1, 6, Duration::ZERO)?.is_none() {}
                world.recv(&mut [0_u8], 1, 6)?;
                assert!(world.probe_within(Source::Any, 5, brief)?.is_none());
                world.send(&[0_u8], 1, 1)?;
                // Others come meanwhile.
                let found = world.probe_within(1, 5, Duration::from_secs(50))?;
                assert_eq!(found.map(|status| status.bytes()), Some(300));
                // It was only looked at.
                assert!(
                    world
                        .probe_within(Source::Any, 5, Duration::ZERO)?
                        .is_some()
                );
                world.recv(&mut [0_u8; 300], 1, 5)?;
                for tag in 0..4 {
                    world.recv(&mut [0_u8], 1, tag)?;
                }
                assert!(is_gone(
                    &world.probe_within(2, 5, Duration::from_secs(50)),
                    2,
                    "left"
                ));
                Ok(())
            }
            1 => {
                world.send(&[6_u8], 0, 6)?;
                world.recv(&mut [0_u8], 0, 1)?;
                for tag in 0..4 {
                    world.send(&[0_u8], 0, tag)?;
                }
                world.send(&[7_u8; 300], 0, 5)
            }
            _ => Ok(()),
        }
    })
    .unwrap();
}

/// A sender that always has one more message does not keep another waiting.
#[test]
fn a_receive_from_any_source_takes_from_its_senders_in_turn() {
    const EACH: usize = 5;
    let _dog = watchdog("a_receive_from_any_source_takes_from_its_senders_in_turn");
    let everybody = Barrier::new(3);
    World::threads_with(3, &Options::default(), |world| {
        let mut message = [0_u64];
        // Until both senders have a box.
        for _ in 0..100 {
            if world.rank() > 0 {
                world.send(&message, 0, 1)?;
                continue;
            }
            for from in 1..3 {
                world.recv(&mut message, from, 1)?;
            }
        }
        everybody.wait();
        if world.rank() > 0 {
            for _ in 0..EACH {
                world.send(&message, 0, 2)?;
            }
        }
        everybody.wait();
        if world.rank() == 0 {
            let mut sources = Vec::new();
            for _ in 0..2 * EACH {
                sources.push(world.recv(&mut message, Source::Any, 2)?.source());
            }
            let turns = sources.windows(2).filter(|two| two[0] != two[1]).count();
            assert_eq!(turns, 2 * EACH - 1, "{sources:?}");
        }
        Ok(())
    })
    .unwrap();
}

/// With enough cells, receivers that make no calls do not keep others from getting their messages.
#[test]
fn cells_for_those_who_take_nothing_leave_some_for_others() {
    const MANY: usize = 40;
    let _dog = watchdog("cells_for_those_who_take_nothing_leave_some_for_others");
    let has_come = Barrier::new(5);
    let options = Options::default().with(|o| (o.cells, o.fastbox) = (128, false));
    World::threads_with(5, &options, |world| {
        let mut message = vec![0_u32; 4000];
        if world.rank() == 0 {
            let mut sending = world.request_set();
            for to in [1, 3, 4] {
                for _ in 0..MANY {
                    sending.add(world.isend(message.clone(), to, 1)?);
                }
            }
            world.send(&message, 2, 1)?;
            has_come.wait();
            sending.wait_all()?.into_results()?;
        } else if world.rank() == 2 {
            world.recv(&mut message, 0, 1)?;
            has_come.wait();
        } else {
            has_come.wait();
            for _ in 0..MANY {
                world.recv(&mut message, 0, 1)?;
            }
        }
        Ok(())
    })
    .unwrap();
}
