//! Every structure makes the same pairings as a real MPI library.
//!
//! The bundled traces are always replayed. A directory of further traces can be named in the
//! environment variable `MQ_TRACE_DIR`; naming one that holds none is an error.

use std::path::{Path, PathBuf};

use mq_core::Tuning;
use mq_core::mpi::MpiPattern;
use mq_core::structures::{Kind, Leads, List};
use mq_trace::generate::{DepthPattern, Order};
use mq_trace::{ListSearches, Report, Trace, TraceReader, check, check_queues, check_with};

fn traces_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut traces: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.to_string_lossy().ends_with(".mqt.gz"))
        .collect();
    traces.sort();
    assert!(
        !traces.is_empty(),
        "{} holds no traces",
        directory.display()
    );
    traces
}

fn every_structure_reproduces(directory: &Path) {
    for path in traces_in(directory) {
        let trace = Trace::open(&path).unwrap_or_else(|error| panic!("{error}"));
        for &kind in Kind::ALL {
            let report = check(&trace, kind);
            assert_eq!(report.operations, trace.operations().len());
            assert_eq!(report.first_mismatch, None, "{kind} on {}", path.display());
        }
    }
}

fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

#[test]
fn every_structure_reproduces_the_bundled_traces() {
    every_structure_reproduces(&bundled());
}

#[test]
fn every_structure_reproduces_the_traces_of_the_named_directory() {
    match std::env::var_os("MQ_TRACE_DIR") {
        Some(directory) => every_structure_reproduces(Path::new(&directory)),
        None => println!("MQ_TRACE_DIR names no further traces"),
    }
}

type Lists = List<MpiPattern, u32, u32>;

/// Mean entries visited by searches of the posted and of the unexpected queue.
fn means(report: &Report) -> (f64, f64) {
    let means = (
        report.mean_posted_visited(),
        report.mean_unexpected_visited(),
    );
    let round = |mean: f64| (mean * 100.0).round() / 100.0;
    (round(means.0), round(means.1))
}

#[test]
fn a_list_shows_the_cost_of_deep_queues_and_the_default_does_not() {
    // With a list for each communicator the means are those of the recording, 588 and 694; the one
    // list for all of them passes the entries of the others too.
    for (name, of_each, of_all) in [
        ("hotspot128-preposted-r0", (588.37, 4.28), (590.47, 4.29)),
        ("hotspot128-unexpected-r0", (0.34, 694.28), (0.86, 696.04)),
    ] {
        let path = bundled().join(format!("{name}.mqt.gz"));
        let trace = Trace::open(path).unwrap_or_else(|error| panic!("{error}"));
        let tuning = Tuning::default();
        let report = check_queues::<Leads<Lists>>(&trace, &tuning, &mut |_| ());
        assert_eq!(
            means(&report),
            of_each,
            "{name}, a list for each communicator"
        );
        assert_eq!(
            means(&check(&trace, Kind::List)),
            of_all,
            "{name}, one list"
        );
        let (posted, unexpected) = means(&check(&trace, Kind::Indexed));
        assert!(
            posted + unexpected < 10.0,
            "{posted} and {unexpected} entries a search"
        );
    }
}

/// What a list compares, as it does it.
fn searched(trace: &Trace) -> Vec<(u64, u64)> {
    let mut searched = Vec::new();
    let report = check_with(trace, Kind::List, &mut |sample| {
        searched.push((sample.posted_visited, sample.unexpected_visited));
    });
    assert_eq!(report.mismatches, 0);
    searched
}

#[test]
fn the_outcomes_tell_what_a_list_compares() {
    let bundled = traces_in(&bundled()).into_iter().map(|path| {
        let trace = Trace::open(path);
        trace.unwrap_or_else(|error| panic!("{error}"))
    });
    let with_wildcards = DepthPattern::default().with(|pattern| {
        pattern.depth = 50;
        pattern.order = Order::Random;
        (pattern.any_source, pattern.any_tag) = (0.3, 0.2);
    });
    let with_wildcards = Trace::from_lines("wildcards", &with_wildcards.resolved(&mut |_| ()));
    for trace in bundled.chain([with_wildcards]) {
        let told = ListSearches::of(&trace).expect("there is memory");
        assert_eq!(told.len(), trace.operations().len());
        let told: Vec<_> = told
            .map(|search| (search.posted, search.unexpected))
            .collect();
        assert!(told == searched(&trace), "{}", trace.name());
    }
}

#[test]
fn the_example_of_the_format_is_a_trace_that_every_structure_reproduces() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trace-format.md");
    let document = std::fs::read_to_string(document).expect("the document");
    let (_, behind) = document.split_once("```text\n").expect("an example");
    let (example, _) = behind.split_once("```").expect("its end");
    let reader = TraceReader::new("the example", example.as_bytes()).expect("a header");
    let trace = Trace::read(reader).expect("a trace");
    assert_eq!(trace.operations().len() + 2, example.lines().count());
    for kind in Kind::ALL {
        assert_eq!(check(&trace, *kind).mismatches, 0, "{kind}");
    }
}
