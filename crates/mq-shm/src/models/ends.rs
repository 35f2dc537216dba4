//! Entries of processes, and what ended processes leave behind.

use super::*;
use crate::estate;
use crate::ids::CellId;
use crate::place::Place;
use crate::sync::Ordering;

const CAROL: Process = Process(2);

/// JOIN: an entry is read whole or not at all.
#[test]
fn an_entry_is_whole_once_its_process_has_joined() {
    loom::model(|| {
        let place = Arc::new(Place::default());
        let shared = Arc::clone(&place);
        let joining = thread::spawn(move || {
            liveness::join(&shared, ALICE, 7).unwrap();
            shared.token.store(9, Ordering::Relaxed);
            liveness::joined(&shared, ALICE).unwrap();
        });
        if liveness::has_joined(&place) {
            let word = place.pid.load(Ordering::Relaxed);
            assert_eq!((word, place.token.load(Ordering::Relaxed)), (7, 9));
        }
        joining.join().unwrap();
    });
}

/// JOIN: a process that sees the number of one that joins knows in which namespace it is valid, and
/// when that process was started.
#[test]
fn a_number_comes_with_what_it_means() {
    loom::model(|| {
        let place = Arc::new(Place::default());
        let shared = Arc::clone(&place);
        let joining = thread::spawn(move || liveness::join(&shared, ALICE, std::process::id()));
        if place.pid.load(Ordering::Acquire) != 0 {
            assert_ne!(place.namespace.load(Ordering::Relaxed), 0);
            assert_ne!(place.started.load(Ordering::Relaxed), 0);
        }
        joining.join().unwrap().unwrap();
    });
}

/// A segment in which Alice has sent Bob and Carol a message each, and has left.
fn left_by_alice() -> (Arc<Heap>, Member, Member) {
    let segment = segment(3, 2);
    let mut alice = member(&segment, ALICE, Policy::Shared);
    let bob = member(&segment, BOB, Policy::Shared);
    let carol = member(&segment, CAROL, Policy::Shared);
    for to in [BOB, CAROL] {
        send(&mut alice, to, 0);
    }
    drop(alice);
    (segment, bob, carol)
}

/// Receives everything from Alice, hears of her end, and gives up everything shared with her.
fn bury_alice(at: &mut Member) {
    assert_eq!(take(at), Some((ALICE, 0)));
    assert!(at.check_peers() > 0);
    let Some(Arrival::Gone(ALICE, Gone::Left)) = at.poll().unwrap() else {
        panic!("she has left")
    };
    at.check_peers();
}

/// How often what Alice had was given back.
fn alices(segment: &Heap) -> usize {
    let all = segment.given_back();
    all.iter().filter(|&&owner| owner == ALICE).count()
}

/// ESTATE, LAST: two processes have something of one that has left. Its memory is given back once,
/// by the one that is done last, when nobody reads it any more.
#[test]
fn the_last_to_be_done_gives_memory_back() {
    loom::model(|| {
        let (segment, mut bob, mut carol) = left_by_alice();
        let other = thread::spawn(move || {
            bury_alice(&mut bob);
            bob
        });
        bury_alice(&mut carol);
        let bob = other.join().unwrap();
        assert_eq!(alices(&segment), 1);
        drop((bob, carol));
        assert_eq!(alices(&segment), 1);
    });
}

/// ESTATE, alone: between the read and the strike there is no fence, unlike wherever an endpoint
/// looks for ends. The one that gives the memory back has already executed its own fence when the
/// strike is made, so no other edge joins the two.
#[test]
fn what_is_read_before_a_strike_is_not_given_back_before_it() {
    loom::model(|| {
        let segment = segment(3, 2);
        let place = segment.place(ALICE);
        liveness::join(place, ALICE, 0).unwrap();
        estate::note(&segment, ALICE, BOB);
        liveness::record_end(place, Gone::Left);
        let shared = Arc::clone(&segment);
        let bob = thread::spawn(move || {
            let cell = shared.cell(CellId::of(shared.geometry(), ALICE, 0));
            // SAFETY: if another thread writes to the cell at the same time, the model fails.
            #[allow(unsafe_code, reason = "reads shared memory")]
            let first = cell.body.with(|body| unsafe { (*body).payload[0] });
            assert_eq!(first, 0);
            estate::strike_out(&shared, ALICE, BOB);
            estate::settle(&shared, Some(BOB));
        });
        estate::settle(&segment, Some(CAROL));
        bob.join().unwrap();
        assert_eq!(alices(&segment), 1);
    });
}

/// ESTATE and LAST, as endpoints do it: what came through a fastbox.
#[test]
fn a_box_is_read_before_it_is_given_back() {
    loom::model(|| {
        let segment = segment(3, 2);
        let mut alice = member(&segment, ALICE, Policy::AdaptiveShared);
        let mut bob = member(&segment, BOB, Policy::AdaptiveShared);
        let mut carol = member(&segment, CAROL, Policy::Shared);
        send(&mut alice, CAROL, 0);
        // The first announces the box.
        send(&mut alice, BOB, 0);
        assert_eq!(take(&mut bob), Some((ALICE, 0)));
        send(&mut alice, BOB, 0);
        drop(alice);
        let other = thread::spawn(move || {
            bury_alice(&mut bob);
            bob
        });
        bury_alice(&mut carol);
        drop((other.join().unwrap(), carol));
        assert!(alices(&segment) > 0);
    });
}

/// LAST, JOIN: of the two that have something of one that has left, one leaves while holding the
/// message.
#[test]
fn one_that_leaves_holds_nothing_any_more() {
    loom::model(|| {
        let (segment, mut bob, mut carol) = left_by_alice();
        let other = thread::spawn(move || {
            let Some(Arrival::Message(mut message)) = bob.poll().unwrap() else {
                panic!("there is one")
            };
            let mut content = [0; 8];
            message.copy_to(&mut content);
            assert_eq!(content, [0; 8]);
            // It is not returned, as that would end with the fence of SLEEP.
            core::mem::forget(message);
            drop(bob);
        });
        bury_alice(&mut carol);
        other.join().unwrap();
        assert!(alices(&segment) > 0);
        drop(carol);
    });
}

/// LAST: what its owner and its last holder leave at the same time is given back by one of them.
#[test]
fn an_owner_and_a_holder_leave_at_once() {
    loom::model(|| {
        let segment = segment(2, 2);
        let mut alice = member(&segment, ALICE, Policy::Shared);
        let bob = member(&segment, BOB, Policy::Shared);
        send(&mut alice, BOB, 0);
        let other = thread::spawn(move || drop(bob));
        drop(alice);
        other.join().unwrap();
        assert!(alices(&segment) > 0);
    });
}
