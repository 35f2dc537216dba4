//! Every structure reaches the pairings that a real MPI library reached.
//!
//! The bundled traces are always replayed. A directory of further traces can be named in the
//! environment variable `MQ_TRACE_DIR`; naming one that holds none is an error.

use std::path::{Path, PathBuf};

use mq_core::structures::Kind;
use mq_trace::{Trace, check};

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

#[test]
fn a_list_shows_the_cost_of_deep_queues_and_the_default_does_not() {
    for (name, posted, unexpected) in [
        ("hotspot128-preposted-r0", 588.0, 0.0),
        ("hotspot128-unexpected-r0", 0.0, 694.0),
    ] {
        let path = bundled().join(format!("{name}.mqt.gz"));
        let trace = Trace::open(path).unwrap_or_else(|error| panic!("{error}"));
        let list = check(&trace, Kind::List);
        assert!(
            list.mean_posted_visited() >= posted,
            "{}",
            list.mean_posted_visited()
        );
        assert!(
            list.mean_unexpected_visited() >= unexpected,
            "{}",
            list.mean_unexpected_visited()
        );
        let indexed = check(&trace, Kind::Indexed);
        let visited = indexed.mean_posted_visited() + indexed.mean_unexpected_visited();
        assert!(visited < 10.0, "{visited} entries a search");
    }
}
