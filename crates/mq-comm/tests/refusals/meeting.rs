//! Processes that meet at a name, as those of Slurm do: whom they wait for, and what they are handed.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Output, Stdio};

use mq_shm::{Geometry, Mapped};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::child;
use super::common::watchdog;

#[test]
fn who_does_not_come_is_waited_for_so_long_and_nothing_is_left() {
    let _dog = watchdog("missing");
    let job = format!("{}-missing", std::process::id());
    let mut alone = child("init");
    let error = refused(at_a_name(alone.env("MQ_START_SECONDS", "1"), 1, &job));
    assert!(
        error.starts_with("process 0 of 2 has not started within 1 s (MQ_START_SECONDS)"),
        "{error}"
    );
    drop(place(&job).expect("nobody has the place any more"));
}

#[test]
fn a_place_that_is_refused_is_an_error() {
    let _dog = watchdog("no sockets");
    let job = format!("{}-sockets", std::process::id());
    let error = refused(at_a_name(&mut child("no sockets"), 0, &job));
    let said =
        format!("meeting the other processes at slurm-{job}-refused: Operation not permitted");
    assert!(error.starts_with(&said), "{error}");
}

#[test]
fn who_is_kept_when_it_leaves_says_by_whom() {
    let _dog = watchdog("kept");
    let job = format!("{}-kept", std::process::id());
    let children = [0, 1].map(|rank| at_a_name(&mut child("kept"), rank, &job));
    let said = children.map(|child| {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        text
    });
    let expected =
        "mq: rank 0: leaving, but still waiting for process 1 to do its part of a message\n";
    assert_eq!(said, [expected, ""]);
}

/// One of two processes that meet at a place whose name SLURM's variables make.
fn at_a_name(command: &mut Command, rank: u32, job: &str) -> Child {
    command
        .env("SLURM_PROCID", rank.to_string())
        .env("SLURM_STEP_NUM_TASKS", "2")
        .env("SLURM_STEP_NUM_NODES", "1")
        .env("SLURM_JOB_ID", job)
        .env("SLURM_STEP_ID", "refused")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a child was refused.
fn refused(child: Child) -> String {
    let output: Output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(3),
        "an error, and no signal: {text}"
    );
    let line = text.lines().find_map(|line| line.strip_prefix("REFUSED "));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The place at which the processes of a job meet, taken by somebody before them.
fn place(job: &str) -> std::io::Result<UnixListener> {
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let numbers = numbers
        .to_string_lossy()
        .replace(['p', 'i', 'd', ':', '[', ']'], "");
    let name = format!("mq/{numbers}/slurm-{job}-refused");
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Hands a file to the next process that comes.
fn hand_out(place: &UnixListener, file: &OwnedFd) {
    let (guest, _) = place.accept().unwrap();
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
    let bytes = [IoSlice::new(b"m")];
    sendmsg(&guest, &bytes, &mut control, SendFlags::empty()).unwrap();
}

#[test]
fn segments_that_are_not_ours_are_refused() {
    let _dog = watchdog("foreign");
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let mut head = [0; 256];
    rustix::io::pread(segment.file(), &mut head, 0).unwrap();
    let version = head[8];
    let mut older = head;
    older[8] = version - 1;
    let whole = segment_of(3);
    for (case, content, length, said) in [
        (
            "foreign",
            &[b'x'; 256][..],
            None,
            "is not a segment of mq: it begins with 0x7878".to_owned(),
        ),
        (
            "older",
            &older[..],
            None,
            format!(
                "has layout version {}, this program has {version}: build all",
                version - 1
            ),
        ),
        (
            "truncated",
            &head[..],
            None,
            "is damaged: its length is 256, which is invalid (at least ".to_owned(),
        ),
        (
            "other",
            &whole[..],
            Some(Geometry::new(3).unwrap().length()),
            "was made for another number of processes (3) than this process was started for (2)"
                .to_owned(),
        ),
    ] {
        let job = format!("{}-{case}", std::process::id());
        let place = place(&job).unwrap();
        let file = memfd_create("not ours", MemfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&file, content).unwrap();
        if let Some(length) = length {
            rustix::fs::ftruncate(&file, length).unwrap();
        }
        let guest = at_a_name(&mut child("init"), 0, &job);
        hand_out(&place, &file);
        let error = refused(guest);
        let what = format!("slurm-{job}-refused {said}");
        assert!(error.starts_with(&what), "{error}\nexpected: {what}");
    }
}

/// What holds the place has other things to do, or is no host.
#[test]
fn a_place_where_nobody_answers_is_an_error() {
    let _dog = watchdog("no answer");
    let job = format!("{}-silent", std::process::id());
    let place = place(&job).unwrap();
    let mut silent = child("init");
    let error = refused(at_a_name(silent.env("MQ_START_SECONDS", "1"), 1, &job));
    let said = format!(
        "meeting the other processes at slurm-{job}-refused: the process that has the place does not answer"
    );
    assert_eq!(error, said);
    // It ends while a process waits: that one is then the first.
    let waiting = at_a_name(silent.env("MQ_START_SECONDS", "1"), 1, &job);
    drop(place.accept().unwrap());
    drop(place);
    let error = refused(waiting);
    assert!(
        error.starts_with("process 0 of 2 has not started within 1 s"),
        "{error}"
    );
}

/// The first bytes of a segment.
fn segment_of(processes: u32) -> [u8; 256] {
    let segment = Mapped::create(Geometry::new(processes).unwrap()).unwrap();
    let mut head = [0; 256];
    rustix::io::pread(segment.file(), &mut head, 0).unwrap();
    head
}
