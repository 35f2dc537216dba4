//! A transport that refuses to send for a while: what somebody waits for is sent afterwards.

mod common;

use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::hindered::{Hindered, Hindrance, join};
use common::{NOT_READ, is_gone, is_out_of_memory, kernel_reads_memory, untried, watchdog};
use mq_comm::{Error, Gone, Options, Request, World};
use mq_shm::{Geometry, Mapped, Process};

/// How a message is received.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Blocking,
    Request,
    Set,
    Matched,
    Scope,
}

const WAYS: [Way; 5] = [
    Way::Blocking,
    Way::Request,
    Way::Set,
    Way::Matched,
    Way::Scope,
];

/// How long the answer is refused.
#[derive(Clone, Copy, PartialEq)]
enum Refused {
    /// Until the receive has begun, or for a while if it is not heard of until it is over.
    AtFirst,
    ForAWhile,
    Throughout,
}

/// A large message is announced; the answer, that it was read or that it is to come another way, is
/// refused when it should be sent. Returns what became of the receive.
fn answers_are_sent_later(way: Way, refused: Refused, options: &Options) -> Result<(), Error> {
    const BYTES: usize = 700_000;
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let of_sender = options.clone();
    let sender = std::thread::spawn(move || {
        let (world, _) = join(Mapped::open(file, "it").unwrap(), 0, &of_sender);
        let sending = world.isend(vec![5_u8; BYTES], 1, 1).unwrap();
        world.send(&[1_u8], 1, 2).unwrap();
        let (_, status) = sending.wait().unwrap();
        assert_eq!(status.bytes(), BYTES as u64);
        world.recv(&mut [0_u8], 1, 3).unwrap();
    });
    let (world, hindrance) = join(memory, 1, options);
    // After the announcement.
    world.recv(&mut [0_u8], 0, 2).unwrap();
    let mut into = vec![0_u8; BYTES];
    if refused == Refused::ForAWhile || refused == Refused::AtFirst && way == Way::Blocking {
        let until = Instant::now() + Duration::from_millis(30);
        hindrance.refuses_until.set(Some(until));
    } else {
        hindrance.refuses.set(true);
    }
    let has_begun = || hindrance.refuses.set(refused == Refused::Throughout);
    let received = match way {
        Way::Blocking => world.recv(&mut into, 0, 1).map(|status| (into, status)),
        Way::Request => {
            let receiving = world.irecv(into, 0, 1).unwrap();
            has_begun();
            receiving.wait()
        }
        Way::Set => {
            let mut set = world.request_set();
            set.add(world.irecv(into, 0, 1).unwrap());
            has_begun();
            set.wait_any().map(|completion| {
                let (result, into) = completion.unwrap().into_parts().unwrap();
                (into, result.unwrap())
            })
        }
        Way::Matched => {
            let message = world.mprobe(0, 1).unwrap();
            let receiving = message.irecv(into).unwrap();
            has_begun();
            receiving.wait()
        }
        Way::Scope => world
            .scope(|scope| {
                let receiving = scope.irecv(&mut into, 0, 1).unwrap();
                has_begun();
                receiving.wait().map(|(_, status)| status)
            })
            .map(|status| (into, status)),
    };
    let received = received.map(|(into, status)| {
        assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5));
    });
    hindrance.refuses.set(false);
    world.send(&[1_u8], 0, 3).unwrap();
    sender.join().unwrap();
    received
}

#[test]
fn that_a_message_was_read_is_said_later() {
    let _dog = watchdog("that_a_message_was_read_is_said_later");
    if !kernel_reads_memory() {
        untried("that a message was read", NOT_READ);
        return;
    }
    let options = Options::default().with(|o| o.single_copy_from = Some(1));
    for way in WAYS {
        // It has its message, whatever becomes of the answer.
        for refused in [Refused::AtFirst, Refused::ForAWhile, Refused::Throughout] {
            answers_are_sent_later(way, refused, &options).unwrap();
        }
    }
}

#[test]
fn the_way_of_a_message_is_asked_for_later() {
    let _dog = watchdog("the_way_of_a_message_is_asked_for_later");
    let options = Options::default().with(|o| o.single_copy = false);
    for way in WAYS {
        for refused in [Refused::AtFirst, Refused::ForAWhile] {
            answers_are_sent_later(way, refused, &options).unwrap();
        }
        let failed = answers_are_sent_later(way, Refused::Throughout, &options);
        assert!(is_out_of_memory(&failed.unwrap_err()), "{way:?}");
    }
}

/// Short messages wait for room at two processes, and a large one goes through a ring to the second.
#[test]
fn what_is_refused_for_one_process_holds_up_nothing_that_is_for_another() {
    const MANY: usize = 300;
    const BYTES: usize = 700_000;
    let options = Options::default().with(|o| o.single_copy = false);
    let memory = Mapped::create(Geometry::new(3).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    let [(one, hindrance), (two, _), (three, _)] =
        [0, 1, 2].map(|rank| join(open(), rank, &options));
    let large = one.isend(vec![5_u8; BYTES], 2, 2).unwrap();
    let mut sending = Vec::new();
    for to in [1, 2] {
        sending.extend((0..MANY).map(|_| one.isend(vec![1_u8; 8], to, 1).unwrap()));
    }
    hindrance.refuses_to.set(Some(Process(1)));
    let mut into = Some(three.irecv(vec![0_u8; BYTES], 0, 2).unwrap());
    let mut receiving: Vec<_> = (0..MANY)
        .map(|_| three.irecv(vec![0_u8; 8], 0, 1).unwrap())
        .collect();
    let (mut rounds, mut refusals) = (0, 0);
    while into.is_some() || !receiving.is_empty() {
        rounds += 1;
        assert!(rounds < 100_000, "{} are missing", receiving.len());
        refusals += usize::from(one.progress().is_err());
        two.progress().unwrap();
        three.progress().unwrap();
        receiving.retain(|request| !request.test().unwrap());
        if let Some(request) = into.take_if(|request| request.test().unwrap()) {
            assert!(request.wait().unwrap().0.iter().all(|&byte| byte == 5));
        }
    }
    assert!(refusals > 0 && large.test().unwrap());
    hindrance.refuses_to.set(None);
    for _ in 0..MANY {
        let receiving = two.irecv(vec![0_u8; 8], 0, 1).unwrap();
        while !receiving.test().unwrap() {
            one.progress().unwrap();
        }
    }
    assert!(sending.iter().all(|request| request.test().unwrap()));
    drop(sending);
}

/// A message that is too many comes before the one that is waited for, and its sender can not be told.
#[test]
fn what_is_refused_for_one_message_ends_no_receive_of_another() {
    let _dog = watchdog("what_is_refused_for_one_message");
    for (bypass, is_early) in [(true, false), (true, true), (false, false), (false, true)] {
        let options = Options::default().with(|o| {
            o.unexpected_limit = 0;
            o.bypass = bypass;
        });
        let memory = Mapped::create(Geometry::new(3).unwrap()).unwrap();
        let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
        let [(one, _), (two, hindrance), (three, _)] =
            [0, 1, 2].map(|rank| join(open(), rank, &options));
        hindrance.refuses_to.set(Some(Process(2)));
        if is_early {
            // Something of it is in a queue.
            one.send(&[9_u8], 1, 9).unwrap();
            two.probe(0, 9).unwrap();
        }
        three.send(&[1_u8], 1, 9).unwrap();
        one.send(&[2_u8], 1, 7).unwrap();
        let mut word = [0_u8];
        two.recv(&mut word, 0, 7).unwrap();
        assert_eq!(word, [2]);
        hindrance.refuses_to.set(None);
        two.recv(&mut word, 2, 9).unwrap();
        assert_eq!(word, [1]);
    }
}

/// Rank 1 of two, and what is in its way; rank 0, another thread, has announced a message to it, which nobody receives,
/// and goes on with `then`.
fn with_an_announced_message(
    then: fn(World<Hindered>, Request<Vec<u8>, Hindered>),
) -> (World<Hindered>, Rc<Hindrance>, JoinHandle<()>) {
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let sender = std::thread::spawn(move || {
        let (world, _) = join(Mapped::open(file, "it").unwrap(), 0, &Options::default());
        let sending = world.isend(vec![5_u8; 700_000], 1, 1).unwrap();
        world.send(&[1_u8], 1, 2).unwrap();
        then(world, sending);
    });
    let (world, hindrance) = join(memory, 1, &Options::default());
    world.recv(&mut [0_u8], 0, 2).unwrap();
    (world, hindrance, sender)
}

#[test]
fn who_can_not_see_its_messages_through_is_told_so_and_counts_as_dead() {
    let _dog = watchdog("leaving without a way to answer");
    let (world, hindrance, sender) = with_an_announced_message(|world, sending| {
        assert!(is_gone(&sending.wait(), 1, "died"));
        assert_eq!(world.ended(), [(1, Gone::Died)]);
        world.finalize().unwrap();
    });
    hindrance.refuses.set(true);
    let left = world.finalize();
    assert!(matches!(left, Err(Error::Transport(_))), "{left:?}");
    sender.join().unwrap();
}

/// What it has announced is fetched all the same.
#[test]
fn who_is_refused_memory_for_a_while_leaves_properly() {
    let _dog = watchdog("leaving while memory is refused");
    let (world, hindrance, sender) = with_an_announced_message(|world, sending| {
        sending.wait().unwrap();
        let mut large = vec![0_u8; 100_000];
        world.recv(&mut large, 1, 9).unwrap();
        assert!(large.iter().all(|&byte| byte == 7));
        world.finalize().unwrap();
    });
    drop(world.isend(vec![7_u8; 100_000], 0, 9).unwrap());
    let until = Instant::now() + Duration::from_millis(30);
    hindrance.refuses_until.set(Some(until));
    world.finalize().unwrap();
    sender.join().unwrap();
}
