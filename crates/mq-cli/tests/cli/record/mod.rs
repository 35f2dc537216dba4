//! `mq record`, with shell scripts for the MPI library's `mpirun` and for applications.

mod found;
mod signals;
mod unfinished;
mod unwritable;
mod workplace;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use mq_trace::{TraceReader, TraceWriter};

use self::workplace::{Workplace, names};
use crate::support::{command, mq, real, text};

/// A trace of everything that the table counts: a receive from any source is matched, another is
/// cancelled, a message waits, is probed and received.
const TRACE: &str = "# mqtrace 1 rank=0\nc 0 4 0\np 0 * 5\np 0 2 7\na 0 1 5 =0\na 0 3 9\n\
                     b 0 3 9 =1\np 0 3 9 =1\nx 1\n";
/// The receive that was posted later is recorded as matched.
const WRONG: &str = "# mqtrace 1\nc 0 4 0\np 0 * 5\np 0 1 5\na 0 1 5 =1\n";

#[test]
fn traces_are_collected_compressed_and_counted() {
    let place = Workplace::new();
    let app = place.application(&[("app.1.mqt", TRACE), ("app.0.mqt", TRACE)], "echo done\n");
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(place.collected(), ["app.0.mqt.gz", "app.1.mqt.gz"]);
    let packed = place.path("out/app.0.mqt.gz");
    assert_eq!(fs::read(&packed).expect("there")[..2], [0x1f, 0x8b]);

    let mut lines = run.stdout.lines();
    assert_eq!(
        lines.next(),
        Some("done"),
        "the command's output comes first"
    );
    assert_eq!(
        lines.next(),
        Some(format!("2 traces in {}", place.output()).as_str())
    );
    let row = run
        .stdout
        .lines()
        .find(|line| line.starts_with(" app.0.mqt.gz"));
    let row: Vec<_> = row.expect("a row").split('|').map(str::trim).collect();
    assert_eq!(
        row,
        ["app.0.mqt.gz", "1", "3", "2", "1", "1", "0", "2", "1"]
    );

    // The traces are as recorded, and other commands accept the directory.
    let stats = mq(&["stats", &place.output(), "--format", "json"]).objects();
    assert_eq!(stats.len(), 2);
    assert_eq!(
        (&stats[0]["header"]["rank"], &stats[0]["operations"]),
        (&"0".into(), &7.into())
    );
}

#[test]
fn a_table_of_mpich_counts_contexts() {
    let place = Workplace::new();
    let trace = TRACE.replacen("rank=0", "rank=0 source=mpich-4.0.2-ch4", 1);
    let app = place.application(&[("t.mqt", &trace)], "");
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains(" contexts "), "{}", run.stdout);
    assert!(!run.stdout.contains("cators"), "{}", run.stdout);
}

#[test]
fn a_script_that_names_no_interpreter_runs_in_a_shell() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", TRACE)], "test \"$*\" = 'a  b' || exit 9\n");
    let plain = place.path("plain");
    // As for other scripts, another process makes the file.
    let made = Command::new("sh")
        .args(["-c", "tail -n +2 \"$0\" > \"$1\" && chmod 755 \"$1\"", &app])
        .arg(&plain)
        .status();
    assert!(made.expect("sh starts").success());
    let run = place.record(&[], &[&text(&plain), "a  b"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(place.collected(), ["t.mqt.gz"]);
}

/// A shell would take it for a script, and may find commands in it.
#[test]
fn a_program_for_another_machine_is_no_script() {
    let place = Workplace::new();
    let foreign = text(&place.path("foreign"));
    let made = Command::new("sh")
        .args([
            "-c",
            "printf '\\177ELF\\0\\ntouch \"$0.run\"\\n' > \"$0\" && chmod 755 \"$0\"",
        ])
        .arg(&foreign)
        .status();
    assert!(made.expect("sh starts").success());
    let run = place.record(&[], &[&foreign]);
    assert_eq!(run.code, 126);
    let said = format!("mq: {foreign}: cannot be executed: ");
    assert!(run.stderr.starts_with(&said), "{}", run.stderr);
    assert!(place.has_no_output() && !place.path("foreign.run").exists());
}

#[test]
fn the_name_of_the_output_does_not_reach_the_terminal_as_it_is() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", TRACE)], "");
    let red = text(&place.path("red\x1b[31m"));
    let run = mq(&["record", "--output", &red, "--", &app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("/red\\u{1b}[31m\n"), "{}", run.stdout);
    assert!(!run.stdout.contains('\x1b'), "{}", run.stdout);
}

/// The text of a compressed trace. (Not every machine has `gzip`.)
fn unpacked(trace: impl AsRef<Path>) -> String {
    let reader = TraceReader::open(trace).expect("a trace");
    let mut writer = TraceWriter::new(Vec::new(), reader.header()).expect("written");
    for line in reader {
        let line = line.expect("readable").line;
        writer.write(&line).expect("written");
    }
    String::from_utf8(writer.finish().expect("written")).expect("UTF-8")
}

#[test]
fn a_real_trace_survives() {
    let place = Workplace::new();
    let plain = unpacked(real("hpcc32-r0"));
    let app = place.application(&[("hpcc.mqt", &plain)], "");
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(unpacked(place.path("out/hpcc.mqt.gz")) == plain);
}

#[test]
fn json_has_standard_output_to_itself() {
    let place = Workplace::new();
    let traces = [("a.mqt", TRACE), ("b.mqt", "# mqtrace 1\np 0 1\n")];
    let app = place.application(&traces, "echo from the application\n");
    let run = place.record(&["--format", "json"], &[&app]);
    assert_eq!(run.code, 1);
    let objects = run.objects();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["trace"], format!("{}/a.mqt.gz", place.output()));
    for (key, number) in [
        ("communicator_count", 1),
        ("receives", 3),
        ("messages", 2),
        ("probes", 1),
        ("cancels", 1),
        ("mismatches", 0),
        ("max_posted", 2),
        ("max_unexpected", 1),
    ] {
        assert_eq!(objects[0][key], number, "{key}");
    }
    assert!(
        objects[1]["error"]
            .as_str()
            .is_some_and(|error| error.contains("b.mqt:2: "))
    );
    assert!(
        run.stderr.contains("from the application\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_library_in_the_prefix_comes_first() {
    let place = Workplace::new();
    let prefix = place.prefix();
    let app = place.application(&[("t.mqt", TRACE)], "");
    let args = ["--prefix", &prefix, "--structure", "bins:bins=8"];
    let run = place.record(&args, &["mpirun", "-n", "4", &app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let value = |name: &str| {
        let line = run.stdout.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.strip_prefix('='))
            .expect("the script told it")
            .to_owned()
    };
    assert!(value("PATH").starts_with(&format!("{prefix}/bin:")));
    let libraries = value("LD_LIBRARY_PATH");
    assert_eq!(
        libraries.split(':').next(),
        Some(format!("{prefix}/lib").as_str())
    );
    assert!(!libraries.ends_with(':'), "{libraries}");
    assert_eq!(value("OPAL_PREFIX"), prefix);
    assert_eq!(value("MQ_STRUCTURE"), "bins:bins=8");
    assert_eq!(place.collected(), ["t.mqt.gz"]);
}

#[test]
fn libraries_may_be_in_lib64() {
    let place = Workplace::new();
    let prefix = place.prefix();
    fs::rename(place.path("mpi/lib"), place.path("mpi/lib64")).expect("it is there");
    // Other software is installed there too.
    fs::create_dir(place.path("mpi/lib")).expect("it is not there any more");
    let app = place.application(&[("t.mqt", TRACE)], "");
    let run = place.record(&["--prefix", &prefix], &["mpirun", "-n", "4", &app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let first = format!("LD_LIBRARY_PATH={prefix}/lib64");
    let mut lines = run.stdout.lines();
    assert!(lines.any(|line| line.starts_with(&first)), "{}", run.stdout);
}

#[test]
fn a_relative_prefix_and_output_are_found_from_anywhere() {
    let place = Workplace::new();
    place.prefix();
    place.application(&[("t.mqt", TRACE)], "");
    let app = [
        "mpirun",
        "-n",
        "1",
        "sh",
        "-c",
        "cd / && \"$0\"",
        &text(&place.path("app")),
    ];
    let Output {
        status,
        stdout,
        stderr,
    } = command(&[&["record", "--prefix", "mpi", "--"], &app[..]].concat())
        .current_dir(place.folder.path())
        .output()
        .expect("mq starts");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert_eq!((status.code(), &*stderr), (Some(0), ""));
    assert!(stdout.contains("\n1 trace in mq-traces\n"), "{stdout}");
    assert_eq!(names(&place.path("mq-traces")), ["t.mqt.gz"]);
}

#[test]
fn a_prefix_that_is_none_is_refused_with_what_is_missing() {
    let place = Workplace::new();
    let prefix = place.prefix();
    let refused = |missing: &str| {
        let run = place.record(&["--prefix", &prefix], &["mpirun", "-n", "1", "true"]);
        let refusal = run.refusal();
        assert!(
            refusal.starts_with(&format!("{prefix}{missing}")),
            "{refusal}"
        );
        assert!(!place.path("out").exists());
    };
    fs::remove_file(place.path("mpi/lib/libmpi.so")).expect("there");
    refused(" has no libmpi* in lib64 or lib");
    fs::remove_file(place.path("mpi/bin/mpirun")).expect("there");
    refused("/bin/mpirun does not exist");
}

#[test]
fn no_trace_is_explained() {
    let place = Workplace::new();
    let run = place.record(&[], &["true"]);
    let refusal = run.refusal();
    assert!(refusal.starts_with("`true` left no trace: "), "{refusal}");
    assert!(
        refusal.contains("MPI program")
            && refusal.contains("--prefix")
            && refusal.contains("srun --export=ALL"),
        "{refusal}"
    );
    assert!(place.has_no_output(), "nothing is left behind");

    let deep = text(&place.path("out/of/sight"));
    let run = mq(&["record", "--output", &deep, "--", "true"]);
    assert!(run.refusal().starts_with("`true` left no trace: "));
    assert!(place.has_no_output(), "nor what was made above it");

    let prefix = place.prefix();
    let args = ["--prefix", &prefix, "--format", "json"];
    let run = place.record(&args, &["mpirun", "-n", "1", "true"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, "[]\n"));
    assert!(
        run.stderr.contains(&format!("{prefix}/lib")),
        "{}",
        run.stderr
    );
}

#[test]
fn an_invalid_trace_stays_and_the_others_are_collected() {
    let place = Workplace::new();
    let traces = [
        ("good.mqt", TRACE),
        ("bad.mqt", "# mqtrace 1\np 0 1 5\nq 0 1\n"),
        ("empty.mqt", ""),
    ];
    let app = place.application(&traces, "");
    let run = place.record(&[], &[&app]);
    assert_eq!(run.code, 1);
    let collected = place.collected();
    let [good, left] = collected.as_slice() else {
        panic!("{collected:?}");
    };
    assert_eq!(good, "good.mqt.gz");
    assert_eq!(
        names(&place.path("out").join(left)),
        ["bad.mqt", "empty.mqt"]
    );
    let left = format!("{}/{left}", place.output());
    let unknown = format!("mq: {left}/bad.mqt:3: unknown operation `q`");
    assert!(run.stderr.contains(&unknown), "{}", run.stderr);
    assert!(
        run.stderr.contains(&format!("mq: {left}/empty.mqt:1: ")),
        "{}",
        run.stderr
    );
    let first = format!(
        "1 trace in {}; 2 cannot be collected and stay as written\n",
        place.output()
    );
    assert!(run.stdout.starts_with(&first), "{}", run.stdout);
}

#[test]
fn a_trace_against_the_rules_is_collected_and_exits_1() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", WRONG)], "");
    let run = place.record(&[], &[&app]);
    assert_eq!(run.code, 1);
    let mismatch = "t.mqt.gz:5: recorded receive 1, MPI's rules give receive 0";
    assert_eq!(run.stderr, format!("mq: {}/{mismatch}\n", place.output()));
    assert_eq!(place.collected(), ["t.mqt.gz"]);
}

#[test]
fn the_exit_code_of_the_command_is_passed_on() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", WRONG)], "exit 7\n");
    let run = place.record(&[], &[&app]);
    assert_eq!(run.code, 7);
    assert_eq!(place.collected(), ["t.mqt.gz"]);

    let run = place.record(&["--force"], &["sh", "-c", "exit 3"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.starts_with("mq: `sh` left no trace: "),
        "{}",
        run.stderr
    );

    let run = place.record(&["--force"], &["sh", "-c", "kill -9 $$"]);
    assert_eq!(run.code, 128 + 9);
    assert!(
        run.stderr.starts_with("mq: sh: ended by signal: 9"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let place = Workplace::new();
    let run = place.record(&[], &["/no/such/mpirun", "-n", "4"]);
    assert_eq!(run.code, 127);
    let said = run
        .stderr
        .starts_with("mq: /no/such/mpirun: there is no such program");
    assert!(said, "{}", run.stderr);
    let run = place.record(&["--force"], &["/"]);
    assert_eq!(run.code, 126);
    assert!(
        run.stderr
            .starts_with("mq: /: is a directory, not a program")
    );
    assert!(place.has_no_output(), "nothing is left behind");
}

#[test]
fn an_output_that_is_a_file_is_refused_and_stays() {
    let place = Workplace::new();
    let file = place.write("out", "mine");
    let run = place.record(&[], &["true"]);
    let expected = format!("{}: is not a directory", place.output());
    assert_eq!(run.refusal(), expected);
    assert_eq!(fs::read_to_string(file).expect("there"), "mine");
}

#[test]
fn earlier_traces_are_not_touched_without_force() {
    let place = Workplace::new();
    let app = place.application(&[("b.mqt", TRACE)], "");
    place.write("out/a.mqt", TRACE);
    place.write("out/b.mqt.gz", "old");
    let run = place.record(&[], &[&app]);
    let refusal = run.refusal();
    let first = format!("{}/a.mqt already exists (and 1 more)", place.output());
    assert!(
        refusal.starts_with(&first) && refusal.contains("--force"),
        "{refusal}"
    );
    assert_eq!(fs::read(place.path("out/b.mqt.gz")).expect("there"), b"old");

    let run = place.record(&["--force"], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("1 trace in "), "{}", run.stdout);
    assert_eq!(place.collected(), ["a.mqt", "b.mqt.gz"]);
    assert_eq!(mq(&["stats", &text(&place.path("out/b.mqt.gz"))]).code, 0);
}
