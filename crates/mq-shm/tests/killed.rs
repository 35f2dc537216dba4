//! A process is killed at every step of sending and receiving. The others hear everything that it
//! had sent whole, hear that it died, go on with each other, and get back what it had of theirs.
#![cfg(feature = "_steps")]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use mq_shm::liveness::Gone;
use mq_shm::{Endpoint, Geometry, Mapped, Options, Policy, Process, STEPS, Sent};
use rand::RngExt;

const COUNT: u64 = 60;
const VICTIM: u32 = 1;
const KILLED: i32 = 9;
/// Steps that come after another's end.
const ESTATE: [&str; 4] = ["Buried", "StruckOut", "Inherited", "GivenBack"];
/// Steps that come once in a process.
const ONCE: [&str; 3] = ["Joining", "Joined", "Left"];

fn options() -> Options {
    // Whether it reads another's memory is for each process to say: those that do not take the
    // ring.
    options_of(std::env::var("MQ_TEST_COPY").is_ok())
}

fn options_of(single_copy: bool) -> Options {
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
    wait_until(endpoint, "all cells are back", |endpoint| {
        endpoint.cells_out().unwrap() == 0
    });
    wait_until(endpoint, "what the victim had is given back", |endpoint| {
        endpoint.memory().is_given_back(Process(VICTIM)).unwrap()
    });
}

/// Goes on, with nothing more to say, until something is so.
fn wait_until(endpoint: &mut Endpoint, what: &str, is_so: impl Fn(&mut Endpoint) -> bool) {
    let patience = Instant::now() + common::at_most(60);
    while !is_so(endpoint) {
        let is_time = Instant::now() < patience;
        assert!(is_time, "never: {what} (on a slow machine: MQ_SLOWER=5)");
        endpoint.check_peers();
        endpoint.poll().unwrap();
        std::thread::yield_now();
    }
}

/// Whether a process was killed as it was to be, or had finished before.
fn is_regular(ended: ExitStatus) -> bool {
    ended.success() || ended.signal() == Some(KILLED)
}

/// What a victim exits with that was to read another's memory and was not let.
const REFUSED: i32 = 77;

/// Three processes talk, of which the others read each other's memory, or do not; `end` sees to the death of
/// one. How the victim ended.
fn with_victim(
    test: &str,
    settings: &[(&str, &str)],
    others_read: bool,
    end: impl FnOnce(&mut Child),
) -> ExitStatus {
    let segment = Mapped::create(Geometry::with_cells(3, 8).unwrap()).unwrap();
    let fresh = segment.committed().unwrap();
    let mut victim = common::spawn(&segment, test, VICTIM, settings);
    let of_others = [("MQ_TEST_COPY", "1")];
    let of_others = &of_others[..usize::from(others_read)];
    let mut other = common::spawn(&segment, test, 2, of_others);
    let file = segment.file().try_clone_to_owned().unwrap();
    let memory = Mapped::open(file, "a copy").unwrap();
    let survivor = std::thread::spawn(move || {
        let mut endpoint = Endpoint::join(memory, Process(0), options_of(others_read)).unwrap();
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
    assert_eq!(segment.committed().unwrap(), fresh, "memory is lost");
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
    let _dog = common::watchdog(500);
    if take_part() {
        return;
    }
    let (mut later, mut missed) = (0, Vec::new());
    for step in STEPS.iter().filter(|step| !ESTATE.contains(step)) {
        for times in [1, 2, 7] {
            let plan = format!("{step}:{times}");
            let mut settings = vec![("MQ_DIE", plan.as_str())];
            // Of messages that both ends copy: both have to be willing.
            let helps = step.starts_with("Help");
            if helps || matches!(*step, "Copying" | "Copied") {
                settings.push(("MQ_TEST_COPY", "1"));
            }
            let mut ended = with_victim("at_every_step", &settings, helps, |_| {});
            if ended.code() == Some(REFUSED) {
                common::untried(&plan, common::NOT_READ);
                continue;
            }
            // Whether somebody sleeps, who has to be woken, is up to the system, and whether a sender comes in
            // time to help.
            let chances = if helps { 300 } else { 30 };
            for _ in 0..chances {
                if times > 1 || !ended.success() {
                    break;
                }
                ended = with_victim("at_every_step", &settings, helps, |_| {});
            }
            // Some steps do not come so often.
            if times == 1 || !ended.success() {
                assert_eq!(ended.signal(), Some(KILLED), "at {plan}: {ended}");
            }
            if times > 1 && !helps && !ONCE.contains(step) {
                later += 1;
                if ended.success() {
                    missed.push(plan);
                }
            }
        }
    }
    assert!(
        missed.len() * 4 <= later,
        "of {later} later visits these did not come: {missed:?}"
    );
}

/// The steps of giving memory back, which come after another's end: the victim is the only one that
/// has something of a process that has left, and dies over its estate.
#[test]
fn over_an_estate() {
    let _dog = common::watchdog(200);
    if let Some(mut endpoint) = common::spawned(options()) {
        if endpoint.me().0 == VICTIM {
            let sent = endpoint.try_send(Process(0), [0, 0], b"mine", 0);
            assert_eq!(sent.unwrap(), Sent::Whole);
            wait_until(&mut endpoint, "the other has left", |endpoint| {
                endpoint.gone(Process(2)).is_some()
            });
            // To the end of the last message, and beyond.
            for _ in 0..9 {
                endpoint.poll().unwrap();
                endpoint.check_peers();
            }
        } else {
            let sent = endpoint.try_send(Process(VICTIM), [0, 0], b"all I have", 0);
            assert_eq!(sent.unwrap(), Sent::Whole);
        }
        drop(endpoint);
        std::process::exit(0);
    }
    for step in ESTATE {
        let segment = Mapped::create(Geometry::with_cells(3, 8).unwrap()).unwrap();
        let fresh = segment.committed().unwrap();
        let file = segment.file().try_clone_to_owned().unwrap();
        let memory = Mapped::open(file, "a copy").unwrap();
        let mut endpoint = Endpoint::join(memory, Process(0), options()).unwrap();
        endpoint.want(None).unwrap();
        let mut victim = common::spawn(&segment, "over_an_estate", VICTIM, &[("MQ_DIE", step)]);
        let mut other = common::spawn(&segment, "over_an_estate", 2, &[]);
        assert!(other.wait().unwrap().success());
        assert_eq!(victim.wait().unwrap().signal(), Some(KILLED), "at {step}");
        wait_until(&mut endpoint, "all is given back", |endpoint| {
            let memory = endpoint.memory();
            [1, 2]
                .into_iter()
                .all(|other| memory.is_given_back(Process(other)).unwrap())
        });
        drop(endpoint);
        assert_eq!(
            segment.committed().unwrap(),
            fresh,
            "memory is lost at {step}"
        );
    }
}

/// Up to eleven of twelve die, each at another step, while all talk to all. When the last has heard
/// of it, nothing of theirs is left, and when it leaves, nothing at all.
#[test]
fn many_at_once() {
    const PROCESSES: u32 = 12;
    let _dog = common::watchdog(200);
    if let Some(mut endpoint) = common::spawned(options()) {
        common::talk(&mut endpoint, COUNT);
        drop(endpoint);
        std::process::exit(0);
    }
    for round in 0..4 {
        let segment = Mapped::create(Geometry::with_cells(PROCESSES, 8).unwrap()).unwrap();
        let fresh = segment.committed().unwrap();
        let victims: Vec<Child> = (1..PROCESSES)
            .map(|me| {
                let step = STEPS[(me + round * 7) as usize % STEPS.len()];
                let plan = format!("{step}:{}", 1 + me % 3);
                common::spawn(&segment, "many_at_once", me, &[("MQ_DIE", plan.as_str())])
            })
            .collect();
        let file = segment.file().try_clone_to_owned().unwrap();
        let memory = Mapped::open(file, "a copy").unwrap();
        let survivor = std::thread::spawn(move || {
            let mut endpoint = Endpoint::join(memory, Process(0), options()).unwrap();
            for (from, heard) in (0..).zip(common::talk(&mut endpoint, COUNT)) {
                let all = heard.messages == COUNT;
                assert!(
                    from == 0 || all || heard.gone.is_some(),
                    "{from}: {heard:?}"
                );
            }
            wait_until(&mut endpoint, "all is given back", |endpoint| {
                let memory = endpoint.memory();
                (1..PROCESSES).all(|other| memory.is_given_back(Process(other)).unwrap())
            });
        });
        // One that ended before it joined is known to its launcher only, and the others wait for
        // it.
        let mut running: Vec<(u32, Child)> = (1..).zip(victims).collect();
        let mut killed = 0;
        while !running.is_empty() {
            running.retain_mut(|(me, victim)| {
                let Some(ended) = victim.try_wait().unwrap() else {
                    return true;
                };
                assert!(is_regular(ended), "process {me}: {ended}");
                killed += u32::from(ended.signal() == Some(KILLED));
                segment.ended(Process(*me)).unwrap();
                false
            });
            std::thread::sleep(Duration::from_millis(1));
        }
        survivor.join().expect("the survivor goes on");
        // In some rounds, most steps are of copies that nobody makes here.
        assert!(killed > 1, "{killed} were killed in round {round}");
        assert_eq!(segment.committed().unwrap(), fresh, "memory is lost");
    }
}

#[test]
fn at_any_time() {
    let seconds = std::env::var("MQ_KILL_SECONDS").map_or(5, |text| text.parse().unwrap());
    let _dog = common::watchdog(seconds + 60);
    if take_part() {
        return;
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut killed) = (0, 0);
    while Instant::now() < until {
        let wait = rand::rng().random_range(0..30_000 * common::slower());
        // Every other time all read each other's memory.
        let reads = [("MQ_TEST_COPY", "1")];
        let settings = &reads[..runs % 2];
        let ended = with_victim("at_any_time", settings, runs % 2 == 1, |victim| {
            std::thread::sleep(Duration::from_micros(wait));
            victim.kill().unwrap();
        });
        assert!(is_regular(ended), "the victim: {ended}");
        runs += 1;
        killed += u32::from(ended.signal() == Some(KILLED));
    }
    println!("{killed} of {runs} victims were killed before they had finished");
    assert!(killed > 0);
}
