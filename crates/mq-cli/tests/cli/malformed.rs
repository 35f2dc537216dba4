//! Input that is not a trace: refused in one sentence with its place, never a panic.

use crate::support::{file, mq, real};

/// Runs both reading commands on a malformed trace; both must say the same.
fn refusal(trace: &str) -> String {
    let replay = mq(&["replay", trace, "--repeat", "1"]);
    let stats = mq(&["stats", trace, "--format", "json"]);
    assert_eq!(replay.refusal(), stats.refusal());
    replay.refusal().to_owned()
}

/// Asserts that this text is refused at this line with these words.
fn assert_refused(name: &str, content: impl AsRef<[u8]>, line: u32, words: &str) {
    let (_folder, trace) = file(name, content);
    let sentence = refusal(&trace);
    assert!(
        sentence.starts_with(&format!("{trace}:{line}: ")),
        "{sentence}"
    );
    assert!(sentence.contains(words), "{sentence}");
}

#[test]
fn a_header_of_another_format() {
    assert_refused("t.mqt", "p 0 1 2\n", 1, "first line must be");
    assert_refused("t.mqt", "# mqtrace 2\n", 1, "version");
    assert_refused("t.mqt", "", 1, "empty");
}

#[test]
fn an_unknown_operation() {
    assert_refused("t.mqt", "# mqtrace 1\np 0 1 2\nq 0 1 2\n", 3, "`q`");
}

#[test]
fn an_outcome_out_of_range() {
    assert_refused("t.mqt", "# mqtrace 1\na 0 1 2\np 0 1 2 =7\n", 3, "7");
}

#[test]
fn a_cancel_of_a_receive_that_was_never_queued() {
    assert_refused("t.mqt", "# mqtrace 1\nx 0\n", 2, "cancel");
    assert_refused(
        "t.mqt",
        "# mqtrace 1\na 0 1 2\np 0 1 2 =0\nx 0\n",
        4,
        "cancel",
    );
}

#[test]
fn a_negative_communicator() {
    assert_refused("t.mqt", "# mqtrace 1\np -1 1 2\n", 2, "-1");
}

#[test]
fn a_line_of_ten_megabytes() {
    let line = format!("# mqtrace 1\np 0 1 {}\n", "7".repeat(10_000_000));
    assert_refused("t.mqt", line, 2, "4096");
}

#[test]
fn bytes_that_are_no_text() {
    assert_refused("t.mqt", b"# mqtrace 1\np 0 \xff 2\n", 2, "UTF-8");
}

#[test]
fn a_gzip_stream_that_is_cut_short() {
    let whole = std::fs::read(real("lmp-melt16-r0")).expect("the trace is there");
    let (_folder, trace) = file("cut.mqt.gz", &whole[..whole.len() / 2]);
    let sentence = refusal(&trace);
    assert!(sentence.starts_with(&format!("{trace}:")), "{sentence}");
    assert!(sentence.contains("ends early"), "{sentence}");
    let line = sentence[trace.len() + 1..].split(':').next();
    let line: u64 = line.and_then(|l| l.parse().ok()).expect("a line number");
    assert!(line > 1);
}

#[test]
fn a_malformed_trace_after_a_good_one_is_refused_before_anything_is_printed() {
    let (_folder, bad) = file("bad.mqt", "# mqtrace 1\nz\n");
    let good = real("lmp-melt16-r0");
    for command in [
        &["replay", "--repeat", "1"][..],
        &["advise", "--repeat", "1"],
        &["stats"],
    ] {
        let run = mq(&[command, &[&good, &bad]].concat());
        assert!(run.refusal().starts_with(&format!("{bad}:2: ")));
    }
}

#[test]
fn a_file_that_is_not_there_and_a_folder() {
    let (folder, _) = file("t.mqt", "");
    let folder = folder.path().to_str().expect("UTF-8");
    assert!(refusal(folder).starts_with(folder));
    let missing = format!("{folder}/none.mqt");
    let sentence = refusal(&missing);
    assert!(
        sentence.starts_with(&format!("{missing}: cannot open")),
        "{sentence}"
    );
}

/// The write end of a pipe without a reader.
fn closed_pipe() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn one_bad_trace_of_a_directory_does_not_keep_the_others_from_being_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("a.mqt"), "# mqtrace 1\na 0 1 2\np 0 1 2 =0\n").unwrap();
    std::fs::write(at("b.mqt"), "# mqtrace 1\nq 0\n").unwrap();
    std::fs::write(at("c.mqt"), "").unwrap();
    let directory = folder.path().display().to_string();
    for command in [
        &["stats", "--format", "json"][..],
        &["replay", "--format", "json", "--repeat", "1"],
        &["advise", "--format", "json", "--repeat", "1"],
    ] {
        let run = mq(&[command, &[&directory]].concat());
        assert_eq!(run.code, 2, "{command:?}");
        assert!(run.stdout.contains("a.mqt"), "{command:?}: {}", run.stdout);
        let said: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(said.len(), 3, "{command:?}: {}", run.stderr);
        assert!(
            said[0].starts_with(&format!("mq: {}:2: ", at("b.mqt"))),
            "{}",
            said[0]
        );
        assert!(
            said[1].starts_with(&format!("mq: {}:1: ", at("c.mqt"))),
            "{}",
            said[1]
        );
        assert_eq!(
            said[2],
            "mq: 2 of 3 traces could not be read and were left out"
        );
        // Even if nobody reads the output any more.
        let unread = crate::support::command(&[command, &[&directory]].concat())
            .stdout(closed_pipe())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&unread.stderr);
        assert_eq!(unread.status.code(), Some(2), "{command:?}: {said}");
        assert_eq!(said.lines().count(), 3, "{command:?}: {said}");
        // A trace that was named must be readable.
        let run = mq(&[command, &[&at("a.mqt"), &at("b.mqt")]].concat());
        assert!(run.refusal().starts_with(&at("b.mqt")), "{}", run.stderr);
    }
    std::fs::remove_file(at("a.mqt")).unwrap();
    let run = mq(&["stats", &directory]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let folder = tempfile::tempdir().unwrap();
    let made = crate::support::command(&["generate", "depth", "-o", "-"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.stdout.starts_with(b"# mqtrace 1"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let trace = folder.path().join("t.mqt");
    std::fs::write(&trace, made.stdout).unwrap();
    let read = crate::support::command(&["stats", "-", "--format", "json"])
        .stdin(std::fs::File::open(&trace).unwrap())
        .output()
        .unwrap();
    assert!(read.status.success());
    assert!(String::from_utf8_lossy(&read.stdout).contains("\"standard input\""));
    let twice = "`-` is given twice: standard input holds one trace";
    assert_eq!(mq(&["stats", "-", "-"]).refusal(), twice);
}

#[cfg(unix)]
#[test]
fn standard_input_is_read_where_it_is_and_may_be_a_socket() {
    use std::io::{Seek, Write};
    let stats = |stdin: std::process::Stdio| {
        let mut command = crate::support::command(&["stats", "-"]);
        let run = command.stdin(stdin).output().unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        String::from_utf8_lossy(&run.stdout).into_owned()
    };
    let (_folder, path) = file("t.mqt", "a first line\n# mqtrace 1\np 0 1 2\n");
    let mut half = std::fs::File::open(path).unwrap();
    half.seek(std::io::SeekFrom::Start(13)).unwrap();
    assert!(stats(half.into()).starts_with("standard input\n\noperations "));
    let (mut one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    one.write_all(b"# mqtrace 1\np 0 1 2\n").unwrap();
    drop(one);
    let socket = std::os::fd::OwnedFd::from(other);
    assert!(stats(socket.into()).starts_with("standard input\n\noperations "));
}

#[test]
fn files_of_other_kinds_are_named() {
    let not = "not a match trace";
    assert_refused(
        "t.mqt",
        [&b"\x7fELF\x02\x01\x01"[..], &[0; 9000]].concat(),
        1,
        not,
    );
    assert_refused("t.mqt", b"\xe9\xf0\n\n", 1, not);
    assert_refused(
        "t.mqt.xz",
        b"\xfd7zXZ\0\0\x04",
        1,
        "not a match trace, but compressed by xz",
    );
    let zstd = "not a match trace, but compressed by zstd";
    assert_refused("t.mqt.zst", b"\x28\xb5\x2f\xfd\x04\n", 1, zstd);
}

#[test]
fn what_a_header_holds_does_not_reach_the_terminal_as_it_is() {
    let (_folder, trace) = file("t.mqt", "# mqtrace 1 app=\x1b[31mred\n");
    let run = mq(&["stats", &trace]);
    assert_eq!(run.code, 0);
    assert!(
        run.stdout.contains(" app=\\u{1b}[31mred\n"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains('\x1b'), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn a_link_in_a_directory_that_leads_nowhere_is_a_trace_that_can_not_be_opened() {
    let (folder, _) = file("a.mqt", "# mqtrace 1\n");
    let link = folder.path().join("x.mqt");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("directory.mqt")).unwrap();
    let run = mq(&["stats", folder.path().to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(run.stdout.contains("a.mqt\n"), "{}", run.stdout);
    let said: Vec<&str> = run.stderr.lines().collect();
    let opened = format!("mq: {}: cannot open the trace: ", link.display());
    assert!(said[0].starts_with(&opened), "{said:?}");
    assert_eq!(
        said[1..],
        ["mq: 1 of 2 traces could not be read and were left out"]
    );
}

#[test]
fn what_a_terminal_would_obey_in_a_name_is_written_out() {
    let content = "# mqtrace 1\nc 0 4 0\np 0 1 1\na 0 1 1\n";
    let (_folder, differs) = file("red\x1b[31m.mqt", content);
    let (_other, refused) = file("red\x1b[31m.mqt", "nonsense\n");
    let commands: [&[&str]; 4] = [
        &["replay", &differs, "--repeat", "1", "--structure", "list"],
        &["stats", &differs],
        &["advise", &differs],
        &["stats", &refused],
    ];
    for arguments in commands {
        let run = mq(arguments);
        let said = run.stdout + &run.stderr;
        assert!(said.contains("red\\u{1b}[31m"), "{arguments:?}: {said}");
        assert!(!said.contains('\x1b'), "{arguments:?}: {said}");
    }
    // A name with several lines says nothing of its own.
    let (_third, forged) = file("a\nmq: forged.mqt", "nonsense\n");
    let run = mq(&["stats", &forged]);
    assert!(
        run.refusal().contains("/a\\nmq: forged.mqt:1: "),
        "{}",
        run.stderr
    );
}
