//! Messages of which both ends copy a part. The sender's part is tried here with offers made by hand, so that
//! it is known what the receiver has taken.

use std::sync::mpsc::{TryRecvError, channel};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::*;
use crate::large::claims::Help;
use crate::large::cooperative::{FROM, Helps, Offer};
use crate::large::single_copy::{Copied, Remote};
use crate::layout::PAGE;
use crate::sleeper::a_minute;
use crate::untried::memory_is_read;
use crate::wait::Patience;

pub(super) const ASKS: [u64; 2] = [1, 1];
const READ: [u64; 2] = [0, 2];

/// As for a process that has a core to itself, however many there are: others ask nobody.
pub(super) fn willing() -> Options {
    Options {
        patience: Some(Patience {
            spins: Patience::YIELDING.spins + 1,
            ..Patience::YIELDING
        }),
        ..Options::default()
    }
}

/// Panics in a test that takes too long.
struct Deadline(Instant);

impl Deadline {
    fn new() -> Self {
        Self(Instant::now() + a_minute())
    }

    fn check(&self) {
        let is_time = Instant::now() < self.0;
        assert!(is_time, "it has no end (on a slow machine: MQ_SLOWER=5)");
    }
}

pub(super) fn pair(options: Options) -> [Endpoint; 2] {
    members(Geometry::new(2).unwrap(), options)
}

/// As many as there are in the segment.
fn members<const COUNT: usize>(geometry: Geometry, options: Options) -> [Endpoint; COUNT] {
    let segment = Mapped::create(geometry).unwrap();
    core::array::from_fn(|me| {
        let copy = segment.file().try_clone_to_owned().unwrap();
        let memory = Mapped::open(copy, "a copy").unwrap();
        Endpoint::join(memory, Process(me as u32), options).unwrap()
    })
}

/// Whether the kernel lets this process read and write its own memory; says so where it does not.
pub(super) fn is_let() -> bool {
    memory_is_read("what both ends copy")
}

pub(super) fn content(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 7 + at / 255 + seed) as u8)
        .collect()
}

/// An offer of a message to its sender, number 0, by number 1, which has taken its first piece.
pub(super) fn offer(bob: &mut Endpoint, message: &[u8], into: &mut [u8]) -> (u32, u32) {
    bob.offers += 1;
    let number = bob.offers;
    bob.shown.offer(Offer {
        number,
        sender: 0,
        source: message.as_ptr() as u64,
        address: into.as_mut_ptr().expose_provenance() as u64,
        bytes: into.len() as u32,
    });
    let pages = into.len().div_ceil(PAGE) as u32;
    (number, bob.place.claims.0.open(number, pages))
}

pub(super) fn asked(number: u32) -> [u8; 8] {
    u64::from(number).to_le_bytes()
}

#[test]
fn a_sender_copies_what_the_receiver_leaves() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob] = pair(willing());
    for bytes in [FROM, FROM + 1, 100_000, 1 << 20, 4 << 20] {
        let (message, mut into) = (content(bytes, 1), vec![0; bytes]);
        let (number, front) = offer(&mut bob, &message, &mut into);
        let helped = alice.help(Process(1), &message, asked(number)).unwrap();
        assert_eq!(helped, bytes - front as usize * PAGE);
        let (theirs, ours) = into.split_at(bytes - helped);
        assert!(theirs.iter().all(|&byte| byte == 0), "{bytes}");
        assert_eq!(ours, &message[theirs.len()..]);
        let pages = bytes.div_ceil(PAGE) as u32;
        let help = Help {
            copied: pages - front,
            gave_up: false,
        };
        assert_eq!(bob.place.claims.0.help(number), help);
        assert_eq!(bob.place.claims.0.taken_by_sender(pages), help.copied);
        let sender = bob.memory_id(Process(0));
        assert!(bob.check_stopped_helping(Process(0), sender, number, &mut 0));
    }
}

#[test]
fn who_comes_late_or_for_another_message_writes_nothing() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob, mut carol] = members(Geometry::new(3).unwrap(), willing());
    let (message, mut into) = (content(FROM, 1), vec![0; FROM]);
    let (number, _) = offer(&mut bob, &message, &mut into);
    let other = content(FROM, 2);
    // It is no offer to her, even if it were her message.
    assert_eq!(carol.help(Process(1), &message, asked(number)).unwrap(), 0);
    let mut nothing = |message: &[u8], asked| {
        assert_eq!(alice.help(Process(1), message, asked).unwrap(), 0);
    };
    nothing(&other, asked(number));
    nothing(&message[..FROM - 1], asked(number));
    nothing(&message[1..], asked(number));
    nothing(&message, asked(number - 1));
    nothing(&message, [0xff; 8]);
    // The receiver has gone on, whatever stands in the segment.
    bob.shown.withdraw();
    nothing(&message, asked(number));
    let (next, _) = offer(&mut bob, &other, &mut into);
    nothing(&message, asked(number));
    bob.place
        .claims
        .0
        .take_rest(next, FROM.div_ceil(PAGE) as u32);
    nothing(&other, asked(next));
    assert!(into.iter().all(|&byte| byte == 0));
    assert!(alice.help(Process(3), &message, asked(number)).is_err());
    // And it would have helped.
    let (number, _) = offer(&mut bob, &message, &mut into);
    assert!(alice.help(Process(1), &message, asked(number)).unwrap() > 0);
}

#[test]
fn who_may_not_write_says_so() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob] = pair(willing());
    let message = content(FROM, 1);
    bob.offers = 1;
    bob.shown.offer(Offer {
        number: 1,
        sender: 0,
        source: message.as_ptr() as u64,
        // Memory of no process.
        address: 8,
        bytes: FROM as u32,
    });
    let pages = FROM.div_ceil(PAGE) as u32;
    bob.place.claims.0.open(1, pages);
    assert_eq!(alice.help(Process(1), &message, asked(1)).unwrap(), 0);
    let claims = &bob.place.claims.0;
    let help = Help {
        copied: 0,
        gave_up: true,
    };
    assert_eq!((claims.help(1), claims.taken_by_sender(pages)), (help, 6));
    // It does not try again.
    let mut into = vec![0; FROM];
    let (number, _) = offer(&mut bob, &message, &mut into);
    assert_eq!(alice.help(Process(1), &message, asked(number)).unwrap(), 0);
}

/// A receiver, and a sender that says where its message is and does what it is asked.
fn messages_go(
    options: [Options; 2],
    is_shared: bool,
    sizes: &[usize],
    rounds: usize,
) -> (usize, usize) {
    let [mut alice, mut bob] = pair(willing());
    (alice.options, bob.options) = options.into();
    let sizes = sizes.to_vec();
    let theirs = sizes.clone();
    let receiver = thread::spawn(move || {
        for round in 0..rounds {
            for &bytes in &theirs {
                let remote: Remote = loop {
                    if let Some(Arrival::Message(mut message)) = bob.poll().unwrap() {
                        let mut words = [0; 24];
                        message.copy_to(&mut words);
                        let (words, _) = words.as_chunks();
                        let [address, bytes, shared] =
                            [0, 1, 2].map(|at| u64::from_ne_bytes(words[at]));
                        break Remote {
                            address,
                            bytes,
                            shared: is_shared.then_some(shared),
                        };
                    }
                };
                let mut into = vec![0; bytes];
                // SAFETY: it stays unchanged until the sender hears that it was read.
                let read = unsafe { bob.read_together(Process(0), remote, &mut into, ASKS) };
                assert_eq!(read.unwrap(), Copied::All);
                assert_eq!(into, content(bytes, round));
                assert_eq!(bob.try_send(Process(0), READ, &[], 0).unwrap(), Sent::Whole);
            }
        }
        bob.offers as usize
    });
    let deadline = Deadline::new();
    let mut helped = 0;
    for round in 0..rounds {
        for &bytes in &sizes {
            let own = content(bytes, round);
            let block = is_shared.then(|| alice.allocate(bytes).unwrap());
            let message = block.as_ref().map_or(&own[..], |block| {
                let there = block.address().as_ptr();
                // SAFETY: the block has this many bytes, of which nobody else knows yet.
                let there = unsafe { core::slice::from_raw_parts_mut(there, bytes) };
                there.copy_from_slice(&own);
                &*there
            });
            let remote = alice.expose(message);
            assert_eq!(remote.shared.is_some(), is_shared);
            let shared = remote.shared.unwrap_or(0);
            let words = [remote.address, remote.bytes, shared].map(u64::to_ne_bytes);
            let sent = alice.try_send(Process(1), [0, 0], words.as_flattened(), 0);
            assert_eq!(sent.unwrap(), Sent::Whole);
            loop {
                let Some(Arrival::Message(mut message_of_theirs)) = alice.poll().unwrap() else {
                    deadline.check();
                    continue;
                };
                if message_of_theirs.header() == READ {
                    break;
                }
                assert_eq!(message_of_theirs.header(), ASKS);
                let mut asked = [0; 8];
                assert_eq!(message_of_theirs.copy_to(&mut asked), 8);
                drop(message_of_theirs);
                let bytes = alice.help(Process(1), message, asked).unwrap();
                helped += usize::from(bytes > 0);
            }
        }
    }
    (receiver.join().unwrap(), helped)
}

#[test]
fn a_message_that_both_copy_is_whole() {
    if !is_let() {
        return;
    }
    // The last is asked for in two parts.
    let sizes = [
        FROM - 1,
        FROM,
        100_000,
        2 * FROM + 1,
        1 << 20,
        (4 << 20) + FROM + 5,
    ];
    let shared = [2 * FROM - 1, 2 * FROM, 200_000, 1 << 20, (5 << 20) + 5];
    for (is_shared, sizes, most) in [(false, &sizes[..], 60), (true, &shared[..], 50)] {
        // If others use the cores as well, the sender may come too late each time; not always.
        let has_helped = (0..100).any(|_| {
            let options = [willing(); 2];
            let (asked, helped) = messages_go(options, is_shared, sizes, 10);
            assert!(
                (1..=most).contains(&asked) && helped <= asked,
                "{asked} {helped}"
            );
            helped > 0
        });
        assert!(has_helped);
    }
}

#[test]
fn neither_asks_nor_helps_who_is_told_not_to() {
    if !is_let() {
        return;
    }
    let alone = Options {
        cooperative_copy: false,
        ..willing()
    };
    let sizes = [FROM, 1 << 20];
    let willing = willing();
    assert_eq!(messages_go([willing, alone], false, &sizes, 4), (0, 0));
    let (asked, helped) = messages_go([alone, willing], false, &sizes, 4);
    assert!((4..=8).contains(&asked) && helped == 0, "{asked} {helped}");
}

/// Offers to read a message of `alice`'s, and returns the result. Another thread answers for her.
pub(super) fn read_from_alice(bob: &mut Endpoint, message: &[u8], into: &mut [u8]) -> Copied {
    let remote = Remote {
        address: message.as_ptr() as u64,
        bytes: message.len() as u64,
        shared: None,
    };
    // SAFETY: nothing writes there.
    let read = unsafe { bob.read_together(Process(0), remote, into, ASKS) };
    read.unwrap()
}

/// What has been asked, if anything was.
pub(super) fn next_asked(alice: &mut Endpoint) -> Option<[u8; 8]> {
    let Some(Arrival::Message(mut message)) = alice.poll().unwrap() else {
        return None;
    };
    assert_eq!(message.header(), ASKS);
    let mut asked = [0; 8];
    message.copy_to(&mut asked);
    Some(asked)
}

#[test]
fn what_a_sender_takes_and_gives_up_is_copied_by_the_receiver() {
    if !is_let() {
        return;
    }
    let [mut alice, mut bob] = pair(willing());
    let message = content(1 << 20, 1);
    let pages = (message.len() / PAGE) as u32;
    let (going_on, ended) = channel::<()>();
    thread::scope(|scope| {
        let giving_up = scope.spawn(move || {
            let mut given_up = 0;
            while given_up < 50 && ended.try_recv() == Err(TryRecvError::Empty) {
                let Some(asked) = next_asked(&mut alice) else {
                    continue;
                };
                let number = u64::from_le_bytes(asked) as u32;
                let claims = &alice.peers[1].place.claims.0;
                while claims.is_before(number) {}
                if let Some(taken) = claims.take_for_sender(number, pages) {
                    claims.report_given_up(number, pages, taken.end);
                    given_up += 1;
                }
            }
            // What she says of her memory is still read.
            (given_up, alice)
        });
        for _ in 0..10_000 {
            if giving_up.is_finished() {
                break;
            }
            // A process that does not help is asked less often.
            bob.peers[0].memory.helps = Helps::default();
            let mut into = vec![0; message.len()];
            let read = read_from_alice(&mut bob, &message, &mut into);
            assert_eq!(read, Copied::All);
            assert!(into == message);
        }
        drop(going_on);
        assert!(giving_up.join().unwrap().0 > 0);
    });
}

#[test]
fn what_can_not_be_read_in_the_middle_goes_another_way_from_there() {
    const BYTES: usize = 1 << 20;
    if !is_let() {
        return;
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let region =
        unsafe { mmap_anonymous(core::ptr::null_mut(), BYTES, protection, MapFlags::PRIVATE) };
    let region = region.unwrap().cast::<u8>();
    // SAFETY: it has this many bytes, and nobody else knows of it.
    let message = unsafe { core::slice::from_raw_parts_mut(region, BYTES) };
    message.copy_from_slice(&content(BYTES, 1));
    let message = &*message;
    let hide = |page: usize, flags| {
        // SAFETY: within the mapping; this program does not look there meanwhile.
        unsafe { mprotect(region.wrapping_add(page * PAGE).cast(), PAGE, flags) }.unwrap();
    };
    for hole in [10, 100, 200, 255] {
        hide(hole, MprotectFlags::empty());
        let [mut alice, mut bob] = pair(willing());
        let (going_on, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while ended.try_recv() == Err(TryRecvError::Empty) {
                    if let Some(asked) = next_asked(&mut alice) {
                        alice.help(Process(1), message, asked).unwrap();
                    }
                }
            });
            let mut into = vec![0; BYTES];
            let read = read_from_alice(&mut bob, message, &mut into);
            let Copied::Refused(done) = read else {
                panic!("{read:?} with a hole at {hole}");
            };
            assert!(done <= hole * PAGE, "{done}");
            assert!(into[..done] == content(BYTES, 1)[..done]);
            // Nobody writes there any more.
            into.fill(3);
            thread::sleep(Duration::from_millis(2));
            assert!(into.iter().all(|&byte| byte == 3));
            drop(going_on);
        });
        hide(hole, MprotectFlags::READ | MprotectFlags::WRITE);
    }
    // Nothing is left to be taken by a latecomer.
    hide(10, MprotectFlags::empty());
    let [_alice, mut bob] = pair(willing());
    let read = read_from_alice(&mut bob, message, &mut vec![0; BYTES]);
    assert_eq!(read, Copied::Refused(10 * PAGE));
    let pages = (BYTES / PAGE) as u32;
    assert_eq!(bob.place.claims.0.take_for_sender(bob.offers, pages), None);
    // SAFETY: nobody knows of it any more.
    unsafe { munmap(region.cast(), BYTES) }.unwrap();
}

#[test]
fn who_can_not_be_asked_for_want_of_cells_is_not_waited_for() {
    if !is_let() {
        return;
    }
    let few = Geometry::with_cells(2, 2).unwrap();
    let [mut alice, mut bob] = members(few, willing());
    let mut in_the_way = 0;
    while bob.try_send(Process(0), READ, &[1; 9], 0).unwrap() == Sent::Whole {
        in_the_way += 1;
    }
    let message = content(1 << 20, 1);
    let mut into = vec![0; message.len()];
    assert_eq!(read_from_alice(&mut bob, &message, &mut into), Copied::All);
    assert!(into == message);
    let mut next = || match alice.poll().unwrap() {
        Some(Arrival::Message(message)) => Some(message.header()),
        _ => None,
    };
    for _ in 0..in_the_way {
        assert_eq!(next(), Some(READ));
    }
    assert_eq!(next(), None);
    // Now there is room.
    into.fill(0);
    assert_eq!(read_from_alice(&mut bob, &message, &mut into), Copied::All);
    assert!(into == message);
    assert_eq!(next(), Some(ASKS));
}
