//! How processes come to a segment: by a descriptor that is inherited, and to a place.

mod common;

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use mq_shm::liveness::Gone;
use mq_shm::segment::Memory;
use mq_shm::{Arrival, Endpoint, Geometry, Mapped, Options, Process, Sent, ShmError};
use rustix::io::{FdFlags, fcntl_getfd};

fn number_of(file: &OwnedFd) -> u32 {
    u32::try_from(file.as_raw_fd()).unwrap()
}

#[test]
fn only_what_is_to_be_inherited_is() {
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = segment.inheritable().unwrap();
    let is_closed = |file| fcntl_getfd(file).unwrap() == FdFlags::CLOEXEC;
    let opened = Mapped::inherited(number_of(&file), "a child's segment").unwrap();
    assert_eq!(opened.geometry(), segment.geometry());
    assert!(is_closed(segment.file()) && is_closed(opened.file()));
    assert_eq!(
        fcntl_getfd(&file),
        Ok(FdFlags::empty()),
        "it is as it was, since somebody else may count on it"
    );
}

#[test]
fn a_child_that_is_told_the_number_joins() {
    let _dog = common::watchdog(60);
    if let Some(mut endpoint) = common::spawned(Options::default()) {
        let sent = endpoint.try_send(Process(0), [7, 0], b"hello", 0).unwrap();
        drop(endpoint);
        std::process::exit(i32::from(sent != Sent::Whole));
    }
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let test = "a_child_that_is_told_the_number_joins";
    let mut child = common::spawn(&segment, test, 1, &[]);
    assert!(child.wait().unwrap().success());
    let mut endpoint = Endpoint::join(segment, Process(0), Options::default()).unwrap();
    assert!(matches!(endpoint.poll(), Ok(Some(Arrival::Message(_)))));
}

#[test]
fn who_replaces_its_program_is_known_to_have_ended_when_the_new_one_has() {
    let _dog = common::watchdog(60);
    if let Some(mut endpoint) = common::spawned(Options::default()) {
        let sent = endpoint.try_send(Process(0), [7, 0], b"hello", 0).unwrap();
        assert_eq!(sent, Sent::Whole);
        let error = Command::new("sleep").arg("600").exec();
        panic!("{error}");
    }
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let test = "who_replaces_its_program_is_known_to_have_ended_when_the_new_one_has";
    let mut child = common::spawn(&segment, test, 1, &[]);
    let mut endpoint = Endpoint::join(segment, Process(0), Options::default()).unwrap();
    let program = || std::fs::read(format!("/proc/{}/comm", child.id())).unwrap();
    while program() != b"sleep\n" {
        std::thread::yield_now();
    }
    assert!(matches!(endpoint.poll(), Ok(Some(Arrival::Message(_)))));
    assert_eq!(endpoint.check_peers(), 0, "it is the same process");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(endpoint.check_peers(), 1);
    assert_eq!(endpoint.gone(Process(1)), Some(Gone::Died));
}

#[test]
fn who_is_not_told_a_place_takes_the_first_that_is_free() {
    let segment = Mapped::create(Geometry::new(3).unwrap()).unwrap();
    let open = || {
        let file = segment.file().try_clone_to_owned().unwrap();
        Mapped::open(file, "a copy").unwrap()
    };
    let any = || Endpoint::join_any(open(), Options::default());
    let second = Endpoint::join(open(), Process(1), Options::default()).unwrap();
    let (first, third) = (any().unwrap(), any().unwrap());
    let all = [first.me(), second.me(), third.me()];
    assert_eq!(all, [0, 1, 2].map(Process));
    // A place is never free again.
    drop(second);
    let error = any().unwrap_err();
    assert!(matches!(error, ShmError::Full { processes: 3 }), "{error}");
}

#[test]
fn a_number_that_is_no_segment_is_an_error_that_names_it() {
    let said = |number: u32| {
        let opened = Mapped::inherited(number, "SEGMENT");
        opened.unwrap_err().to_string()
    };
    let none = said(999_999_999);
    assert!(
        none.starts_with("opening SEGMENT, which is to be a descriptor that was inherited: "),
        "{none}"
    );
    let file = tempfile::tempfile().unwrap();
    let empty = said(number_of(&file.into()));
    assert!(empty.starts_with("SEGMENT is not a segment"), "{empty}");
    let (pipe, _other_end) = rustix::pipe::pipe().unwrap();
    let of_pipe = said(number_of(&pipe));
    assert!(of_pipe.starts_with("reading SEGMENT: "), "{of_pipe}");
}
