//! `mq replay`.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::Stdio;

use mq_core::structures::Kind;

use crate::support::{command, file, first_object, fresh, mq, real, svg, text};

const KEYS: [&str; 18] = [
    "trace",
    "header",
    "ended_early",
    "structure",
    "operations",
    "mismatches",
    "ns_per_op",
    "x_list",
    "communicators",
    "floor_ns_per_op",
    "posted_searches",
    "unexpected_searches",
    "max_posted",
    "max_unexpected",
    "peak_bytes",
    "repetitions",
    "spread_ns_per_op",
    "hindsight",
];

/// What a list would compare for hours is not its business unless it is asked.
#[test]
fn a_list_is_not_timed_on_what_it_would_search_for_long() {
    const DEPTH: usize = 210_000;
    let posts = (0..DEPTH).map(|tag| format!("p 0 1 {tag}\n"));
    let arrivals = (0..DEPTH).rev().map(|tag| format!("a 0 1 {tag} ={tag}\n"));
    let lines: String = posts.chain(arrivals).collect();
    let (_folder, deep) = file("deep.mqt", format!("# mqtrace 1\n{lines}"));
    let args = ["-s", "indexed", "--repeat", "1", "--format", "json"];
    let run = mq(&[&["replay", &deep], &args[..]].concat());
    assert_eq!(run.code, 0);
    let visited = "22,050,105,000";
    let expected = format!(
        "mq: {deep}: `list` would compare {visited} entries in each repetition and is not timed; name it with \
         --structure to compare with it\n"
    );
    assert_eq!(run.stderr, expected);
    let objects = run.objects();
    assert_eq!(objects.len(), 1);
    assert!(objects[0]["x_list"].is_null() && objects[0]["ns_per_op"].is_f64());
    // Nor does a description search.
    let run = mq(&["stats", &deep, "--format", "json"]);
    let mean = &run.objects()[0]["posted_searches"]["mean"];
    assert_eq!(mean.as_f64(), Some(105_000.5));
}

#[test]
fn every_structure_reproduces_a_real_trace() {
    let trace = real("lmp-melt16-r0");
    let run = mq(&["replay", &trace, "--repeat", "1", "--format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let objects = run.objects();
    let structures: Vec<_> = objects.iter().map(|o| o["structure"].as_str()).collect();
    let all: Vec<_> = Kind::ALL.iter().map(|kind| Some(kind.name())).collect();
    assert_eq!(structures, all);
    let expected: BTreeSet<_> = KEYS.into_iter().collect();
    for object in &objects {
        let fields = object.as_object().expect("an object");
        let keys: BTreeSet<_> = fields.keys().map(String::as_str).collect();
        assert_eq!(keys, expected);
        assert_eq!(object["trace"], trace.as_str());
        assert_eq!(object["mismatches"], 0);
        assert_eq!(object["repetitions"], 1);
        assert_eq!(object["operations"], 7184);
        assert_eq!(object["max_unexpected"], 8);
        assert!(object["peak_bytes"].as_u64() > Some(0));
        assert!(object["ns_per_op"].is_f64(), "{object}");
        assert_eq!(object["header"]["source"], "lmp-melt16");
        assert!(object["spread_ns_per_op"].is_null(), "one does not tell");
        assert_eq!(object["hindsight"], object["structure"] == "clusters");
    }
}

/// What of a table does not change from run to run: structures, entries visited, longest queues, memory. The secret
/// factors of `indexed` decide what meets in its tables, and so what it visits.
fn steady_columns(text: &str) -> Vec<String> {
    let cells =
        |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().into()).collect() };
    let rows = text.lines().map(cells);
    let rows = rows.filter(|cells| cells.len() == 8 && cells[0].parse::<Kind>().is_ok());
    let steady = |cells: Vec<String>| match cells[0].parse() {
        Ok(Kind::Indexed) => [&cells[..1], &cells[5..7]].concat().join(" | "),
        _ => [&cells[..1], &cells[3..]].concat().join(" | "),
    };
    rows.map(steady).collect()
}

#[test]
fn the_readme_shows_what_its_first_command_prints() {
    let run = mq(&["replay", &real("hpcc32-r0"), "--repeat", "1"]);
    let readme = include_str!("../../../../README.md");
    let (_, shown) = readme
        .split_once("replay traces/hpcc32-r0.mqt.gz\n```")
        .expect("the command");
    let (shown, _) = shown
        .split_once("An operation is")
        .expect("its explanation");
    assert_eq!(steady_columns(shown).len(), Kind::ALL.len());
    assert_eq!(steady_columns(shown), steady_columns(&run.stdout));
}

#[test]
fn deep_queues_show_in_the_visits_of_a_list() {
    let (preposted, unexpected) = (
        real("hotspot128-preposted-r0"),
        real("hotspot128-unexpected-r0"),
    );
    let args = ["--structure", "list", "--repeat", "1", "--format", "json"];
    let run = mq(&[&["replay", &preposted, &unexpected], &args[..]].concat());
    assert_eq!(run.code, 0);
    let objects = run.objects();
    assert!(objects[0]["posted_searches"]["mean"].as_f64() > Some(580.0));
    assert!(objects[1]["unexpected_searches"]["mean"].as_f64() > Some(690.0));
}

#[test]
fn the_table_has_its_header_lines_and_a_row_for_each_structure() {
    let trace = real("lmp-melt16-r0");
    let run = mq(&[
        "replay",
        &trace,
        "--repeat",
        "2",
        "--structure",
        "pnp,indexed",
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let first = run.stdout.lines().next();
    let expected = format!("{trace}: 7,184 operations in 1 communicator; all pairings reproduced");
    assert_eq!(first, Some(expected.as_str()));
    assert!(
        run.stdout
            .contains("ns/op, subtracted; median of 2 repetitions\n")
    );
    assert!(run.stdout.contains("\n pnp "));
    assert!(run.stdout.contains("\n indexed "));
    // `list` is timed for the ratio, but was not asked for.
    assert!(!run.stdout.contains("\n list "));
}

#[test]
fn clusters_are_said_to_have_what_a_library_has_not() {
    let trace = real("lmp-melt16-r0");
    let said = |structures: &str| {
        let args = ["--repeat", "1", "--structure", structures];
        let run = mq(&[&["replay", &trace], &args[..]].concat());
        let line = "\nclusters was given the trace's own profile, which a library would not have\n";
        run.stdout.ends_with(line)
    };
    assert!(said("clusters,list"));
    assert!(!said("list,indexed"));
}

#[test]
fn the_plot_says_what_clusters_was_given() {
    let (_folder, plot) = fresh("costs.svg");
    let (trace, path) = (real("lmp-melt16-r0"), text(&plot));
    let is_said = |structures: &str| {
        let args = ["--repeat", "1", "--structure", structures, "--plot", &path];
        assert_eq!(mq(&[&["replay", &trace], &args[..]].concat()).code, 0);
        let line =
            "\nclusters was given the trace's own profile, which a library would not have.\n";
        svg(&plot).replace("&apos;", "'").contains(line)
    };
    assert!(is_said("clusters,list"));
    assert!(!is_said("list,indexed"));
}

#[test]
fn json_tells_what_advise_tells_of_a_trace_and_its_times() {
    let (_folder, trace) = file(
        "t.mqt",
        "# mqtrace 1 seconds=unfinished\na 0 1 2\np 0 1 2 =0\n",
    );
    let args = ["--structure", "list", "--repeat", "4", "--format", "json"];
    let run = mq(&[&["replay", &trace], &args[..]].concat());
    let list = &run.objects()[0];
    let advice = mq(&[&["advise", &trace], &args[..]].concat());
    let advice: serde_json::Value = serde_json::from_str(&advice.stdout).expect("one object");
    for key in ["header", "ended_early"] {
        assert_eq!(list[key], advice["traces"][0][key], "{key}");
        assert!(!list[key].is_null(), "{key}");
    }
    assert!(list["spread_ns_per_op"].is_f64(), "{list}");
}

#[test]
fn a_trace_that_is_done_is_printed_before_the_next() {
    let (_folder, empty) = file("empty.mqt", "# mqtrace 1\n");
    let long = real("hpcc32-r0");
    let args = ["--structure", "list", "--repeat", "20000"];
    let args = [
        &["replay", &empty, &long, "--format", "json"][..],
        &args[..],
    ]
    .concat();
    let mut child = command(&args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("mq starts");
    let mut stdout = child.stdout.take().expect("it is piped");
    let text = first_object(&mut stdout);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let objects: serde_json::Value = serde_json::from_str(&(text + "]")).expect("a list begun");
    assert_eq!(objects[0]["trace"], empty.as_str());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("UTF-8");
    assert_eq!(rest, "", "the next trace takes longer than this test");
}

#[test]
fn a_wrong_pairing_is_named_and_exits_1() {
    let lines = "# mqtrace 1\nc 0 4 0\np 0 * 5\np 0 1 5\na 0 1 5 =1\na 0 1 5 =0\n";
    let (_folder, trace) = file("wrong.mqt", lines);
    let args = [
        "replay",
        &trace,
        "--repeat",
        "1",
        "--structure",
        "list,indexed",
    ];
    let run = mq(&args);
    assert_eq!(run.code, 1);
    let expected = format!(
        "mq: {trace}:5: recorded receive 1, MPI's rules give receive 0 (every structure)\n"
    );
    assert_eq!(run.stderr, expected);
    assert!(
        run.stdout.contains("2 pairings differ in every structure"),
        "{}",
        run.stdout
    );
    let json = mq(&[&args[..], &["--format", "json"]].concat());
    assert_eq!(json.code, 1);
    assert_eq!(json.objects()[1]["mismatches"], 2);
}

#[test]
fn a_generated_trace_that_was_doctored_exits_1() {
    let mut run = mq(&["generate", "depth", "--depth", "8", "--order", "forward"]);
    assert!(run.stdout.contains("=6\n") && run.stdout.contains("=7\n"));
    run.stdout = run
        .stdout
        .replace("=6", "=x")
        .replace("=7", "=6")
        .replace("=x", "=7");
    let (_folder, trace) = file("swapped.mqt", &run.stdout);
    let run = mq(&["replay", &trace, "--repeat", "1"]);
    assert_eq!(run.code, 1);
    let mismatch = "17: recorded message 7, MPI's rules give message 6 (every structure)";
    assert_eq!(run.stderr, format!("mq: {trace}:{mismatch}\n"));
}

#[test]
fn the_plot_names_traces_structures_and_units() {
    let (_folder, plot) = fresh("costs.svg");
    let traces = [
        real("lmp-melt16-r0"),
        real("hpcc32-r0"),
        real("hotspot128-preposted-r0"),
    ];
    let mut args = vec!["replay", "--repeat", "1", "--structure", "list,4d,indexed"];
    let path = text(&plot);
    args.extend(["--plot", &path, "--format", "json"]);
    args.extend(traces.iter().map(String::as_str));
    assert_eq!(mq(&args).objects().len(), 9);
    let svg = svg(&plot);
    for label in [
        "lmp-melt16-r0",
        "hpcc32-r0",
        "hotspot128-preposted-r0",
        "list",
        "4d",
        "indexed",
        "ns per operation",
        "Cost of a match operation",
        "the default",
    ] {
        assert!(svg.contains(label), "{label} is missing");
    }
}

#[test]
fn of_many_traces_the_plot_shows_some() {
    let folder = tempfile::tempdir().expect("a folder");
    for i in 0..26 {
        let path = folder.path().join(format!("r{i}.mqt"));
        std::fs::write(path, "# mqtrace 1\na 0 1 2\np 0 1 2 =0\n").expect("written");
    }
    let plot = folder.path().join("costs.svg");
    let args = ["--repeat", "1", "--structure", "list", "--format", "json"];
    let traces = text(folder.path());
    let run = mq(&[&["replay", &traces, "--plot", &text(&plot)], &args[..]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(run.objects().len(), 26);
    let svg = svg(&plot);
    let note = "The 24 of 26 traces that take longest in list; the others are not shown.";
    assert!(svg.contains(note), "{svg}");
    let panels = svg.lines().filter(|line| line.starts_with('r'));
    assert_eq!(panels.count(), 24, "{svg}");
}

#[test]
fn an_empty_trace_costs_nothing() {
    let (folder, trace) = file("empty.mqt", "# mqtrace 1\n");
    let plot = folder.path().join("empty.svg");
    let run = mq(&["replay", &trace, "--repeat", "2", "--plot", &text(&plot)]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("0 operations in 0 communicators"));
    svg(&plot);
    let run = mq(&["replay", &trace, "--repeat", "1", "--format", "json"]);
    for object in run.objects() {
        assert_eq!(object["ns_per_op"], 0.0);
        assert_eq!(object["posted_searches"]["mean"], 0.0);
    }
}

#[test]
fn a_structure_that_is_too_large_is_left_out_unless_it_was_named() {
    // Nine communicators that `array` gives 256 MiB of heads each.
    let mut lines = String::from("# mqtrace 1\n");
    for comm in 0..9 {
        lines += &format!("c {comm} 4294967295 0\n");
    }
    lines += "a 0 2147483647 1\n";
    let (_folder, trace) = file("large.mqt", &lines);
    let named = ["--structure", "list,array", "--repeat", "1"];
    let would = format!("{trace}: `array` would keep 16 bytes for each of 150,994,944 ranks");
    for command in ["replay", "advise"] {
        let run = mq(&[&[command, &trace], &named[..]].concat());
        let refusal = format!("{would}; name other structures with --structure");
        assert_eq!(run.refusal(), refusal);
        let run = mq(&[command, &trace, "--repeat", "1"]);
        let left_out = format!("mq: {would} and is left out\n");
        assert_eq!((run.code, &run.stderr), (0, &left_out), "{command}");
        assert!(run.stdout.contains("\n rbtree "), "{}", run.stdout);
        assert!(!run.stdout.contains("\n array "), "{}", run.stdout);
    }
    let others: Vec<_> = Kind::ALL
        .iter()
        .filter(|&&kind| kind != Kind::Array)
        .collect();
    let others: Vec<_> = others.iter().map(|kind| kind.name()).collect();
    let run = mq(&[
        "replay",
        &trace,
        "--repeat",
        "1",
        "--structure",
        &others.join(","),
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}
