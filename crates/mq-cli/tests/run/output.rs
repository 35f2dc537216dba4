//! Labels, lines, and readers that are slow or gone.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use crate::support::{Launcher, by_shell, command, shell, until, until_said};
use crate::terminal::terminal;

#[test]
fn what_is_wrong_is_said_where_nobody_reads_what_was_printed() {
    let script = "if [ $MQ_RANK = 0 ]; then exec yes; fi; sleep 0.2; echo alas >&2; kill -SEGV $$";
    let mut launcher = command(&["-n", "2", "--grace", "0.2", "--", "sh", "-c", script]);
    let mut launcher = launcher
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mq starts");
    // Nobody reads standard output.
    let _unread = launcher.stdout.take().expect("piped");
    let said = BufReader::new(launcher.stderr.take().expect("piped"));
    let mut lines = said.lines().map(|line| line.expect("UTF-8"));
    assert_eq!(lines.next().as_deref(), Some("[1] alas"));
    let last = lines.next().unwrap_or_default();
    assert!(last.contains("rank 1 (pid "), "{last}");
    launcher.kill().expect("it waits for the reader");
    launcher.wait().expect("a child");
}

#[test]
fn lines_are_labelled_when_there_is_more_than_one_process() {
    for (options, expected) in [
        (&["-n", "2"][..], &["[0] line", "[1] line"][..]),
        (&["-n", "1"], &["line"]),
        (&["-n", "1", "--label", "always"], &["[0] line"]),
        (&["-n", "2", "--label", "never"], &["line", "line"]),
        (&["-n", "2", "--label", "auto"], &["[0] line", "[1] line"]),
    ] {
        let run = shell(options, "echo line").finish();
        assert_eq!(run.sorted(), expected, "{options:?}");
    }
}

#[test]
fn standard_output_and_standard_error_stay_apart() {
    let run = shell(&["-n", "2"], "echo out; echo err >&2").finish();
    assert_eq!(run.sorted(), ["[0] out", "[1] out"]);
    let mut errors: Vec<&str> = run.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] err", "[1] err"]);
}

#[test]
fn a_last_line_without_end_is_printed_with_one() {
    let run = shell(&["-n", "3"], "printf 'a\\nlast'").finish();
    assert!(run.stdout.ends_with('\n'));
    let expected = [
        "[0] a", "[0] last", "[1] a", "[1] last", "[2] a", "[2] last",
    ];
    assert_eq!(run.sorted(), expected);
}

/// As those of a `tee` that a rank does not wait for.
#[test]
fn the_last_lines_of_what_a_rank_leaves_are_printed() {
    for (options, code) in [(&["-n", "2"][..], 0), (&["-n", "2", "--keep-going"], 3)] {
        let script = format!("(sleep 0.1; echo last) & echo first; exit {code}");
        let run = shell(options, &script).finish();
        assert_eq!(run.code(), code);
        let expected = ["[0] first", "[0] last", "[1] first", "[1] last"];
        assert_eq!(run.sorted(), expected);
    }
}

#[test]
fn a_single_process_is_passed_on_byte_by_byte() {
    // A prompt appears although its line has no end: the process continues only when it was seen.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let seen = folder.path().join("seen");
    let script = "printf 'prompt: '; until test -e seen; do sleep 0.01; done; printf 'a\\0b'";
    let mut launcher = command(&["-n", "1", "--", "sh", "-c", script]);
    let launcher = launcher.current_dir(folder.path());
    let mut launcher = launcher.stdout(Stdio::piped()).spawn().expect("mq starts");
    let mut stdout = launcher.stdout.take().expect("piped");
    let mut prompt = [0; 8];
    stdout.read_exact(&mut prompt).expect("the prompt");
    assert_eq!(&prompt, b"prompt: ");
    std::fs::write(&seen, "").expect("written");
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).expect("the rest");
    assert_eq!(rest, b"a\0b");
    assert!(launcher.wait().expect("a child").success());
}

#[test]
fn no_line_is_cut_by_another_rank_or_the_other_stream() {
    // Both streams of eight ranks end up in one pipe; lines are written in pieces, some longer than a pipe
    // takes at a time.
    let script = "exec 2>&1; exec \"$0\" run -n 8 -- sh -c '
            x=0123456789012345678901234567890123456789; y=$x$x$x$x$x; z=$y$y$y$y$y$y$y$y$y$y$y$y$y$y$y
            i=0; while test $i -lt 150; do
                printf \"out-%s-$x\" $i; printf \"$y-end\\n\"
                printf \"err-%s-$x$z\" $i >&2; printf \"$y-end\\n\" >&2
                i=$((i + 1))
            done'";
    let run = Launcher::start(&mut by_shell(script)).finish();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let mut next = [[0; 2]; 8];
    for line in run.stdout.lines() {
        let (label, text) = line.split_once(' ').expect("a label");
        let rank: usize = label.trim_matches(['[', ']']).parse().expect("a rank");
        let parts: Vec<&str> = text.split('-').collect();
        let [stream, number, digits, end] = parts[..] else {
            panic!("cut: {line}");
        };
        let (stream, length) = if stream == "out" { (0, 240) } else { (1, 3240) };
        assert_eq!(number.parse(), Ok(next[rank][stream]), "in order");
        assert_eq!((digits.len(), end), (length, "end"), "{line}");
        next[rank][stream] += 1;
    }
    assert_eq!(next, [[150; 2]; 8]);
}

#[test]
fn a_line_without_measure_is_broken_into_labelled_lines() {
    let script = "head -c 200000 /dev/zero | tr '\\0' x; echo";
    let run = shell(&["-n", "2"], script).finish();
    for rank in ["[0] ", "[1] "] {
        let pieces = run
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix(rank));
        let lengths: Vec<usize> = pieces.map(str::len).collect();
        assert_eq!(lengths, [65_536, 65_536, 65_536, 200_000 - 3 * 65_536]);
    }
}

/// At once, whether or not the ranks have something to print.
#[test]
fn a_reader_that_leaves_ends_the_run_without_a_word() {
    let seldom = "sleep 0.5; echo one; sleep 0.1; echo two; exec sleep 1000";
    for program in [&["yes"][..], &["sh", "-c", seldom]] {
        let mut launcher = command(&["-n", "2", "--"]);
        let launcher = launcher.args(program).stdout(Stdio::piped());
        let mut launcher = launcher.stderr(Stdio::piped()).spawn().expect("mq starts");
        drop(launcher.stdout.take());
        let output = launcher.wait_with_output().expect("a child");
        assert_eq!(output.status.code(), Some(141));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn a_reader_that_does_not_read_holds_up_no_time_limit() {
    let mut launcher = command(&["-n", "2", "--timeout", "0.2", "--grace", "0.2", "--", "yes"]);
    let mut launcher = launcher.stdout(Stdio::piped()).spawn().expect("mq starts");
    let mut status = None;
    until("the launcher's end", || {
        status = launcher.try_wait().expect("a child");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(124));
}

#[test]
fn what_is_not_read_in_time_is_told_and_hides_no_failure() {
    let run = |status: &str| {
        let script = format!("head -c 100000 /dev/zero | tr '\\0' x; exit {status}");
        let options = ["-n", "2", "--timeout", "5", "--", "sh", "-c", &script];
        let mut launcher = command(&options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mq starts");
        // It is held, and not read.
        let unread = launcher.stdout.take();
        let output = launcher.wait_with_output().expect("a child");
        drop(unread);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let lost = "mq: the ranks' last output was not read within --timeout and is lost\n";
        assert!(said.ends_with(lost), "{said}");
        output.status.code()
    };
    assert_eq!(run("0"), Some(124));
    assert_eq!(run("$((3 * MQ_RANK))"), Some(3));
}

#[test]
fn a_terminal_that_nobody_reads_holds_up_no_time_limit() {
    // As after Ctrl-S.
    let (person, programs) = terminal();
    let errors = programs.try_clone().expect("once more");
    let mut launcher = command(&["-n", "2", "--timeout", "0.2", "--grace", "0.2", "--", "yes"]);
    let launcher = launcher.stdout(programs).stderr(errors);
    let mut launcher = launcher.spawn().expect("mq starts");
    let mut status = None;
    until("the launcher's end", || {
        status = launcher.try_wait().expect("a child");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(124));
    drop(person);
}

#[test]
fn a_full_disk_is_told_and_the_ranks_go_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = folder.path().join("said");
    let create = |path: &Path| File::create(path).expect("opened");
    // Each prints more than a pipe holds when the first line is lost.
    let script = format!(
        "echo line; {}; head -c 1000000 /dev/zero && echo went on >&2",
        until_said("cannot write")
    );
    let options = ["-n", "2", "--label", "never", "--", "sh", "-c", &script];
    let mut launcher = command(&options);
    let launcher = launcher.current_dir(folder.path()).stderr(create(&said));
    let launcher = launcher.stdout(create(Path::new("/dev/full")));
    let mut launcher = launcher.spawn().expect("mq starts");
    let mut status = None;
    until("the launcher's end", || {
        status = launcher.try_wait().expect("a child");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(2));
    let said = std::fs::read_to_string(said).expect("UTF-8");
    let lines: Vec<&str> = said.lines().collect();
    let [first, "went on", "went on"] = lines[..] else {
        panic!("{said}");
    };
    assert!(
        first.starts_with("mq: standard output: cannot write: "),
        "{said}"
    );
    assert!(first.ends_with(" is lost"), "{said}");
}

#[test]
fn a_file_that_would_be_too_long_is_as_a_full_disk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The segment is not to be too long: 4 GiB, or 8, as the shell counts.
    let limit = 8 << 20;
    let out = File::create(folder.path().join("out")).expect("created");
    (out.set_len(1024 * limit - 1000)).expect("no block is written");
    let script = format!(
        "ulimit -f {limit} && exec \"$0\" run -n 2 -- sh -c '
        head -c 100000 /dev/zero; sleep 0.1; echo on > went.$MQ_RANK' >> out 2> said"
    );
    let status = by_shell(&script).current_dir(folder.path()).status();
    assert_eq!(status.expect("sh starts").code(), Some(2));
    let said = std::fs::read_to_string(folder.path().join("said")).expect("UTF-8");
    let first = "mq: standard output: cannot write: ";
    assert!(
        said.starts_with(first) && said.lines().count() == 1,
        "{said}"
    );
    for rank in ["went.0", "went.1"] {
        assert!(folder.path().join(rank).exists(), "{rank}");
    }
}
