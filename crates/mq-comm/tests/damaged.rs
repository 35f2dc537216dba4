//! The effects of a process that writes into the segment what no process of this crate would.

mod common;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::watchdog;
use mq_comm::{Error, Options, World};
use mq_shm::{Arrival, Endpoint, Geometry, Heap, Process};

/// Bytes of a message that is announced, not sent eagerly.
const LONG: usize = 1 << 20;

/// Second words of headers: a message is announced, a ring is lent for it, and none.
const ANNOUNCED: u64 = 2;
const RING_WANTED: u64 = 4;
const NONSENSE: u64 = 99;

/// A receiver that answers an announced message by lending a ring, for what is between two ends, of which
/// there is no room, and then writes nonsense.
fn lend_nothing(heap: Arc<Heap>, ends: [u64; 2], until: &Receiver<()>) {
    let mut endpoint = Endpoint::join(heap, Process(1), mq_shm::Options::default()).unwrap();
    let send = loop {
        let Some(Arrival::Message(mut message)) = endpoint.poll().unwrap() else {
            std::thread::yield_now();
            continue;
        };
        assert_eq!(message.header()[1] & 0xff, ANNOUNCED);
        let mut payload = [0; 40];
        message.copy_to(&mut payload);
        break u64::from_le_bytes(payload[24..32].try_into().unwrap());
    };
    // The receive, from where to where, ring 0, nothing ahead, and a first piece that is not there yet.
    let mut wanted = Vec::new();
    let [from, to] = ends;
    for word in [0, from, to] {
        wanted.extend(word.to_le_bytes());
    }
    wanted.extend([0; 8]);
    wanted.extend(5_u64.to_le_bytes());
    let to = Process(0);
    let _ = endpoint.try_send(to, [send, RING_WANTED], &wanted, 0);
    let _ = endpoint.try_send(to, [0, NONSENSE], &[], 0);
    // It stays until the other has seen what there is to see.
    let _ = until.recv();
}

#[test]
fn a_send_that_goes_into_a_ring_is_not_released_for_a_damaged_message_behind() {
    let _dog =
        watchdog("a send that goes into a ring is not released for a damaged message behind");
    let geometry = Geometry::new(2).unwrap().with_buffers(1 << 16).unwrap();
    let heap = Heap::new(geometry);
    let other = heap.clone();
    let (end, until) = channel();
    let damaging = std::thread::spawn(move || lend_nothing(other, [0, LONG as u64], &until));
    let endpoint = Endpoint::join(heap, Process(0), mq_shm::Options::default()).unwrap();
    // SAFETY: the other end lies, but lends nothing that anybody writes to.
    #[allow(unsafe_code, reason = "the other end is the test's")]
    let world = unsafe { World::over(endpoint, &Options::default()) };
    let long = vec![7; LONG];
    let given_up: Result<(), Error> = world.scope(|scope| {
        drop(scope.isend(&long, 1, 0)?);
        std::thread::sleep(Duration::from_millis(200));
        Err(Error::Cancelled)
    });
    assert!(given_up.is_err());
    // The ring goes on, or is found to be damaged.
    for _ in 0..10 {
        let _ = world.progress();
    }
    let (mut one, mut other) = ([1_u64; 8], [2_u8; 64]);
    let in_order: Result<(), Error> = world.scope(|scope| {
        let first = scope.irecv(&mut one, 1, 5)?;
        let second = scope.irecv(&mut other, 1, 6)?;
        assert_ne!(first.id(), second.id(), "two requests have one slot");
        assert_eq!(
            first.cancel().map_err(|_| ()).expect("nothing came").len(),
            8
        );
        assert_eq!(
            second.cancel().map_err(|_| ()).expect("nothing came").len(),
            64
        );
        Ok(())
    });
    in_order.expect("receives begin");
    drop(end);
    damaging.join().unwrap();
    drop(world);
}

/// An impossible answer is the last: nobody waits for another, and a blocking call says what was wrong.
#[test]
fn a_send_whose_answer_is_damaged_is_over() {
    let _dog = watchdog("a send whose answer is damaged is over");
    for is_blocking in [true, false] {
        let heap = Heap::new(Geometry::new(2).unwrap());
        let other = heap.clone();
        let (end, until) = channel();
        let damaging = std::thread::spawn(move || lend_nothing(other, [1, 0], &until));
        let endpoint = Endpoint::join(heap, Process(0), mq_shm::Options::default()).unwrap();
        // SAFETY: the other end lies, but lends nothing that anybody writes to.
        #[allow(unsafe_code, reason = "the other end is the test's")]
        let world = unsafe { World::over(endpoint, &Options::default()) };
        let long = vec![7; LONG];
        let sent: Result<(), Error> = if is_blocking {
            world.send(&long, 1, 0)
        } else {
            world.scope(|scope| {
                scope.isend(&long, 1, 0)?;
                scope.wait_all()
            })
        };
        let error = sent.expect_err("it is damaged").to_string();
        assert_eq!(error, "the segment is damaged: an answer of process 1");
        end.send(()).unwrap();
        damaging.join().unwrap();
    }
}
