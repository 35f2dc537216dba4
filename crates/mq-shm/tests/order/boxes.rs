//! Messages in fastboxes, and in cells that a box names.

use mq_shm::fastbox::BOX_PAYLOAD;
use mq_shm::{Arrival, CELL_PAYLOAD, Endpoint, Geometry, Heap, Process, Sent};

use super::{eager_boxes, send};

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
