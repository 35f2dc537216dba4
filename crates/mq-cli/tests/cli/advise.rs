//! `mq advise`.

use std::collections::BTreeSet;

use mq_core::structures::Kind;
use serde_json::Value;

use crate::support::{Run, file, fresh, mq, real, text};

/// Standard output as the JSON object that `mq advise` prints.
fn advice(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).expect("stdout is one JSON object")
}

fn names(advice: &Value) -> Vec<&str> {
    let structures = advice["structures"].as_array().expect("an array");
    let names = structures.iter().map(|cost| cost["structure"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

/// A trace with queues deep enough that `list` loses in any build and on any machine.
fn deep() -> (tempfile::TempDir, String) {
    let (folder, path) = fresh("deep.mqt.gz");
    let path = text(&path);
    let depth = ["--depth", "2000", "--queue", "posted", "-o", &path];
    assert_eq!(mq(&[&["generate", "depth"], &depth[..]].concat()).code, 0);
    (folder, path)
}

#[test]
fn structures_are_in_the_order_of_their_cost() {
    let trace = real("lmp-melt16-r0");
    let run = mq(&["advise", &trace, "--repeat", "2", "--format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let output = advice(&run);
    assert_eq!(output["traces"].as_array().map(Vec::len), Some(1));
    let melt = &output["traces"][0];
    assert_eq!(melt["trace"], trace.as_str());
    assert_eq!(output["together"]["trace"], trace.as_str(), "it is one");
    assert_eq!(melt["operations"], 7184);
    let all: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names(melt).into_iter().collect::<BTreeSet<_>>(), all);
    let costs = melt["structures"].as_array().expect("an array");
    let times: Vec<_> = costs.iter().map(|c| c["ns_per_op"].as_f64()).collect();
    assert!(times.is_sorted(), "{times:?}");
    for cost in costs {
        assert_eq!(cost["mismatches"], 0);
        assert!(cost["peak_bytes"].as_u64() > Some(0));
        assert!(cost["total_ns"].is_f64() && cost.get("x_list").is_some());
        assert_eq!(cost["repetitions"], 2);
        let spread = cost.get("spread_ns_per_op").expect("it has one");
        assert!(spread.is_null(), "two do not tell");
    }
    assert!(melt["noise"].is_null(), "{melt}");
    assert_eq!(melt["recommended"], Kind::default().name());
}

#[test]
fn the_share_of_the_run_is_known_where_its_time_is() {
    let trace = "# mqtrace 1 seconds=000010.000\np 0 1 5\na 0 1 5 =0\n";
    let (folder, path) = file("r0.mqt", trace);
    let run = mq(&["advise", &path, "--repeat", "1"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains(" of the "), "{}", run.stdout);
    assert!(
        run.stdout.contains("\nthe process ran for 10.0 s: "),
        "{}",
        run.stdout
    );

    std::fs::write(folder.path().join("r1.mqt"), trace).expect("written");
    let folder = text(folder.path());
    let args = ["advise", &folder, "--repeat", "1", "--format", "json"];
    let output = advice(&mq(&args));
    for (part, seconds) in [(&output["traces"][0], 10.0), (&output["together"], 20.0)] {
        assert_eq!(part["run_seconds"], seconds);
        let first = &part["structures"][0];
        let number = |key: &str| first[key].as_f64().expect("a number");
        let expected = number("total_ns") / 1e9 / seconds;
        assert!((number("share_of_run") - expected).abs() < 1e-12, "{first}");
    }
    let run = mq(&["advise", &folder, "--repeat", "1", "--summary"]);
    assert!(
        run.stdout
            .contains("\nthe processes ran, added up, for 20.0 s: ")
    );

    let (_folder, path) = file("r0.mqt", trace.replace("000010.000", "unfinished"));
    let output = advice(&mq(&["advise", &path, "--repeat", "1", "--format", "json"]));
    let together = &output["together"];
    assert!(together["run_seconds"].is_null() && together.get("run_seconds").is_some());
    assert!(
        together["structures"][0]["share_of_run"].is_null(),
        "{together}"
    );
}

#[test]
fn four_repetitions_tell_what_is_noise() {
    let trace = real("lmp-melt16-r0");
    let args = ["--structure", "list", "--repeat", "4", "--format", "json"];
    let output = advice(&mq(&[&["advise", &trace], &args[..]].concat()));
    let melt = &output["traces"][0];
    assert!(melt["noise"].is_f64(), "{melt}");
    for cost in melt["structures"].as_array().expect("an array") {
        assert_eq!(cost["repetitions"], 4);
        assert!(cost["spread_ns_per_op"].is_f64(), "{cost}");
    }
}

#[test]
fn the_evidence_is_that_of_stats() {
    let trace = real("hpcc32-r0");
    let args = ["--structure", "list", "--repeat", "1", "--format", "json"];
    let output = advice(&mq(&[&["advise", &trace], &args[..]].concat()));
    let hpcc = &output["traces"][0];
    let stats = mq(&["stats", &trace, "--format", "json"]).objects();
    assert_eq!(
        (&hpcc["receives"], &hpcc["wildcard_receives"]),
        (&24_685.into(), &8562.into())
    );
    for key in ["wildcard_receives", "max_posted", "max_unexpected"] {
        assert_eq!(hpcc[key], stats[0][key]);
    }
    let replay = mq(&[&["replay", &trace], &args[..]].concat()).objects();
    for queue in ["posted_searches", "unexpected_searches"] {
        for key in ["searches", "mean"] {
            assert_eq!(replay[0][queue][key], stats[0][queue][key], "{queue} {key}");
        }
    }
    for queue in ["posted_searches", "unexpected_searches"] {
        for key in ["searches", "mean", "max"] {
            assert_eq!(hpcc[queue][key], stats[0][queue][key], "{queue} {key}");
        }
    }
    assert_eq!(hpcc["default"], Kind::default().name());
    assert!(hpcc["noise"].is_null(), "one repetition does not tell");
    let verdict = hpcc["verdict"].as_str().expect("a sentence");
    assert!(verdict.starts_with("only 1 repetition to "), "{verdict}");
    assert!(verdict.ends_with(", the default."), "{verdict}");
}

#[test]
fn deep_queues_gain_from_the_default() {
    let (_folder, trace) = deep();
    let args = ["--structure", "list,indexed", "--repeat", "9"];
    let advise = || mq(&[&["advise", &trace], &args[..]].concat());
    // On a machine that is very busy nothing else can be said, once.
    let is_noisy = |run: &Run| run.stdout.contains("\n=> too noisy to tell on deep: ");
    let run = (0..9).map(|_| advise()).find(|run| !is_noisy(run));
    let run = run.expect("less noise in one of nine runs");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let heading = format!("{trace}: 4,000 operations in 1 communicator; all pairings reproduced\n");
    assert!(run.stdout.starts_with(&heading), "{}", run.stdout);
    let longest = "wildcards: 0.0% of receives; longest queues: 2,000 posted, 0 unexpected\n";
    assert!(run.stdout.contains(longest), "{}", run.stdout);
    let searches = "a search of list: 1,001 posted receives on average, 2,000 at most; ";
    assert!(run.stdout.contains(searches), "{}", run.stdout);
    let (_, verdict) = run.stdout.rsplit_once("\n=> ").expect("a verdict");
    assert!(verdict.lines().all(|line| line.len() <= 80), "{verdict}");
    let verdict = &verdict.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(verdict.starts_with("indexed: "), "{verdict}");
    assert!(
        verdict.contains(" times faster in matching than list on deep ("),
        "{verdict}"
    );
    assert!(verdict.contains(" That is the default"), "{verdict}");
}

#[test]
fn list_and_the_default_are_always_compared() {
    let (_folder, trace) = deep();
    let args = ["--structure", "pnp", "--repeat", "1", "--format", "json"];
    let output = advice(&mq(&[&["advise", &trace], &args[..]].concat()));
    let names: BTreeSet<_> = names(&output["together"]).into_iter().collect();
    assert_eq!(names, BTreeSet::from(["indexed", "list", "pnp"]));
    assert_eq!(output["together"]["recommended"], "indexed");
}

#[test]
fn a_trace_of_open_mpi_is_compared_with_its_own_structure_first() {
    let (_folder, deep) = deep();
    let hpcc = real("hpcc32-r0");
    let args = ["--structure", "list", "--repeat", "15", "--format", "json"];
    let one = advice(&mq(&[&["advise", &hpcc], &args[..]].concat()));
    assert!(names(&one["together"]).contains(&"array"));
    for advice in [&one["traces"][0], &one["together"]] {
        // What is said of it depends on how busy the machine is.
        assert_eq!(advice["own"], "array");
    }
    let both = advice(&mq(&[&["advise", &hpcc, &deep], &args[..]].concat()));
    assert_eq!(both["traces"][0]["own"], "array");
    assert!(both["traces"][1]["own"].is_null() && both["together"]["own"].is_null());
}

#[test]
fn several_traces_are_also_added_up() {
    let (folder, _) = deep();
    let melt = folder.path().join("melt.mqt.gz");
    std::fs::copy(real("lmp-melt16-r0"), melt).expect("copied");
    std::fs::write(folder.path().join("notes.txt"), "no trace").expect("written");
    let folder = text(folder.path());
    let args = ["advise", &folder, "--structure", "list", "--repeat", "1"];
    let run = mq(&args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let heading = "\nall 2 traces together: 11,184 operations; times added, the highest peak\n";
    assert!(run.stdout.contains(heading), "{}", run.stdout);
    assert_eq!(run.stdout.matches("\n=> ").count(), 3, "{}", run.stdout);

    let output = advice(&mq(&[&args[..], &["--format", "json"]].concat()));
    let traces = output["traces"].as_array().expect("an array");
    let files: Vec<_> = traces.iter().map(|t| t["trace"].as_str()).collect();
    let expected = ["deep", "melt"].map(|name| format!("{folder}/{name}.mqt.gz"));
    assert_eq!(files, expected.each_ref().map(|name| Some(name.as_str())));
    let together = &output["together"];
    assert_eq!(together["operations"], 11_184);
    assert_eq!(together["posted_searches"]["max"], 2000);
    let list = |advice: &Value| {
        let costs = advice["structures"].as_array().expect("an array");
        let list = costs.iter().find(|cost| cost["structure"] == "list");
        list.and_then(|cost| cost["total_ns"].as_f64())
            .expect("a time")
    };
    let sum: f64 = traces.iter().map(list).sum();
    assert!((list(together) - sum).abs() < 1.0, "{together}");
}

#[test]
fn the_summary_is_the_advice_on_all_alone() {
    let (_folder, deep) = deep();
    let melt = real("lmp-melt16-r0");
    let args = ["--structure", "list", "--repeat", "1", "--summary"];
    let args = [&["advise", &deep, &melt], &args[..]].concat();
    let run = mq(&args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let heading = "all 2 traces together: 11,184 operations; ";
    assert!(run.stdout.starts_with(heading), "{}", run.stdout);
    assert_eq!(run.stdout.matches("=> ").count(), 1, "{}", run.stdout);
    let together = advice(&mq(&[&args[..], &["--format", "json"]].concat()));
    assert_eq!(together["trace"], "all 2 traces together");
    assert_eq!(together["operations"], 11_184);
}

#[test]
fn a_wrong_pairing_is_named_and_gets_no_advice() {
    let lines = "# mqtrace 1\nc 0 4 0\np 0 * 5\np 0 1 5\na 0 1 5 =1\na 0 1 5 =0\n";
    let (_folder, trace) = file("wrong.mqt", lines);
    let run = mq(&["advise", &trace, "--structure", "bins", "--repeat", "1"]);
    assert_eq!(run.code, 1);
    let wrong = "5: recorded receive 1, MPI's rules give receive 0 (every structure)";
    assert_eq!(run.stderr, format!("mq: {trace}:{wrong}\n"));
    let verdict = "\n=> pairings differ from the recorded ones on wrong; stay with indexed";
    assert!(run.stdout.contains(verdict), "{}", run.stdout);
    let both = ["advise", &trace, &real("lmp-melt16-r0")];
    let run = mq(&[
        &both[..],
        &["--structure", "list", "--repeat", "1", "--summary"],
    ]
    .concat());
    assert_eq!(run.code, 1);
    let verdict = "\n=> pairings differ from the recorded ones on 1 of 2 traces (wrong); stay with";
    assert!(run.stdout.contains(verdict), "{}", run.stdout);
}

#[test]
fn an_empty_trace_asks_for_nothing() {
    let (_folder, trace) = file("empty.mqt", "# mqtrace 1\n");
    let run = mq(&["advise", &trace, "--repeat", "2"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(
        run.stdout
            .contains("\n=> too few operations to tell on empty; stay")
    );
    assert!(!run.stdout.contains("NaN"), "{}", run.stdout);
}

#[test]
fn a_directory_without_traces_is_refused() {
    let (folder, _) = file("notes.txt", "");
    let folder = text(folder.path());
    for command in ["advise", "replay", "stats"] {
        let run = mq(&[command, &folder]);
        let expected = format!("{folder}: the directory has no traces (*.mqt or *.mqt.gz)");
        assert_eq!(run.refusal(), expected, "{command}");
    }
}

#[test]
fn what_a_killed_recording_left_is_named() {
    let (folder, _) = file("notes.txt", "");
    let at = |name: &str| folder.path().join(name);
    let folder = text(folder.path());
    for empty in ["recording-7", "other"] {
        std::fs::create_dir(at(empty)).expect("made");
    }
    std::fs::write(at("other/a.mqt"), "# mqtrace 1\n").expect("written");
    let nothing = format!("{folder}: the directory has no traces (*.mqt or *.mqt.gz)");
    assert_eq!(mq(&["advise", &folder]).refusal(), nothing);
    std::fs::write(at("recording-7/a.mqt"), "# mqtrace 1\n").expect("written");
    let one = " traces that a recording did not collect: name that directory";
    let expected = format!("{nothing}, but {folder}/recording-7 has{one}");
    assert_eq!(mq(&["advise", &folder]).refusal(), expected);
    std::fs::create_dir(at("recording-8-2")).expect("made");
    std::fs::write(at("recording-8-2/a.mqt"), "# mqtrace 1\n").expect("written");
    let run = mq(&["stats", &folder]);
    let both = "recording-7 and 1 more have traces that recordings did not collect: name those directories";
    assert!(run.refusal().ends_with(both), "{}", run.stderr);
    assert_eq!(mq(&["stats", &format!("{folder}/recording-7")]).code, 0);
}

#[test]
fn what_a_killed_recording_left_is_missed_beside_other_traces() {
    let (folder, _) = file("a.mqt", "# mqtrace 1\n");
    let at = |name: &str| folder.path().join(name);
    let left = |directory: &str, names: &[&str]| {
        std::fs::create_dir(at(directory)).expect("made");
        for name in names {
            std::fs::write(at(directory).join(name), "# mqtrace 1\n").expect("written");
        }
    };
    let folder = text(folder.path());
    left("recording-6", &[]);
    assert_eq!(mq(&["stats", &folder]).code, 0);
    left("recording-7", &["a.mqt", "b.mqt", "c.mqt.gz"]);
    let one = format!(
        "mq: {folder}/recording-7 has 3 more traces that a recording did not collect: name that directory too\n"
    );
    for command in [
        &["stats", "--summary"][..],
        &["replay", "--repeat", "1"],
        &["advise", "--repeat", "1"],
    ] {
        let run = mq(&[command, &[&folder]].concat());
        assert_eq!((run.code, &run.stderr), (2, &one), "{command:?}");
        assert!(
            run.stdout.contains("a.mqt") || command[0] == "advise",
            "{}",
            run.stdout
        );
        assert!(!run.stdout.is_empty(), "{command:?}");
    }
    let named = mq(&["stats", &folder, &format!("{folder}/recording-7/")]);
    assert_eq!((named.code, named.stderr.as_str()), (0, ""));
    left("recording-8", &["a.mqt"]);
    std::fs::write(at("b.mqt"), "# no trace\n").expect("written");
    let run = mq(&["stats", &folder]);
    assert_eq!(run.code, 2);
    let said: Vec<&str> = run.stderr.lines().collect();
    let both = "recording-7 and 1 more have 4 more traces that recordings did not collect: name those directories too";
    assert!(
        said[0].starts_with(&format!("mq: {folder}/b.mqt:1: ")),
        "{said:?}"
    );
    assert!(said[1].ends_with(both), "{said:?}");
    assert_eq!(
        said[2],
        "mq: 1 of 2 traces could not be read and were left out"
    );
    std::fs::remove_file(at("a.mqt")).expect("removed");
    let run = mq(&["stats", &folder]);
    assert_eq!(
        (run.code, run.stderr.lines().count()),
        (2, 2),
        "{}",
        run.stderr
    );
}
