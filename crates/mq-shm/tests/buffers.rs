//! Messages in shared buffers: read where they are, refused where they can not be, given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mq_shm::liveness::Gone;
use mq_shm::segment::Memory;
use mq_shm::{
    Arrival, Block, Copied, Endpoint, Geometry, Heap, Mapped, Options, Process, Remote, Sent,
    ShmError,
};
use proptest::prelude::*;

const ALICE: Process = Process(0);
const BOB: Process = Process(1);
const MIB: usize = 1 << 20;

fn geometry(bytes: usize) -> Geometry {
    let geometry = Geometry::new(2).unwrap();
    geometry.with_buffers(bytes as u64).unwrap()
}

fn mapped(bytes: usize, options: Options) -> (Endpoint, Endpoint) {
    let segment = Mapped::create(geometry(bytes)).unwrap();
    let copy = Mapped::open(segment.file().try_clone_to_owned().unwrap(), "a copy").unwrap();
    let alice = Endpoint::join(segment, ALICE, options).unwrap();
    (alice, Endpoint::join(copy, BOB, options).unwrap())
}

/// The bytes of a block, whose endpoint is still there.
#[allow(unsafe_code)]
fn bytes_of(block: &mut Block) -> &mut [u8] {
    // SAFETY: the tests keep the endpoint; the block is borrowed as long as its bytes are.
    unsafe { core::slice::from_raw_parts_mut(block.address().as_ptr(), block.len()) }
}

fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 7 + at / 251 + number * 13) as u8)
        .collect()
}

fn filled<M: Memory>(owner: &mut Endpoint<M>, number: usize, bytes: usize) -> Block {
    let mut block = owner.allocate(bytes).unwrap();
    assert!(bytes_of(&mut block).iter().all(|&byte| byte == 0));
    bytes_of(&mut block).copy_from_slice(&content(number, bytes));
    block
}

/// Reads what another endpoint of this thread has.
#[allow(unsafe_code, reason = "vouches for the other end")]
fn read<M: Memory>(
    reader: &mut Endpoint<M>,
    from: Process,
    there: Remote,
    into: &mut [u8],
) -> Result<Copied, ShmError> {
    // SAFETY: nobody writes meanwhile.
    unsafe { reader.read(from, there, into) }
}

fn is_copied<M: Memory>(reader: &mut Endpoint<M>, there: Remote, expected: &[u8]) {
    assert!(there.shared.is_some());
    let mut into = vec![0; expected.len()];
    assert_eq!(read(reader, ALICE, there, &mut into).unwrap(), Copied::All);
    assert!(into == expected, "of {} bytes", expected.len());
}

#[test]
fn what_is_in_a_shared_buffer_is_read_there() {
    // Whatever the kernel lets them read of each other.
    let options = Options::default().with(|o| o.single_copy = false);
    let (mut alice, mut bob) = mapped(8 * MIB, options);
    let mut blocks: Vec<(Block, Vec<u8>)> = Vec::new();
    for (number, bytes) in [1, 4095, 4096, 4097, 100_000, 3 * MIB + 17]
        .into_iter()
        .enumerate()
    {
        blocks.push((filled(&mut alice, number, bytes), content(number, bytes)));
    }
    for (block, content) in &mut blocks {
        let there = alice.expose(bytes_of(block));
        is_copied(&mut bob, there, content);
        // A part of it, and less than all of that.
        let part = alice.expose(&bytes_of(block)[content.len() / 2..]);
        is_copied(&mut bob, part, &content[content.len() / 2..]);
        is_copied(&mut bob, there, &content[..content.len() / 3]);
        // Its own, as one who sends to itself does.
        is_copied(&mut alice, there, content);
    }
    assert_eq!(alice.expose(&[1, 2, 3]).shared, None);
}

#[test]
fn it_is_the_same_on_the_heap() {
    let segment = Heap::new(geometry(MIB));
    let join = |me| Endpoint::join(Arc::clone(&segment), me, Options::default()).unwrap();
    let (mut alice, mut bob) = (join(ALICE), join(BOB));
    let mut block = filled(&mut alice, 3, 50_000);
    let there = alice.expose(bytes_of(&mut block));
    is_copied(&mut bob, there, &content(3, 50_000));
    drop(block);
    // Zeros again.
    drop(filled(&mut alice, 4, 60_000));
}

#[test]
fn places_outside_are_refused_and_nothing_is_read() {
    let (mut alice, mut bob) = mapped(MIB, Options::default());
    let block = filled(&mut alice, 0, 5000);
    let all = MIB as u64;
    let mut into = vec![7; 5000];
    for (at, bytes) in [
        (all - 4999, 5000),
        (all, 5000),
        (u64::MAX, 5000),
        (u64::MAX - 4999, 5000),
        (0, all + 1),
        (0, u64::MAX),
        (1, u64::MAX),
        // Less than is to be read.
        (0, 4999),
    ] {
        let there = Remote {
            address: 0,
            bytes,
            shared: Some(at),
        };
        let error = read(&mut bob, ALICE, there, &mut into).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the segment is damaged: the place of a shared buffer of process 0"
        );
        assert!(read(&mut bob, Process(2), there, &mut into).is_err());
    }
    assert!(into.iter().all(|&byte| byte == 7));
    drop(block);
}

#[test]
fn a_full_region_is_an_error_and_room_comes_back() {
    let (mut alice, _bob) = mapped(MIB, Options::default());
    let fresh = alice.memory().committed().unwrap();
    let half = alice.allocate(MIB / 2).unwrap();
    let quarter = alice.allocate(MIB / 4).unwrap();
    let error = alice.allocate(MIB / 2).unwrap_err();
    assert!(matches!(error, ShmError::NoBuffer { .. }));
    assert_eq!(
        error.to_string(),
        "no room for a shared buffer of 524288 bytes: the largest free range is 262144 of 1048576 bytes per \
         process; drop other buffers, or start the processes with more bytes for each"
    );
    assert_eq!(
        alice.memory().committed().unwrap() - fresh,
        (MIB / 4 * 3) as u64
    );
    drop(half);
    assert_eq!(
        alice.memory().committed().unwrap() - fresh,
        (MIB / 4) as u64
    );
    let half = alice.allocate(MIB / 2).unwrap();
    drop((half, quarter));
    assert_eq!(alice.memory().committed().unwrap(), fresh);
    drop(alice.allocate(MIB).unwrap());
    assert!(alice.allocate(usize::MAX).is_err());
}

#[test]
fn a_segment_may_have_none() {
    let (mut alice, mut bob) = mapped(0, Options::default());
    let error = alice.allocate(1).unwrap_err().to_string();
    assert!(
        error.contains("the largest free range is 0 of 0 bytes"),
        "{error}"
    );
    let there = Remote {
        address: 0,
        bytes: 1,
        shared: Some(0),
    };
    assert!(read(&mut bob, ALICE, there, &mut [0]).is_err());
    let error = Geometry::new(4096).unwrap().with_buffers(1 << 33);
    assert_eq!(
        error.unwrap_err().to_string(),
        "a process of this segment can have at most 4294967296 bytes of shared buffers, not 8589934592"
    );
}

#[test]
fn the_most_that_a_process_may_have_it_can_have() {
    for processes in [1, 2, 3, 7, 4095] {
        let geometry = Geometry::new(processes).unwrap();
        let Err(ShmError::Buffers { most, .. }) = geometry.with_buffers(u64::MAX) else {
            panic!("{processes} processes with everything");
        };
        // In whole pages, as the segment has them.
        assert_eq!(most % 4096, 0, "{processes} processes");
        let most_of_all = geometry.with_buffers(most).unwrap();
        assert_eq!(most_of_all.with_buffers(most - 1).unwrap(), most_of_all);
    }
}

#[test]
fn it_can_be_switched_off() {
    let options = Options::default().with(|o| o.shared_copy = false);
    let (mut alice, _bob) = mapped(MIB, options);
    let mut block = alice.allocate(100).unwrap();
    assert_eq!(alice.expose(bytes_of(&mut block)).shared, None);
}

#[test]
fn what_is_kept_is_not_used_again() {
    let (mut alice, mut bob) = mapped(MIB, Options::default());
    let mut block = filled(&mut alice, 1, 5000);
    let there = alice.expose(bytes_of(&mut block));
    alice.keep_buffers();
    drop(block);
    is_copied(&mut bob, there, &content(1, 5000));
    let mut other = alice.allocate(5000).unwrap();
    assert_ne!(alice.expose(bytes_of(&mut other)).shared, there.shared);
}

/// The program may write there from then on, whoever still has an announcement of it.
#[test]
fn hidden_memory_is_read_by_nobody() {
    let (mut alice, mut bob) = mapped(MIB, Options::default());
    let mut block = filled(&mut alice, 1, 100_000);
    let shared = alice.expose(bytes_of(&mut block));
    let own = content(2, 100_000);
    let there = alice.expose(&own);
    is_copied(&mut bob, shared, &content(1, 100_000));
    let mut into = vec![0; 100_000];
    // The kernel may refuse it from the beginning.
    let before = read(&mut bob, ALICE, there, &mut into).unwrap();
    assert!(before != Copied::All || into == own);
    alice.hide_memory();
    for remote in [shared, there] {
        into.fill(0);
        let refused = read(&mut bob, ALICE, remote, &mut into).unwrap();
        assert_eq!(refused, Copied::Refused(0));
        assert!(into.iter().all(|&byte| byte == 0));
    }
}

/// The owner dies after it has announced a message: that can be read until the reader has said that
/// it is through.
#[test]
fn a_message_outlives_its_owner_as_long_as_it_is_read() {
    let (mut alice, mut bob) = mapped(MIB, Options::default());
    let fresh = bob.memory().committed().unwrap();
    let mut block = filled(&mut alice, 2, 300_000);
    let there = alice.expose(bytes_of(&mut block));
    let sent = alice.try_send(BOB, [0, 0], b"there", 0).unwrap();
    assert_eq!(sent, Sent::Whole);
    let dies = AssertUnwindSafe(|| {
        let _alice = alice;
        panic!("with a message announced");
    });
    assert!(catch_unwind(dies).is_err());
    assert!(matches!(bob.poll().unwrap(), Some(Arrival::Message(_))));
    assert_eq!(bob.check_peers(), 1);
    is_copied(&mut bob, there, &content(2, 300_000));
    assert!(matches!(
        bob.poll().unwrap(),
        Some(Arrival::Gone(ALICE, Gone::Died))
    ));
    is_copied(&mut bob, there, &content(2, 300_000));
    bob.check_peers();
    let mut into = [0; 10];
    assert!(matches!(
        read(&mut bob, ALICE, there, &mut into),
        Err(ShmError::Gone { process: ALICE, .. })
    ));
    assert_eq!(bob.memory().committed().unwrap(), fresh);
    drop(block);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Buffers of all sizes come and go, and each has its own bytes.
    #[test]
    fn buffers_do_not_get_into_each_others_way(calls in prop::collection::vec((0..90_000_usize, any::<u8>()), 1..40)) {
        let (mut alice, mut bob) = mapped(MIB, Options::default());
        let fresh = alice.memory().committed().unwrap();
        let mut kept: Vec<(usize, Block)> = Vec::new();
        for (number, (bytes, drop_one)) in calls.into_iter().enumerate() {
            if drop_one % 3 == 0 && !kept.is_empty() {
                kept.swap_remove(usize::from(drop_one) % kept.len());
            }
            if let Ok(mut block) = alice.allocate(bytes) {
                prop_assert_eq!(block.len(), bytes);
                prop_assert!(bytes_of(&mut block).iter().all(|&byte| byte == 0));
                bytes_of(&mut block).copy_from_slice(&content(number, bytes));
                kept.push((number, block));
            }
            for (number, block) in &mut kept {
                let expected = content(*number, block.len());
                prop_assert_eq!(bytes_of(block), &expected[..]);
                if !expected.is_empty() {
                    let there = alice.expose(bytes_of(block));
                    is_copied(&mut bob, there, &expected);
                }
            }
        }
        drop(kept);
        prop_assert_eq!(alice.memory().committed().unwrap(), fresh);
    }
}
