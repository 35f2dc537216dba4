//! A transport that refuses to send for a while: what somebody waits for is sent afterwards.

mod common;

use common::hindered::join;
use common::watchdog;
use mq_comm::{Error, Options};
use mq_shm::{Geometry, Mapped};

/// How a message is received.
#[derive(Clone, Copy)]
enum Way {
    Blocking,
    Request,
    Matched,
    Scope,
}

/// A large message is announced; the answer, that it was read or that it is to come another way, is
/// refused when it should be sent.
fn answers_are_sent_later(way: Way, options: &Options) {
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
    hindrance.refuses.set(true);
    match way {
        // Of messages that are read at once it is through, and the answer is all that fails.
        Way::Blocking => match world.recv(&mut into, 0, 1) {
            Ok(status) => assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5)),
            Err(error) => assert!(matches!(error, Error::Transport(_)), "{error}"),
        },
        // It has its message, whatever becomes of the answer.
        Way::Request => {
            let receiving = world.irecv(into, 0, 1).unwrap();
            hindrance.refuses.set(false);
            let (into, status) = receiving.wait().unwrap();
            assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5));
        }
        Way::Matched => {
            let message = world.mprobe(0, 1).unwrap();
            let receiving = message.irecv(into).unwrap();
            hindrance.refuses.set(false);
            let (into, status) = receiving.wait().unwrap();
            assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5));
        }
        Way::Scope => {
            let status = world.scope(|scope| {
                let receiving = scope.irecv(&mut into, 0, 1).unwrap();
                hindrance.refuses.set(false);
                receiving.wait().map(|(_, status)| status)
            });
            let bytes = status.unwrap().bytes();
            assert_eq!((bytes, into[BYTES - 1]), (BYTES as u64, 5));
        }
    }
    hindrance.refuses.set(false);
    world.send(&[1_u8], 0, 3).unwrap();
    sender.join().unwrap();
}

#[test]
fn that_a_message_was_read_is_said_later() {
    let _dog = watchdog("that_a_message_was_read_is_said_later");
    for way in [Way::Blocking, Way::Request, Way::Matched, Way::Scope] {
        answers_are_sent_later(
            way,
            &Options::default().with(|o| o.single_copy_from = Some(1)),
        );
    }
}

#[test]
fn the_way_of_a_message_is_asked_for_later() {
    let _dog = watchdog("the_way_of_a_message_is_asked_for_later");
    for way in [Way::Blocking, Way::Request, Way::Matched, Way::Scope] {
        answers_are_sent_later(way, &Options::default().with(|o| o.single_copy = false));
    }
}
