//! The cost of a receive and its message by queue depth.
//!
//! Rows are named `depth/ORDER-QUEUE-by-KEY/STRUCTURE/DEPTH`; their time is that of one post and one
//! arrival. A queue is filled to the depth and drained in the given order, round after round:
//! `cargo bench -p mq-benches --bench depth -- 'reverse-posted-by-source/(list|indexed)/'`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use mq_benches::{criterion, lazy_trace, pattern_row, with_rounds};
use mq_core::structures::Kind;
use mq_trace::check;
use mq_trace::generate::{DepthPattern, Filled, KeyedBy, Order};

const DEPTHS: [u32; 9] = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];

/// Rows whose repetition would visit more entries and objects are left out: one would take a third of a
/// second or more, and criterion needs a dozen. The limit is in visits, not seconds, so that every
/// machine has the same rows.
const MOST_VISITS: f64 = 1e8;

fn main() {
    let mut criterion = criterion(Duration::from_millis(50), Duration::from_millis(250));
    let mut left_out = Vec::new();
    for &order in Order::ALL {
        for &filled in Filled::ALL {
            for &keyed_by in KeyedBy::ALL {
                let pattern = DepthPattern::default().with(|pattern| {
                    pattern.order = order;
                    pattern.filled = filled;
                    pattern.keyed_by = keyed_by;
                });
                let name = format!("depth/{order}-{filled}-by-{keyed_by}");
                bench_pattern(&mut criterion, &name, pattern, &mut left_out);
            }
        }
    }
    criterion.final_summary();
    for row in left_out {
        eprintln!("left out, as a repetition would make more than {MOST_VISITS:e} visits: {row}");
    }
}

/// Measures all structures at all depths of one pattern, and reports which were left out.
fn bench_pattern(
    criterion: &mut Criterion,
    name: &str,
    pattern: DepthPattern,
    left_out: &mut Vec<String>,
) {
    let mut group = criterion.benchmark_group(name);
    let limits: Vec<f64> = Kind::ALL
        .iter()
        .map(|&kind| deepest(pattern, kind))
        .collect();
    for depth in DEPTHS {
        let trace = lazy_trace(with_rounds(of_depth(pattern, depth)));
        let mut too_deep = Vec::new();
        for (&kind, &limit) in Kind::ALL.iter().zip(&limits) {
            if f64::from(depth) > limit {
                too_deep.push(kind.name());
            } else {
                let id = BenchmarkId::new(kind.name(), depth);
                pattern_row(&mut group, id, &trace, kind);
            }
        }
        if !too_deep.is_empty() {
            left_out.push(format!("{name}/({})/{depth}", too_deep.join("|")));
        }
    }
}

/// The depth up to which a repetition stays below [`MOST_VISITS`], extrapolated from two small depths
/// by the power of the depth with which visits grow between them.
fn deepest(pattern: DepthPattern, kind: Kind) -> f64 {
    const SMALL: u32 = 256;
    const LARGE: u32 = 1024;
    let (small, large) = (visits(pattern, SMALL, kind), visits(pattern, LARGE, kind));
    let power = (large / small).ln() / f64::from(LARGE / SMALL).ln();
    f64::from(LARGE) * (MOST_VISITS / large).powf(power.max(1.0).recip())
}

/// Entries and objects that one round visits, at least one per search.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn visits(pattern: DepthPattern, depth: u32, kind: Kind) -> f64 {
    let trace = of_depth(pattern, depth).trace();
    let visits = check(&trace, kind).visits.total();
    visits.max(2 * u64::from(depth)) as f64
}

fn of_depth(pattern: DepthPattern, depth: u32) -> DepthPattern {
    pattern.with(|pattern| pattern.depth = depth)
}
