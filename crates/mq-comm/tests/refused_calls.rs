//! A transport that refuses memory for a part of a call: nothing that has come is lost, and nobody is left waiting.

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::hindered::{Hindered, Hindrance, join};
use common::{is_out_of_memory, watchdog};
use mq_comm::{Error, Options, World};
use mq_shm::{Geometry, Mapped, Process};

/// The worlds of this many processes, and what is in the way of the first.
fn worlds<const SIZE: usize>(
    options: &Options,
) -> ([World<Hindered>; SIZE], std::rc::Rc<Hindrance>) {
    let memory = Mapped::create(Geometry::new(SIZE as u32).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    let mut first = None;
    let worlds = core::array::from_fn(|rank| {
        let (world, hindrance) = join(open(), rank as u32, options);
        first.get_or_insert(hindrance);
        world
    });
    (worlds, first.unwrap())
}

#[test]
fn an_exchange_whose_send_is_refused_receives_nothing() {
    let _dog = watchdog("an exchange whose send is refused");
    let ([one, two, _three], hindrance) = worlds::<3>(&Options::default());
    two.send(&[7_u8], 0, 2).unwrap();
    one.probe(1, 2).unwrap();
    hindrance.refuses_to.set(Some(Process(2)));
    let mut word = [0_u8];
    let exchanged = one.sendrecv(&vec![1_u8; 100_000], 2, 1, &mut word, 1, 2);
    assert!(is_out_of_memory(&exchanged.unwrap_err()));
    hindrance.refuses_to.set(None);
    one.recv(&mut word, 1, 2).unwrap();
    assert_eq!(word, [7]);
}

#[test]
fn a_request_that_is_complete_is_not_given_up_for_another_s_refusal() {
    let _dog = watchdog("a request and another's refusal");
    let options = Options::default().with(|o| o.unexpected_limit = 0);
    let ([one, two, three], hindrance) = worlds::<3>(&options);
    // It is to hear that it sends too much.
    hindrance.refuses_to.set(Some(Process(2)));
    three.send(&[1_u8], 0, 9).unwrap();
    let waited = one.irecv(vec![0_u8], 1, 8).unwrap().wait();
    assert!(is_out_of_memory(&waited.unwrap_err()), "after a second");
    let receiving = one.irecv(vec![0_u8], 1, 7).unwrap();
    two.send(&[2_u8], 0, 7).unwrap();
    assert_eq!(receiving.wait().unwrap().0, [2]);
    hindrance.refuses_to.set(None);
    let mut word = [0_u8];
    one.recv(&mut word, 2, 9).unwrap();
    assert_eq!(word, [1]);
}

/// The root's sends from the `first` on are refused, `count` of them; then another broadcast follows.
fn broadcast_with_refusals(bytes: usize, first: u32, count: u32) -> [Result<(), Error>; 2] {
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let options = Options::default();
    let of_child = options.clone();
    let child = std::thread::spawn(move || {
        let (world, _) = join(Mapped::open(file, "it").unwrap(), 1, &of_child);
        let mut into = vec![0_u8; bytes];
        let heard = world.broadcast(&mut into, 0);
        assert!(heard.is_err() || into.iter().all(|&byte| byte == 5));
        world.broadcast(&mut into, 0).unwrap();
        assert!(into.iter().all(|&byte| byte == 6));
        heard
    });
    let (world, hindrance) = join(memory, 0, &options);
    hindrance.refuses_from.set(Some((first, count)));
    let sent = world.broadcast(&mut vec![5_u8; bytes], 0);
    hindrance.refuses_from.set(None);
    world.broadcast(&mut vec![6_u8; bytes], 0).unwrap();
    [sent, child.join().unwrap()]
}

#[test]
fn a_child_to_which_a_part_is_not_passed_on_hears_so() {
    let _dog = watchdog("a broadcast with refusals");
    let mut heard_of = 0;
    for bytes in [8, 24, 100_000, 700_000] {
        for first in 0..4 {
            // The notice is refused too, or it is not.
            for count in [1, 2] {
                let [sent, heard] = broadcast_with_refusals(bytes, first, count);
                match heard {
                    Ok(()) => {}
                    Err(Error::Elsewhere {
                        process: Process(0),
                    }) => {
                        heard_of += 1;
                        assert!(
                            is_out_of_memory(&sent.unwrap_err()),
                            "{bytes} {first} {count}"
                        );
                    }
                    Err(error) => panic!("{bytes} {first} {count}: {error}"),
                }
            }
        }
    }
    assert!(heard_of >= 8, "{heard_of}");
}

#[test]
fn a_barrier_and_a_dup_whose_words_are_refused_at_first_succeed_at_all() {
    let _dog = watchdog("a barrier and a dup with refusals");
    for (first, count) in [(0, 1), (1, 1), (0, 2), (0, 9)] {
        let memory = Mapped::create(Geometry::new(3).unwrap()).unwrap();
        let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
        let [hindered, others @ ..] = if first == 0 && count == 2 {
            [1, 0, 2]
        } else {
            [0, 1, 2]
        };
        let others = others.map(|rank| {
            let memory = open();
            std::thread::spawn(move || {
                let (world, _) = join(memory, rank, &Options::default());
                world.barrier().unwrap();
                world.dup().unwrap().barrier().unwrap();
            })
        });
        let (world, hindrance) = join(open(), hindered, &Options::default());
        hindrance.refuses_from.set(Some((first, count)));
        world.barrier().unwrap();
        hindrance.refuses_from.set(Some((first, count)));
        let other_world = world.dup().unwrap();
        hindrance.refuses_from.set(None);
        other_world.barrier().unwrap();
        for other in others {
            other.join().unwrap();
        }
    }
}

/// Longer than a wait that is not of a collective operation.
const LONG: Duration = Duration::from_millis(1_300);

/// Others wait for this rank, and what they have said for an operation must not be taken for the next.
#[test]
fn barriers_of_a_rank_that_gets_no_memory_for_long_stay_in_step() {
    let _dog = watchdog("barriers with refusals of more than a second");
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    let entered = Arc::new(Mutex::new(0));
    let other = std::thread::spawn({
        let (memory, entered) = (open(), Arc::clone(&entered));
        move || {
            let (world, _) = join(memory, 1, &Options::default());
            for number in 1..=3 {
                world.barrier().unwrap();
                assert!(*entered.lock().unwrap() >= number, "barrier {number}");
            }
            let [first, second] = [0, 1].map(|_| world.dup().unwrap());
            first.send(&[1_u8], 0, 0).unwrap();
            second.send(&[2_u8], 0, 0).unwrap();
        }
    });
    let (world, hindrance) = join(open(), 0, &Options::default());
    let refuse = |long| hindrance.refuses_until.set(Some(Instant::now() + long));
    for number in 1..=3 {
        refuse(if number == 3 { Duration::ZERO } else { LONG });
        *entered.lock().unwrap() = number;
        world.barrier().unwrap();
    }
    let duplicates = [LONG, Duration::ZERO].map(|long| {
        refuse(long);
        world.dup().unwrap()
    });
    for (number, communicator) in (1..).zip(duplicates) {
        let mut word = [0_u8];
        communicator.recv(&mut word, 1, 0).unwrap();
        assert_eq!(word, [number]);
    }
    other.join().unwrap();
}

/// What a barrier has waited out is not the receive's that follows.
#[test]
fn a_receive_after_a_collective_has_its_own_second() {
    let _dog = watchdog("a receive after a barrier with refusals");
    let memory = Mapped::create(Geometry::new(3).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    let options = Options::default().with(|o| o.unexpected_limit = 0);
    let others = [1, 2].map(|rank| {
        let (memory, options) = (open(), options.clone());
        std::thread::spawn(move || {
            let (world, _) = join(memory, rank, &options);
            let pair = world.split((rank == 1).then_some(0), 0).unwrap();
            // It is to hear that it sends too much, which is refused.
            world.send(&[1_u8], 0, 9).unwrap();
            if let Some(pair) = pair {
                std::thread::sleep(LONG);
                pair.barrier().unwrap();
                std::thread::sleep(Duration::from_millis(20));
                world.send(&[2_u8], 0, 7).unwrap();
            }
            world.recv(&mut [0_u8], 0, 8).unwrap();
        })
    });
    let (world, hindrance) = join(open(), 0, &options);
    let pair = world.split(Some(0), 0).unwrap().unwrap();
    hindrance.refuses_to.set(Some(Process(2)));
    world.probe(2, 9).unwrap();
    pair.barrier().unwrap();
    let mut word = [0_u8];
    world.recv(&mut word, 1, 7).unwrap();
    assert_eq!(word, [2]);
    hindrance.refuses_to.set(None);
    for rank in [1, 2] {
        world.send(&[0_u8], rank, 8).unwrap();
    }
    for other in others {
        other.join().unwrap();
    }
}

/// One that takes in what has come before it calls the broadcast would not hear of a part that was withdrawn.
#[test]
fn a_broadcast_reaches_one_though_memory_for_another_is_refused_for_long() {
    let _dog = watchdog("a broadcast with refusals of more than a second");
    for bytes in [60_000, 300_000] {
        let memory = Mapped::create(Geometry::new(3).unwrap()).unwrap();
        let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
        let children = [0, 2].map(|rank| {
            let memory = open();
            std::thread::spawn(move || {
                let (world, _) = join(memory, rank, &Options::default());
                let asked = Instant::now();
                while rank == 0 && asked.elapsed() < LONG + LONG / 4 {
                    world.progress().unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                }
                let mut into = vec![0_u8; bytes];
                let heard = world.broadcast(&mut into, 1);
                assert!(heard.is_err() || into.iter().all(|&byte| byte == 5));
                heard
            })
        });
        let (world, hindrance) = join(open(), 1, &Options::default());
        let until = Instant::now() + LONG;
        hindrance.refuses_to_until.set(Some((Process(2), until)));
        let sent = world.broadcast(&mut vec![5_u8; bytes], 1);
        assert!(is_out_of_memory(&sent.unwrap_err()));
        let [heard, not_heard] = children.map(|child| child.join().unwrap());
        heard.unwrap();
        let of_root = matches!(
            not_heard,
            Err(Error::Elsewhere {
                process: Process(1)
            })
        );
        assert!(of_root, "{not_heard:?}");
    }
}

#[test]
fn a_message_of_which_a_part_has_gone_goes_out_whole() {
    const BYTES: usize = 4 << 20;
    let _dog = watchdog("a message whose second part is refused");
    let options = &Options::default().with(|o| o.eager_limit = 2 * BYTES);
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    std::thread::scope(|scope| {
        let memory = open();
        let other = scope.spawn(move || {
            let (world, _) = join(memory, 1, options);
            let mut message = vec![0_u8; BYTES];
            world.recv(&mut message, 0, 1).unwrap();
            message.iter().all(|&byte| byte == 7)
        });
        let (world, hindrance) = join(open(), 0, options);
        hindrance.refuses_from.set(Some((1, 2)));
        world.send(&vec![7_u8; BYTES], 1, 1).unwrap();
        assert!(other.join().unwrap());
    });
}

/// Others may have a communicator of that number: it is not given to another one.
#[test]
fn who_hears_of_a_number_that_could_not_be_told_doubts_it() {
    const SIZE: u32 = 10;
    let _dog = watchdog("a split of which two ranks cannot be told");
    let memory = Mapped::create(Geometry::new(SIZE).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    let program = |memory: Mapped, rank: u32| {
        let (world, hindrance) = join(memory, rank, &Options::default());
        let untold = [5, 6].contains(&rank);
        let pair = world.split(Some(untold.into()), 0).unwrap().unwrap();
        world.barrier().unwrap();
        if rank == 0 {
            // The answers to 5 and 6, of more than a short message's bytes, and one more attempt.
            hindrance.refuses_from.set(Some((4, 3)));
        }
        let all = world.split(Some(0), 0);
        hindrance.refuses_from.set(None);
        if !untold {
            world.barrier().unwrap();
            if rank == 1 {
                let all = all.as_ref().unwrap().as_ref().unwrap();
                all.send(&[99_u8], 5, 7).unwrap();
            }
            world.barrier().unwrap();
            return;
        }
        assert!(matches!(all, Err(Error::Elsewhere { .. })), "{all:?}");
        let two = pair.dup().unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap();
        for _ in 0..100 {
            assert_eq!(two.iprobe(1, 7).unwrap(), None, "of another communicator");
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..SIZE)
            .map(|rank| (open(), rank))
            .map(|(memory, rank)| scope.spawn(move || program(memory, rank)))
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}
