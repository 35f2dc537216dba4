//! Common parts of the benchmarks: rows of replays, measured per element.
//!
//! The benchmarks are `depth`, `wildcards` and `traces`; `cargo bench -p mq-benches --bench depth`
//! runs one, and a regular expression after `--` selects its rows. `ci/instructions.sh` counts the
//! example `instructions`.

use std::cell::LazyCell;
use std::fmt::Display;
use std::io::{ErrorKind, Write, stdout};
use std::process::exit;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use mq_core::structures::Kind;
use mq_trace::generate::DepthPattern;
use mq_trace::{Replay, Trace, timed};

/// A trace that is generated for the first row measured on it, and never if the command line leaves all
/// of its rows out.
pub type LazyTrace = LazyCell<Trace, Box<dyn FnOnce() -> Trace>>;

/// The fewest pairs in a repetition of a generated pattern, so that the two clock readings do not
/// matter.
const PAIRS: u32 = 4096;

/// Criterion with the arguments of the command line, and times short enough for hundreds of rows to take
/// minutes; `--measurement-time` and `--sample-size` make them longer.
#[must_use]
pub fn criterion(warm_up: Duration, measurement: Duration) -> Criterion {
    Criterion::default()
        .sample_size(10)
        .nresamples(2000)
        .warm_up_time(warm_up)
        .measurement_time(measurement)
        .configure_from_args()
}

/// The pattern with enough rounds for a repetition to be timed.
#[must_use]
pub fn with_rounds(pattern: DepthPattern) -> DepthPattern {
    pattern.with(|pattern| pattern.rounds = (PAIRS / pattern.depth.max(1)).max(1))
}

/// The trace of a pattern, not generated yet.
#[must_use]
pub fn lazy_trace(pattern: DepthPattern) -> LazyTrace {
    LazyCell::new(Box::new(move || pattern.trace()))
}

/// Measures structure `kind` on a generated pattern: time per pair of a receive and a message.
pub fn pattern_row(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    trace: &LazyTrace,
    kind: Kind,
) {
    row(group, id, || {
        (timed(trace, kind), u64::from(trace.receives()))
    });
}

/// Measures a replay: time per element; `make` gives the number of elements in a repetition.
///
/// `make` is called only if the command line selects the row. Repetitions are never cut short: their time
/// is scaled to the number of elements that criterion asks for.
pub fn row<'a>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    make: impl Fn() -> (Box<dyn Replay + 'a>, u64),
) {
    let mut made = None;
    group.throughput(Throughput::Elements(1));
    group.bench_function(id, |bencher| {
        let (replay, elements) = made.get_or_insert_with(&make);
        bencher.iter_custom(|wanted| elapsed(replay.as_mut(), *elements, wanted));
    });
}

/// The time of `wanted` elements, from as many whole repetitions as cover them.
#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio of counts far below 2^52"
)]
fn elapsed(replay: &mut dyn Replay, elements: u64, wanted: u64) -> Duration {
    let repetitions = wanted.div_ceil(elements.max(1));
    let total: Duration = (0..repetitions).map(|_| replay.repetition()).sum();
    let share = wanted as f64 / (repetitions * elements.max(1)) as f64;
    total.mul_f64(share)
}

/// Prints a line on standard output. The program exits if the reader is gone, as with a pipe into
/// `head`.
///
/// # Panics
/// If the line cannot be written for another reason.
pub fn print_line(line: impl Display) {
    match writeln!(stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit(0),
        written => written.expect("standard output can be written"),
    }
}

/// `println!` by way of [`print_line`].
#[macro_export]
macro_rules! say {
    ($($line:tt)*) => {
        $crate::print_line(::core::format_args!($($line)*))
    };
}
