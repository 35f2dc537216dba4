//! What a segment weighs: with two processes, with many, under each policy, with few active peers.

use mq_shm::{Arrival, Endpoint, Geometry, Mapped, Options, Policy, Process, Sent};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// So many processes, all in this one: what they share is the same.
fn members(processes: u32, policy: Policy) -> Vec<Endpoint> {
    let first = Mapped::create(Geometry::new(processes).unwrap()).unwrap();
    let file = first.file().try_clone_to_owned().unwrap();
    (0..processes)
        .map(|me| {
            let memory = Mapped::open(file.try_clone().unwrap(), "a copy").unwrap();
            Endpoint::join(
                memory,
                Process(me),
                Options::default().with(|o| o.policy = policy),
            )
            .unwrap()
        })
        .collect()
}

/// Sends some messages from one to another, long ones among them, and receives them.
fn exchange(members: &mut [Endpoint], from: usize, to: usize) {
    for number in 0..40_u64 {
        let message = vec![number as u8; if number % 5 == 0 { 3 * 16 * 1024 } else { 100 }];
        let mut done = 0;
        while let Sent::Upto(now) = members[from]
            .try_send(Process(to as u32), [number, 0], &message, done)
            .unwrap()
        {
            done = now;
            receive(&mut members[to]);
        }
        receive(&mut members[to]);
    }
}

fn receive(member: &mut Endpoint) {
    while let Some(Arrival::Message(message)) = member.poll().unwrap() {
        assert!(message.len() > 0);
    }
}

fn all_to_all(processes: u32, policy: Policy) -> u64 {
    let mut members = members(processes, policy);
    let count = processes as usize;
    for from in 0..count {
        for to in (0..count).filter(|&to| to != from) {
            exchange(&mut members, from, to);
        }
    }
    members[0].memory().committed().unwrap()
}

#[test]
fn two_processes_weigh_less_than_four_mib() {
    for &policy in Policy::ALL {
        let committed = all_to_all(2, policy);
        assert!(committed < 4 * MIB, "{policy}: {committed}");
    }
}

/// Each has a ring to the other, for all large messages.
#[test]
fn two_processes_with_large_messages_weigh_less_than_four_mib() {
    let mut members = members(2, Policy::AdaptiveShared);
    for (from, to) in [(0, 1), (1, 0)] {
        exchange(&mut members, from, to);
        for _ in 0..10 {
            let ring = members[from].take_ring(Process(to as u32), 1 << 20);
            assert!(ring.unwrap().is_some());
        }
    }
    let committed = members[0].memory().committed().unwrap();
    assert!(committed < 4 * MIB, "{committed}");
}

#[test]
fn sixty_four_processes_weigh_less_than_64_mib() {
    let committed = all_to_all(64, Policy::AdaptiveShared);
    assert!(committed < 64 * MIB, "{committed}");
}

#[test]
fn a_shared_pool_weighs_the_same_for_any_number_of_peers() {
    let each = |processes: u32| all_to_all(processes, Policy::Shared) / u64::from(processes);
    let (few, many) = (each(2), each(64));
    assert!(
        many.abs_diff(few) * 10 <= few,
        "{few} bytes a process of 2, {many} of 64"
    );
}

#[test]
fn only_active_peers_cost_memory() {
    let mut members = members(512, Policy::AdaptiveShared);
    let idle = members[0].memory().committed().unwrap();
    assert!(idle < MIB, "{idle}");
    for from in 0..512 {
        exchange(&mut members, from, (from + 1) % 512);
    }
    let committed = members[0].memory().committed().unwrap();
    let each = (committed - idle) / 512;
    println!("{} KiB a process", each / KIB);
    assert!(
        each < 200 * KIB,
        "{each} bytes a process with one peer to send to"
    );
}

/// Tens of MiB, of which each has cells before it sends anything, as in a world.
#[test]
fn five_hundred_that_send_short_messages_weigh_less_than_100_mib() {
    let mut members = members(512, Policy::AdaptiveShared);
    members
        .iter_mut()
        .for_each(|member| member.prepare().unwrap());
    for from in 0..512 {
        let to = (from + 1) % 512;
        for number in 0..100_u64 {
            let message = [7; 100];
            let sent = members[from].try_send(Process(to as u32), [number, 0], &message, 0);
            assert_eq!(sent.unwrap(), Sent::Whole);
            receive(&mut members[to]);
        }
    }
    let committed = members[0].memory().committed().unwrap();
    println!("{} MiB", committed / MIB);
    assert!(committed < 100 * MIB, "{committed}");
}

#[test]
fn the_memory_of_a_box_goes_with_its_pair() {
    let mut members = members(2, Policy::PerPeer);
    for number in 0..5_u64 {
        let sent = members[0]
            .try_send(Process(1), [number, 0], b"x", 0)
            .unwrap();
        assert_eq!(sent, Sent::Whole);
        receive(&mut members[1]);
    }
    // The other way, too.
    for number in 0..5_u64 {
        let sent = members[1].try_send(Process(0), [number, 0], b"x", 0);
        assert_eq!(sent.unwrap(), Sent::Whole);
        receive(&mut members[0]);
    }
    assert_eq!(members[1].counters().boxes, 1);
    let before = members[1].memory().committed().unwrap();
    drop(members.remove(0));
    let survivor = &mut members[0];
    assert_eq!(survivor.check_peers(), 1);
    assert!(matches!(
        survivor.poll().unwrap(),
        Some(Arrival::Gone(Process(0), _))
    ));
    assert_eq!(survivor.counters().boxes, 0);
    // Both boxes.
    assert_eq!(survivor.memory().committed().unwrap(), before - 8 * KIB);
}

#[test]
fn what_processes_leave_is_given_back_when_all_have_received_it() {
    let mut members = members(4, Policy::PerPeer);
    let fresh = members[0].memory().committed().unwrap();
    for from in [2, 3] {
        for to in [0, 1] {
            exchange(&mut members, from, to);
        }
        assert!(members[from].take_ring(Process(0), 1).unwrap().is_some());
    }
    let sent = members[3].try_send(Process(0), [0, 0], b"the last", 0);
    assert_eq!(sent.unwrap(), Sent::Whole);
    members.truncate(2);
    for me in [0, 1] {
        for ended in [2, 3] {
            assert!(!members[me].memory().is_given_back(Process(ended)).unwrap());
        }
        assert_eq!(members[me].check_peers(), 2);
        let (mut messages, mut gone) = (0, 0);
        while let Some(arrival) = members[me].poll().unwrap() {
            match arrival {
                Arrival::Message(_) => messages += 1,
                Arrival::Gone(..) => gone += 1,
            }
        }
        assert_eq!(gone, 2);
        assert!(messages >= 1 - me, "the last message arrives");
        members[me].check_peers();
    }
    assert!(members[0].memory().is_given_back(Process(2)).unwrap());
    assert!(members[0].memory().is_given_back(Process(3)).unwrap());
    assert_eq!(members[1].memory().committed().unwrap(), fresh);
}
