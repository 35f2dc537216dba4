//! `mq generate`.

use std::process::Command;

use crate::support::{file, fresh, mq, text};

#[test]
fn a_generated_trace_is_reproduced() {
    let (_folder, path) = fresh("t.mqt.gz");
    let path = text(&path);
    let shape = [
        "--depth", "200", "--order", "random", "--queue", "posted", "--by", "tag",
    ];
    let mix = [
        "--any-source",
        "12.5",
        "--any-tag",
        "10",
        "--contexts",
        "3",
        "--rounds",
        "2",
    ];
    let args = [
        &["generate", "depth", "--seed", "7", "-o", &path],
        &shape[..],
        &mix[..],
    ]
    .concat();
    let run = mq(&args);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, "", "")
    );
    let bytes = std::fs::read(&path).expect("the trace was written");
    assert_eq!(bytes[..2], [0x1f, 0x8b], "a name in .gz is compressed");

    let run = mq(&["replay", &path, "--repeat", "1", "--format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for object in run.objects() {
        assert_eq!(
            (&object["mismatches"], &object["operations"]),
            (&0.into(), &800.into())
        );
    }
    let stats = mq(&["stats", &path, "--format", "json"]).objects();
    assert_eq!(stats[0]["communicators"].as_array().map(Vec::len), Some(3));
    assert!(stats[0]["any_source"].as_u64() > Some(0));
    assert!(stats[0]["max_posted"].as_u64() >= Some(200));
}

#[test]
fn without_a_file_it_is_plain_text_on_stdout() {
    let args = ["generate", "depth", "--depth", "2", "--seed", "3"];
    let run = mq(&args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let mut lines = run.stdout.lines();
    let header = lines.next().expect("a header");
    let expected = "# mqtrace 1 source=generated pattern=reverse-unexpected-by-source-2";
    assert!(header.starts_with(expected), "{header}");
    assert!(header.ends_with("seed=3"), "{header}");
    let rest: Vec<_> = lines.collect();
    assert_eq!(
        rest,
        ["c 0 2 0", "a 0 0 1", "a 0 1 1", "p 0 1 1 =1", "p 0 0 1 =0"]
    );
    assert_eq!(
        mq(&args).stdout,
        run.stdout,
        "the same seed gives the same trace"
    );

    let (_folder, trace) = file("t.mqt", &run.stdout);
    assert_eq!(mq(&["replay", &trace, "--repeat", "1"]).code, 0);
}

#[test]
fn too_much_is_refused_before_work_begins() {
    let run = mq(&[
        "generate", "depth", "--depth", "1000000", "--rounds", "1000000",
    ]);
    assert!(
        run.refusal().contains("at most 20,000,000"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_trace_that_becomes_too_large_is_not_there() {
    let (folder, path) = fresh("t.mqt");
    std::fs::write(&path, "old").expect("written");
    let limited = "ulimit -f 100
                   exec \"$0\" generate depth --depth 20000 --order forward --rounds 1 -o \"$1\"";
    let mut run = Command::new("sh");
    run.args(["-c", limited, env!("CARGO_BIN_EXE_mq"), &text(&path)]);
    let run = run.output().expect("sh starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(
        said.contains("t.mqt: cannot write: File too large"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "old");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
    // What a process leaves next to it that is killed is not taken for a trace.
    let part = folder.path().join(".t.mqt.4711-part");
    std::fs::write(part, "# mqtrace 1").expect("written");
    let run = mq(&["stats", &text(folder.path())]);
    assert!(run.refusal().contains("t.mqt:1: "), "{}", run.stderr);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let (_folder, path) = fresh("no/such/folder.mqt");
    let path = text(&path);
    let run = mq(&["generate", "depth", "--depth", "2", "-o", &path]);
    assert!(
        run.refusal()
            .starts_with(&format!("{path}: cannot write: "))
    );
}

/// Nothing of a file that is being written is left when the process is told to end.
#[cfg(target_os = "linux")]
#[test]
fn who_is_terminated_leaves_no_part_of_a_file() {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};

    let (folder, path) = fresh("t.mqt.gz");
    let files = || {
        let entries = std::fs::read_dir(folder.path()).expect("a folder");
        entries.count()
    };
    let args = ["generate", "depth", "--depth", "1000", "--rounds", "5000"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
    let mut child = command
        .args(args)
        .args(["-o", &text(&path)])
        .spawn()
        .expect("mq");
    let begun = Instant::now();
    // The check whether it can be written leaves a name for a moment, too.
    let mut seen = 0;
    while seen < 5 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
        seen = if files() > 0 { seen + 1 } else { 0 };
    }
    assert_eq!(seen, 5, "a part of the file is there");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let ended = child.wait().expect("it is waited for");
    assert_eq!(ended.signal(), Some(15), "{ended}");
    assert_eq!(files(), 0);
}

/// What is written to an open file comes after what it has, and before what others write there.
#[cfg(target_os = "linux")]
#[test]
fn what_an_open_file_has_already_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("/dev/stderr", at("link.mqt")).expect("linked");
    for (name, to) in [
        ("/dev/stdout", ">"),
        ("/dev/fd/1", ">"),
        ("/proc/self/fd/1", ">"),
        ("/dev/stderr", "2>"),
        ("/dev/fd/2", "2>"),
        ("link.mqt", "2>"),
        ("/dev/fd/3", "3>>"),
    ] {
        let number = to.trim_end_matches('>').parse().unwrap_or(1);
        let script = format!(
            "(echo before >&{number}; \"$0\" generate depth --depth 3 -o {name}; echo after >&{number}) {to} log"
        );
        let mut run = Command::new("sh");
        run.args(["-c", &script, env!("CARGO_BIN_EXE_mq")]);
        let ended = run.current_dir(folder.path()).status().expect("sh starts");
        assert!(ended.success(), "{name}");
        let all = std::fs::read_to_string(at("log")).expect("there");
        assert!(
            all.starts_with("before\n# mqtrace ") && all.ends_with("\nafter\n"),
            "{name}: {all}"
        );
        std::fs::remove_file(at("log")).expect("removed");
    }
}

#[cfg(unix)]
#[test]
fn a_link_says_by_its_own_name_whether_to_compress() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for (link, target, is_packed) in [("a.mqt.gz", "a", true), ("b", "b.mqt.gz", false)] {
        std::os::unix::fs::symlink(target, at(link)).expect("linked");
        let run = mq(&["generate", "depth", "-o", &text(&at(link))]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let bytes = std::fs::read(at(target)).expect("there");
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), is_packed);
    }
}
