//! Processes of their own: all ways of sending between them, and more of them than cores.

mod common;

use common::{Heard, THROUGH};
use mq_shm::liveness::Gone;
use mq_shm::wait::Idle;
use mq_shm::{Arrival, Endpoint, Geometry, Mapped, Options, Policy, Process, Sent};

/// Runs `processes` of this program and expects each to hear everything from all others. Bytes of the
/// segment when all have, and all are still there.
fn all_hear_all(test: &str, processes: u32, count: u64, options: Options) -> u64 {
    let _dog = common::watchdog(40);
    if let Some(mut endpoint) = common::spawned(options) {
        let heard = expect_all(&mut endpoint, count);
        say_through(&mut endpoint, Process(0));
        wait_for(&mut endpoint, 1, &heard);
        drop(endpoint);
        std::process::exit(0);
    }
    let segment = Mapped::create(Geometry::new(processes).unwrap()).unwrap();
    let mut others: Vec<_> = (1..processes)
        .map(|me| common::spawn(&segment, test, me, &[]))
        .collect();
    let file = segment.file().try_clone_to_owned().unwrap();
    let memory = Mapped::open(file, "a copy").unwrap();
    let mut endpoint = Endpoint::join(memory, Process(0), options).unwrap();
    let heard = expect_all(&mut endpoint, count);
    wait_for(&mut endpoint, others.len(), &heard);
    let committed = segment.committed().unwrap();
    for other in 1..processes {
        say_through(&mut endpoint, Process(other));
    }
    drop(endpoint);
    for (me, other) in (1..).zip(&mut others) {
        assert!(other.wait().unwrap().success(), "process {me}");
    }
    committed
}

fn expect_all(endpoint: &mut Endpoint, count: u64) -> Vec<Heard> {
    let me = endpoint.me().index();
    let all = common::talk(endpoint, count);
    for (from, heard) in all.iter().enumerate() {
        if from != me {
            assert_eq!(heard.messages, count, "from {from}");
            assert_ne!(heard.gone, Some(Gone::Died), "{from}");
        }
    }
    all
}

fn say_through(endpoint: &mut Endpoint, to: Process) {
    let mut idle = Idle::default();
    while endpoint.try_send(to, [0, THROUGH], b"", 0).unwrap() != Sent::Whole {
        endpoint.rest(&mut idle).unwrap();
    }
}

/// Waits until so many others have said that they are through, of which some may have been heard.
fn wait_for(endpoint: &mut Endpoint, others: usize, heard: &[Heard]) {
    let mut left = others - heard.iter().filter(|heard| heard.through).count();
    let mut idle = Idle::default();
    while left > 0 {
        match endpoint.poll().unwrap() {
            Some(Arrival::Message(message)) => {
                assert_eq!(message.header()[1], THROUGH, "all else has come");
                left -= 1;
                idle.reset();
                continue;
            }
            // One that was told before this one that all are through.
            Some(Arrival::Gone(process, how)) => assert_eq!(how, Gone::Left, "{process}"),
            None => {}
        }
        endpoint.rest(&mut idle).unwrap();
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
    let committed = all_hear_all(test, 64, 6, options);
    assert!(committed < 64 << 20, "{committed} bytes");
}
