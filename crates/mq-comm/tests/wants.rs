//! Whose messages are wanted: nobody's, once nothing is waited for. A want that is left makes every look longer.

mod common;

use std::rc::Rc;

use common::hindered::{Hindered, Hindrance, join};
use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Source, World};
use mq_shm::{Geometry, Mapped, Process};

/// Announced, and less than a ring holds.
const BYTES: usize = 700_000;

/// More than there are places for receives with different tags in front of the engine.
const MANY: i32 = 20;

/// A world, and what its transport counts.
type Counted = (World<Hindered>, Rc<Hindrance>);

/// Both are of this thread: neither can wait for the other.
fn two_worlds(options: &Options) -> [Counted; 2] {
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let other = Mapped::open(file, "it").unwrap();
    [join(memory, 0, options), join(other, 1, options)]
}

/// What the last blocking receive wanted stands until a receive is posted.
fn assert_nobody_is_wanted((world, hindrance): &Counted) {
    let receiving = world.irecv(vec![0_u8], Source::Any, 99).unwrap();
    assert!(receiving.cancel().is_ok());
    let wanted = hindrance.wanted();
    assert!(wanted.is_empty(), "by rank {}: {wanted:?}", world.rank());
}

/// Sends a message to a receive that has so much room; returns how many bytes it had.
fn send(from: &World<Hindered>, to: &World<Hindered>, room: usize) -> Result<u64, Error> {
    let receiving = to.irecv(vec![0_u8; room], from.rank(), 1)?;
    let sending = from.isend(vec![5_u8; BYTES], to.rank(), 1)?;
    loop {
        let is_sent = sending.test()?;
        if receiving.test()? && is_sent {
            break;
        }
    }
    sending.wait()?;
    let (_, status) = receiving.wait()?;
    Ok(status.bytes())
}

#[test]
fn a_receive_that_is_cancelled_wants_nothing_more() {
    let _dog = watchdog("a_receive_that_is_cancelled_wants_nothing_more");
    for bypass in [true, false] {
        let [counted, _other] = two_worlds(&Options::default().with(|o| o.bypass = bypass));
        let (world, hindrance) = &counted;
        let mut receiving = Vec::new();
        for tag in 0..MANY {
            for from in [Source::Any, Source::from(1)] {
                receiving.push(world.irecv(vec![0_u8], from, tag).unwrap());
            }
        }
        let wanted = [(None, MANY), (Some(Process(1)), MANY)];
        assert_eq!(hindrance.wanted(), wanted);
        for request in receiving {
            assert!(request.cancel().is_ok());
        }
        assert_nobody_is_wanted(&counted);
    }
}

#[test]
fn a_receive_that_has_its_message_wants_nothing_more() {
    let _dog = watchdog("a_receive_that_has_its_message_wants_nothing_more");
    for bypass in [true, false] {
        let [counted, (other, _)] = two_worlds(&Options::default().with(|o| o.bypass = bypass));
        let (world, _) = &counted;
        let mut receiving = Vec::new();
        for tag in 0..MANY {
            let from = [Source::Any, Source::from(1)][tag as usize % 2];
            receiving.push(world.irecv(vec![0_u8], from, tag).unwrap());
        }
        for tag in 0..=MANY {
            other.send(&[1_u8], 0, tag).unwrap();
        }
        for request in receiving {
            request.wait().unwrap();
        }
        world.recv(&mut [0_u8], 1, MANY).unwrap();
        assert_nobody_is_wanted(&counted);
    }
}

#[test]
fn a_message_of_which_nothing_has_to_be_read_is_answered_and_wants_nothing_more() {
    let _dog = watchdog("a_message_of_which_nothing_has_to_be_read");
    let worlds = two_worlds(&Options::default());
    let [(first, _), (second, _)] = &worlds;
    let sent = send(first, second, 0);
    assert!(
        matches!(sent, Err(Error::Truncated { room: 0, .. })),
        "{sent:?}"
    );
    worlds.iter().for_each(assert_nobody_is_wanted);
}

#[test]
fn a_message_through_a_ring_wants_nothing_more_whoever_has_given_it() {
    let _dog = watchdog("a_message_through_a_ring_wants_nothing_more");
    let worlds = two_worlds(&Options::default().with(|o| o.single_copy = false));
    let [(first, hindrance), (second, _)] = &worlds;
    assert_eq!(send(first, second, BYTES).unwrap(), BYTES as u64);
    assert_eq!(hindrance.lent.get(), 0);
    worlds.iter().for_each(assert_nobody_is_wanted);
    // Back through the same one.
    assert_eq!(send(second, first, BYTES).unwrap(), BYTES as u64);
    assert_eq!(hindrance.lent.get(), 1);
    worlds.iter().for_each(assert_nobody_is_wanted);
}

#[test]
fn a_message_that_is_withdrawn_wants_nothing_more() {
    let _dog = watchdog("a_message_that_is_withdrawn_wants_nothing_more");
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let receiver = std::thread::spawn(move || {
        let memory = Mapped::open(file, "it").unwrap();
        let counted = join(memory, 1, &Options::default());
        // It answers the withdrawal meanwhile.
        counted.0.recv(&mut [0_u8], 0, 2).unwrap();
        assert_nobody_is_wanted(&counted);
    });
    let counted = join(memory, 0, &Options::default());
    let (world, _) = &counted;
    let long = vec![5_u8; BYTES];
    let withdrawn = world.scope(|s| {
        s.isend(&long, 1, 1)?;
        Err::<(), _>(Error::Cancelled)
    });
    assert!(matches!(withdrawn, Err(Error::Cancelled)));
    world.send(&[1_u8], 1, 2).unwrap();
    receiver.join().unwrap();
    assert_nobody_is_wanted(&counted);
}

#[test]
fn what_is_waited_for_from_a_process_that_ends_is_wanted_no_more() {
    let _dog = watchdog("what_is_waited_for_from_a_process_that_ends");
    let [counted, other] = two_worlds(&Options::default());
    let (world, _) = &counted;
    let sending = world.isend(vec![5_u8; BYTES], 1, 1).unwrap();
    let receiving = world.irecv(vec![0_u8], 1, 2).unwrap();
    drop(other);
    assert!(is_gone(&sending.wait(), 1, "left"));
    assert!(is_gone(&receiving.wait(), 1, "left"));
    assert_nobody_is_wanted(&counted);
}
