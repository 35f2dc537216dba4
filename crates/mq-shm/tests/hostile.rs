//! Segments that are not what they should be, before they are opened and while they are used.
#![allow(unsafe_code, reason = "vouches for what the other end says")]

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use mq_shm::{
    Arrival, Copied, Endpoint, Geometry, Mapped, Options, Policy, Process, Remote, ShmError,
    Stretch,
};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

/// Reads what another endpoint of this thread has, or seems to.
fn read(
    reader: &mut Endpoint,
    from: Process,
    there: Remote,
    into: &mut [u8],
) -> Result<Copied, ShmError> {
    // SAFETY: nobody writes meanwhile.
    unsafe { reader.read(from, there, into) }
}

fn opened(file: &File) -> Result<Mapped, ShmError> {
    Mapped::open(OwnedFd::from(file.try_clone().unwrap()), "the file")
}

#[test]
fn what_is_not_a_segment_is_refused() {
    let mut file = tempfile::tempfile().unwrap();
    assert!(matches!(opened(&file), Err(ShmError::Foreign { .. })));
    file.write_all(&[b'x'; 8192]).unwrap();
    let error = opened(&file).unwrap_err().to_string();
    assert_eq!(
        error,
        "the file is not a segment of mq: it begins with 0x7878787878787878"
    );
    let directory = File::open("/").unwrap();
    assert!(opened(&directory).is_err());
}

#[test]
fn a_segment_of_another_version_or_length_is_refused() {
    let whole = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let mut head = [0; 256];
    let original = File::from(whole.file().try_clone_to_owned().unwrap());
    original.read_exact_at(&mut head, 0).unwrap();

    let mut short = tempfile::tempfile().unwrap();
    short.write_all(&head).unwrap();
    let error = opened(&short).unwrap_err().to_string();
    assert!(
        error.starts_with("the file is damaged: its length is 256"),
        "{error}"
    );

    let version = head[8];
    head[8] += 1;
    short.rewind().unwrap();
    short.write_all(&head).unwrap();
    let error = opened(&short).unwrap_err().to_string();
    let (theirs, ours) = (version + 1, version);
    let said = format!("the file has layout version {theirs}, this program has {ours}");
    assert!(error.starts_with(&said), "{error}");
}

#[test]
fn nobody_shortens_a_segment_that_others_use() {
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = File::from(segment.file().try_clone_to_owned().unwrap());
    assert!(file.set_len(4096).is_err());
}

#[test]
fn memory_that_can_not_be_read_is_an_answer() {
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let other = Mapped::open(segment.file().try_clone_to_owned().unwrap(), "a copy").unwrap();
    let bytes = *b"in this very process";
    let alice = Endpoint::join(segment, Process(0), Options::default()).unwrap();
    let mut bob = Endpoint::join(other, Process(1), Options::default()).unwrap();
    let mut into = [0; 20];
    let there = alice.expose(&bytes);
    if read(&mut bob, Process(0), there, &mut into).unwrap() != Copied::All {
        println!("process_vm_readv is refused on this machine, also for the own process");
        return;
    }
    assert_eq!(into, bytes);
    // What lies behind it in memory is no part of it.
    let shorter = alice.expose(&bytes[..19]);
    into.fill(0);
    let error = read(&mut bob, Process(0), shorter, &mut into).unwrap_err();
    assert!(matches!(error, ShmError::Corrupt { process: 0, .. }));
    assert_eq!(into, [0; 20]);
    let nowhere = Remote {
        address: 16,
        bytes: 20,
        shared: None,
    };
    assert_eq!(
        read(&mut bob, Process(0), nowhere, &mut into).unwrap(),
        Copied::Refused(0)
    );
    // From then on the pair uses the ring.
    assert_eq!(
        read(&mut bob, Process(0), there, &mut into).unwrap(),
        Copied::Refused(0)
    );
    assert!(read(&mut bob, Process(9), there, &mut into).is_err());
}

/// Writes random words, mostly where a process looks, under two endpoints that go on sending and
/// receiving. They may get wrong messages and errors; nothing else.
#[test]
fn bytes_that_nobody_should_have_written_do_no_harm() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let geometry = Geometry::with_cells(3, 4).unwrap();
        let segment = Mapped::create(geometry).unwrap();
        let file = File::from(segment.file().try_clone_to_owned().unwrap());
        let policy = Policy::ALL[seed as usize % 4];
        let options = Options {
            policy,
            ..Options::default()
        };
        let mut members: Vec<_> = (0..2)
            .map(|me| {
                let copy = segment.file().try_clone_to_owned().unwrap();
                let memory = Mapped::open(copy, "a copy").unwrap();
                Endpoint::join(memory, Process(me), options).unwrap()
            })
            .collect();
        let mut into = vec![0; 40_000];
        for _ in 0..400 {
            if random.random_ratio(1, 4) {
                scribble(&file, geometry.bytes() as u64, &mut random);
            }
            let from = random.random_range(0..2);
            let len = random.random_range(0..30_000);
            let to = Process(random.random_range(0..3));
            let _ = members[from].try_send(to, [1, 2], &into[..len], 0);
            let receiver = &mut members[1 - from];
            for _ in 0..random.random_range(0..4) {
                if let Ok(Some(Arrival::Message(mut message))) = receiver.poll() {
                    message.copy_to(&mut into);
                }
            }
            receiver.check_peers();
            let ring = mq_shm::RingId(random.random_range(0..6));
            let first = random.random();
            let owner = Process(random.random_range(0..3));
            // SAFETY: both ends are of one thread.
            let stretch = unsafe { Stretch::new(owner, ring, first, 0) };
            let _ = receiver.pull(Process(0), stretch, &mut into, 0);
            let _ = receiver.push(stretch, &into, 0);
            let _ = receiver.lend_ring(Process(1), 20_000);
            let _ = receiver.take_ring(Process(random.random_range(0..2)), 20_000);
            let _ = receiver.take_ring_with_room(Process(random.random_range(0..5)), 20_000);
            let _ = receiver.pass(Process(0), stretch, 40_000, random.random_range(0..50_000));
            let _ = receiver.free_ring(ring);
            let there = Remote {
                address: 0,
                bytes: random.random_range(0..80_000),
                shared: Some(random.random::<u64>() >> random.random_range(0..64)),
            };
            let _ = read(receiver, Process(0), there, &mut into);
            let _ = receiver.cells_out();
        }
    }
}

fn scribble(file: &File, bytes: u64, random: &mut StdRng) {
    // The entries and the first cells are where most of what is believed stands.
    let end = if random.random_ratio(3, 4) {
        4096 * 20
    } else {
        bytes
    };
    let at = random.random_range(4096..end) & !7;
    let mut word = [0; 8];
    match random.random_range(0..3_u32) {
        0 => random.fill_bytes(&mut word),
        1 => word[0] = random.random_range(0..16),
        _ => word = [0xff; 8],
    }
    file.write_all_at(&word[..random.random_range(1..=8)], at)
        .unwrap();
}
