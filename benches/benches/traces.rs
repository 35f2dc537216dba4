//! The cost of an operation in the recorded traces of `traces/`.
//!
//! Rows are named `traces/TRACE/STRUCTURE`; their time is that of one operation. The row `floor` is only
//! the replay loop, without matching: subtract it before comparing structures.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use mq_benches::{LazyTrace, criterion, row};
use mq_core::structures::Kind;
use mq_trace::{Floor, Trace, timed};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces");

const SUFFIX: &str = ".mqt.gz";

fn main() {
    let mut criterion = criterion(Duration::from_millis(200), Duration::from_secs(1));
    for path in paths() {
        bench_trace(&mut criterion, path);
    }
    criterion.final_summary();
}

/// The bundled traces, in order of their names.
fn paths() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(FOLDER).expect("a checkout has the folder `traces`");
    let mut paths: Vec<PathBuf> = folder
        .map(|entry| entry.expect("the folder `traces` can be read").path())
        .filter(|path| file_name(path).ends_with(SUFFIX))
        .collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn bench_trace(criterion: &mut Criterion, path: PathBuf) {
    let name = format!("traces/{}", file_name(&path).trim_end_matches(SUFFIX));
    let mut group = criterion.benchmark_group(name);
    let trace: LazyTrace = LazyCell::new(Box::new(move || {
        Trace::open(path).expect("the bundled traces are valid")
    }));
    row(&mut group, BenchmarkId::from_parameter("floor"), || {
        (Box::new(Floor::new(&trace)), operations(&trace))
    });
    for &kind in Kind::ALL {
        row(&mut group, BenchmarkId::from_parameter(kind.name()), || {
            (timed(&trace, kind), operations(&trace))
        });
    }
}

fn operations(trace: &Trace) -> u64 {
    trace.operations().len() as u64
}
