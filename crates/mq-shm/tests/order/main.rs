//! What one process sends another arrives whole and in order, by every way and under every policy.

mod boxes;
mod cells;

use mq_shm::channel::Tuning;
use mq_shm::liveness::Gone;
use mq_shm::wait::Idle;
use mq_shm::{
    Arrival, CELL_PAYLOAD, Endpoint, Geometry, Heap, Mapped, Options, Policy, Process, Sent,
    segment::Memory,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A message's bytes follow from its number and length.
fn fill(message: &mut Vec<u8>, number: u64, len: usize) {
    message.clear();
    message.extend((0..len).map(|at| (number as usize).wrapping_mul(31).wrapping_add(at) as u8));
}

fn send<M: Memory>(endpoint: &mut Endpoint<M>, to: Process, number: u64, message: &[u8]) {
    let (mut done, mut idle) = (0, Idle::default());
    while let Sent::Upto(sent) = endpoint
        .try_send(to, [number, !number], message, done)
        .unwrap()
    {
        done = sent;
        endpoint.rest(&mut idle).unwrap();
    }
}

/// Messages of one sender, put together again.
#[derive(Default)]
struct Stream {
    next: u64,
    part: Vec<u8>,
}

impl Stream {
    fn take<M: Memory>(
        &mut self,
        message: &mut mq_shm::Incoming<'_, M>,
        sizes: &mut StdRng,
        wide: usize,
    ) {
        assert_eq!(message.header(), [self.next, !self.next]);
        assert_eq!(message.offset(), self.part.len() as u64);
        message.append_to(&mut self.part);
        if self.part.len() as u64 == message.total() {
            let mut expected = Vec::new();
            fill(&mut expected, self.next, size(sizes, wide));
            assert_eq!(self.part, expected, "message {}", self.next);
            self.part.clear();
            self.next += 1;
        }
    }
}

/// Mostly short, sometimes of several cells.
fn size(random: &mut StdRng, wide: usize) -> usize {
    match random.random_range(0..20_u32) {
        0..8 => random.random_range(0..=40),
        8..15 => random.random_range(0..=300),
        15..19 => random.random_range(0..=30_000),
        _ => random.random_range(0..=wide),
    }
}

fn seed(from: usize, to: usize) -> StdRng {
    StdRng::seed_from_u64((from * 1000 + to) as u64)
}

/// Every process sends every other the same number of messages, and receives as many.
fn all_to_all<M: Memory>(endpoint: &mut Endpoint<M>, each: u64, wide: usize) {
    let me = endpoint.me().index();
    let processes = endpoint.geometry().processes() as usize;
    let mut sending: Vec<_> = (0..processes)
        .map(|to| (seed(me, to), 0_u64, Vec::new(), 0))
        .collect();
    let mut incoming: Vec<_> = (0..processes)
        .map(|from| (seed(from, me), Stream::default()))
        .collect();
    let mut idle = Idle::default();
    let mut random = seed(me, 999);
    for (random, number, message, _) in &mut sending {
        fill(message, *number, size(random, wide));
    }
    loop {
        let mut moved = false;
        let to = random.random_range(0..processes);
        let (sizes, number, message, done) = &mut sending[to];
        if *number < each {
            let header = [*number, !*number];
            match endpoint
                .try_send(Process(to as u32), header, message, *done)
                .unwrap()
            {
                Sent::Whole => {
                    *number += 1;
                    *done = 0;
                    fill(message, *number, size(sizes, wide));
                    moved = true;
                }
                Sent::Upto(sent) => *done = sent,
            }
        }
        for _ in 0..random.random_range(0..4) {
            if let Some(Arrival::Message(mut message)) = endpoint.poll().unwrap() {
                let (sizes, stream) = &mut incoming[message.source().index()];
                stream.take(&mut message, sizes, wide);
                moved = true;
            }
        }
        let sent = sending.iter().all(|(_, number, ..)| *number == each);
        let received = incoming.iter().all(|(_, stream)| stream.next == each);
        if sent && received {
            return;
        }
        if moved {
            idle.reset();
        } else if sent {
            endpoint.rest(&mut idle).unwrap();
        }
    }
}

fn options(policy: Policy) -> Options {
    let tuning = Tuning::default().with(|o| o.box_after = 3);
    Options::default().with(|o| {
        o.policy = policy;
        o.tuning = tuning;
    })
}

#[test]
fn threads_exchange_messages_of_all_sizes_under_every_policy() {
    for &policy in Policy::ALL {
        let segment = Heap::new(Geometry::with_cells(3, 6).unwrap());
        std::thread::scope(|scope| {
            for me in 0..3 {
                let segment = segment.clone();
                scope.spawn(move || {
                    let mut endpoint =
                        Endpoint::join(segment, Process(me), options(policy)).unwrap();
                    endpoint.want(None).unwrap();
                    all_to_all(&mut endpoint, 300, 200_000);
                });
            }
        });
    }
}

#[test]
fn mapped_memory_serves_as_well() {
    let segment = Mapped::create(Geometry::with_cells(3, 6).unwrap()).unwrap();
    std::thread::scope(|scope| {
        for me in 0..3 {
            let file = segment.file().try_clone_to_owned().unwrap();
            scope.spawn(move || {
                let memory = Mapped::open(file, "a copy").unwrap();
                let options = options(Policy::AdaptiveShared);
                let mut endpoint = Endpoint::join(memory, Process(me), options).unwrap();
                // Nothing is wanted: fastboxes are looked into in turn.
                all_to_all(&mut endpoint, 300, 200_000);
            });
        }
    });
}

fn eager_boxes() -> Options {
    let tuning = Tuning::default().with(|o| o.box_after = 0);
    Options::default().with(|o| o.tuning = tuning)
}

#[test]
fn of_a_message_that_has_gone_whole_no_more_goes() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let options = Options::default().with(|o| o.fastbox = false);
    let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), options).unwrap();
    let text = vec![7; 2 * CELL_PAYLOAD];
    assert!(matches!(
        alice.try_send(Process(1), [1, 0], &text, 0),
        Ok(Sent::Whole)
    ));
    assert!(matches!(
        alice.try_send(Process(1), [1, 0], &text, text.len()),
        Ok(Sent::Whole)
    ));
    // One without bytes is a message.
    assert!(matches!(
        alice.try_send(Process(1), [2, 0], &[], 0),
        Ok(Sent::Whole)
    ));
    for (number, offset) in [(1, 0), (1, CELL_PAYLOAD), (2, 0)] {
        let Some(Arrival::Message(message)) = bob.poll().unwrap() else {
            panic!("{number} from {offset}")
        };
        assert_eq!(
            (message.header()[0], message.offset()),
            (number, offset as u64)
        );
    }
    assert!(bob.poll().unwrap().is_none());
}

#[test]
fn a_process_that_leaves_is_reported_after_its_last_message() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), options(Policy::PerPeer)).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), options(Policy::PerPeer)).unwrap();
    for number in 0..3 {
        send(&mut alice, Process(1), number, b"");
    }
    drop(alice);
    bob.want(Some(Process(0))).unwrap();
    assert_eq!(bob.check_peers(), 1);
    for number in 0..3 {
        let Some(Arrival::Message(message)) = bob.poll().unwrap() else {
            panic!("{number}")
        };
        assert_eq!(message.header()[0], number);
    }
    let Some(Arrival::Gone(process, how)) = bob.poll().unwrap() else {
        panic!("it has left")
    };
    assert_eq!((process, how), (Process(0), Gone::Left));
    let error = bob.try_send(Process(0), [0, 0], b"", 0).unwrap_err();
    assert_eq!(error.to_string(), "process 0 has left");
}

#[test]
fn numbers_outside_the_segment_are_refused() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    assert!(Endpoint::join(segment.clone(), Process(2), Options::default()).is_err());
    let mut alice = Endpoint::join(segment.clone(), Process(0), Options::default()).unwrap();
    assert!(Endpoint::join(segment, Process(0), Options::default()).is_err());
    let error = alice
        .try_send(Process(7), [0, 0], b"", 0)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "process 7 is out of range: the segment has 2 processes, numbered from 0"
    );
    assert!(alice.want(Some(Process(2))).is_err());
    alice.unwant(Some(Process(2)));
}
