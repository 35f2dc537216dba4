//! Messages that go ahead, through a ring and unasked: to receives that wait, to none, to receives that
//! are too short, and to nobody any more.

mod common;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::hindered::{self, Hindered};
use common::watchdog;
use mq_comm::transport::Transport;
use mq_comm::{Communicator, Error, Options, Profile, Request, World};
use mq_shm::{Geometry, Mapped};

/// Longer than an eager message, and not a whole number of buffers.
const BYTES: usize = 50_001;
/// What a sender may send to a process that receives nothing, at most: what is promised in `protocol`,
/// and what a ring holds.
const UNRECEIVED: u64 = 5 << 20;

fn by_rings(size: u32, program: fn(&World) -> Result<(), Error>) -> Vec<Profile> {
    with(size, &rings(), program)
}

/// Every long message comes through a ring.
fn rings() -> Options {
    Options::default().with(|o| o.single_copy = false)
}

fn with(size: u32, options: &Options, program: fn(&World) -> Result<(), Error>) -> Vec<Profile> {
    let run = |world: &World| {
        program(world)?;
        Ok(world.profile())
    };
    World::threads_with(size, options, run).expect("the program runs")
}

fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 101 + at * 7) as u8).collect()
}

/// A message from rank 0 to rank 1, which waits for it: the next ones may go ahead.
fn permit<T: Transport>(world: &World<T>) -> Result<(), Error> {
    if world.rank() == 0 {
        world.recv(&mut [0_u8], 1, 0)?;
        world.send(&content(0, BYTES), 1, 0)?;
        return Ok(());
    }
    let receiving = world.irecv(vec![0; BYTES], 0, 0)?;
    world.send(&[0_u8], 0, 0)?;
    assert!(receiving.wait()?.0 == content(0, BYTES));
    Ok(())
}

/// So many receives are posted for messages of a rank.
fn post(world: &Communicator, from: u32, count: usize) -> Result<Vec<Request<Vec<u8>>>, Error> {
    let post = |number| Ok(world.irecv(vec![0; BYTES], from, number as i32)?);
    (0..count).map(post).collect()
}

#[test]
fn they_go_where_receives_wait_for_them() {
    let _dog = watchdog("they_go_where_receives_wait_for_them");
    let profiles = by_rings(2, |world| {
        permit(world)?;
        for round in 0..20 {
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..10 {
                    world.send(&content(round + number, BYTES), 1, number as i32)?;
                }
            } else {
                let receiving = post(world, 0, 10)?;
                world.send(&[0_u8], 0, 1)?;
                for (number, request) in receiving.into_iter().enumerate() {
                    assert!(request.wait()?.0 == content(round + number, BYTES));
                }
            }
        }
        Ok(())
    });
    let [sender, receiver] = profiles[..] else {
        panic!("two ranks")
    };
    assert_eq!(sender.ahead + sender.rendezvous, 201);
    assert_eq!(sender.ahead_bytes, sender.ahead * BYTES as u64);
    // Now and then a message asks, and those that follow before the answer do too.
    assert!(sender.ahead > 50, "{sender:?}");
    assert_eq!((receiver.ring, receiver.unexpected), (201, 0));
}

/// Windows of messages from rank 1 to rank 0 go ahead; answers to messages from there, after some, do not.
#[test]
fn answers_are_announced_to_who_lends_the_ring() {
    let _dog = watchdog("answers_are_announced_to_who_lends_the_ring");
    const WINDOWS: usize = 10;
    const ROUNDS: u64 = 100;
    let run = |world: &World| {
        for _ in 0..WINDOWS {
            if world.rank() == 0 {
                let receiving = post(world, 1, 10)?;
                world.send(&[0_u8], 1, 10)?;
                for request in receiving {
                    request.wait()?;
                }
            } else {
                world.recv(&mut [0_u8], 0, 10)?;
                for number in 0..10 {
                    world.send(&content(number, BYTES), 0, number as i32)?;
                }
            }
        }
        let before = world.profile().ahead;
        let other = 1 - world.rank();
        let wait = || Ok::<_, Error>(world.irecv(vec![0; BYTES], other, 11)?);
        let mut receiving = wait()?;
        for round in 0..ROUNDS as usize {
            if world.rank() == 0 {
                world.send(&content(round, BYTES), other, 11)?;
            }
            let next = wait()?;
            assert!(receiving.wait()?.0 == content(round, BYTES));
            receiving = next;
            if world.rank() == 1 {
                world.send(&content(round, BYTES), other, 11)?;
            }
        }
        assert!(receiving.cancel().is_ok(), "nothing more comes");
        Ok([before, world.profile().ahead - before])
    };
    let ahead = World::threads_with(2, &rings(), run).expect("the program runs");
    let [[_, there], [windows, answers]] = ahead[..] else {
        panic!("two ranks")
    };
    assert!(windows > 20, "{ahead:?}");
    assert!(there > ROUNDS / 2 && answers < ROUNDS / 10, "{ahead:?}");
}

/// No ring leads to most of the many that are answered in turn: to the last one, and perhaps to some that were slow.
#[test]
fn questions_go_ahead_to_who_has_no_ring_to_lend() {
    let _dog = watchdog("questions_go_ahead_to_who_has_no_ring_to_lend");
    const CLIENTS: u32 = 6;
    const ROUNDS: u64 = 60;
    let profiles = by_rings(1 + CLIENTS, |world| {
        for _ in 0..ROUNDS {
            if world.rank() > 0 {
                let answer = world.irecv(vec![0; BYTES], 0, 1)?;
                world.recv(&mut [0_u8], 0, 0)?;
                world.send(&content(1, BYTES), 0, 2)?;
                assert!(answer.wait()?.0 == content(0, BYTES));
                continue;
            }
            for client in 1..=CLIENTS {
                let question = world.irecv(vec![0; BYTES], client, 2)?;
                world.send(&[0_u8], client, 0)?;
                assert!(question.wait()?.0 == content(1, BYTES));
                world.send(&content(0, BYTES), client, 1)?;
            }
        }
        Ok(())
    });
    let ahead: u64 = profiles[1..].iter().map(|profile| profile.ahead).sum();
    let all = u64::from(CLIENTS) * ROUNDS;
    assert!(ahead > all / 4, "{ahead} of {all}");
}

#[test]
fn their_order_is_kept_among_all_others() {
    let _dog = watchdog("their_order_is_kept_among_all_others");
    const LENGTHS: [usize; 6] = [BYTES, 8, 21_000, 400_000, 16_000, 65_536];
    let profiles = by_rings(2, |world| {
        permit(world)?;
        for round in 0..200 {
            let length = |number: usize| LENGTHS[(number + round) % LENGTHS.len()];
            if world.rank() == 0 {
                for number in 0..8 {
                    world.send(&content(number, length(number)), 1, 5)?;
                }
            } else {
                for number in 0..8 {
                    let mut into = vec![0; length(number)];
                    world.recv(&mut into, 0, 5)?;
                    assert!(into == content(number, length(number)), "{number}");
                }
            }
        }
        Ok(())
    });
    assert!(profiles[0].ahead > 0, "{:?}", profiles[0]);
}

#[test]
fn those_that_nobody_waits_for_are_kept_and_their_sender_holds_back() {
    let _dog = watchdog("those_that_nobody_waits_for_are_kept_and_their_sender_holds_back");
    let profiles = by_rings(2, |world| {
        permit(world)?;
        if world.rank() == 0 {
            for number in 0..5 {
                world.send(&content(number, BYTES), 1, number as i32)?;
            }
            world.send(&[1_u8], 1, 90)?;
            world.recv(&mut [0_u8], 1, 91)?;
            // What came too early has been said, and this is announced.
            world.send(&content(5, BYTES), 1, 5)?;
        } else {
            // All have come before any is received.
            world.recv(&mut [0_u8], 0, 90)?;
            world.send(&[1_u8], 0, 91)?;
            for number in (0..6).rev() {
                let mut into = vec![0; BYTES];
                world.recv(&mut into, 0, number as i32)?;
                assert!(into == content(number, BYTES), "{number}");
            }
        }
        Ok(())
    });
    assert_eq!((profiles[0].ahead, profiles[0].rendezvous), (5, 2));
    assert!(profiles[1].unexpected >= 5, "{:?}", profiles[1]);
}

#[test]
fn a_sender_that_hears_of_nothing_fills_no_memory() {
    let _dog = watchdog("a_sender_that_hears_of_nothing_fills_no_memory");
    const MESSAGES: usize = 300;
    let profiles = by_rings(2, |world| {
        permit(world)?;
        if world.rank() == 0 {
            let mut sending = Vec::new();
            for number in 0..MESSAGES {
                sending.push(world.isend(content(number, BYTES), 1, number as i32)?);
                // Time for the receiver to empty the ring; nothing is listened to.
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            for request in sending {
                request.wait()?;
            }
        } else {
            world.recv(&mut vec![0; BYTES], 0, MESSAGES as i32 - 1)?;
            for number in 0..MESSAGES - 1 {
                let mut into = vec![0; BYTES];
                world.recv(&mut into, 0, number as i32)?;
                assert!(into == content(number, BYTES), "{number}");
            }
        }
        Ok(())
    });
    let sender = profiles[0];
    assert!(sender.ahead_bytes <= UNRECEIVED, "{sender:?}");
    assert_eq!(sender.ahead + sender.rendezvous, MESSAGES as u64 + 1);
}

#[test]
fn one_that_is_too_long_is_cut_and_the_next_is_whole() {
    let _dog = watchdog("one_that_is_too_long_is_cut_and_the_next_is_whole");
    let profiles = by_rings(2, |world| {
        for room in [0, 1, 4_096, 30_000] {
            permit(world)?;
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..4 {
                    world.send(&content(number, BYTES), 1, number as i32)?;
                }
                continue;
            }
            // The first and the third are waited for, the others come too early.
            let first = world.irecv(vec![0_u8; room], 0, 0)?;
            let third = world.irecv(vec![0_u8; BYTES], 0, 2)?;
            world.send(&[0_u8], 0, 1)?;
            let cut = |heard: Error| {
                let sizes = match heard {
                    Error::Truncated { sent, room, .. } => (sent, room),
                    other => panic!("{other}"),
                };
                assert_eq!(sizes, (BYTES as u64, room as u64));
            };
            cut(first.wait().map(|_| ()).expect_err("it is cut"));
            assert!(third.wait()?.0 == content(2, BYTES));
            let mut second = vec![0_u8; room];
            cut(world.recv(&mut second, 0, 1).expect_err("it is cut"));
            assert!(second == content(1, BYTES)[..room]);
            let mut fourth = vec![0_u8; BYTES];
            world.recv(&mut fourth, 0, 3)?;
            assert!(fourth == content(3, BYTES));
        }
        Ok(())
    });
    assert!(profiles[0].ahead >= 4, "{:?}", profiles[0]);
}

#[test]
fn a_matched_probe_takes_them_out_and_may_drop_them() {
    let _dog = watchdog("a_matched_probe_takes_them_out_and_may_drop_them");
    let profiles = by_rings(2, |world| {
        permit(world)?;
        if world.rank() == 0 {
            for number in 0..3 {
                world.send(&content(number, BYTES), 1, number as i32)?;
            }
            world.recv(&mut [0_u8], 1, 9)?;
            return Ok(());
        }
        drop(world.mprobe(0, 0)?);
        assert_eq!(world.probe(0, 1)?.bytes(), BYTES as u64);
        let taken = world.mprobe(0, 1)?;
        assert_eq!(taken.status().bytes(), BYTES as u64);
        assert!(taken.recv_vec::<u8>()? == content(1, BYTES));
        let taken = world.mprobe(0, 2)?;
        let (bytes, _) = taken.irecv(vec![0_u8; BYTES])?.wait()?;
        assert!(bytes == content(2, BYTES));
        world.send(&[0_u8], 0, 9)
    });
    assert_eq!(profiles[0].ahead, 3);
}

/// Messages on a communicator that ends, and after them messages on another.
#[test]
fn what_is_left_behind_keeps_nothing_else_waiting() {
    let _dog = watchdog("what_is_left_behind_keeps_nothing_else_waiting");
    let profiles = by_rings(2, |world| {
        for round in 0..10 {
            let other = world.dup()?;
            permit(world)?;
            if world.rank() == 0 {
                for number in 0..3 {
                    other.send(&content(number, BYTES), 1, number as i32)?;
                }
                drop(other);
                world.send(&content(round, BYTES), 1, 7)?;
            } else {
                if round % 2 == 0 {
                    other.probe(0, 2)?;
                }
                drop(other);
                let mut into = vec![0_u8; BYTES];
                world.recv(&mut into, 0, 7)?;
                assert!(into == content(round, BYTES));
            }
        }
        Ok(())
    });
    assert!(profiles[0].ahead >= 10, "{:?}", profiles[0]);
}

#[test]
fn a_sender_that_leaves_leaves_them_whole() {
    let _dog = watchdog("a_sender_that_leaves_leaves_them_whole");
    by_rings(3, |world| {
        if world.rank() == 2 {
            return Ok(());
        }
        permit(world)?;
        if world.rank() == 0 {
            for number in 0..10 {
                world.send(&content(number, BYTES), 1, number as i32)?;
            }
            assert_eq!(world.profile().ahead, 10);
            return Ok(());
        }
        let ended = world.recv(&mut [0_u8], 0, 99);
        assert!(
            matches!(ended, Err(Error::Gone { process: 0, .. })),
            "{ended:?}"
        );
        for number in 0..10 {
            let mut into = vec![0_u8; BYTES];
            world.recv(&mut into, 0, number as i32)?;
            assert!(into == content(number, BYTES), "{number}");
        }
        Ok(())
    });
}

/// What a receiver does; the second is to be called for the sender to go on.
type Receiving = fn(&World<Hindered>, &dyn Fn()) -> Result<(), Error>;

/// A message goes ahead whose sender stops after the first bytes; the receiver does something with
/// it, and then another one comes whole.
fn while_it_is_on_its_way(receive: Receiving) {
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let sender = std::thread::spawn(move || -> Result<(), Error> {
        let memory = Mapped::open(file, "it").unwrap();
        let (world, hindrance) = hindered::join(memory, 0, &rings());
        permit(&world)?;
        hindrance.stalls.set(true);
        let sending = world.isend(content(1, BYTES), 1, 1)?;
        world.send(&[1_u8], 1, 2)?;
        world.recv(&mut [0_u8], 1, 3)?;
        hindrance.stalls.set(false);
        sending.wait()?;
        world.send(&content(4, 1_000), 1, 4)?;
        world.send(&content(5, BYTES), 1, 5)?;
        assert_eq!(world.profile().ahead, 1);
        world.recv(&mut [0_u8], 1, 3)?;
        Ok(())
    });
    let (world, _) = hindered::join(memory, 1, &rings());
    let run = || -> Result<(), Error> {
        permit(&world)?;
        world.recv(&mut [0_u8], 0, 2)?;
        receive(&world, &|| world.send(&[0_u8], 0, 3).unwrap())?;
        // In the memory of the one before, if that was given back with something in it.
        world.probe(0, 4)?;
        for (number, bytes) in [(5, BYTES), (4, 1_000)] {
            let mut into = vec![0_u8; bytes];
            world.recv(&mut into, 0, number as i32)?;
            assert!(into == content(number, bytes), "{number}");
        }
        world.send(&[0_u8], 0, 3)
    };
    run().unwrap();
    sender.join().unwrap().unwrap();
}

#[test]
fn one_on_its_way_is_received() {
    let _dog = watchdog("one_on_its_way_is_received");
    while_it_is_on_its_way(|world, go_on| {
        assert_eq!(world.probe(0, 1)?.bytes(), BYTES as u64);
        let receiving = world.irecv(vec![0_u8; BYTES], 0, 1)?;
        go_on();
        assert!(receiving.wait()?.0 == content(1, BYTES));
        Ok(())
    });
}

#[test]
fn one_on_its_way_is_cut() {
    let _dog = watchdog("one_on_its_way_is_cut");
    // Less than has come, and more.
    const ROOMS: [usize; 2] = [5_000, 30_000];
    fn receive<const ROOM: usize>(world: &World<Hindered>, go_on: &dyn Fn()) -> Result<(), Error> {
        let room = ROOMS[ROOM];
        let mut into = vec![0_u8; room];
        let heard = world.scope(|scope| {
            let receiving = scope.irecv(&mut into, 0, 1)?;
            go_on();
            receiving.wait().map(|_| ())
        });
        assert!(
            matches!(heard, Err(Error::Truncated { sent, room: its, .. })
                if (sent, its) == (BYTES as u64, room as u64)),
            "{heard:?}"
        );
        assert!(into == content(1, BYTES)[..room]);
        Ok(())
    }
    while_it_is_on_its_way(receive::<0>);
    while_it_is_on_its_way(receive::<1>);
}

#[test]
fn one_on_its_way_is_taken_out_and_dropped() {
    let _dog = watchdog("one_on_its_way_is_taken_out_and_dropped");
    while_it_is_on_its_way(|world, go_on| {
        drop(world.mprobe(0, 1)?);
        go_on();
        Ok(())
    });
}

/// As many receivers as there are rings, each with one that leads there, let a message lie until
/// another has asked for a ring, and got one.
#[test]
fn a_ring_is_left_for_those_who_ask() {
    const LAST: u32 = 5;
    /// More than a ring holds, so that all of them are in use at a time.
    const LONG: usize = 6_000_000;
    static SERVED: Mutex<bool> = Mutex::new(false);
    let _dog = watchdog("a_ring_is_left_for_those_who_ask");
    let profiles = by_rings(LAST + 1, |world| {
        match world.rank() {
            0 => {
                for (number, bytes) in [(0, LONG), (1, BYTES)] {
                    let mut sending = Vec::new();
                    for peer in 1..LAST {
                        world.recv(&mut [0_u8], peer, number)?;
                    }
                    for peer in 1..LAST {
                        sending.push(world.isend(content(0, bytes), peer, number)?);
                    }
                    if number == 1 {
                        world.send(&content(2, 1 << 20), LAST, 2)?;
                    }
                    for request in sending {
                        request.wait()?;
                    }
                }
            }
            LAST => {
                let mut into = vec![0; 1 << 20];
                world.recv(&mut into, 0, 2)?;
                assert!(into == content(2, 1 << 20));
                *SERVED.lock().unwrap() = true;
            }
            _ => {
                let first = world.irecv(vec![0; LONG], 0, 0)?;
                world.send(&[0_u8], 0, 0)?;
                first.wait()?;
                let left = world.irecv(vec![0; BYTES], 0, 1)?;
                world.send(&[0_u8], 0, 1)?;
                while !*SERVED.lock().unwrap() {
                    std::thread::yield_now();
                }
                assert!(left.wait()?.0 == content(0, BYTES));
            }
        }
        Ok(())
    });
    assert!(profiles[0].ahead > 0, "{:?}", profiles[0]);
}

#[test]
fn none_goes_that_is_longer_than_is_wanted_or_where_none_is_wanted() {
    let _dog = watchdog("none_goes_that_is_longer_than_is_wanted_or_where_none_is_wanted");
    let program = |world: &World| {
        permit(world)?;
        if world.rank() == 0 {
            return world.send(&content(1, BYTES), 1, 1);
        }
        let mut into = vec![0_u8; BYTES];
        world.recv(&mut into, 0, 1)?;
        assert!(into == content(1, BYTES));
        Ok(())
    };
    let default = Options::default;
    for (options, ahead) in [
        // The first ones are read.
        (default(), 0),
        (rings(), 1),
        (rings().with(|o| o.ahead_limit = 0), 0),
        (rings().with(|o| o.ahead_limit = BYTES - 1), 0),
        (default().with(|o| o.single_copy_from = Some(0)), 0),
        (default().with(|o| o.single_copy_from = Some(BYTES)), 0),
        (
            default().with(|o| {
                o.single_copy_from = Some(0);
                o.single_copy = false;
            }),
            1,
        ),
    ] {
        let profiles = with(2, &options, program);
        assert_eq!(profiles[0].ahead, ahead, "{options:?}");
    }
}

/// With a box and all cells full of messages before it, what says where a message is has to wait:
/// thirty in the box and thirty-two cells, of which one or the other may be taken otherwise.
const FULL: core::ops::RangeInclusive<usize> = 58..=63;

/// How often these are tried until the case occurs: if a rank does not run for long, the other may have
/// made room.
const TRIES: usize = 5;

/// Tries something with so many messages before it, which says whether an announcement had to wait:
/// at least once it had to.
fn behind_full_boxes(mut tried: impl FnMut(usize) -> bool) {
    for _ in 0..TRIES {
        let were_full = FULL.filter(|&before| tried(before)).count();
        if were_full > 0 {
            return;
        }
    }
    panic!("there was room for all announcements");
}

/// Until a condition holds, but no longer than it takes the other rank to get as far as it can.
fn until_or_for_long(is_so: &Mutex<bool>) {
    let begun = Instant::now();
    while !*is_so.lock().unwrap() && begun.elapsed() < Duration::from_millis(200) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn receive_short(world: &World, count: usize) -> Result<(), Error> {
    for number in 0..count {
        let mut into = [0_u8];
        world.recv(&mut into, 0, 2)?;
        assert_eq!(into, [number as u8]);
    }
    Ok(())
}

/// The sender fails when its send has returned, and the receiver has yet to look: whatever there was
/// room for, the message is received, and so is all before it.
#[test]
fn a_send_that_has_returned_is_received_though_there_was_no_room_to_announce_it() {
    let _dog = watchdog("a_send_that_has_returned_is_received");
    behind_full_boxes(|before| {
        let returned = Mutex::new(false);
        let received = Mutex::new(false);
        let was_full = Mutex::new(false);
        let program = |world: &World| {
            for _ in 0..20 {
                permit(world)?;
            }
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                for number in 0..before {
                    world.send(&[number as u8], 1, 2)?;
                }
                let earlier = world.profile();
                world.send(&content(1, BYTES), 1, 1)?;
                let now = world.profile();
                *was_full.lock().unwrap() =
                    now.ahead > earlier.ahead && now.deferred > earlier.deferred;
                *returned.lock().unwrap() = true;
                // The error of a rank that failed by itself.
                return world.send(&[0_u8], 9, 0);
            }
            let large = world.irecv(vec![0; BYTES], 0, 1)?;
            world.send(&[0_u8], 0, 1)?;
            until_or_for_long(&returned);
            // Time to fail.
            std::thread::sleep(Duration::from_millis(20));
            receive_short(world, before)?;
            assert!(large.wait()?.0 == content(1, BYTES));
            *received.lock().unwrap() = true;
            Ok(())
        };
        let error = World::threads_with(2, &rings(), program).expect_err("the sender fails");
        assert!(matches!(error, Error::Rank { .. }), "{error}");
        assert!(*received.lock().unwrap(), "behind {before} messages");
        *was_full.lock().unwrap()
    });
}

/// The ring is empty, and free for others, before all that waits after the announcement has been sent.
#[test]
fn a_send_ends_when_its_announcement_has_been_taken_whatever_waits_behind_it() {
    const BEHIND: usize = 200;
    let _dog = watchdog("a_send_ends_when_its_announcement");
    behind_full_boxes(|before| {
        let posted = Mutex::new(false);
        let profiles = World::threads_with(2, &rings(), |world: &World| {
            for _ in 0..20 {
                permit(world)?;
            }
            if world.rank() == 0 {
                world.recv(&mut [0_u8], 1, 1)?;
                let at_first = world.profile();
                let first = world.isend(content(0, BYTES), 1, 1)?;
                for number in 0..before {
                    world.send(&[number as u8], 1, 2)?;
                }
                let earlier = world.profile();
                let large = world.isend(content(1, BYTES), 1, 1)?;
                let now = world.profile();
                let was_full =
                    now.ahead == at_first.ahead + 2 && now.deferred == earlier.deferred + 1;
                let mut behind = Vec::new();
                for number in before..before + BEHIND {
                    behind.push(world.isend(vec![number as u8], 1, 2)?);
                }
                *posted.lock().unwrap() = true;
                first.wait()?;
                large.wait()?;
                for request in behind {
                    request.wait()?;
                }
                return Ok(was_full);
            }
            let mut large = Vec::new();
            for _ in 0..2 {
                large.push(world.irecv(vec![0; BYTES], 0, 1)?);
            }
            world.send(&[0_u8], 0, 1)?;
            until_or_for_long(&posted);
            receive_short(world, before + BEHIND)?;
            for (number, request) in large.into_iter().enumerate() {
                assert!(request.wait()?.0 == content(number, BYTES));
            }
            Ok(false)
        });
        profiles.expect("the program runs")[0]
    });
}
