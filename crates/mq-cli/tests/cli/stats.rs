//! `mq stats`.

use std::path::Path;

use crate::support::{Run, command, file, fresh, mq, real, svg, text};

#[test]
fn the_numbers_of_a_real_trace_are_known() {
    let run = mq(&["stats", &real("hpcc32-r0"), "--format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let objects = run.objects();
    let [hpcc] = objects.as_slice() else {
        panic!("one trace, one object");
    };
    for (key, number) in [
        ("operations", 53_321),
        ("mismatches", 0),
        ("receives", 24_685),
        ("messages", 24_669),
        ("probes", 3951),
        ("cancels", 16),
        ("any_source", 8562),
        ("any_tag", 8562),
        ("any_source_and_tag", 8562),
        ("wildcard_receives", 8562),
        ("max_posted", 31),
        ("max_unexpected", 58),
    ] {
        assert_eq!(hpcc[key], number, "{key}");
    }
    assert_eq!(hpcc["header"]["source"], "hpcc32");
    let communicators = hpcc["communicators"].as_array().expect("an array");
    assert_eq!(communicators.len(), 9);
    let sum = |key: &str| {
        communicators
            .iter()
            .filter_map(|c| c[key].as_u64())
            .sum::<u64>()
    };
    assert_eq!((sum("receives"), sum("messages")), (24_685, 24_669));
    assert_eq!(sum("wildcard_receives"), 8562);
    assert_eq!(Some(sum("unexpected")), hpcc["unexpected"].as_u64());
    let probes = |key: &str| hpcc[key].as_u64().expect("a number");
    assert_eq!(probes("probes_hit") + probes("probes_missed"), 3951);
    assert_eq!(hpcc["posted_searches"]["searches"], 24_669);
    assert_eq!(hpcc["unexpected_searches"]["searches"], 24_685 + 3951);
}

#[test]
fn classes_add_up() {
    let run = mq(&["stats", &real("lmp-melt16-r0"), "--format", "json"]);
    let melt = &run.objects()[0];
    let classes = melt["classes"].as_array().expect("an array");
    let messages: u64 = classes.iter().filter_map(|c| c["messages"].as_u64()).sum();
    assert_eq!(messages, 3592);
    let point_to_point = classes.iter().find(|c| c["class"] == "point-to-point");
    let point_to_point = point_to_point.expect("it has some")["messages"].as_u64();
    assert_eq!(
        melt["collective_messages"].as_u64(),
        point_to_point.map(|n| messages - n)
    );
}

/// MPICH's collective operations have tags like those of messages between two processes.
#[test]
fn collective_operations_are_not_counted_where_tags_do_not_tell() {
    let folder = tempfile::tempdir().expect("a folder");
    let tables = |library: &str| {
        let path = folder.path().join(format!("{library}.mqt"));
        let text = format!("# mqtrace 1 source={library}\na 0 1 2\n");
        std::fs::write(&path, text).expect("room");
        mq(&["stats", &path.display().to_string()]).stdout
    };
    let known = tables("openmpi-5.0.7-ob1");
    assert!(
        known.contains("  collective ") && known.contains("Traffic classes"),
        "{known}"
    );
    for (library, sentence) in [
        ("mpich-4.0.2-ch4", "not known: MPICH's tags do not tell\n"),
        ("another-1.0", "not known: Open MPI's tags tell, but the "),
    ] {
        let unknown = tables(library);
        assert!(
            unknown.contains(sentence) && !unknown.contains("  collective "),
            "{unknown}"
        );
        assert!(!unknown.contains("Traffic classes"), "{unknown}");
    }
}

#[test]
fn the_two_contexts_of_a_communicator_of_mpich_are_not_counted_as_communicators() {
    for (library, counted, title) in [
        (
            "mpich-4.0.2-ch4",
            "in 2 contexts, of which MPICH has two for a communicator\n",
            "\nContexts\n",
        ),
        (
            "openmpi-5.0.7-ob1",
            "in 2 communicators\n",
            "\nCommunicators\n",
        ),
    ] {
        let lines = format!("# mqtrace 1 source={library}\na 1 0 2\na 2 0 2\n");
        let (_folder, trace) = file("t.mqt", lines);
        let run = mq(&["stats", &trace]);
        assert!(run.stdout.contains(counted), "{}", run.stdout);
        assert!(run.stdout.contains(title), "{}", run.stdout);
        let run = mq(&["replay", &trace, "-s", "list"]);
        let (counted, _) = counted
            .trim_end()
            .split_once(',')
            .unwrap_or((counted.trim_end(), ""));
        assert!(
            run.stdout.contains(&format!(" {counted}; ")),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn probes_are_shares_of_what_a_trace_has_of_them() {
    let (_folder, trace) = file("t.mqt", "# mqtrace 1\nb 0 1 2\na 0 1 2\nb 0 1 2 =0\n");
    let run = mq(&["stats", &trace]);
    for (name, share) in [
        ("  found a message ", " 1  50.0% of those recorded"),
        (
            "  found nothing then ",
            " 1  50.0% of those recorded; repeated misses may be left out",
        ),
    ] {
        let mut lines = run.stdout.lines();
        let line = lines.find(|line| line.starts_with(name)).expect(name);
        assert!(line.ends_with(share), "{line}");
    }
    let (_folder, trace) = file("none.mqt", "# mqtrace 1\na 0 1 2\n");
    let run = mq(&["stats", &trace]);
    assert!(!run.stdout.contains("left out"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn a_trace_that_is_named_more_than_once_is_one() {
    let (folder, trace) = file("a.mqt", "# mqtrace 1\na 0 1 2\n");
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("a.mqt", at("link.mqt")).expect("linked");
    let (link, directory) = (text(&at("link.mqt")), text(folder.path()));
    for named in [
        [&trace, &trace],
        [&trace, &link],
        [&directory, &trace],
        [&directory, &directory],
    ] {
        let run = mq(&["stats", named[0], named[1], "--format", "json"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{named:?}");
        assert_eq!(run.objects().len(), 1, "{named:?}");
    }
    // What was named must be readable, even if a directory that was named before has it.
    std::fs::write(at("bad.mqt"), "# no trace\n").expect("written");
    let bad = text(&at("bad.mqt"));
    let run = mq(&["stats", &directory, &bad]);
    assert!(run.refusal().starts_with(&bad), "{}", run.stderr);
}

#[test]
fn the_tables_are_for_people() {
    let run = mq(&[
        "stats",
        &real("hpcc32-r0"),
        &real("hotspot128-preposted-r0"),
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for text in [
        "hpcc32-r0.mqt.gz",
        "53,321  in 9 communicators",
        "8,562  34.7% of receives",
        "in one list for all communicators",
        "point-to-point",
        "allreduce",
        "hotspot128-preposted-r0.mqt.gz",
    ] {
        assert!(
            run.stdout.contains(text),
            "{text} is missing in {}",
            run.stdout
        );
    }
}

#[test]
fn many_communicators_are_cut_in_the_table_and_whole_in_json() {
    let mut lines = "# mqtrace 1\n".to_owned();
    for comm in 0..30 {
        lines += &format!("a {comm} 0 1\n").repeat(30 - comm);
    }
    let (_folder, trace) = file("many.mqt", lines);
    let run = mq(&["stats", &trace]);
    assert!(
        run.stdout.contains("and 10 more with less traffic"),
        "{}",
        run.stdout
    );
    let objects = mq(&["stats", &trace, "--format", "json"]).objects();
    assert_eq!(
        objects[0]["communicators"].as_array().map(Vec::len),
        Some(30)
    );
    assert_eq!(objects[0]["communicators"][0]["comm"], 0);
}

#[test]
fn the_plot_has_a_panel_for_each_trace() {
    let (_folder, plot) = fresh("lengths.svg");
    let (hpcc, melt) = (real("hpcc32-r0"), real("lmp-melt16-r0"));
    let run = mq(&[
        "stats",
        &hpcc,
        &melt,
        "--plot",
        &text(&plot),
        "--format",
        "json",
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let svg = svg(&plot);
    for label in [
        "hpcc32-r0",
        "lmp-melt16-r0",
        "posted receives",
        "unexpected messages",
        "operation number",
        "entries queued",
        "Queue lengths over time",
    ] {
        assert!(svg.contains(label), "{label} is missing");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_plot_may_go_to_a_file_that_is_open() {
    let (folder, trace) = file("t.mqt", "# mqtrace 1\na 0 1 2\n");
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("/dev/stderr", at("err.svg")).expect("linked");
    std::fs::write(at("log"), "before\n").expect("written");
    let log = std::fs::OpenOptions::new().append(true).open(at("log"));
    let mut stats = command(&["stats", &trace, "--plot", &text(&at("err.svg"))]);
    let stats = stats.stderr(log.expect("there")).output();
    assert!(stats.expect("mq starts").status.success());
    let log = std::fs::read_to_string(at("log")).expect("there");
    assert!(log.starts_with("before\n<svg "), "{log}");
}

#[test]
fn an_empty_trace_has_no_numbers_to_divide_by() {
    let (folder, trace) = file("empty.mqt", "# mqtrace 1\n");
    let plot = folder.path().join("empty.svg");
    let run = mq(&["stats", &trace, "--plot", &text(&plot)]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(!run.stdout.contains("NaN"), "{}", run.stdout);
    svg(&plot);
    let run = mq(&["stats", &trace, "--format", "json"]);
    assert_eq!(run.objects()[0]["posted_searches"]["mean"], 0.0);
}

#[test]
fn several_traces_are_compared_at_the_end() {
    let traces = [real("lmp-melt16-r0"), real("hotspot128-preposted-r0")];
    let one = mq(&["stats", &traces[0]]);
    assert!(!one.stdout.contains("All "), "{}", one.stdout);
    let run = mq(&["stats", &traces[0], &traces[1]]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let (_, table) = run.stdout.rsplit_once("\nAll 2 traces").expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(4)
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    let expected = [
        "hotspot128-preposted-r0.mqt.gz",
        "lmp-melt16-r0.mqt.gz",
        "all",
    ];
    assert_eq!(names, expected, "{table}");
    let number = |text: &str| text.replace(',', "").parse::<f64>().expect("a number");
    let column = |at: usize| [0, 1, 2].map(|row: usize| number(rows[row][at]));
    let [hotspot, melt, all] = column(1);
    assert!((hotspot + melt - all).abs() < 0.5, "{table}");
    let [hotspot, melt, all] = column(4);
    assert!(hotspot > all && all > melt, "{table}");
    let [hotspot, _, all] = column(8);
    assert!((hotspot - all).abs() < 0.5, "{table}");
}

#[test]
fn traces_of_the_same_name_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    for run in ["four", "eight"] {
        std::fs::create_dir(folder.path().join(run)).expect("made");
        let trace = folder.path().join(run).join("rank0.mqt");
        let lines = "# mqtrace 1\na 0 1 2\n";
        std::fs::write(trace, lines).expect("written");
    }
    let [four, eight] = ["four", "eight"].map(|run| text(&folder.path().join(run)));
    let plot = text(&folder.path().join("lengths.svg"));
    let run = mq(&["stats", &four, &eight, "--plot", &plot]);
    for name in ["\n four/rank0.mqt ", "\n eight/rank0.mqt "] {
        assert!(run.stdout.contains(name), "{}", run.stdout);
    }
    let svg = svg(Path::new(&plot));
    assert!(svg.contains("\nfour/rank0\n") && svg.contains("\neight/rank0\n"));
    let run = mq(&["advise", &four, &eight, "--repeat", "1"]);
    let verdict = "too few operations to tell on four/rank0;";
    assert!(run.stdout.contains(verdict), "{}", run.stdout);
}

#[test]
fn the_summary_is_the_last_table_alone_and_an_object_in_json() {
    let traces = [real("lmp-melt16-r0"), real("hotspot128-preposted-r0")];
    let whole = mq(&["stats", &traces[0], &traces[1]]);
    let run = mq(&["stats", &traces[0], &traces[1], "--summary"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("All 2 traces, "), "{}", run.stdout);
    assert!(whole.stdout.ends_with(&run.stdout));

    let json = ["--format", "json"];
    let each = mq(&[&["stats", &traces[0], &traces[1]], &json[..]].concat()).objects();
    let run = mq(&[&["stats", &traces[0], &traces[1], "--summary"], &json[..]].concat());
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).expect("one object");
    assert_eq!(summary["traces"].as_array().map(Vec::len), Some(2));
    assert_eq!(summary["traces"][1]["trace"], each[0]["trace"]);
    let [melt, hotspot] = &each[..] else {
        panic!("two traces, two objects");
    };
    for key in [
        "operations",
        "receives",
        "messages",
        "unexpected",
        "mismatches",
    ] {
        assert_eq!(summary["traces"][1][key], melt[key], "{key}");
        let sum = melt[key].as_u64().zip(hotspot[key].as_u64());
        let sum = sum.map(|(one, other)| one + other);
        assert_eq!(summary["all"][key].as_u64(), sum, "{key}");
    }
    let longest = &summary["all"]["posted_searches"]["max"];
    assert_eq!(longest, &hotspot["posted_searches"]["max"]);
    assert_eq!(summary["all"]["max_posted"], hotspot["max_posted"]);
}

#[test]
fn mismatches_stand_below_the_summary() {
    let wrong = "# mqtrace 1\np 0 * 5\np 0 1 5\na 0 1 5 =1\na 0 1 5 =0\n";
    let (_folder, wrong) = file("wrong.mqt", wrong);
    let melt = real("lmp-melt16-r0");
    let run = mq(&["stats", &melt, &wrong, "--summary"]);
    let line = "\nmismatches: 2 in wrong.mqt; recorded outcomes that differ from MPI's rules; mq replay names \
                the first\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.ends_with(line), "{}", run.stdout);
    let run = mq(&["stats", &melt, "--summary"]);
    assert!(run.stdout.starts_with("1 trace\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("mismatches"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn one_of_several_traces_may_come_out_of_a_pipe() {
    use std::io::Write;
    let (_folder, first) = file("first.mqt", "# mqtrace 1\na 0 1 2\n");
    for piped in ["-", "/dev/stdin"] {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let lines = b"# mqtrace 1\np 0 1 2\np 0 1 3\n";
        writer.write_all(lines).expect("a pipe takes so much");
        drop(writer);
        let output = command(&["stats", &first, piped, "--format", "json"])
            .stdin(reader)
            .output()
            .expect("mq starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{piped}");
        let objects: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a list");
        let receives = [0, 1].map(|at: usize| objects[at]["receives"].as_u64());
        assert_eq!(receives, [Some(0), Some(2)], "{piped}");
    }
}

#[cfg(unix)]
#[test]
fn a_plot_may_have_a_name_that_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let (folder, trace) = file("t.mqt", "# mqtrace 1\na 0 1 2\n");
    let at = |name: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(name));
    let run = |plot: &Path| {
        let mut command = command(&["stats", &trace, "--plot"]);
        command.arg(plot).output().expect("mq starts")
    };
    assert!(run(&at(b"\xff.svg")).status.success());
    svg(&at(b"\xff.svg"));
    let refused = run(&at(b"\xff.png"));
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--plot"), "{said}");
}

#[test]
fn a_trace_that_ended_early_is_said_to_have() {
    let (folder, trace) = file("t.mqt", "# mqtrace 1\na 0 1 2\n");
    std::fs::write(folder.path().join("t.ended"), "disk full\n").expect("written");
    for command in ["stats", "replay", "advise"] {
        let run = mq(&[command, &trace]);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        let said = format!("mq: {trace} ended early: disk full\n");
        assert!(run.stderr.contains(&said), "{command}: {}", run.stderr);
    }
}

#[test]
fn what_has_the_name_of_a_reason_and_is_no_file_is_none() {
    let (folder, trace) = file("t.mqt", "# mqtrace 1\na 0 1 2\n");
    let pipe = folder.path().join("t.ended");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    let run = mq(&["stats", &trace]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn a_rank_with_several_traces_in_a_directory_is_named() {
    let header = "# mqtrace 1 source=openmpi-5.0.7-ob1 rank=0 ranks=1 job=7";
    let lines = format!("{header}\na 0 1 2\n");
    let (folder, trace) = file("r0.mqt", &lines);
    let directory = text(folder.path());
    let run = mq(&["stats", &directory]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    // As `gunzip -k` leaves them.
    std::fs::write(folder.path().join("r0.mqt.gz"), &lines).expect("written");
    let said = format!("mq: {directory}: rank 0 of job 7 has 2 traces: r0.mqt, r0.mqt.gz\n");
    for command in ["stats", "replay", "advise"] {
        let run = mq(&[command, &directory]);
        assert_eq!((run.code, &run.stderr), (0, &said), "{command}");
    }
    let run = mq(&["stats", &trace, &format!("{trace}.gz")]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "both were named");
}

/// Runs `mq stats` on these arguments and a trace that comes out of a named pipe, after `meanwhile`, which is called
/// when it has read the others once.
#[cfg(unix)]
fn stats_of_what_changes(args: &[&str], folder: &Path, meanwhile: impl FnOnce()) -> Run {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    let mut stats = command(&[&["stats"], args, &[&text(&pipe)]].concat());
    let stats = stats.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    // Until it is opened at the other end.
    let opened = std::fs::OpenOptions::new().write(true).open(&pipe);
    let mut opened = opened.expect("it is read");
    meanwhile();
    opened.write_all(b"# mqtrace 1\n").expect("room");
    drop(opened);
    let output = stats
        .expect("mq starts")
        .wait_with_output()
        .expect("it ends");
    Run {
        code: output.status.code().expect("it is not killed"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

#[cfg(unix)]
#[test]
fn a_trace_whose_process_ends_meanwhile_is_not_said_to_have_ended_early_and_to_be_whole() {
    let unfinished = "# mqtrace 1 seconds=unfinished\na 0 1 2\n";
    let (folder, trace) = file("t.mqt", unfinished);
    let whole = unfinished.replace("unfinished", "000001.500");
    let args = [&*trace, "--format", "json"];
    let run = stats_of_what_changes(&args, folder.path(), || {
        std::fs::write(&trace, whole).expect("written");
    });
    assert_eq!(run.code, 0, "{}", run.stderr);
    let first = &run.objects()[0];
    assert_eq!(first["header"]["seconds"], "000001.500");
    assert!(first["ended_early"].is_null(), "{first}");
}

#[cfg(unix)]
#[test]
fn what_was_described_before_a_failure_is_printed() {
    let lines = "# mqtrace 1\na 0 1 2\n";
    for is_json in [true, false] {
        let (folder, first) = file("a.mqt", lines);
        let second = text(&folder.path().join("b.mqt"));
        std::fs::write(&second, lines).expect("written");
        let args = [
            &*first,
            &second,
            "--format",
            ["table", "json"][usize::from(is_json)],
        ];
        let run = stats_of_what_changes(&args, folder.path(), || {
            std::fs::remove_file(&second).expect("removed");
        });
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(&second), "{}", run.stderr);
        if is_json {
            assert_eq!(run.objects()[0]["trace"], first.as_str());
        } else {
            assert!(run.stdout.starts_with(&first), "{}", run.stdout);
            assert!(!run.stdout.contains("All "), "{}", run.stdout);
        }
    }
}
