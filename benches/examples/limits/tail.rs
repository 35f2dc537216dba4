//! Percentiles of single operations while queues grow and drain.

use mq_core::structures::Kind;

use crate::stream::{By, Order, Queue, fill_and_drain, keys};
use crate::timing::subject;

const DEPTH: u32 = 65_536;

/// What is repeated is the same to the last operation but for the hash. So the least of an operation's
/// times is what it costs itself, and the rest is the machine's.
pub(crate) fn print(repeat: u32) {
    println!(
        "Nanoseconds of single operations in a queue that grows to {DEPTH} entries and drains, the clock's own \
         included; the least of each operation in {repeat} repetitions.\n"
    );
    println!("| structure | queue | phase | p50 | p99 | p99.99 | maximum |");
    println!("| --- | --- | --- | ---: | ---: | ---: | ---: |");
    for kind in [Kind::List, Kind::Indexed] {
        for (queue, name) in [(Queue::Posted, "posted"), (Queue::Unexpected, "unexpected")] {
            // A list in any other order would search.
            let order = match kind {
                Kind::List => Order::Forward,
                _ => Order::Random,
            };
            let stream = fill_and_drain(queue, &keys(By::Source, DEPTH), order);
            let least = least_times(kind, &stream.steps, repeat);
            let (grow, drain) = least.split_at(DEPTH as usize);
            for (phase, times) in [("grows", grow), ("drains", drain)] {
                println!("| {kind} | {name} | {phase} | {} |", percentiles(times));
            }
        }
    }
}

fn least_times(kind: Kind, steps: &[crate::stream::Step], repeat: u32) -> Vec<u32> {
    let mut least = vec![u32::MAX; steps.len()];
    for _ in 0..repeat {
        let mut times = Vec::with_capacity(steps.len());
        // A new engine each time: it grows from nothing.
        subject(kind).run_one_by_one(steps, &mut times);
        for (least, time) in least.iter_mut().zip(times) {
            *least = time.min(*least);
        }
    }
    least
}

fn percentiles(times: &[u32]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |parts: usize| sorted[(sorted.len() - 1) * parts / 10_000];
    format!(
        "{} | {} | {} | {}",
        at(5000),
        at(9900),
        at(9999),
        at(10_000)
    )
}
