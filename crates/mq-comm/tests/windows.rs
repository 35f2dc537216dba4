//! Windows of receives, of one pattern or of a few, are matched without the engine: in order, and as
//! the engine would next to others.

mod common;

use common::watchdog;
use mq_comm::{Completion, Error, Options, Request, Source, TagSelector, World};

type Receive = Request<Vec<u64>>;

fn post(world: &World, source: impl Into<Source>, tag: impl Into<TagSelector>) -> Receive {
    world.irecv(vec![0_u64], source, tag).unwrap()
}

fn send(world: &World, number: u64, tag: i32) {
    world.isend(vec![number], 0, tag).unwrap().wait().unwrap();
}

fn taken(receive: Receive) -> u64 {
    let (numbers, status) = receive.wait().unwrap();
    assert_eq!(status.bytes(), 8);
    numbers[0]
}

/// One world with the bypass, one without: there the engine decides.
fn worlds() -> [World; 2] {
    [true, false].map(|bypass| {
        let options = Options::default().with(|o| o.bypass = bypass);
        let seat = World::seats(1, &options).unwrap().pop().unwrap();
        seat.take().unwrap()
    })
}

#[test]
fn a_window_is_filled_in_order() {
    let _dog = watchdog("a window is filled in order");
    for world in worlds() {
        // More than wait in front.
        let receives: Vec<_> = (0..1_500).map(|_| post(&world, 0, 7)).collect();
        for number in 0..1_500 {
            send(&world, number, 7);
        }
        let numbers: Vec<_> = receives.into_iter().map(taken).collect();
        assert!(numbers.into_iter().eq(0..1_500));
    }
}

#[test]
fn what_was_posted_first_is_matched_first_whatever_its_pattern() {
    let _dog = watchdog("what was posted first is matched first whatever its pattern");
    for world in worlds() {
        let same = [post(&world, 0, 7), post(&world, 0, 7)];
        let any_tag = post(&world, 0, TagSelector::Any);
        let again = post(&world, 0, 7);
        let other = post(&world, Source::Any, 8);
        send(&world, 0, 8);
        for number in 1..5 {
            send(&world, number, 7);
        }
        send(&world, 5, 8);
        assert_eq!(taken(any_tag), 0);
        assert_eq!(same.map(taken), [1, 2]);
        assert_eq!(taken(again), 3);
        assert_eq!(taken(other), 5);
        assert_eq!(taken(post(&world, 0, 7)), 4);
    }
}

#[test]
fn a_window_of_wildcards_goes_before_what_came_after_it() {
    let _dog = watchdog("a window of wildcards goes before what came after it");
    for world in worlds() {
        let any = [(); 2].map(|()| post(&world, Source::Any, TagSelector::Any));
        let named = post(&world, 0, 3);
        for number in 0..3 {
            send(&world, number, 3);
        }
        assert_eq!(any.map(taken), [0, 1]);
        assert_eq!(taken(named), 2);
    }
}

#[test]
fn what_nobody_waits_for_stays_where_it_lies() {
    let _dog = watchdog("what nobody waits for stays where it lies");
    let seats = World::seats(3, &Options::default()).unwrap();
    let worlds: Vec<World> = seats.into_iter().map(|seat| seat.take().unwrap()).collect();
    let [world, one, other] = worlds.as_slice() else {
        unreachable!("there are three");
    };
    // Until all have their fastboxes.
    for number in 0..100 {
        for from in [one, other] {
            send(from, number, 7);
            let mut received = [0_u64];
            world.recv(&mut received, from.rank(), 7).unwrap();
            assert_eq!(received, [number]);
        }
    }
    // The last blocking receive was from there; nothing is wanted from there now.
    send(other, 100, 8);
    for number in 0..4 {
        send(one, number, 7);
        assert_eq!(taken(post(world, 1, 7)), number);
    }
    assert_eq!(world.profile().unexpected, 0);
    assert_eq!(taken(post(world, 2, 8)), 100);
}

#[test]
fn a_message_that_waits_is_taken_before_one_that_comes() {
    let _dog = watchdog("a message that waits is taken before one that comes");
    for world in worlds() {
        send(&world, 0, 7);
        send(&world, 1, 9);
        world.progress().unwrap();
        let receives = [post(&world, 0, 7), post(&world, 0, 7), post(&world, 0, 7)];
        for number in 2..4 {
            send(&world, number, 7);
        }
        assert_eq!(receives.map(taken), [0, 2, 3]);
        assert_eq!(taken(post(&world, 0, 9)), 1);
    }
}

#[test]
fn receives_of_a_window_are_cancelled_one_by_one() {
    let _dog = watchdog("receives of a window are cancelled one by one");
    for world in worlds() {
        let mut receives: Vec<_> = (0..5).map(|_| Some(post(&world, 0, 7))).collect();
        for at in [3, 0] {
            let receive = receives[at].take().unwrap();
            assert_eq!(receive.cancel().unwrap(), [0]);
        }
        for number in 0..2 {
            send(&world, number, 7);
        }
        let left = receives.into_iter().flatten();
        let mut left: Vec<_> = left.collect();
        let last = left.pop().unwrap();
        assert_eq!(left.into_iter().map(taken).collect::<Vec<_>>(), [0, 1]);
        drop(last);
        // Only the receive that asks now takes this.
        send(&world, 2, 7);
        assert_eq!(taken(post(&world, 0, 7)), 2);
    }
}

#[test]
fn a_window_ends_with_its_communicator() {
    let _dog = watchdog("a window ends with its communicator");
    for world in worlds() {
        let part = world.dup().unwrap();
        let receives = [(); 3].map(|()| part.irecv(vec![0_u64], 0, 7).unwrap());
        let kept = post(&world, 0, 7);
        drop(part);
        // The receives keep their communicator; with them it goes, and takes nothing of the other's
        // along.
        drop(receives);
        send(&world, 1, 7);
        assert_eq!(taken(kept), 1);
    }
}

#[test]
fn a_message_too_long_for_a_receive_of_a_window_is_cut() {
    let _dog = watchdog("a message too long for a receive of a window is cut");
    for world in worlds() {
        let receives = [post(&world, 0, 7), post(&world, 0, 7)];
        world.isend(vec![1_u64, 2], 0, 7).unwrap().wait().unwrap();
        send(&world, 3, 7);
        let [cut, whole] = receives;
        let error = cut.wait().unwrap_err();
        assert!(
            matches!(
                error,
                Error::Truncated {
                    sent: 16,
                    room: 8,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(taken(whole), 3);
    }
}

/// Two that have a fastbox, through which short messages go straight to the receives in front.
fn pair() -> (World, World) {
    let mut seats = World::seats(2, &Options::default()).unwrap().into_iter();
    let (first, second) = (seats.next().unwrap(), seats.next().unwrap());
    let (alice, bob) = (first.take().unwrap(), second.take().unwrap());
    for round in 0..100_u64 {
        alice.send(&[round], 1, 7).unwrap();
        let mut word = [0_u64];
        bob.recv(&mut word, 0, 7).unwrap();
        assert_eq!(word[0], round);
    }
    (alice, bob)
}

#[test]
fn windows_through_a_fastbox_are_filled_in_order_whatever_comes_between() {
    let _dog = watchdog("windows through a fastbox are filled in order whatever comes between");
    let (alice, bob) = pair();
    for round in 0..60_u64 {
        // The box is gone round several times.
        let window = round % 11 + 1;
        let mut receives: Vec<_> = (0..window).map(|_| Some(post(&bob, 0, 7))).collect();
        let mut expected: Vec<u64> = (0..window).collect();
        if round % 3 == 0 {
            let back = receives[round as usize % window as usize].take().unwrap();
            assert_eq!(back.cancel().unwrap(), [0]);
            expected.pop();
        }
        for &number in &expected {
            alice.send(&[number], 1, 7).unwrap();
            if number == round % 5 {
                // Nobody waits for this one yet.
                alice.send(&[1000 + round], 1, 8).unwrap();
            }
        }
        let numbers: Vec<_> = receives.into_iter().flatten().map(taken).collect();
        assert_eq!(numbers, expected);
        if expected.contains(&(round % 5)) {
            assert_eq!(taken(post(&bob, 0, 8)), 1000 + round);
        }
    }
}

#[test]
fn a_set_is_told_what_became_of_a_window_through_a_fastbox() {
    let _dog = watchdog("a set is told what became of a window through a fastbox");
    let (alice, bob) = pair();
    let mut words = [[0_u64]; 6];
    for round in 0..20_u64 {
        let result = bob.scope(|scope| {
            for word in &mut words {
                scope.irecv(word, 0, 7)?;
            }
            for number in 0..6 {
                let message = [round * 6 + number; 2];
                let elements = if number == 4 { 2 } else { 1 };
                alice.send(&message[..elements], 1, 7)?;
            }
            let first = scope.wait_any()?.map(Completion::into_result);
            assert_eq!(first.unwrap()?.bytes(), 8);
            scope.wait_all()
        });
        let error = result.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Truncated {
                    sent: 16,
                    room: 8,
                    ..
                }
            ),
            "{error}"
        );
        let numbers = words.iter().map(|word| word[0]);
        assert!(numbers.eq(round * 6..round * 6 + 6));
    }
}

/// Short messages, which are in slots of the fastbox, and longer ones, which are in cells that a slot
/// names, one after the other to receives that wait in front.
#[test]
fn messages_of_all_lengths_follow_each_other_in_a_window() {
    let _dog = watchdog("messages of all lengths");
    let seats = World::seats(2, &Options::default()).unwrap();
    let worlds: Vec<World> = seats.into_iter().map(|seat| seat.take().unwrap()).collect();
    let [alice, bob] = &worlds[..] else {
        unreachable!("there are two");
    };
    let lengths = [8_usize, 1000, 16, 585, 0, 20_000, 584, 8, 5000, 8];
    // The pair has its fastbox after some rounds.
    for round in 0..200_u8 {
        let sent: Vec<Vec<u8>> = lengths.iter().map(|&len| vec![round; len]).collect();
        let mut got: Vec<Vec<u8>> = lengths.iter().map(|&len| vec![!round; len]).collect();
        bob.scope(|receiving| {
            for into in &mut got {
                receiving.irecv(into, 0, 7)?;
            }
            alice.scope(|sending| {
                for message in &sent {
                    sending.isend(message, 1, 7)?;
                }
                sending.wait_all()
            })?;
            receiving.wait_all()
        })
        .unwrap();
        assert_eq!(got, sent, "round {round}");
    }
}

/// A process is wanted while an announcement to it is under way. What it sends beyond what is posted
/// stays where it lies all the same, until it is asked for.
#[test]
fn what_comes_behind_a_window_is_not_taken_in_with_it() {
    [1, 40].into_iter().for_each(behind_a_window);
}

fn behind_a_window(before: u32) {
    const WINDOW: u64 = 10;
    let _dog = watchdog("what comes behind a window is not taken in with it");
    let options = Options::default().with(|o| o.single_copy = false);
    let seats = World::seats(2, &options).unwrap();
    let [first, second] = <[_; 2]>::try_from(seats).unwrap();
    let other = std::thread::spawn(move || {
        let world = second.take().unwrap();
        // What opens the box, or not yet.
        for _ in 0..before {
            world.send(&[0_u64], 0, 1).unwrap();
        }
        world.recv(&mut [0_u64], 0, 1).unwrap();
        for number in 0..2 * WINDOW {
            world.send(&[number], 0, 7).unwrap();
        }
        world.send(&[0_u64], 0, 2).unwrap();
        let mut large = vec![0_u8; 1 << 20];
        world.recv(&mut large, 0, 9).unwrap();
        assert!(large.iter().all(|&byte| byte == 3));
    });
    let world = first.take().unwrap();
    for _ in 0..before {
        world.recv(&mut [0_u64], 1, 1).unwrap();
    }
    let large = world.isend(vec![3_u8; 1 << 20], 1, 9).unwrap();
    let windows = |posted: u64| (0..posted).map(|_| post(&world, 1, 7)).collect::<Vec<_>>();
    let first = windows(WINDOW);
    world.send(&[0_u64], 1, 1).unwrap();
    for (number, receive) in (0..).zip(first) {
        assert_eq!(taken(receive), number);
    }
    assert_eq!(world.profile().unexpected, 0, "{before} messages before");
    for (number, receive) in (WINDOW..).zip(windows(WINDOW)) {
        assert_eq!(taken(receive), number);
    }
    world.recv(&mut [0_u64], 1, 2).unwrap();
    large.wait().unwrap();
    other.join().unwrap();
}
