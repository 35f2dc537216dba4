//! Until when a receiver waits for a sender that copies a part of a message: as long as it may write, and no longer.

use std::sync::mpsc::{TryRecvError, channel};

use super::cooperative::{
    ASKS, asked, content, is_let, next_asked, offer, pair, read_from_alice, willing,
};
use super::*;
use crate::large::claims::Help;
use crate::large::cooperative::{FROM, Helps};
use crate::large::single_copy::{Copied, MemoryId, Seen};
use crate::layout::PAGE;

#[test]
fn a_sender_that_does_not_come_is_not_waited_for() {
    if !is_let() {
        return;
    }
    let [alice, mut bob] = pair(willing());
    let message = content(1 << 20, 1);
    let remote = alice.expose(&message);
    for _ in 0..20 {
        let mut into = vec![0; 1 << 20];
        // SAFETY: nothing writes there.
        let read = unsafe { bob.read_together(Process(0), remote, &mut into, ASKS) };
        assert_eq!(read.unwrap(), Copied::All);
        assert_eq!(into, message);
    }
    // It was asked four times without coming, and then once more.
    assert_eq!(bob.offers, 5);
    let words = bob.memory_id(Process(1)).look(&mut None).unwrap();
    assert_eq!(Shown::offer_of(words), None);
}

#[test]
fn who_has_taken_a_piece_is_waited_for() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob] = pair(willing());
    let message = content(1 << 20, 1);
    let pages = (message.len() / PAGE) as u32;
    let mut into = vec![0; message.len()];
    let (going_on, ended) = channel::<()>();
    let is_at_it = &AtomicU32::new(0);
    let taken = thread::scope(|scope| {
        // What `help` does, except for a pause in the middle, and with other content.
        let slow = scope.spawn(move || {
            while ended.try_recv() == Err(TryRecvError::Empty) {
                let Some(asked) = next_asked(&mut alice) else {
                    continue;
                };
                let number = u64::from_le_bytes(asked) as u32;
                let receiver = alice.memory_id(Process(1));
                let mut seen = None;
                let offer = receiver.look(&mut seen).ok().and_then(Shown::offer_of);
                let claims = &alice.peers[1].place.claims.0;
                alice.shown.begin_to_help(1, number);
                if let (Some(offer), Some(taken)) = (offer, claims.take_for_sender(number, pages)) {
                    is_at_it.store(1, Ordering::Release);
                    thread::sleep(Duration::from_millis(30));
                    let at = taken.start as usize * PAGE;
                    let marks = vec![9; taken.len() * PAGE];
                    let is_written = receiver.write(offer.address + at as u64, &marks, &mut seen);
                    is_at_it.store(0, Ordering::Release);
                    claims.report_copied(number, pages, taken.start);
                    alice.shown.end_help();
                    assert!(is_written);
                    return (Some(at..at + marks.len()), alice);
                }
                alice.shown.end_help();
            }
            (None, alice)
        });
        for _ in 0..10_000 {
            if slow.is_finished() {
                break;
            }
            bob.peers[0].memory.helps = Helps::default();
            let read = read_from_alice(&mut bob, &message, &mut into);
            assert_eq!(read, Copied::All);
            assert_eq!(is_at_it.load(Ordering::Acquire), 0, "it is still written");
        }
        drop(going_on);
        slow.join().unwrap().0.expect("a piece was taken")
    });
    let is_marked = |at: usize| taken.contains(&at);
    for (at, &byte) in into.iter().enumerate() {
        assert_eq!(byte, if is_marked(at) { 9 } else { message[at] }, "at {at}");
    }
}

#[test]
fn what_another_hand_writes_over_counts_does_not_make_a_receiver_wait_for_ever() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob] = pair(willing());
    let (message, mut into) = (content(FROM, 1), vec![0; FROM]);
    let (number, _) = offer(&mut bob, &message, &mut into);
    assert!(alice.help(Process(1), &message, asked(number)).unwrap() > 0);
    let pages = FROM.div_ceil(PAGE) as u32;
    bob.place.claims.0.report_copied(number - 1, pages, pages);
    let back = bob.place.claims.0.taken_by_sender(pages);
    let nothing = Help {
        copied: 0,
        gave_up: false,
    };
    // It is asked itself.
    let sender = bob.memory_id(Process(0));
    let help = bob.await_help(Process(0), sender, number, back);
    assert_eq!(help, nothing);
}

#[test]
fn who_is_still_at_it_is_waited_for_whatever_the_segment_says() {
    if !is_let() {
        return;
    }
    let [alice, mut bob] = pair(willing());
    let sender = bob.memory_id(Process(0));
    alice.shown.begin_to_help(1, 3);
    liveness::record_end(&alice.place, Gone::Died);
    assert!(!bob.check_stopped_helping(Process(0), sender, 3, &mut 0));
    assert!(bob.check_stopped_helping(Process(0), sender, 2, &mut 0));
    alice.shown.end_help();
    assert!(bob.check_stopped_helping(Process(0), sender, 3, &mut 0));
    // Its memory is another's by now, and it has gone.
    alice.shown.begin_to_help(1, 3);
    let another = MemoryId { token: 1, ..sender };
    assert!(bob.check_stopped_helping(Process(0), another, 3, &mut 0));
    let nobody = MemoryId {
        pid: 1 << 30,
        ..sender
    };
    assert!(bob.check_stopped_helping(Process(0), nobody, 3, &mut 0));
}

#[test]
fn who_has_been_identified_is_found_dead_though_its_entry_does_not_say_where_it_is() {
    if !is_let() {
        return;
    }
    let [alice, mut bob] = pair(willing());
    alice.place.namespace.store(0, Ordering::Relaxed);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let dead = MemoryId {
        pid: child.id(),
        ..bob.memory_id(Process(0))
    };
    assert!(
        !bob.check_stopped_helping(Process(0), dead, 3, &mut 0),
        "it may be elsewhere"
    );
    bob.peers[0].memory.seen = Some(Seen {
        whom: dead,
        at: std::time::Instant::now(),
    });
    assert!(bob.check_stopped_helping(Process(0), dead, 3, &mut 0));
}

/// The kernel gives the same answer for memory that it cannot get at for a moment.
#[test]
fn memory_that_cannot_be_read_once_may_be_the_next_time() {
    if !is_let() {
        return;
    }
    let [alice, mut bob] = pair(willing());
    let sender = bob.memory_id(Process(0));
    alice.shown.begin_to_help(1, 3);
    let elsewhere = MemoryId {
        token_at: 8,
        ..sender
    };
    let mut unclear = 0;
    let mut looks = 0..2000;
    assert!(looks.all(
        |_| !bob.check_stopped_helping(Process(0), elsewhere, 3, &mut unclear) || unclear > 500
    ));
    assert!(bob.check_stopped_helping(Process(0), elsewhere, 3, &mut unclear));
    // One that succeeds begins the count anew.
    assert!(!bob.check_stopped_helping(Process(0), sender, 3, &mut unclear));
    assert!(!bob.check_stopped_helping(Process(0), elsewhere, 3, &mut unclear));
}

/// Who has looked up where the memory is before it was hidden is refused too.
#[test]
fn hidden_memory_is_not_read_by_who_knew_it_before() {
    if !is_let() {
        return;
    }
    let [alice, bob] = pair(willing());
    let message = content(FROM, 3);
    let address = message.as_ptr() as u64;
    let sender = bob.memory_id(Process(0));
    let mut into = vec![0; FROM];
    assert_eq!(sender.read(address, &mut into, &mut None), Copied::All);
    assert!(into == message);
    alice.hide_memory();
    let refused = sender.read(address, &mut into, &mut None);
    assert_eq!(refused, Copied::Refused(0));
}

#[test]
fn who_has_hidden_its_memory_writes_into_no_other_s() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob] = pair(willing());
    let (message, mut into) = (content(FROM, 1), vec![0; FROM]);
    let (number, _) = offer(&mut bob, &message, &mut into);
    alice.hide_memory();
    assert_eq!(alice.help(Process(1), &message, asked(number)).unwrap(), 0);
    assert!(into.iter().all(|&byte| byte == 0));
}
