//! Commands that a signal ends: what is done is shown.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{command, file, first_object, real, svg, text};

/// Begins a command on these arguments, ends it by a signal when it has printed its first object, and returns how it
/// ended, what it printed, and what it said.
fn stopped(args: &[&str], signal: Signal) -> (Option<i32>, String, String) {
    let mut command = command(args);
    let mut child = (command.stdout(Stdio::piped()).stderr(Stdio::piped()))
        .spawn()
        .expect("mq starts");
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut text = first_object(&mut stdout);
    let pid = Pid::from_child(&child);
    kill_process(pid, signal).expect("it runs");
    stdout.read_to_string(&mut text).expect("UTF-8");
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stderr).expect("UTF-8");
    (ended.status.signal(), text, said)
}

#[test]
fn who_is_stopped_shows_what_is_done_and_dies_of_the_signal() {
    let (folder, empty) = file("empty.mqt", "# mqtrace 1\n");
    let (long, plot) = (real("hpcc32-r0"), folder.path().join("costs.svg"));
    let args = ["replay", &empty, &long, "--format", "json", "--plot"];
    let more = [&*text(&plot), "--structure", "list", "--repeat", "20000"];
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let (died_of, stdout, said) = stopped(&[&args[..], &more[..]].concat(), signal);
        assert_eq!(died_of, Some(signal.as_raw()), "{said}");
        let objects: Vec<Value> = serde_json::from_str(&stdout).expect("a whole list");
        assert_eq!(objects.len(), 1);
        assert_eq!(objects[0]["trace"], empty.as_str());
        let number = signal.as_raw();
        let expected = format!("mq: stopped by signal {number} ({name}) after 1 of 2 traces\n");
        assert_eq!(said, expected);
        assert!(svg(&plot).contains("empty"));
        std::fs::remove_file(&plot).expect("it is there");
    }
    let left = folder.path().read_dir().expect("a folder");
    assert_eq!(left.count(), 1, "only the trace");
}

/// Nobody reads what it prints, so it cannot show anything.
#[test]
fn who_cannot_show_what_is_done_ends_all_the_same() {
    let mut args = vec!["replay", "--repeat", "1", "--format", "json"];
    let folder = tempfile::tempdir().expect("a folder");
    // Many traces, whose objects are more than a pipe holds.
    let copies: Vec<String> = (0..200)
        .map(|i| {
            let copy = folder.path().join(format!("{i}.mqt"));
            std::fs::write(&copy, "# mqtrace 1\n").expect("written");
            text(&copy)
        })
        .collect();
    args.extend(copies.iter().map(String::as_str));
    let mut command = command(&args);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("mq starts");
    let pid = Pid::from_child(&child);
    let mut stdout = child.stdout.take().expect("it is piped");
    stdout.read_exact(&mut [0]).expect("it has begun");
    let ended = loop {
        // One that comes soon after the first is taken for the same.
        kill_process(pid, Signal::TERM).expect("it is there until it is waited for");
        if let Some(ended) = child.try_wait().expect("a child") {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
    };
    assert_eq!(ended.signal(), Some(15));
}

#[test]
fn who_is_stopped_draws_the_queues_of_what_is_described() {
    let (folder, empty) = file("empty.mqt", "# mqtrace 1\n");
    let (long, plot) = (folder.path().join("long.mqt"), folder.path().join("q.svg"));
    // Each message is for the last of the receives, which a list that searches takes long for; and it has to search,
    // since the last outcome is wrong.
    let posts = (0..100_000).map(|tag| format!("p 0 1 {tag}\n"));
    let arrivals = (1..100_000)
        .rev()
        .map(|tag| format!("a 0 1 {tag} ={tag}\n"));
    let wrong = std::iter::once("a 0 1 0\n".to_owned());
    let lines: String = posts.chain(arrivals).chain(wrong).collect();
    std::fs::write(&long, format!("# mqtrace 1\n{lines}")).expect("written");
    let (long, file) = (text(&long), text(&plot));
    let args = ["stats", &empty, &long, "--format", "json", "--plot", &file];
    let (died_of, stdout, said) = stopped(&args, Signal::TERM);
    assert_eq!(died_of, Some(15), "{said}");
    let objects: Vec<Value> = serde_json::from_str(&stdout).expect("a whole list");
    assert_eq!(objects.len(), 1);
    assert_eq!(
        said,
        "mq: stopped by signal 15 (SIGTERM) after 1 of 2 traces\n"
    );
    assert!(svg(&plot).contains("empty"));
}

/// Advice on some traces is told, in json, but not what would be taken for advice on all.
#[test]
fn who_is_stopped_tells_its_advice_so_far() {
    let (_folder, empty) = file("empty.mqt", "# mqtrace 1\n");
    let long = real("hpcc32-r0");
    let args = [
        "advise", &empty, &long, "--format", "json", "-s", "list", "--repeat", "20000",
    ];
    // Nothing shows when the first is done: each attempt waits longer.
    for wait in [1, 4, 16, 64] {
        let mut command = command(&args);
        let child = (command.stdout(Stdio::piped()).stderr(Stdio::piped()))
            .spawn()
            .expect("mq starts");
        std::thread::sleep(std::time::Duration::from_secs(wait));
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.signal(), Some(15));
        if ended.stdout.is_empty() {
            continue;
        }
        let advice: Value = serde_json::from_slice(&ended.stdout).expect("a whole object");
        let traces = advice["traces"].as_array().expect("a list");
        assert_eq!(traces.len(), 1);
        assert_eq!(traces[0]["trace"], empty.as_str());
        assert!(advice.get("together").is_none());
        let said = String::from_utf8(ended.stderr).expect("UTF-8");
        assert_eq!(
            said,
            "mq: stopped by signal 15 (SIGTERM) after 1 of 2 traces\n"
        );
        return;
    }
    panic!("an empty trace took a minute");
}
