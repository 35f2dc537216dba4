use super::super::lists::ListOf;
use super::super::slot::ANYONE;
use super::*;

fn posted(requests: &mut Requests, buffer: Buffer, set: u32) -> u32 {
    let new = New {
        stage: Stage::Posted,
        peer: ANYONE,
        context: 0,
        bits: 0,
        total: 0,
        buffer,
        set,
    };
    requests.add(new).slot()
}

fn ready(requests: &Requests, set: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut at = requests.first(set, ListOf::Ready);
    while let Some(index) = at {
        all.push(index);
        let next = requests.at(index).next;
        at = (next != NONE).then_some(next);
    }
    assert_eq!(requests.ready_len(set) as usize, all.len());
    all
}

fn pending(requests: &Requests, set: u32) -> Vec<u32> {
    let all = requests.pending(set);
    assert_eq!(requests.pending_len(set) as usize, all.len());
    all
}

#[test]
fn requests_become_ready_in_the_order_in_which_they_complete() {
    let mut requests = Requests::default();
    let set = requests.add_set();
    let all: Vec<u32> = (0..5)
        .map(|at| {
            let of = if at % 2 == 0 { set } else { NONE };
            posted(&mut requests, Buffer::EMPTY, of)
        })
        .collect();
    for &index in &all {
        requests.join(index, set);
    }
    for at in [3, 0, 4] {
        requests.complete(all[at], Outcome::Fine);
    }
    assert_eq!(ready(&requests, set), [3, 0, 4]);
    assert_eq!(pending(&requests, set), [1, 2]);
    requests.release(0);
    requests.release(1);
    assert_eq!(ready(&requests, set), [3, 4]);
    assert_eq!(pending(&requests, set), [2]);
    requests.drop_handle(4);
    assert_eq!(ready(&requests, set), [3, 4]);
    assert!(requests.report_all(set).is_ok());
    assert_eq!(ready(&requests, set), [0_u32; 0]);
    assert_eq!(requests.at(4).stage, Stage::Free);
    assert_eq!(requests.first(set, ListOf::Reported), Some(3));
    requests.remove_set(set);
    assert_eq!(requests.at(3).set, NONE);
    assert_eq!(requests.add_set(), set);
}

#[test]
fn slots_of_a_burst_go_with_it_and_their_names_name_nothing_ever_after() {
    let mut requests = Requests::default();
    let mut names = std::collections::HashSet::new();
    for burst in [3, NEAR + 1, 3 * NEAR, 100, 2 * NEAR] {
        let all: Vec<u32> = (0..burst)
            .map(|_| posted(&mut requests, Buffer::EMPTY, NONE))
            .collect();
        for &index in &all {
            assert!(names.insert(requests.name(index)), "each is a new name");
        }
        // The last of the burst, and one that is near, end when others have begun again.
        let (some, last) = all.split_at(all.len() - 1);
        for &index in &some[1..] {
            requests.release(index);
        }
        for _ in 0..10 {
            let again = posted(&mut requests, Buffer::EMPTY, NONE);
            assert!(names.insert(requests.name(again)));
            requests.release(again);
        }
        requests.release(last[0]);
        requests.release(some[0]);
        let one = posted(&mut requests, Buffer::EMPTY, NONE);
        assert!(names.insert(requests.name(one)));
        assert_eq!(requests.all().count(), 1);
        assert!(requests.slots.len() <= NEAR as usize);
        assert!(requests.slots.capacity() <= 2 * NEAR as usize);
        requests.release(one);
        assert!(names.iter().all(|&name| requests.find(name).is_none()));
    }
}

#[test]
fn a_slot_that_has_had_all_names_gets_no_other() {
    for far in [false, true] {
        let mut requests = Requests::default();
        let begun = if far { NEAR + 2 } else { 3 };
        let all: Vec<u32> = (0..begun)
            .map(|_| posted(&mut requests, Buffer::EMPTY, NONE))
            .collect();
        let &worn = all.last().unwrap();
        requests.at_mut(worn).generation = if far { u32::MAX } else { SPECIAL } - 1;
        all.iter().for_each(|&index| drop(requests.release(index)));
        for _ in 0..2 {
            let again: Vec<u32> = (0..begun)
                .map(|_| posted(&mut requests, Buffer::EMPTY, NONE))
                .collect();
            assert!(!again.contains(&worn));
            again
                .iter()
                .for_each(|&index| drop(requests.release(index)));
        }
    }
}

#[test]
fn names_of_requests_that_are_over_name_nothing() {
    let mut requests = Requests::default();
    let first = posted(&mut requests, Buffer::EMPTY, NONE);
    let name = requests.name(first);
    assert_eq!(requests.find(name), Some(first));
    requests.release(first);
    assert_eq!(requests.find(name), None);
    let second = posted(&mut requests, Buffer::EMPTY, NONE);
    assert_eq!(second, first);
    assert_eq!(requests.find(name), None);
    assert_eq!(requests.find(Name::new(77, 0)), None);
}

#[test]
fn of_a_set_that_is_awaited_only_what_failed_or_has_a_handle_is_kept() {
    let mut requests = Requests::default();
    let set = requests.add_set();
    let all: Vec<u32> = (0..4)
        .map(|_| posted(&mut requests, Buffer::EMPTY, set))
        .collect();
    for &index in &all[..3] {
        requests.drop_handle(index);
    }
    let names: Vec<Name> = all.iter().map(|&index| requests.name(index)).collect();
    // Before anybody waits for all of them, each may be asked for.
    requests.complete(all[0], Outcome::Fine);
    requests.await_all(set);
    requests.complete(all[1], Outcome::Fine);
    requests.complete(all[2], Outcome::Truncated);
    requests.complete(all[3], Outcome::Fine);
    requests.await_none();
    assert_eq!(requests.find(names[1]), None);
    assert_eq!(ready(&requests, set), [all[0], all[2], all[3]]);
    assert_eq!(pending(&requests, set), [0_u32; 0]);
    assert!(requests.report_all(set).is_err());
    assert_eq!(requests.find(names[2]), None);
    assert_eq!(requests.find(names[3]), Some(all[3]));
}

#[test]
fn a_request_that_nobody_can_ask_for_is_over_when_it_completes() {
    let mut requests = Requests::default();
    let index = posted(&mut requests, Buffer::owned(vec![1_u8]), NONE);
    let name = requests.name(index);
    requests.drop_handle(index);
    assert!(requests.find(name).is_some());
    requests.complete(index, Outcome::Fine);
    assert!(requests.find(name).is_none());
}
