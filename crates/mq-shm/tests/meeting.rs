//! How processes without a common parent come to one segment: at a place, or by a name in
//! `/dev/shm`.

mod common;

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::{at_most, dev_shm_is_there, untried, watchdog};
use mq_shm::segment::Memory;
use mq_shm::{Arrival, Endpoint, Geometry, Mapped, Options, Process, ShmError};
use rustix::fs::fstat;
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, Signal, Uid, geteuid, kill_process};

/// More than a meeting takes.
fn patience() -> Duration {
    at_most(60)
}

fn place(what: &str) -> String {
    format!("test-{}-{what}", std::process::id())
}

/// The file behind a segment.
fn inode(memory: &Mapped) -> u64 {
    fstat(memory.file().as_fd()).unwrap().st_ino
}

#[test]
fn who_comes_first_hands_its_segment_to_the_others() {
    let _dog = watchdog(60);
    let place = place("first");
    let geometry = Geometry::new(3).unwrap();
    let (first, host) = Mapped::meet(&place, geometry, patience()).unwrap();
    let host = host.expect("nobody was there");
    let come = |name: String| std::thread::spawn(move || Mapped::meet(&name, geometry, patience()));
    let guests = [come(place.clone()), come(place.clone())];
    while guests.iter().any(|guest| !guest.is_finished()) {
        host.admit().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut endpoints = vec![Endpoint::join(first, Process(0), Options::default()).unwrap()];
    for (guest, me) in guests.into_iter().zip(1..) {
        let (memory, host) = guest.join().unwrap().unwrap();
        assert!(host.is_none());
        endpoints.push(Endpoint::join(memory, Process(me), Options::default()).unwrap());
    }
    let _ = endpoints[1].try_send(Process(2), [1, 2], b"x", 0).unwrap();
    assert!(matches!(
        endpoints[2].poll().unwrap(),
        Some(Arrival::Message(_))
    ));
}

#[test]
fn who_waits_for_a_host_that_ends_is_the_next_host() {
    let _dog = watchdog(60);
    let place = place("next");
    let geometry = Geometry::new(2).unwrap();
    let (first, host) = Mapped::meet(&place, geometry, patience()).unwrap();
    let name = place.clone();
    let waiting = std::thread::spawn(move || Mapped::meet(&name, geometry, patience()));
    std::thread::sleep(Duration::from_millis(20));
    drop(host);
    let (second, host) = waiting.join().unwrap().unwrap();
    assert!(host.is_some());
    assert_ne!(inode(&first), inode(&second));
}

/// A child of the host that was forked meanwhile has the socket too.
#[test]
fn a_place_that_somebody_holds_for_nobody_is_an_error() {
    let _dog = watchdog(60);
    let place = place("held");
    let geometry = Geometry::new(2).unwrap();
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let numbers = numbers
        .to_string_lossy()
        .replace(['p', 'i', 'd', ':', '[', ']'], "");
    let address = SocketAddr::from_abstract_name(format!("mq/{numbers}/{place}")).unwrap();
    let held = UnixListener::bind_addr(&address).unwrap();
    shutdown(&held, Shutdown::Both).unwrap();
    let error = Mapped::meet(&place, geometry, Duration::from_millis(30)).unwrap_err();
    let said = format!(
        "meeting the other processes at {place}: the process that has the place does not answer"
    );
    assert_eq!(error.to_string(), said);
    drop(held);
    let (_memory, host) = Mapped::meet(&place, geometry, patience()).unwrap();
    assert!(host.is_some());
}

/// The place at which a child is to wait in vain.
const PLACE: &str = "MQ_TEST_PLACE";

#[test]
fn a_child_waits_in_vain() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let geometry = Geometry::new(2).unwrap();
    let met = Mapped::meet(&place, geometry, Duration::from_millis(300));
    std::process::exit(if met.is_err() { 3 } else { 0 });
}

/// A program that is stopped and goes on, or gets other signals, more often than it has patience.
#[test]
fn who_is_interrupted_again_and_again_does_not_wait_for_ever() {
    let _dog = watchdog(60);
    let place = place("interrupted");
    // Nobody is let in.
    let (_memory, host) = Mapped::meet(&place, Geometry::new(2).unwrap(), patience()).unwrap();
    assert!(host.is_some());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_child_waits_in_vain", "--nocapture"])
        .env(PLACE, &place)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let number = Pid::from_raw(child.id().cast_signed()).unwrap();
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        for signal in [Signal::STOP, Signal::CONT] {
            // It is not waited for yet, so that the number is its own.
            kill_process(number, signal).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    assert_eq!(ended.code(), Some(3), "it gives up");
}

#[test]
fn others_than_those_that_are_expected_do_not_meet() {
    let _dog = watchdog(60);
    let place = place("other");
    let (_first, host) = Mapped::meet(&place, Geometry::new(2).unwrap(), patience()).unwrap();
    let host = host.unwrap();
    let name = place.clone();
    let other = std::thread::spawn(move || {
        Mapped::meet(&name, Geometry::new(3).unwrap(), patience()).map(drop)
    });
    while !other.is_finished() {
        host.admit().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let error = other.join().unwrap().unwrap_err().to_string();
    let said = format!(
        "{place} was made for another number of processes (2) than this process was started for (3): start all processes of a job with the same options"
    );
    assert_eq!(error, said);

    let long = "n".repeat(200);
    let error = Mapped::meet(&long, Geometry::new(2).unwrap(), patience()).unwrap_err();
    let said = format!("meeting the other processes at {long}: ");
    assert!(error.to_string().starts_with(&said), "{error}");
}

/// What something gives another user; nothing where this process cannot be two, which it says.
fn to_another_user<R: Send + 'static>(
    what: &str,
    give: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    if !geteuid().is_root() {
        untried(what, "only root can be two users");
        return None;
    }
    let stranger = std::thread::spawn(move || {
        let other = rustix::thread::set_thread_uid(Uid::from_raw(65_534));
        other.map(|()| give())
    });
    let given = stranger.join().unwrap();
    // A namespace may have one user only, or its root may not become another.
    let given = given.map_err(|error| untried(what, &format!("no other user: {error}")));
    given.ok()
}

/// Whoever may have guessed the name.
#[test]
fn a_place_of_another_user_is_an_error() {
    let _dog = watchdog(60);
    let place = place("stranger");
    let geometry = Geometry::new(2).unwrap();
    let (_memory, host) = Mapped::meet(&place, geometry, patience()).unwrap();
    let name = place.clone();
    let met = to_another_user("a place of another user", move || {
        Mapped::meet(&name, geometry, patience()).map(drop)
    });
    let Some(met) = met else {
        return;
    };
    let error = met.unwrap_err().to_string();
    let said =
        format!("meeting the other processes at {place}: it belongs to user 0, this is user 65534");
    assert_eq!(error, said);
    host.unwrap().admit().unwrap();
}

/// A file that goes with its test, however that ends.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Who has made a file that all may write could cut it off under those that have mapped it.
#[test]
fn a_name_of_another_user_is_an_error() {
    let what = "a name of another user";
    if !dev_shm_is_there(what) {
        return;
    }
    let name = format!("/test-mq-strange-{}", std::process::id());
    let file = Removed(PathBuf::from(format!("/dev/shm{name}")));
    std::fs::write(&file.0, [0_u8; 4096]).unwrap();
    std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(0o666)).unwrap();
    let wanted = name.clone();
    let opened = to_another_user(what, move || {
        Mapped::named(&wanted, Geometry::new(2).unwrap()).map(drop)
    });
    let Some(opened) = opened else {
        return;
    };
    let error = opened.unwrap_err().to_string();
    let said = format!("opening {name} in /dev/shm: it belongs to user 0, this is user 65534");
    assert_eq!(error, said);
}

#[test]
fn a_name_is_made_once_opened_often_and_forgotten() {
    if !dev_shm_is_there("a name") {
        return;
    }
    let name = format!("/test-mq-{}", std::process::id());
    let geometry = Geometry::new(2).unwrap();
    let first = Mapped::named(&name, geometry).unwrap();
    let second = Mapped::named(&name, geometry).unwrap();
    let error = Mapped::named(&name, Geometry::new(3).unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("another number of processes (2)"), "{error}");
    Mapped::forget(&name).unwrap();
    assert!(!std::path::Path::new("/dev/shm").join(&name[1..]).exists());
    let mut alice = Endpoint::join(first, Process(0), Options::default()).unwrap();
    let mut bob = Endpoint::join(second, Process(1), Options::default()).unwrap();
    let _ = alice.try_send(Process(1), [1, 2], b"x", 0).unwrap();
    assert!(matches!(bob.poll().unwrap(), Some(Arrival::Message(_))));
}

#[test]
fn who_only_opens_a_name_founds_nothing() {
    if !dev_shm_is_there("a name that is not there") {
        return;
    }
    let name = format!("/test-mq-existing-{}", std::process::id());
    let is_missing = || {
        let error = Mapped::named_existing(&name).unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
        matches!(error, ShmError::System { reason, .. } if reason.kind() == ErrorKind::NotFound)
    };
    assert!(is_missing(), "nobody has made it");
    let geometry = Geometry::new(3).unwrap();
    let made = Mapped::named(&name, geometry).unwrap();
    let opened = Mapped::named_existing(&name);
    Mapped::forget(&name).unwrap();
    let opened = opened.unwrap();
    assert_eq!(inode(&opened), inode(&made));
    assert_eq!(*opened.geometry(), geometry);
    assert!(is_missing(), "it was forgotten");
    assert!(!std::path::Path::new("/dev/shm").join(&name[1..]).exists());
}

/// What a child is to do.
const TASK: &str = "MQ_TEST_NAME";

#[test]
fn a_child_opens_a_name() {
    let Ok(name) = std::env::var(TASK) else {
        return;
    };
    let opened = Mapped::named(&name, Geometry::new(2).unwrap());
    let joined = opened.and_then(|memory| {
        let mut endpoint = Endpoint::join(memory, Process(0), Options::default())?;
        endpoint.prepare()
    });
    let removed = Mapped::forget(&name).is_ok();
    if let Err(error) = joined {
        eprintln!("REFUSED {error}");
        std::process::exit(if removed { 4 } else { 3 });
    }
}

/// A child in a mount namespace of its own, in which an empty file system is mounted so at a place;
/// nothing where the machine allows no such thing. The child needs nothing of `/dev` but `/dev/shm`.
fn with_mounted(options: &str, place: &str, name: &str) -> Option<Output> {
    let mount = ["mount", "-t", "tmpfs", "-o", options, "none", place];
    let allowed = ["-m", "-rm"].into_iter().find(|how| {
        let mut tried = Command::new("unshare");
        let tried = tried.arg(how).args(mount).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    })?;
    let output = Command::new("unshare")
        .args([allowed, "sh", "-c"])
        .arg(format!("{} && exec \"$@\"", mount.join(" ")))
        .arg("sh")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_child_opens_a_name", "--nocapture"])
        .env(TASK, name)
        .output();
    Some(output.unwrap())
}

#[test]
fn a_dev_shm_that_is_missing_read_only_or_full_is_an_error() {
    let _dog = watchdog(60);
    for (case, options, place, said, code) in [
        (
            "missing",
            "mode=755",
            "/dev",
            "making NAME in /dev/shm: No such file or directory (",
            3,
        ),
        (
            "read-only",
            "ro",
            "/dev/shm",
            "making NAME in /dev/shm: Read-only file system (",
            3,
        ),
        (
            "full at once",
            "size=4k",
            "/dev/shm",
            "no shared memory for the entries of the processes (",
            3,
        ),
        (
            "full later",
            "size=64k",
            "/dev/shm",
            "no shared memory for message cells (",
            4,
        ),
    ] {
        let name = format!("/test-{}-{}", std::process::id(), case.replace(' ', "-"));
        let Some(output) = with_mounted(options, place, &name) else {
            untried(case, &format!("this machine lets nobody mount at {place}"));
            continue;
        };
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{case}: {text}");
        let error = text.lines().find_map(|line| line.strip_prefix("REFUSED "));
        let error = error.unwrap_or_else(|| panic!("{case}: {text}"));
        let said = said.replace("NAME", &name);
        assert!(error.starts_with(&said), "{case}: {error}");
        assert!(error.contains("os error"), "{case}: {error}");
    }
}
