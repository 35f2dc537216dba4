//! How ends of processes are found, and what happens then.

use std::process::Command;
use std::sync::Arc;

use super::*;
use crate::endpoint::peer::NO_MESSAGE;
use crate::ids::CellId;
use crate::liveness::Watch;

fn join(segment: &Arc<Heap>, number: u32) -> Endpoint<Arc<Heap>> {
    let options = Options {
        policy: Policy::Shared,
        ..Options::default()
    };
    Endpoint::join(Arc::clone(segment), Process(number), options).unwrap()
}

#[test]
fn an_end_is_reported_though_the_cells_that_came_back_are_damaged() {
    let geometry = Geometry::with_cells(3, 4).unwrap();
    let segment = Heap::new(geometry);
    let [mut alice, mut bob, carol] = [0, 1, 2].map(|number| join(&segment, number));
    for _ in 0..3 {
        let sent = alice.try_send(bob.me(), [0; 2], b"by the queue", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    }
    // One of three comes back, followed by one that was never sent.
    assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    let at_hand = CellId::of(&geometry, alice.me(), 3);
    let returns = &segment.place(alice.me()).returns.0;
    returns.push(at_hand, segment.cell(at_hand));
    drop(bob);
    assert_eq!(alice.check_peers(), 1);
    let error = alice.poll().unwrap_err().to_string();
    assert_eq!(
        error,
        "the segment is damaged: a returned cell of process 0"
    );
    assert!(matches!(
        alice.poll(),
        Ok(Some(Arrival::Gone(Process(1), Gone::Left)))
    ));
    assert!(alice.poll().unwrap().is_none(), "once");
    // All three are there again, each once.
    assert_eq!(alice.cells_out().unwrap(), 0);
    for _ in 0..4 {
        let sent = alice.try_send(carol.me(), [0; 2], b"by the queue", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    }
    let one_more = alice.try_send(carol.me(), [0; 2], b"by the queue", 0);
    assert_eq!(one_more.unwrap(), Sent::Upto(0));
}

/// Two of which the first has a box for messages to the second.
pub(super) fn with_a_box() -> [Endpoint<Arc<Heap>>; 2] {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let join = |number| {
        let memory = Arc::clone(&segment);
        Endpoint::join(memory, Process(number), Options::default()).unwrap()
    };
    let [mut alice, mut bob] = [0, 1].map(join);
    bob.want(None).unwrap();
    while alice.peers[1].outlet.is_none() {
        let sent = alice.try_send(bob.me(), [0; 2], b"until there is a box", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
        while bob.poll().unwrap().is_some() {}
    }
    [alice, bob]
}

#[test]
fn what_is_forgotten_of_the_ended_is_found_again() {
    let [mut alice, mut bob] = with_a_box();
    for _ in 0..3 {
        let sent = alice.try_send(bob.me(), [0; 2], b"by the box", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    }
    drop(alice);
    assert_eq!(bob.check_peers(), 1);
    for left in (0..3).rev() {
        for _ in 0..2 * SLOTS {
            let Ok(Some(Arrival::Message(message))) = bob.poll() else {
                panic!("{left} and this one are left");
            };
            core::mem::forget(message);
        }
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    }
    assert!(matches!(bob.poll(), Ok(Some(Arrival::Gone(..)))));
}

#[test]
fn a_box_takes_nothing_for_one_whose_end_has_been_found() {
    let [mut alice, mut bob] = with_a_box();
    // Something of its own is still to be taken out, so that its end is not reported yet.
    let sent = bob.try_send(alice.me(), [0; 2], b"the last", 0);
    assert_eq!(sent.unwrap(), Sent::Whole);
    drop(bob);
    assert_eq!(alice.check_peers(), 1);
    assert!(alice.has_ends_to_report());
    for bytes in [1, 500, 600] {
        let sent = alice.try_send(Process(1), [0; 2], &[0; 600][..bytes], 0);
        assert!(
            matches!(sent, Err(ShmError::Gone { .. })),
            "{bytes} bytes: {sent:?}"
        );
    }
    assert_eq!(alice.counters().boxes, 0);
}

/// Two endpoints, the first without patience.
fn one_that_sleeps_at_once() -> (Arc<Heap>, Endpoint<Arc<Heap>>, Endpoint<Arc<Heap>>) {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let (mut alice, bob) = (join(&segment, 0), join(&segment, 1));
    alice.patience = Patience {
        spins: 0,
        yields: 0,
        ..Patience::SPINNING
    };
    (segment, alice, bob)
}

#[test]
fn who_rests_looks_for_ends_when_it_is_time() {
    let (segment, mut alice, bob) = one_that_sleeps_at_once();
    alice.want(Some(bob.me())).unwrap();
    assert!(alice.until_look().is_zero(), "it has never looked");
    assert_eq!(alice.check_peers(), 0);
    assert!(alice.deaths.looked.is_some());
    // As if that had been just now, however long the test is held up.
    alice.deaths.looked = Some(Instant::now() + Duration::from_secs(600));
    liveness::record_end(segment.place(bob.me()), Gone::Died);
    alice.rest_briefly(&mut Idle::default()).unwrap();
    assert!(alice.deaths.ending.is_empty(), "it is too early");
    alice.deaths.looked = None;
    alice.rest_briefly(&mut Idle::default()).unwrap();
    assert_eq!(alice.deaths.ending.len(), 1);
}

/// For room alone, or, in a process that yields its core, for a cell as well.
#[test]
fn who_waits_for_room_in_a_box_sleeps_for_a_moment_at_a_time() {
    for (patience, lacks_cells) in [(Patience::SPINNING, false), (Patience::YIELDING, true)] {
        let segment = Heap::new(Geometry::with_cells(2, 4).unwrap());
        let options = Options {
            patience: Some(patience),
            ..Options::default()
        };
        let [mut alice, mut bob] = [0, 1]
            .map(|number| Endpoint::join(Arc::clone(&segment), Process(number), options).unwrap());
        let send = |alice: &mut Endpoint<_>| alice.try_send(Process(1), [0; 2], b"short", 0);
        while bob.inlets.open().is_empty() {
            assert_eq!(send(&mut alice).unwrap(), Sent::Whole);
            assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
        }
        while send(&mut alice).unwrap() == Sent::Whole {}
        assert_eq!(alice.counters().full > 0, lacks_cells);
        // Nobody will wake it.
        let long = Duration::from_secs(600);
        assert!(alice.until_there_may_be_room(long) < Duration::from_millis(20));
        assert_eq!(alice.until_there_may_be_room(long), long, "once");
        assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
        let by_queue = alice.counters().by_queue;
        while send(&mut alice).unwrap() != Sent::Whole {}
        assert_eq!(alice.counters().by_queue, by_queue, "in the box");
    }
}

#[test]
fn who_leaves_wakes_those_that_it_has_had_dealings_with() {
    for have_met in [false, true] {
        let (segment, mut alice, mut bob) = one_that_sleeps_at_once();
        if have_met {
            assert_eq!(send_short(&mut alice, &bob), Sent::Whole);
            assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
        }
        let entry = segment.place(alice.me());
        sleeper::lie_down(entry, alice.fences);
        drop(bob);
        assert_eq!(sleeper::is_woken(entry), have_met);
    }
}

fn send_short(from: &mut Endpoint<Arc<Heap>>, to: &Endpoint<Arc<Heap>>) -> Sent {
    from.try_send(to.me(), [0; 2], b"by the queue", 0).unwrap()
}

#[test]
fn who_lies_down_sees_that_one_has_ended_that_it_waits_for() {
    let (segment, mut alice, bob) = one_that_sleeps_at_once();
    alice.want(Some(bob.me())).unwrap();
    // A process may want messages from itself, and its own entry may have been overwritten.
    alice.want(Some(alice.me())).unwrap();
    liveness::record_end(segment.place(alice.me()), Gone::Died);
    assert!(!alice.anything_new());
    // It has just looked, and the other, which saw it awake, wakes nobody.
    alice.deaths.looked = Some(Instant::now() + Duration::from_secs(600));
    liveness::record_end(segment.place(bob.me()), Gone::Left);
    assert!(alice.anything_new());
    alice.rest(&mut Idle::default()).unwrap();
    assert!(matches!(
        alice.poll(),
        Ok(Some(Arrival::Gone(Process(1), Gone::Left)))
    ));
    assert!(!alice.anything_new(), "it is known");
}

/// An owner that has died, one process that holds something of it, and one that has heard of the
/// death; also the number of a process that has ended.
fn survivors() -> (Mapped, Process, Endpoint, Endpoint, u32) {
    let segment = Mapped::create(Geometry::with_cells(3, 4).unwrap()).unwrap();
    let [mut owner, holder, mut last] = [0, 1, 2].map(|number| {
        let file = segment.file().try_clone_to_owned().unwrap();
        let memory = Mapped::open(file, "a copy").unwrap();
        Endpoint::join(memory, Process(number), Options::default()).unwrap()
    });
    for to in [holder.me(), last.me()] {
        let sent = owner.try_send(to, [0; 2], b"by the queue", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    }
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    kill(&segment, owner.me(), child.id());
    let dead = owner.me();
    core::mem::forget(owner);
    assert!(matches!(last.poll(), Ok(Some(Arrival::Message(_)))));
    assert_eq!(last.check_peers(), 1);
    assert!(matches!(last.poll(), Ok(Some(Arrival::Gone(who, Gone::Died))) if who == dead));
    assert!(!segment.is_given_back(dead).unwrap());
    (segment, dead, holder, last, child.id())
}

/// It is killed, as far as others can tell: there is no process with its number.
fn kill(segment: &Mapped, process: Process, nobody: u32) {
    segment.place(process).pid.store(nobody, Ordering::Relaxed);
}

#[test]
fn one_that_is_killed_holds_nothing_back_though_nobody_has_met_it() {
    let (segment, owner, holder, mut last, nobody) = survivors();
    kill(&segment, holder.me(), nobody);
    assert_eq!(last.check_peers(), 0, "it has to do with one of them only");
    assert!(segment.is_given_back(owner).unwrap());
    assert_eq!(last.gone(holder.me()), None);
}

#[test]
fn an_heir_that_is_killed_or_has_no_descriptor_holds_nothing_back() {
    for is_killed in [true, false] {
        let (segment, owner, heir, mut last, nobody) = survivors();
        let name = &segment.place(owner).heir;
        estate::strike_out(&segment, owner, heir.me());
        name.store(heir.me().0 + 1, Ordering::Relaxed);
        assert_eq!(last.check_peers(), 0);
        assert!(!segment.is_given_back(owner).unwrap(), "the heir is at it");
        if is_killed {
            kill(&segment, heir.me(), nobody);
            // What its descriptor says, which is this process's, disappears with it.
            last.deaths.watch = Watch::new(3);
        } else {
            name.store(0, Ordering::Relaxed);
        }
        assert_eq!(last.check_peers(), 0, "it has to do with the owner only");
        assert!(segment.is_given_back(owner).unwrap());
    }
}

/// One whose end was reported by mistake, and that goes on, cannot have more in its box than a box holds.
#[test]
fn who_goes_on_although_its_end_was_found_does_not_hide_others() {
    let segment = Heap::new(Geometry::new(3).unwrap());
    let join = |number| Endpoint::join(Arc::clone(&segment), Process(number), Options::default());
    let [mut alice, mut bob, mut carol] = [0, 1, 2].map(|number| join(number).unwrap());
    let send = |endpoint: &mut Endpoint<Arc<Heap>>| {
        let _ = endpoint.try_send(Process(1), [0; 2], b"short", 0).unwrap();
    };
    while bob.inlets.open().len() < 2 {
        send(&mut alice);
        send(&mut carol);
        while bob.poll().unwrap().is_some() {}
    }
    send(&mut carol);
    liveness::record_end(segment.place(alice.me()), Gone::Died);
    bob.want(Some(alice.me())).unwrap();
    assert_eq!(bob.check_peers(), 1);
    let mut seen = Vec::new();
    for _ in 0..200 {
        send(&mut alice);
        seen.push(match bob.poll().unwrap() {
            Some(Arrival::Message(message)) => Some(message.source()),
            Some(Arrival::Gone(..)) => None,
            None => break,
        });
    }
    let end = seen.iter().position(Option::is_none).unwrap();
    assert!(end <= SLOTS as usize, "{end}");
    assert_eq!(seen[end + 1..], [Some(carol.me())]);
}

/// Not even one with the number that none should have.
#[test]
fn nothing_comes_from_a_process_whose_end_was_reported() {
    let segment = Heap::new(Geometry::new(3).unwrap());
    let [mut alice, mut bob, mut carol] = [0, 1, 2].map(|number| join(&segment, number));
    liveness::record_end(segment.place(alice.me()), Gone::Died);
    bob.want(Some(alice.me())).unwrap();
    assert_eq!(bob.check_peers(), 1);
    assert!(matches!(bob.poll(), Ok(Some(Arrival::Gone(..)))));
    for number in [NO_MESSAGE, 1, NO_MESSAGE - 1] {
        alice.peers[1].sequence = number;
        assert_eq!(send_short(&mut alice, &bob), Sent::Whole);
    }
    assert_eq!(send_short(&mut carol, &bob), Sent::Whole);
    match bob.poll().unwrap() {
        Some(Arrival::Message(message)) => assert_eq!(message.source(), carol.me()),
        other => panic!("{other:?}"),
    }
    assert!(bob.poll().unwrap().is_none());
}
