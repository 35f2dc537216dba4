use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{PidfdFlags, pidfd_open};

use super::kernel::{Start, says_died, tells_apart};
use super::watch::{DOUBTED, Descriptor, TURNS_PER_LOOK};
use super::*;
use crate::segment::inode_of;
use crate::untried::untried;

#[test]
fn this_process_has_started_and_none_has_number_0() {
    let me = std::process::id();
    assert!(matches!(Start::of(me), Start::At(ticks) if ticks > 0));
    assert_eq!(Start::of(0), Start::Unknown);
    assert_ne!(namespace(), 0);
}

/// A process that runs until it is killed, and its entry.
fn joined_by_a_child() -> (Child, Place) {
    // It must not hold the output of a test that fails open.
    let child = Command::new("sleep")
        .arg("600")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let place = Place::default();
    join(&place, Process(1), child.id()).unwrap();
    joined(&place, Process(1)).unwrap();
    (child, place)
}

/// Joins for this process, with another start and in another namespace of numbers.
fn another(place: &Place, process: Process) {
    join(place, process, std::process::id()).unwrap();
    place.started.fetch_add(1, Ordering::Relaxed);
    place.namespace.fetch_add(1, Ordering::Relaxed);
    joined(place, process).unwrap();
}

#[test]
fn what_is_not_known_is_no_death() {
    let place = Place::default();
    another(&place, Process(0));
    assert_eq!(
        Watch::new(1).find_end(Process(0), &place),
        None,
        "a container"
    );
    let place = Place::default();
    join(&place, Process(0), std::process::id()).unwrap();
    joined(&place, Process(0)).unwrap();
    place.started.store(0, Ordering::Relaxed);
    let mut watch = Watch::new(1);
    assert_eq!(watch.find_end(Process(0), &place), None, "its start");
    watch.descriptors[0] = Descriptor::Refused;
    assert_eq!(
        watch.find_end(Process(0), &place),
        None,
        "and no descriptor"
    );
    place.pid.store(u32::MAX, Ordering::Relaxed);
    assert_eq!(watch.find_end(Process(0), &place), None, "no number");
}

#[test]
fn a_process_that_says_a_later_start_of_itself_lives() {
    let (mut child, place) = joined_by_a_child();
    let started = place.started.load(Ordering::Relaxed);
    let gone = |told: u64| {
        place.started.store(told, Ordering::Relaxed);
        Watch::new(2).find_end(Process(1), &place)
    };
    let found = [started + 1, started - 1].map(gone);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, [None, Some(Gone::Died)]);
}

#[test]
fn a_thread_of_this_process_takes_no_descriptor() {
    let place = Place::default();
    join(&place, Process(1), std::process::id()).unwrap();
    joined(&place, Process(1)).unwrap();
    let mut watch = Watch::new(2);
    let room = watch.room;
    assert_eq!(watch.find_end(Process(1), &place), None);
    assert!(matches!(watch.descriptors[1], Descriptor::Unknown));
    assert_eq!(watch.room, room);
    assert_eq!(
        mark_end(&place),
        None,
        "nor does a launcher take it for dead"
    );
    record_end(&place, Gone::Died);
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Died));
    assert_eq!(mark_end(&place), Some(Gone::Died));
}

#[test]
fn who_ends_without_having_joined_had_not_joined() {
    let place = Place::default();
    assert_eq!([mark_end(&place), mark_end(&place)], [None; 2]);
    assert_eq!(State::of(&place), State::Died);
}

#[test]
fn deaths_are_found_without_descriptors() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    watch.descriptors[1] = Descriptor::Refused;
    assert_eq!(watch.find_end(Process(1), &place), None);
    child.kill().unwrap();
    // Before it has been waited for.
    while watch.find_end(Process(1), &place).is_none() {
        std::thread::yield_now();
    }
    child.wait().unwrap();
    place.state.store(State::Joined as u32, Ordering::Relaxed);
    assert_eq!(
        watch.find_end(Process(1), &place),
        Some(Gone::Died),
        "after"
    );
}

#[test]
fn where_there_is_room_for_no_descriptor_all_have_their_turn() {
    all_have_their_turn(|watch| watch.room = 0);
}

#[test]
fn where_the_kernel_gives_no_descriptor_all_have_their_turn() {
    all_have_their_turn(|watch| {
        watch
            .descriptors
            .iter_mut()
            .for_each(|known| *known = Descriptor::Refused);
    });
}

/// Whether this process may open few files only. If not, the test of this name runs in one that may.
fn few_files(name: &str) -> bool {
    const HERE: &str = "MQ_TEST_FEW_FILES";
    if std::env::var_os(HERE).is_some() {
        return true;
    }
    let here = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 64 && exec \"$0\" --exact --nocapture \"$1\"",
        ])
        .arg(std::env::current_exe().unwrap())
        .args([name])
        .env(HERE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&here.stdout);
    assert!(said.contains("1 passed"), "{said}");
    print!("{said}");
    false
}

/// In a process of its own, which may open few files.
#[test]
fn where_files_run_out_all_have_their_turn() {
    const NAME: &str = "liveness::tests::where_files_run_out_all_have_their_turn";
    if !few_files(NAME) {
        return;
    }
    all_have_their_turn(|watch| {
        while let Ok(file) = fs::File::open("/dev/null") {
            core::mem::forget(file);
        }
        assert!(watch.room > 0);
    });
}

fn all_have_their_turn(without_descriptors: impl Fn(&mut Watch)) {
    const ALL: usize = 3 * TURNS_PER_LOOK as usize + 5;
    let (mut child, last) = joined_by_a_child();
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut child, living) = joined_by_a_child();
    let mut watch = Watch::new(ALL as u32);
    without_descriptors(&mut watch);
    let mut looks = 1..=4;
    let found = looks.find_map(|look| {
        watch.ask_all();
        let first = watch.first_in_turn();
        let gone = (first..ALL).chain(0..first).find(|&number| {
            let place = if number == ALL - 1 { &last } else { &living };
            watch
                .find_end_in_turn(Process(number as u32), place)
                .is_some()
        });
        gone.map(|number| (number, look))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, Some((ALL - 1, 4)));
}

#[test]
fn the_descriptor_of_one_that_has_left_is_given_back() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    let room = watch.room;
    assert_eq!(watch.find_end(Process(1), &place), None);
    assert_eq!(watch.room, room - 1);
    let Descriptor::Open(kept) = &watch.descriptors[1] else {
        panic!("{:?}", watch.descriptors[1]);
    };
    let number = kept.descriptor().as_raw_fd();
    record_end(&place, Gone::Left);
    // It runs on, as does a process that is done with its world.
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Left));
    assert_eq!(watch.room, room);
    let said = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let of_child = format!("Pid:\t{}\n", child.id());
    assert!(!said.contains(&of_child), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn one_that_dies_while_it_joins_is_found() {
    let mut child = Command::new("true").spawn().unwrap();
    let place = Place::default();
    join(&place, Process(1), child.id()).unwrap();
    child.wait().unwrap();
    assert_eq!(Watch::new(2).find_end(Process(1), &place), Some(Gone::Died));
}

#[test]
fn a_process_is_gone_when_it_is_dead_and_nobody_waited_for_it() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    assert_eq!(watch.find_end(Process(1), &place), None);
    child.kill().unwrap();
    while watch.find_end(Process(1), &place).is_none() {
        std::thread::yield_now();
    }
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Died));
    child.wait().unwrap();
}

#[test]
fn another_process_of_the_same_number_is_not_the_one_that_joined() {
    let place = Place::default();
    join(&place, Process(0), std::process::id()).unwrap();
    place.started.fetch_sub(1, Ordering::Relaxed);
    joined(&place, Process(0)).unwrap();
    assert_eq!(Watch::new(1).find_end(Process(0), &place), Some(Gone::Died));
}

#[test]
fn a_descriptor_that_is_another_file_s_now_is_no_death() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    assert_eq!(watch.find_end(Process(1), &place), None);
    let Descriptor::Open(kept) = &mut watch.descriptors[1] else {
        panic!("{:?}", watch.descriptors[1]);
    };
    // A program may do this with a descriptor it does not know. There is always something to read
    // here.
    let file = fs::File::open("/dev/zero").unwrap();
    rustix::io::dup2(&file, kept.descriptor.as_mut().unwrap()).unwrap();
    assert_eq!(says_died(kept.descriptor()), Some(true));
    assert_eq!(watch.find_end(Process(1), &place), None);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Died));
}

#[test]
fn a_descriptor_that_is_of_another_process_now_is_no_death() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    assert_eq!(watch.find_end(Process(1), &place), None);
    let Descriptor::Open(kept) = &mut watch.descriptors[1] else {
        panic!("{:?}", watch.descriptors[1]);
    };
    // The program has closed what it did not know, and watches a child of its own through that
    // number: one that has ended, and that it has waited for.
    let mut theirs = Command::new("true").spawn().unwrap();
    let number = kernel::pid(theirs.id()).unwrap();
    let descriptor = pidfd_open(number, PidfdFlags::empty()).unwrap();
    rustix::io::dup2(&descriptor, kept.descriptor.as_mut().unwrap()).unwrap();
    theirs.wait().unwrap();
    assert_eq!(says_died(kept.descriptor()), Some(true));
    let kept = kept.descriptor().as_raw_fd();
    assert_eq!(watch.find_end(Process(1), &place), None);
    assert_eq!(State::of(&place), State::Joined);
    let is_open = fs::exists(format!("/proc/self/fd/{kept}"));
    assert!(is_open.unwrap(), "it is the program's");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Died));
}

#[test]
fn who_ends_closes_no_file_of_the_program() {
    let (mut child, place) = joined_by_a_child();
    for is_theirs in [false, true] {
        let mut watch = Watch::new(2);
        assert_eq!(watch.find_end(Process(1), &place), None);
        let Descriptor::Open(kept) = &mut watch.descriptors[1] else {
            panic!("{:?}", watch.descriptors[1]);
        };
        let number = kept.descriptor().as_raw_fd();
        if is_theirs {
            let log = fs::File::open("/dev/null").unwrap();
            rustix::io::dup2(&log, kept.descriptor.as_mut().unwrap()).unwrap();
        }
        drop(watch);
        let link = fs::read_link(format!("/proc/self/fd/{number}"));
        let is_null = link.is_ok_and(|file| file == Path::new("/dev/null"));
        // Another test may have the number by now, but not with that file.
        assert_eq!(is_null, is_theirs);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Of this many, asked one after the other, one dies unnoticed by its descriptor.
fn one_dies_behind_another_file(processes: usize, victim: usize) {
    let (mut children, places): (Vec<Child>, Vec<Place>) =
        (0..processes).map(|_| joined_by_a_child()).unzip();
    let mut watch = Watch::new(processes as u32);
    let ask = |watch: &mut Watch| -> Vec<Option<Gone>> {
        let places = (0..).map(Process).zip(&places);
        places
            .map(|(process, place)| watch.find_end(process, place))
            .collect()
    };
    let all_live = vec![None; processes];
    assert_eq!(ask(&mut watch), all_live);
    let room = watch.room;
    for _ in 0..2 * DOUBTED {
        assert_eq!(ask(&mut watch), all_live);
    }
    assert_eq!(watch.room, room, "their descriptors are believed");
    let Descriptor::Open(kept) = &mut watch.descriptors[victim] else {
        panic!("{:?}", watch.descriptors[victim]);
    };
    // There is never anything to read here.
    let (empty, _writer) = std::io::pipe().unwrap();
    rustix::io::dup2(&empty, kept.descriptor.as_mut().unwrap()).unwrap();
    children[victim].kill().unwrap();
    children[victim].wait().unwrap();
    let found = (0..DOUBTED).find_map(|_| ask(&mut watch)[victim]);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(found, Some(Gone::Died), "{victim} of {processes}");
}

#[test]
fn a_descriptor_that_is_another_file_s_now_hides_no_death() {
    for processes in [1, 2, 4] {
        for victim in 0..processes {
            one_dies_behind_another_file(processes, victim);
        }
    }
}

#[test]
fn what_all_say_at_once_holds_for_the_next_question() {
    let (mut children, places): (Vec<Child>, Vec<Place>) =
        (0..2).map(|_| joined_by_a_child()).unzip();
    let mut watch = Watch::new(2);
    let ask = |watch: &mut Watch, who: usize| watch.find_end(Process(who as u32), &places[who]);
    let end = |child: &mut Child| {
        child.kill().unwrap();
        child.wait().unwrap();
    };
    watch.ask_all();
    let first = [0, 1].map(|who| ask(&mut watch, who));
    assert_eq!(first, [None; 2], "there is no descriptor to be asked yet");
    watch.ask_all();
    end(&mut children[0]);
    assert_eq!(ask(&mut watch, 0), None, "a moment before, it lived");
    assert_eq!(ask(&mut watch, 0), Some(Gone::Died));
    end(&mut children[1]);
    watch.ask_all();
    assert_eq!(ask(&mut watch, 1), Some(Gone::Died));
}

#[test]
fn a_few_open_files_are_enough() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    watch.room = 0;
    assert_eq!(watch.find_end(Process(1), &place), None);
    assert!(matches!(watch.descriptors[1], Descriptor::Unknown));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Died));
    assert_eq!(watch.room, 0);
}

#[test]
fn a_launcher_s_word_counts_where_the_kernel_has_none() {
    // It has waited for a shell; the process that the shell has started is there.
    let (mut child, place) = joined_by_a_child();
    mark_end(&place);
    assert_eq!(State::of(&place), State::Joined);
    child.kill().unwrap();
    child.wait().unwrap();
    mark_end(&place);
    assert_eq!(State::of(&place), State::Died);
    let place = Place::default();
    mark_end(&place);
    assert_eq!(State::of(&place), State::Died, "before it joined");
    let place = Place::default();
    another(&place, Process(0));
    mark_end(&place);
    assert_eq!(State::of(&place), State::Died, "in a container");
    let place = Place::default();
    record_end(&place, Gone::Left);
    mark_end(&place);
    assert_eq!(State::of(&place), State::Left);
}

#[test]
fn a_process_that_was_given_up_while_it_joined_is_told_so() {
    let place = Place::default();
    change(&place, 0, State::Joining, Ordering::Relaxed);
    mark_end(&place);
    assert_eq!(State::of(&place), State::Died, "it had no number yet");
    let error = joined(&place, Process(2)).unwrap_err().to_string();
    assert!(error.contains("ended before joining"), "{error}");
    assert_eq!(State::of(&place), State::Died);
}

#[test]
fn what_is_written_over_an_entry_ends_all_the_same() {
    for how in [Gone::Left, Gone::Died] {
        let place = Place::default();
        place.state.store(77, Ordering::Relaxed);
        record_end(&place, how);
        assert!(has_ended(&place));
    }
    let place = Place::default();
    place.state.store(77, Ordering::Relaxed);
    mark_end(&place);
    assert_eq!(State::of(&place), State::Died);
}

#[test]
fn what_has_ended_ends_once() {
    let place = Place::default();
    record_end(&place, Gone::Left);
    record_end(&place, Gone::Died);
    assert_eq!(State::of(&place), State::Left);
}

#[test]
fn a_death_is_believed_though_the_number_is_another_s() {
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    assert_eq!(watch.find_end(Process(1), &place), None);
    child.kill().unwrap();
    child.wait().unwrap();
    // As if the number were this process's now, and its start time were unknown.
    place.pid.store(std::process::id(), Ordering::Relaxed);
    place.started.store(0, Ordering::Relaxed);
    assert_eq!(watch.find_end(Process(1), &place), Some(Gone::Died));
}

/// In a process of its own, which may open few files.
#[test]
fn a_death_is_believed_where_files_have_run_out() {
    const NAME: &str = "liveness::tests::a_death_is_believed_where_files_have_run_out";
    if !few_files(NAME) {
        return;
    }
    let (mut child, place) = joined_by_a_child();
    let mut watch = Watch::new(2);
    assert_eq!(watch.find_end(Process(1), &place), None);
    let Descriptor::Open(kept) = &watch.descriptors[1] else {
        panic!("{:?}", watch.descriptors[1]);
    };
    if !tells_apart(inode_of(kept.descriptor()).unwrap()) {
        child.kill().unwrap();
        child.wait().unwrap();
        let why = "before Linux 6.9 descriptors of processes cannot be told apart";
        return untried("a death where files have run out", why);
    }
    let files: Vec<_> = core::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    child.kill().unwrap();
    // It is not waited for, so its number and its entry in `/proc` stay.
    let patience = Instant::now() + Duration::from_secs(60);
    while watch.find_end(Process(1), &place).is_none() {
        assert!(Instant::now() < patience, "the death is not found");
        std::thread::yield_now();
    }
    drop(files);
    child.wait().unwrap();
}

#[test]
fn a_process_whose_first_thread_has_ended_lives() {
    // As Linux shows a C program whose `main` has called `pthread_exit`, and one that is dead.
    let stat = |state: &str, threads: u32| {
        let fields = format!("4227084 33 0 0 0 0 0 0 0 20 0 {threads} 0 1505868 0 0");
        format!("417 (a) Z (b) {state} 413 417 413 34816 417 {fields}")
    };
    let start = |state, threads| Start::said_by(stat(state, threads).as_bytes());
    let at = Start::At(1_505_868);
    assert_eq!((start("Z", 2), start("S", 1), start("S", 7)), (at, at, at));
    assert_eq!((start("Z", 1), start("X", 0)), (Start::Over, Start::Over));
    assert_eq!(Start::said_by(b"417 (cut off"), Start::Unknown);
    let own = fs::read("/proc/self/stat").unwrap();
    assert_eq!(Start::said_by(&own), Start::of(std::process::id()));
}

#[test]
fn a_process_joins_once() {
    let place = Place::default();
    join(&place, Process(3), 77).unwrap();
    let error = join(&place, Process(3), 78).unwrap_err().to_string();
    assert!(error.contains("77"), "{error}");
}
