//! A process is killed at every step of sending and receiving. The others hear everything that it had sent whole,
//! hear that it died, go on with each other, and get back what it had of theirs.
#![cfg(feature = "steps")]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use mq_shm::liveness::Gone;
use mq_shm::{Endpoint, Geometry, Mapped, Options, Policy, Process, STEPS};
use rand::RngExt;

const COUNT: u64 = 60;
const VICTIM: u32 = 1;
const KILLED: i32 = 9;

fn options() -> Options {
    // Whether it reads another's memory is for each process to say: those that do not take the ring.
    let single_copy = std::env::var("MQ_TEST_COPY").is_ok();
    common::options(Policy::AdaptiveShared, single_copy)
}

/// What a survivor has to find.
fn survive(endpoint: &mut Endpoint) {
    let me = endpoint.me().0;
    for (from, heard) in (0..).zip(common::talk(endpoint, COUNT)) {
        if from == VICTIM {
            assert!(heard.messages <= COUNT);
            // One that was not killed after all has said everything.
            assert!(
                heard.gone == Some(Gone::Died) || heard.messages == COUNT,
                "{heard:?}"
            );
        } else if from != me {
            assert_eq!(heard.messages, COUNT, "from {from}");
            assert_ne!(heard.gone, Some(Gone::Died), "{from}");
        }
    }
    // Those with the dead have come back, and those with the living do.
    let patience = Instant::now() + Duration::from_secs(20);
    while endpoint.cells_out().unwrap() > 0 {
        assert!(
            Instant::now() < patience,
            "{} cells are lost",
            endpoint.cells_out().unwrap()
        );
        endpoint.check_peers().unwrap();
        endpoint.poll().unwrap();
        std::thread::yield_now();
    }
}

/// What a victim exits with that was to read another's memory and was not let.
const REFUSED: i32 = 77;

/// Three processes talk; `end` sees to the death of one. How the victim ended.
fn with_victim(test: &str, settings: &[(&str, &str)], end: impl FnOnce(&mut Child)) -> ExitStatus {
    let segment = Mapped::create(Geometry::with_cells(3, 8).unwrap()).unwrap();
    let mut victim = common::spawn(&segment, test, VICTIM, settings);
    let mut other = common::spawn(&segment, test, 2, &[]);
    let file = segment.file().try_clone_to_owned().unwrap();
    let memory = Mapped::open(file, "a copy").unwrap();
    let survivor = std::thread::spawn(move || {
        let mut endpoint = Endpoint::join(memory, Process(0), options()).unwrap();
        survive(&mut endpoint);
    });
    end(&mut victim);
    let ended = victim.wait().unwrap();
    segment.ended(Process(VICTIM)).unwrap();
    survivor.join().expect("a survivor goes on");
    assert!(
        other.wait().unwrap().success(),
        "the other survivor goes on"
    );
    ended
}

/// The part of the processes that [`with_victim`] starts.
fn take_part() -> bool {
    let Some(mut endpoint) = common::spawned(options()) else {
        return false;
    };
    if endpoint.me().0 == VICTIM {
        let heard = common::talk(&mut endpoint, COUNT);
        if options().single_copy && heard.iter().any(|heard| heard.refused) {
            std::process::exit(REFUSED);
        }
    } else {
        survive(&mut endpoint);
    }
    drop(endpoint);
    std::process::exit(0);
}

#[test]
fn at_every_step() {
    common::watchdog(500);
    if take_part() {
        return;
    }
    for step in STEPS {
        for times in [1, 2, 7] {
            let plan = format!("{step}:{times}");
            let mut settings = vec![("MQ_DIE", plan.as_str())];
            if matches!(*step, "Copying" | "Copied") {
                settings.push(("MQ_TEST_COPY", "1"));
            }
            let ended = with_victim("at_every_step", &settings, |_| {});
            if ended.code() == Some(REFUSED) {
                println!("{plan} was not tried: process_vm_readv is refused on this machine");
                continue;
            }
            let signal = ended.signal();
            // Steps that come once have no second time.
            let once = matches!(*step, "Joining" | "Joined" | "Left");
            if times == 1 || (!once && signal.is_some()) {
                assert_eq!(signal, Some(KILLED), "the victim was to die at {plan}");
            }
        }
    }
}

#[test]
fn at_any_time() {
    let seconds = std::env::var("MQ_KILL_SECONDS").map_or(5, |text| text.parse().unwrap());
    common::watchdog(seconds + 60);
    if take_part() {
        return;
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut killed) = (0, 0);
    while Instant::now() < until {
        let wait = rand::rng().random_range(0..30_000);
        let ended = with_victim("at_any_time", &[], |victim| {
            std::thread::sleep(Duration::from_micros(wait));
            victim.kill().unwrap();
        });
        runs += 1;
        killed += u32::from(ended.signal() == Some(KILLED));
    }
    println!("{killed} of {runs} victims were killed before they had finished");
    assert!(killed > 0);
}
