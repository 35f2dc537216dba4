//! What one process sends another arrives whole and in order, by every way and under every policy.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_shm::channel::Tuning;
use mq_shm::fastbox::BOX_PAYLOAD;
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
    for policy in Policy::ALL {
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
fn a_message_through_the_queue_does_not_overtake_one_in_a_box() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), eager_boxes()).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), eager_boxes()).unwrap();
    // The first announces the box; 30 fill it; the rest take the queue again.
    for number in 0..46 {
        send(&mut alice, Process(1), number, b"short");
    }
    assert_eq!(
        (alice.counters().by_box(), alice.counters().by_queue),
        (30, 16)
    );
    for number in 0..46 {
        let Some(Arrival::Message(message)) = bob.poll().unwrap() else {
            panic!("{number}")
        };
        assert_eq!(message.header()[0], number);
    }
    assert!(bob.poll().unwrap().is_none());
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
fn messages_of_every_length_go_round_a_box() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), eager_boxes()).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), eager_boxes()).unwrap();
    for round in 0..3 {
        let named = [BOX_PAYLOAD + 1, 5000, CELL_PAYLOAD];
        for len in (0..=BOX_PAYLOAD).chain(named) {
            let text: Vec<u8> = (0..len).map(|at| (at * 7 + len + round) as u8).collect();
            send(&mut alice, Process(1), len as u64, &text);
            let Some(Arrival::Message(mut message)) = bob.poll().unwrap() else {
                panic!("{len}")
            };
            assert_eq!((message.header()[0], message.len()), (len as u64, len));
            let mut received = vec![0xa5; len + 1];
            assert_eq!(message.copy_to(&mut received), len);
            assert_eq!(received.pop(), Some(0xa5));
            assert!(received == text, "{len}");
            // As many as there is room for, and no more.
            let mut less = vec![0; len / 2];
            assert_eq!(message.copy_to(&mut less), len / 2);
            assert!(less == text[..len / 2], "{len}");
        }
    }
    assert_eq!(alice.counters().by_queue, 1);
    assert_eq!(alice.cells_out().unwrap(), 0);
}

#[test]
fn cells_named_in_a_box_come_back_in_the_order_in_which_they_are_read() {
    let segment = Heap::new(Geometry::with_cells(2, 3).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), eager_boxes()).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), eager_boxes()).unwrap();
    send(&mut alice, Process(1), 0, b"announces the box");
    assert!(matches!(bob.poll().unwrap(), Some(Arrival::Message(_))));
    let long = [7; 1000];
    for round in 0..100 {
        for number in 0..3 {
            send(&mut alice, Process(1), round * 3 + number, &long);
        }
        let refused = alice.try_send(Process(1), [0, 0], &long, 0).unwrap();
        assert_eq!(refused, Sent::Upto(0));
        // Short ones need no cell.
        send(&mut alice, Process(1), 0, b"short");
        for left in (0..3).rev() {
            let Some(Arrival::Message(mut message)) = bob.poll().unwrap() else {
                panic!("{left} are left after it")
            };
            assert_eq!(message.header()[0], round * 3 + 2 - u64::from(left));
            let mut received = [0; 1001];
            assert_eq!(message.copy_to(&mut received), 1000);
            assert_eq!(received[..1000], long);
            drop(message);
            assert_eq!(alice.cells_out().unwrap(), left);
        }
        let Some(Arrival::Message(message)) = bob.poll().unwrap() else {
            panic!("the short one is left")
        };
        assert_eq!(message.len(), 5);
    }
    assert_eq!(alice.counters().by_queue, 1);
}

#[test]
fn more_sent_than_there_is_takes_no_cell() {
    let segment = Heap::new(Geometry::with_cells(2, 3).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), options(Policy::Shared)).unwrap();
    for _ in 0..4 {
        let wrong = AssertUnwindSafe(|| alice.try_send(Process(1), [0, 0], b"four", 5));
        assert!(catch_unwind(wrong).is_err());
    }
    assert_eq!(alice.cells_out().unwrap(), 0);
    for _ in 0..3 {
        send(&mut alice, Process(1), 0, b"four");
    }
}

#[test]
fn a_full_pool_is_an_answer_and_loses_nothing() {
    let segment = Heap::new(Geometry::with_cells(2, 2).unwrap());
    let shared = options(Policy::Shared);
    let mut alice = Endpoint::join(segment.clone(), Process(0), shared).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), shared).unwrap();
    for number in 0..2 {
        assert_eq!(
            alice.try_send(Process(1), [number, 0], b"x", 0).unwrap(),
            Sent::Whole
        );
    }
    assert_eq!(
        alice.try_send(Process(1), [2, 0], b"x", 0).unwrap(),
        Sent::Upto(0)
    );
    for number in 0..2 {
        let Some(Arrival::Message(message)) = bob.poll().unwrap() else {
            panic!()
        };
        assert_eq!(message.header()[0], number);
    }
    assert_eq!(
        alice.try_send(Process(1), [2, 0], b"x", 0).unwrap(),
        Sent::Whole
    );
    assert_eq!(alice.counters().full, 1);
}

#[test]
fn a_policy_that_divides_the_cells_keeps_a_silent_peer_to_its_credits() {
    for credits in [0_u32, 1, 7] {
        let own_share = credits.max(1) as usize;
        for (policy, most) in [
            (Policy::PerPeer, own_share),
            (Policy::AdaptivePerPeer, own_share),
            (Policy::AdaptiveShared, 30),
            (Policy::Shared, 30),
        ] {
            let segment = Heap::new(Geometry::new(3).unwrap());
            let [mut alice, _bob, mut carol] = [0, 1, 2].map(|number| {
                let options = options(policy).with(|o| {
                    o.fastbox = false;
                    o.tuning.credits = credits;
                });
                Endpoint::join(segment.clone(), Process(number), options).unwrap()
            });
            let mut to = |process| alice.try_send(Process(process), [0, !0], b"", 0).unwrap();
            let sent = (0..64).take_while(|_| to(1) == Sent::Whole).count();
            assert_eq!(sent, most, "{policy} with {credits}");
            // Others have their share all the same.
            assert_eq!(to(2), Sent::Whole, "{policy} with {credits}");
            assert!(matches!(carol.poll(), Ok(Some(Arrival::Message(_)))));
        }
    }
}

#[test]
fn a_pool_grows_by_one_cell_at_least() {
    for policy in Policy::ALL {
        let segment = Heap::new(Geometry::new(2).unwrap());
        let options = options(policy).with(|o| o.tuning.grow = 0);
        let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
        let mut bob = Endpoint::join(segment, Process(1), options).unwrap();
        let sent = alice.try_send(Process(1), [0, !0], b"", 0).unwrap();
        assert_eq!(sent, Sent::Whole, "{policy}");
        assert_eq!(alice.counters().cells, 1, "{policy}");
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
}

#[test]
fn the_counters_tell_how_memory_grew() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let options = options(Policy::AdaptiveShared).with(|o| {
        o.tuning = Tuning::default().with(|tuning| {
            tuning.box_after = 3;
            tuning.grow = 4;
            tuning.low_water = 1;
        });
    });
    let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
    let mut bob = Endpoint::join(segment, Process(1), options).unwrap();
    for number in 0..6 {
        send(&mut alice, Process(1), number, b"short");
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
    let counters = alice.counters();
    assert_eq!((counters.cells, counters.boxes), (4, 1));
    let grown = counters.growth.iter();
    let grown: Vec<_> = grown.map(|at| (at.messages, at.cells, at.boxes)).collect();
    assert_eq!(grown, [(0, 4, 0), (4, 4, 1)]);
    // Nothing of these is taken out, and each is in a cell.
    for number in 0..9 {
        send(&mut alice, Process(1), number, &[7; 1000]);
    }
    let counters = alice.counters();
    assert!(counters.low_water > 0, "{counters:?}");
    assert!(counters.cells > 4, "{counters:?}");
    let last = counters.growth.last().expect("it grew");
    assert_eq!((last.cells, last.boxes), (counters.cells, 1));
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

/// Both ways the same cell, once each has answered; cells that nobody answers in are few.
#[test]
fn an_answer_is_in_the_cell_of_the_message() {
    let segment = Heap::new(Geometry::with_cells(3, 8).unwrap());
    let mut members: Vec<_> = (0..3)
        .map(|me| Endpoint::join(segment.clone(), Process(me), eager_boxes()).unwrap())
        .collect();
    for member in &mut members {
        member.want(None).unwrap();
    }
    let pass = |members: &mut [Endpoint<_>], from: usize, to: usize, number: u64| {
        let text: Vec<u8> = (0..5000).map(|at| (at * 7 + number) as u8).collect();
        send(&mut members[from], Process(to as u32), number, &text);
        let Some(Arrival::Message(mut message)) = members[to].poll().unwrap() else {
            panic!("{number} from {from} to {to}")
        };
        assert_eq!(message.header()[0], number);
        let mut received = vec![0; 5000];
        assert_eq!(message.copy_to(&mut received), 5000);
        assert!(received == text, "{number} from {from} to {to}");
    };
    for number in 0..200 {
        for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)] {
            pass(&mut members, from, to, number);
        }
    }
    // Windows one way, while a cell is lent there: what is left is enough for them.
    for number in 0..50 {
        for _ in 0..3 {
            send(&mut members[0], Process(1), number, &[number as u8; 2000]);
        }
        for _ in 0..3 {
            let Some(Arrival::Message(mut message)) = members[1].poll().unwrap() else {
                panic!("{number}")
            };
            let mut received = [0; 2000];
            assert_eq!(message.copy_to(&mut received), 2000);
            assert_eq!(received, [number as u8; 2000]);
        }
        pass(&mut members, 1, 0, number);
    }
    for member in &mut members {
        assert_eq!(member.cells_out().unwrap(), 0);
    }
    // What was lent to one that leaves is there again.
    let last = members.pop().unwrap();
    drop(last);
    for member in &mut members {
        assert_eq!(member.check_peers(), 1);
        assert!(matches!(
            member.poll().unwrap(),
            Some(Arrival::Gone(Process(2), _))
        ));
        assert_eq!(member.cells_out().unwrap(), 0);
    }
    for number in 0..50 {
        pass(&mut members, 0, 1, number);
        pass(&mut members, 1, 0, number);
    }
}

/// One that does not receive has most cells of a sender, and not the last ones.
#[test]
fn who_does_not_receive_holds_up_nobody_else() {
    for policy in [Policy::Shared, Policy::AdaptiveShared] {
        let segment = Heap::new(Geometry::new(4).unwrap());
        let options = Options::default().with(|o| o.policy = policy);
        let mut members: Vec<_> = (0..4)
            .map(|me| Endpoint::join(segment.clone(), Process(me), options).unwrap())
            .collect();
        let [alice, bob, carol, dave] = &mut members[..] else {
            unreachable!("four");
        };
        let message = [7; BOX_PAYLOAD + 1];
        let mut sent = 0;
        while alice.try_send(Process(1), [0, 0], &message, 0).unwrap() == Sent::Whole {
            sent += 1;
        }
        assert!(sent >= alice.geometry().cells() / 4 * 3, "{sent} to one");
        for other in [2, 3] {
            let to_other = alice.try_send(Process(other), [0, 0], &message, 0).unwrap();
            assert_eq!(to_other, Sent::Whole, "{policy}");
        }
        for member in [bob, carol, dave] {
            member.want(None).unwrap();
            let mut idle = Idle::default();
            let mut left = if member.me() == Process(1) { sent } else { 1 };
            while left > 0 {
                let came = matches!(member.poll().unwrap(), Some(Arrival::Message(_)));
                left -= u32::from(came);
                if !came {
                    member.rest(&mut idle).unwrap();
                }
            }
        }
        let again = alice.try_send(Process(1), [0, 0], &message, 0).unwrap();
        assert_eq!(again, Sent::Whole);
    }
}

/// Of two processes one may have all cells of the other.
#[test]
fn a_window_of_as_many_messages_as_cells_is_sent_at_once() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let options = Options::default().with(|o| o.fastbox = false);
    let join = |me| Endpoint::join(segment.clone(), Process(me), options).unwrap();
    let (mut alice, _bob) = (join(0), join(1));
    for number in 0..alice.geometry().cells() {
        let sent = alice.try_send(Process(1), [0, 0], &[7; 8], 0).unwrap();
        assert_eq!(sent, Sent::Whole, "{number}");
    }
    let more = alice.try_send(Process(1), [0, 0], &[7; 8], 0).unwrap();
    assert_eq!(more, Sent::Upto(0));
}
