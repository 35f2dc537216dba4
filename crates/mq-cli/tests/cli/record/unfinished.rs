//! Traces that end before what they record does.

use super::TRACE;
use super::signals::shell;
use super::workplace::{Workplace, names};
use crate::support::{mq, text};

#[test]
fn a_killed_process_s_last_line_is_left_out_if_it_is_not_whole() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", &format!("{TRACE}p 0 1"))], "");
    let run = place.record(&[], &[&app]);
    let notice = "t.mqt.gz: without the last line, which the process did not finish";
    assert_eq!(run.stderr, format!("mq: {}/{notice}\n", place.output()));
    assert_eq!(run.code, 0);
    assert_eq!(place.collected(), ["t.mqt.gz"]);
    let read = mq(&["stats", &text(&place.path("out/t.mqt.gz"))]);
    assert_eq!((read.code, read.stderr.as_str()), (0, ""));
}

/// A rank that outlives its launcher may write to its trace at any moment.
#[test]
fn a_trace_that_a_process_still_has_open_stays() {
    let place = Workplace::new();
    let stays = r#"exec 3>>"$MQ_TRACE/t.mqt"
sleep 100 >/dev/null 2>&1 &
echo $! > "$MQ_TRACE/pid""#;
    let app = place.application(&[("t.mqt", TRACE), ("u.mqt", TRACE)], stays);
    let run = place.record(&[], &[&app]);
    let collected = place.collected();
    let [left, good] = collected.as_slice() else {
        panic!("{collected:?}");
    };
    let left = place.path("out").join(left);
    let process = std::fs::read_to_string(left.join("pid")).expect("it was written");
    shell(&format!("kill {}", process.trim()));
    assert_eq!((run.code, good.as_str()), (1, "u.mqt.gz"), "{}", run.stderr);
    assert_eq!(
        std::fs::read_to_string(left.join("t.mqt")).ok().as_deref(),
        Some(TRACE)
    );
    let sentence = "t.mqt: a process is still writing it; it stays as written";
    assert!(run.stderr.contains(sentence), "{}", run.stderr);
}

#[test]
fn a_trace_that_its_library_ended_early_is_told_from_a_whole_one() {
    let place = Workplace::new();
    let traces = ["a.mqt", "b.mqt", "c.mqt"].map(|name| (name, TRACE));
    let ended = r#"echo 'it was withdrawn' > "$MQ_TRACE/b.ended"
: > "$MQ_TRACE/c.ended"
"#;
    let app = place.application(&traces, ended);
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines = "\nb.mqt.gz ended early: it was withdrawn\n\
                 c.mqt.gz ended early: the reason could not be written\n";
    assert!(run.stdout.ends_with(lines), "{}", run.stdout);
    assert!(!run.stdout.contains("a.mqt.gz ended"), "{}", run.stdout);
    // The reasons stay beside their traces, for whoever reads those later.
    let kept = [
        "a.mqt.gz",
        "b.mqt.ended",
        "b.mqt.gz",
        "c.mqt.ended",
        "c.mqt.gz",
    ];
    assert_eq!(place.collected(), kept);
    let read = mq(&["stats", &text(&place.path("out"))]);
    let said = format!(
        "mq: {} ended early: it was withdrawn\n",
        text(&place.path("out/b.mqt.gz"))
    );
    assert!(read.stderr.contains(&said), "{}", read.stderr);

    let run = place.record(&["--force", "--format", "json"], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let objects = run.objects();
    let ended = [0, 1].map(|at: usize| objects[at]["ended_early"].as_str());
    assert_eq!(ended, [None, Some("it was withdrawn")]);
    assert!(objects[0].get("ended_early").is_some(), "{}", objects[0]);

    // With whole traces in their place, the reasons are gone.
    let app = place.application(&traces, "");
    let run = place.record(&["--force"], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(place.collected(), ["a.mqt.gz", "b.mqt.gz", "c.mqt.gz"]);
}

/// A trace as libmq begins it, by a process of this number, on this machine or on another.
fn begun(process: &str, machine: &str) -> String {
    let header = format!("# mqtrace 1 process={process}:{machine} seconds=unfinished\\n");
    format!("printf '{header}' > \"$MQ_TRACE/t.mqt\"\n")
}

/// Its number means something here.
#[cfg(target_os = "linux")]
const HERE: &str =
    "'$(cat /proc/sys/kernel/random/boot_id):$(readlink /proc/self/ns/pid | tr -dc 0-9)':here";

#[cfg(target_os = "linux")]
#[test]
fn a_trace_of_a_process_that_did_not_close_its_session_is_not_taken_for_whole() {
    let place = Workplace::new();
    // The script itself, which ends without having written more.
    let app = place.application(&[("u.mqt", TRACE)], &begun("'$$'", HERE));
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(place.collected(), ["t.mqt.gz", "u.mqt.gz"]);
    let sentence = "its process did not close its session, as MPI_Finalize does, so operations may be missing at the \
                    end\n";
    let said = format!("\nt.mqt.gz ended early: {sentence}");
    assert!(run.stdout.ends_with(&said), "{}", run.stdout);
    let trace = text(&place.path("out/t.mqt.gz"));
    for command in ["stats", "replay", "advise"] {
        let read = mq(&[command, &trace]);
        let said = format!("mq: {trace} ended early: {sentence}");
        assert!(read.stderr.contains(&said), "{command}: {}", read.stderr);
    }
    let run = place.record(&["--force", "--format", "json"], &[&app]);
    let objects = run.objects();
    let ended = objects[0]["ended_early"].as_str();
    assert_eq!(ended, Some(sentence.trim_end()));
    // Which process it was means nothing any more.
    let header = serde_json::json!({"seconds": "unfinished"});
    assert_eq!(objects[0]["header"], header);
}

/// Whether a process of another machine runs cannot be seen, and what it writes would be lost with the file.
#[test]
fn a_trace_that_a_process_elsewhere_may_still_write_stays() {
    let place = Workplace::new();
    let app = place.application(&[("u.mqt", TRACE)], &begun("7", "another:4026531836:n17"));
    let run = place.record(&[], &[&app]);
    let collected = place.collected();
    let [left, good] = collected.as_slice() else {
        panic!("{collected:?}");
    };
    assert_eq!((run.code, good.as_str()), (1, "u.mqt.gz"), "{}", run.stderr);
    assert_eq!(names(&place.path("out").join(left)), ["t.mqt"]);
    let sentence = "t.mqt: process 7 of n17 has not closed its session, and whether it still runs is not known on \
                    this machine; it stays as written\n";
    assert!(run.stderr.ends_with(sentence), "{}", run.stderr);

    // Once it has closed its session, it does not matter.
    let closed = "# mqtrace 1 process=7:another:4026531836:n17 seconds=000012.500\n";
    let app = place.application(&[("v.mqt", closed)], "");
    let run = place.record(&["--force"], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(place.path("out/v.mqt.gz").exists());
}

#[test]
fn a_trace_that_stays_keeps_the_reason_why_it_ended() {
    let place = Workplace::new();
    let bad = [("bad.mqt", "# mqtrace 1\nq 0 1\n")];
    let app = place.application(&bad, "echo full > \"$MQ_TRACE/bad.ended\"\n");
    assert_eq!(place.record(&[], &[&app]).code, 1);
    let collected = place.collected();
    let [left] = collected.as_slice() else {
        panic!("{collected:?}");
    };
    let kept = names(&place.path("out").join(left));
    assert_eq!(kept, ["bad.ended", "bad.mqt"]);
}
