//! Less memory than a trace takes: a sentence, and no abort.

use std::process::Command;

use crate::support::{Run, file, fresh, text};

/// Runs `mq` to its end with this many KiB of memory.
fn limited(kib: u32, args: &[&str]) -> Run {
    let mut run = Command::new("sh");
    let script = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    run.args(["-c", &script, env!("CARGO_BIN_EXE_mq")])
        .args(args);
    let output = run.output().expect("sh starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Run {
        code: output
            .status
            .code()
            .unwrap_or_else(|| panic!("{kib}: {stderr}")),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
    }
}

#[test]
fn a_trace_that_is_too_long_to_be_read_is_refused_whatever_there_is_no_room_for() {
    let pairs = (0..300_000).map(|i| format!("p 0 1 2\na 0 1 2 ={i}\n"));
    let lines = format!("# mqtrace 1\n{}", pairs.collect::<String>());
    let (_folder, trace) = file("t.mqt", lines);
    for kib in (32_000..=112_000).step_by(16_000) {
        let run = limited(kib, &["stats", &trace, "--summary"]);
        if run.code == 0 {
            assert!(kib > 40_000, "it takes more than {kib}");
            continue;
        }
        let sentence = run.refusal();
        assert!(sentence.starts_with(&trace), "{sentence}");
        assert!(sentence.contains("not enough memory"), "{sentence}");
    }
}

#[test]
fn a_trace_that_is_too_long_to_be_made_is_refused() {
    let (_folder, path) = fresh("t.mqt");
    let path = text(&path);
    for args in [
        ["depth", "--depth", "50", "--rounds", "50000"],
        ["halo", "--ranks", "1000", "--rounds", "100000"],
    ] {
        let run = limited(
            100_000,
            &[&["generate"], &args[..], &["-o", &path]].concat(),
        );
        let sentence = run.refusal();
        assert!(
            sentence.starts_with("not enough memory for 5,"),
            "{sentence}"
        );
        assert!(!std::path::Path::new(&path).exists());
    }
}
