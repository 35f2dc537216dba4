//! The cost of wildcards and of many communicators.
//!
//! Rows are named `wildcards/WHICH-SHARE-QUEUE-DEPTH/STRUCTURE`, to be compared with
//! `wildcards/none-by-KEY-QUEUE-DEPTH/STRUCTURE`, and `contexts/NUMBER-QUEUE/STRUCTURE` for 1024
//! entries in all. Their time is that of one post and one arrival. Queues are drained in random
//! order.
//!
//! A wildcard takes messages that another receive names, so some receives and messages stay queued from
//! one round to the next: less than a quarter of the depth, which they do not raise.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use mq_benches::{criterion, lazy_trace, pattern_row, with_rounds};
use mq_core::structures::Kind;
use mq_trace::generate::{DepthPattern, Filled, KeyedBy, Order};

const DEPTHS: [u32; 2] = [64, 4096];

/// Percent of the receives that are wildcards.
const SHARES: [u32; 3] = [1, 10, 50];

/// Numbers of communicators that the entries of a queue are dealt to.
const CONTEXTS: [u32; 3] = [1, 10, 100];

fn main() {
    let mut criterion = criterion(Duration::from_millis(50), Duration::from_millis(250));
    for &filled in Filled::ALL {
        for depth in DEPTHS {
            bench_wildcards(&mut criterion, filled, depth);
        }
        bench_contexts(&mut criterion, filled);
    }
    criterion.final_summary();
}

/// Any-source if sources distinguish the messages, and any-tag if tags do: the wildcard matches
/// everything that is queued.
fn bench_wildcards(criterion: &mut Criterion, filled: Filled, depth: u32) {
    let base = DepthPattern::default().with(|pattern| {
        pattern.depth = depth;
        pattern.order = Order::Random;
        pattern.filled = filled;
    });
    for keyed_by in [KeyedBy::Source, KeyedBy::Tag] {
        let pattern = base.with(|pattern| pattern.keyed_by = keyed_by);
        let name = format!("wildcards/none-by-{keyed_by}-{filled}-{depth}");
        bench_structures(criterion, &name, pattern);
    }
    for percent in SHARES {
        let share = f64::from(percent) / 100.0;
        let any_source = base.with(|pattern| {
            pattern.any_source = share;
            pattern.keyed_by = KeyedBy::Source;
        });
        let name = format!("wildcards/any-source-{percent}%-{filled}-{depth}");
        bench_structures(criterion, &name, any_source);
        let any_tag = base.with(|pattern| {
            pattern.any_tag = share;
            pattern.keyed_by = KeyedBy::Tag;
        });
        let name = format!("wildcards/any-tag-{percent}%-{filled}-{depth}");
        bench_structures(criterion, &name, any_tag);
    }
}

/// The same entries, dealt to more and more communicators.
fn bench_contexts(criterion: &mut Criterion, filled: Filled) {
    for contexts in CONTEXTS {
        let pattern = DepthPattern::default().with(|pattern| {
            pattern.order = Order::Random;
            pattern.filled = filled;
            pattern.contexts = contexts;
        });
        let name = format!("contexts/{contexts}-{filled}");
        bench_structures(criterion, &name, pattern);
    }
}

fn bench_structures(criterion: &mut Criterion, name: &str, pattern: DepthPattern) {
    let mut group = criterion.benchmark_group(name);
    let trace = lazy_trace(with_rounds(pattern));
    for &kind in Kind::ALL {
        pattern_row(
            &mut group,
            BenchmarkId::from_parameter(kind.name()),
            &trace,
            kind,
        );
    }
}
