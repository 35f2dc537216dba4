//! Processes of their own: all ways of sending between them, and more of them than cores.

mod common;

use mq_shm::liveness::Gone;
use mq_shm::{Endpoint, Geometry, Mapped, Options, Policy, Process};

/// Runs `processes` of this program and expects each to hear everything from all others.
fn all_hear_all(test: &str, processes: u32, count: u64, options: Options) -> Mapped {
    let _dog = common::watchdog(40);
    if let Some(mut endpoint) = common::spawned(options) {
        expect_all(&mut endpoint, count);
        drop(endpoint);
        std::process::exit(0);
    }
    let segment = Mapped::create(Geometry::new(processes).unwrap()).unwrap();
    let mut others: Vec<_> = (1..processes)
        .map(|me| common::spawn(&segment, test, me, &[]))
        .collect();
    let file = segment.file().try_clone_to_owned().unwrap();
    let memory = Mapped::open(file, "a copy").unwrap();
    expect_all(
        &mut Endpoint::join(memory, Process(0), options).unwrap(),
        count,
    );
    for (me, other) in (1..).zip(&mut others) {
        assert!(other.wait().unwrap().success(), "process {me}");
    }
    segment
}

fn expect_all(endpoint: &mut Endpoint, count: u64) {
    let me = endpoint.me().index();
    for (from, heard) in common::talk(endpoint, count).into_iter().enumerate() {
        if from != me {
            assert_eq!(heard.messages, count, "from {from}");
            assert_ne!(heard.gone, Some(Gone::Died), "{from}");
        }
    }
}

#[test]
fn large_messages_are_read_from_their_sender() {
    let options = common::options(Policy::AdaptiveShared, true);
    all_hear_all("large_messages_are_read_from_their_sender", 3, 200, options);
}

#[test]
fn large_messages_pass_through_a_ring() {
    let options = common::options(Policy::AdaptiveShared, false);
    all_hear_all("large_messages_pass_through_a_ring", 3, 200, options);
}

#[test]
fn every_pair_has_its_own() {
    let options = common::options(Policy::PerPeer, true);
    all_hear_all("every_pair_has_its_own", 4, 100, options);
}

#[test]
fn sixty_four_processes_share_the_cores_there_are() {
    let options = common::options(Policy::AdaptiveShared, true);
    let test = "sixty_four_processes_share_the_cores_there_are";
    let segment = all_hear_all(test, 64, 6, options);
    let committed = segment.committed().unwrap();
    assert!(committed < 64 << 20, "{committed} bytes");
}
