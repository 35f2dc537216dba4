mod cooperative;
mod ends;
mod full;
mod scarce;
mod waited_for;
mod woken;

use core::time::Duration;
use std::thread;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::*;
use crate::channel::Policy;
use crate::endpoint::deaths::Ending;
use crate::fastbox::SLOTS;
use crate::segment::Heap;
use crate::sync::{AtomicU32, Ordering};
use crate::wait::Idle;

/// More looks than a process that sleeps between them takes in the time of the test.
const MANY: u32 = 1000;
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// How often a process looks until there is a message.
fn looks(mut found: impl FnMut() -> bool) -> usize {
    1 + (0..100).take_while(|_| !found()).count()
}

#[test]
fn who_waits_looks_where_nothing_is_wanted_now_and_then() {
    let segment = Heap::new(Geometry::new(2).unwrap());
    let join = |number| Endpoint::join(segment.clone(), Process(number), Options::default());
    let (mut alice, mut bob) = (join(0).unwrap(), join(1).unwrap());
    let mut send = || {
        let sent = alice.try_send(Process(1), [0; 2], b"by the box", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    };
    while bob.inlets.open().is_empty() {
        send();
        assert!(bob.poll().unwrap().is_some());
    }
    send();
    assert_eq!(looks(|| bob.poll().unwrap().is_some()), 1);
    send();
    assert!(looks(|| bob.poll_waiting().unwrap().is_some()) <= 8);
    send();
    assert_eq!(looks(|| bob.poll_waiting().unwrap().is_some()), 8);
    bob.want(Some(Process(0))).unwrap();
    send();
    assert_eq!(looks(|| bob.poll_waiting().unwrap().is_some()), 1);
}

#[test]
fn others_who_send_without_end_do_not_hide_that_one_has_ended() {
    let segment = Heap::new(Geometry::new(3).unwrap());
    let join = |number| Endpoint::join(segment.clone(), Process(number), Options::default());
    let mut bob = join(1).unwrap();
    let mut others = [0, 2].map(|number| join(number).unwrap());
    let send = |endpoint: &mut Endpoint<std::sync::Arc<Heap>>| {
        let sent = endpoint.try_send(Process(1), [0; 2], b"by the box", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    };
    bob.want(None).unwrap();
    while bob.inlets.open().len() < 2 {
        others.iter_mut().for_each(send);
        for _ in 0..2 {
            assert!(bob.poll().unwrap().is_some());
        }
    }
    // One has died and left a message behind; the box of the other is full at each look.
    others.iter_mut().for_each(send);
    let (process, how) = (Process(0), Gone::Died);
    bob.peers[0].gone = Some(how);
    bob.deaths
        .ending
        .push(Ending::found(process, how, bob.inbox.takes));
    let mut seen = Vec::new();
    while seen.len() < 8 && !matches!(seen.last(), Some((_, true))) {
        seen.push(match bob.poll().unwrap() {
            Some(Arrival::Message(message)) => (message.source(), false),
            Some(Arrival::Gone(process, _)) => (process, true),
            None => panic!("there is always something"),
        });
        if seen.last() == Some(&(Process(2), false)) {
            send(&mut others[1]);
        }
    }
    assert_eq!(seen, [(process, false), (process, true)]);
}

/// A server whose clients, except for some of them, ask again as soon as they are answered.
struct Server {
    server: Endpoint<std::sync::Arc<Heap>>,
    clients: [Endpoint<std::sync::Arc<Heap>>; 4],
}

/// How a server asks for the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    All,
    Wanted,
    /// The last one that sent it a message.
    Again,
    ByTurns,
}

impl Asks {
    const EVERY: [Self; 4] = [Self::All, Self::Wanted, Self::Again, Self::ByTurns];
}

impl Server {
    /// The first three clients have boxes, in the order of the server's looks, and the last uses the
    /// queue. A question of each is there.
    fn new() -> Self {
        let segment = Heap::new(Geometry::new(5).unwrap());
        let join = |number, fastbox| {
            let options = Options {
                fastbox,
                ..Options::default()
            };
            Endpoint::join(segment.clone(), Process(number), options).unwrap()
        };
        let mut this = Self {
            server: join(0, true),
            clients: [1, 2, 3, 4].map(|number| join(number, number < 4)),
        };
        this.server.want(None).unwrap();
        while this.server.inlets.open().len() < 3 {
            (1..=3).for_each(|client| this.ask(Process(client)));
            for _ in 0..3 {
                assert!(this.server.poll().unwrap().is_some());
            }
        }
        (1..=4).for_each(|client| this.ask(Process(client)));
        this
    }

    fn ask(&mut self, client: Process) {
        let client = &mut self.clients[client.index() - 1];
        let sent = client.try_send(Process(0), [0; 2], b"a question", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    }

    /// Answers a thousand questions; the `busy` clients ask again. Returns which others asked.
    fn serve(&mut self, asks: Asks, busy: impl Fn(Process) -> bool) -> Vec<Process> {
        let mut seen = Vec::new();
        let mut last = None;
        for _ in 0..1_000 {
            let short = match (asks, last) {
                (Asks::All, _) => None,
                (Asks::Again, Some(last)) => self.server.poll_short_from(last).map(|_| last),
                (Asks::ByTurns, _) => {
                    let message = self.server.poll_wanted_by_turns();
                    message.map(|message| message.source())
                }
                _ => self.server.poll_wanted().map(|message| message.source()),
            };
            let from = match short {
                Some(from) => from,
                None => match self.server.poll().unwrap() {
                    Some(Arrival::Message(message)) => message.source(),
                    other => panic!("{other:?}"),
                },
            };
            last = Some(from);
            if busy(from) {
                self.ask(from);
            } else {
                seen.push(from);
            }
        }
        seen.sort_unstable_by_key(|process| process.0);
        seen
    }
}

#[test]
fn boxes_that_are_never_empty_do_not_hide_the_queue_nor_a_box_behind_them() {
    for asks in Asks::EVERY {
        let mut server = Server::new();
        let last = server.server.inlets.open()[2];
        let seen = server.serve(asks, |client| client != last && client != Process(4));
        assert_eq!(seen, [last, Process(4)], "{asks:?}");
    }
}

#[test]
fn a_queue_that_is_never_empty_does_not_hide_a_box_behind_another() {
    for asks in Asks::EVERY {
        let mut server = Server::new();
        let last = server.server.inlets.open()[2];
        let seen = server.serve(asks, |client| client != last);
        assert_eq!(seen, [last], "{asks:?}");
    }
}

#[test]
fn who_is_asked_by_turns_is_served_by_turns() {
    let mut server = Server::new();
    server.serve(Asks::ByTurns, |client| client != Process(4));
    let mut served = [0; 3];
    for _ in 0..300 {
        let short = server.server.poll_wanted_by_turns();
        let from = match short.map(|message| message.source()) {
            Some(from) => from,
            None => match server.server.poll().unwrap() {
                Some(Arrival::Message(message)) => message.source(),
                other => panic!("{other:?}"),
            },
        };
        served[from.index() - 1] += 1;
        server.ask(from);
    }
    assert!(served.iter().all(|&served| served > 95), "{served:?}");
}

#[test]
fn one_whose_cells_have_come_back_sleeps() {
    let patience = Patience {
        spins: 0,
        yields: 0,
        sleep: Duration::from_secs(60),
    };
    let options = Options {
        patience: Some(patience),
        ..Options::default()
    };
    let segment = Heap::new(Geometry::new(2).unwrap());
    let mut alice = Endpoint::join(segment.clone(), Process(0), options).unwrap();
    let mut bob = Endpoint::join(segment.clone(), Process(1), options).unwrap();
    // There is no box yet.
    let sent = alice.try_send(Process(1), [0; 2], b"by the queue", 0);
    assert_eq!(sent.unwrap(), Sent::Whole);
    assert!(matches!(bob.poll(), Ok(Some(Arrival::Message(_)))));
    let sleeper = thread::spawn(move || {
        let mut idle = Idle::default();
        while alice.poll().unwrap().is_none() {
            LOOKS.fetch_add(1, Ordering::Relaxed);
            alice.rest(&mut idle).unwrap();
        }
    });
    let mut seen = 0;
    while seen < 50 && LOOKS.load(Ordering::Relaxed) < MANY {
        thread::sleep(Duration::from_millis(1));
        seen = if sleeper::is_awake(segment.place(Process(0))) {
            0
        } else {
            seen + 1
        };
    }
    let looks = LOOKS.load(Ordering::Relaxed);
    let sent = bob.try_send(Process(0), [0; 2], b"wake up", 0);
    assert_eq!(sent.unwrap(), Sent::Whole);
    sleeper.join().unwrap();
    assert!(looks < MANY, "it looked {looks} times and did not sleep");
}

/// Waits, finding nothing, until the core has been given up.
fn give_up_the_core(endpoint: &mut Endpoint) {
    let mut idle = Idle::default();
    for _ in 0..=endpoint.patience.spins {
        endpoint.rest(&mut idle).unwrap();
    }
}

#[test]
fn one_that_is_bound_finds_out_whether_it_has_its_core_for_itself() {
    let before = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..).find(|&core| before.is_set(core)).unwrap());
    sched_setaffinity(None, &one).unwrap();
    let found = [false, true].map(|stays| {
        let segment = || Mapped::create(Geometry::new(2).unwrap()).unwrap();
        let first = segment();
        let file = first.file().try_clone_to_owned().unwrap();
        let second = Mapped::open(file, "a copy").unwrap();
        let mut alice = Endpoint::join(first, Process(0), Options::default()).unwrap();
        give_up_the_core(&mut alice);
        let alone = alice.patience;
        let mut bob = Some(Endpoint::join(second, Process(1), Options::default()).unwrap());
        if !stays {
            bob = None;
        }
        alice.ask_in = Some(0);
        give_up_the_core(&mut alice);
        drop(bob);
        (alone, alice.patience)
    });
    sched_setaffinity(None, &before).unwrap();
    // The other may come yet, and belongs to this very process, which may run on that core too.
    let alone = Patience::YIELDING;
    let expected = [Patience::SPINNING, Patience::YIELDING].map(|patience| (alone, patience));
    assert_eq!(found, expected);
}

/// How often an endpoint asks who shares its cores, in so many waits.
fn asks(endpoint: &mut Endpoint, waits: usize) -> usize {
    let mut asked = || {
        let before = endpoint.ask_in;
        give_up_the_core(endpoint);
        // As if it had slept.
        endpoint.in_vain.reset();
        before == Some(0) || endpoint.ask_in > before
    };
    (0..waits).filter(|_| asked()).count()
}

#[test]
fn a_place_that_stays_empty_costs_no_more_than_one_whose_process_has_left() {
    let before = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..).find(|&core| before.is_set(core)).unwrap());
    sched_setaffinity(None, &one).unwrap();
    let segment = Mapped::create(Geometry::new(3).unwrap()).unwrap();
    let join = |number| {
        let file = segment.file().try_clone_to_owned().unwrap();
        let memory = Mapped::open(file, "a copy").unwrap();
        Endpoint::join(memory, Process(number), Options::default()).unwrap()
    };
    let mut alice = join(0);
    let at_first = asks(&mut alice, 1025);
    let while_others_come = alice.patience;
    let then = asks(&mut alice, 1);
    let alone = alice.patience;
    let spinning = asks(&mut alice, 34);
    // The third never comes.
    let bob = join(1);
    let when_one_has_come = asks(&mut alice, 17);
    let patience = alice.patience;
    let crowded = asks(&mut alice, 1024);
    sched_setaffinity(None, &before).unwrap();
    assert_eq!((at_first, while_others_come), (1, Patience::YIELDING));
    assert_eq!((then, alone), (1, Patience::SPINNING));
    assert_eq!((spinning, when_one_has_come), (2, 1));
    // The other belongs to this very process, which may run on that core too.
    assert_eq!((patience, crowded), (Patience::YIELDING, 0));
    drop(bob);
}

#[test]
fn one_that_is_bound_later_finds_out_that_it_shares_its_core() {
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = segment.file().try_clone_to_owned().unwrap();
    let copy = Mapped::open(file, "a copy").unwrap();
    let mut alice = Endpoint::join(segment, Process(0), Options::default()).unwrap();
    // So far it has cores enough, wherever this test runs.
    alice.patience = Patience::SPINNING;
    alice.ask_in = Some(1);
    let bob = Endpoint::join(copy, Process(1), Options::default()).unwrap();
    let before = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..).find(|&core| before.is_set(core)).unwrap());
    sched_setaffinity(None, &one).unwrap();
    give_up_the_core(&mut alice);
    let not_yet = alice.patience;
    give_up_the_core(&mut alice);
    sched_setaffinity(None, &before).unwrap();
    // The other belongs to this very process, which may run on that core too.
    assert_eq!(
        (not_yet, alice.patience),
        (Patience::SPINNING, Patience::YIELDING)
    );
    assert!(alice.ask_in > Some(1), "it asks again, later");
    drop(bob);
}

#[test]
fn one_whose_waits_end_when_it_gives_its_core_up_gives_it_up_sooner() {
    let gives_it_up_sooner = |sleeps: bool, waits: u32| {
        let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
        let mut alice = Endpoint::join(segment, Process(0), Options::default()).unwrap();
        // As if it had cores enough, whose number it does not ask for.
        alice.patience = Patience::SPINNING.with(|p| {
            p.spins = 10;
            p.sleep = Duration::from_millis(1);
        });
        alice.ask_in = Some(u32::MAX);
        (0..waits).any(|_| {
            let mut idle = Idle::default();
            while !idle.has_begun_to_yield(&alice.patience) || sleeps && idle.sleeps() == 0 {
                alice.rest(&mut idle).unwrap();
            }
            alice.patience == Patience::YIELDING
        })
    };
    assert!(!gives_it_up_sooner(true, 40), "its waits are long");
    // Not always are sixteen soon enough on a machine that has much else to do.
    assert!(gives_it_up_sooner(false, 1_000_000));
}

/// Each process to which slots name cells is in the list once, as long as there are such cells.
#[test]
fn who_is_named_cells_is_known_until_it_is_done_with_them() {
    let segment = Heap::new(Geometry::with_cells(3, 4).unwrap());
    let tuning = Tuning {
        box_after: 0,
        ..Tuning::default()
    };
    let options = Options {
        tuning,
        ..Options::default()
    };
    let join = |number| Endpoint::join(segment.clone(), Process(number), options).unwrap();
    let (mut alice, mut bob, mut carol) = (join(0), join(1), join(2));
    let long = [7; crate::fastbox::BOX_PAYLOAD + 1];
    let send = |alice: &mut Endpoint<std::sync::Arc<Heap>>, to: u32| {
        let sent = alice.try_send(Process(to), [0; 2], &long, 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
    };
    let receive = |at: &mut Endpoint<std::sync::Arc<Heap>>| {
        assert!(matches!(at.poll(), Ok(Some(Arrival::Message(_)))));
    };
    // The first announces the box.
    for (to, at) in [(1, &mut bob), (2, &mut carol)] {
        send(&mut alice, to);
        receive(at);
    }
    assert_eq!((alice.cells_out().unwrap(), alice.naming.len()), (0, 0));
    for to in [1, 2, 1] {
        send(&mut alice, to);
    }
    assert_eq!(alice.naming, [Process(1), Process(2)]);
    assert!(!alice.anything_new());
    receive(&mut bob);
    assert!(alice.anything_new());
    assert_eq!(alice.cells_out().unwrap(), 2);
    assert_eq!(
        alice.naming,
        [Process(1), Process(2)],
        "one is left with each"
    );
    receive(&mut bob);
    assert_eq!(alice.cells_out().unwrap(), 1);
    assert_eq!(alice.naming, [Process(2)]);
    send(&mut alice, 1);
    assert_eq!(alice.naming, [Process(2), Process(1)]);
    drop(carol);
    assert_eq!(alice.check_peers(), 1);
    assert!(matches!(
        alice.poll(),
        Ok(Some(Arrival::Gone(Process(2), Gone::Left)))
    ));
    assert_eq!(alice.naming, [Process(1)]);
    assert_eq!(alice.cells_out().unwrap(), 1);
    receive(&mut bob);
    assert_eq!((alice.cells_out().unwrap(), alice.naming.len()), (0, 0));
}
