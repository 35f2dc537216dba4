//! Time by class and share of wildcards: whether it stays the same however long the queues are.

use mq_core::structures::Kind;
use rand::seq::SliceRandom;

use crate::stream::{Queue, Wild, random, steady};
use crate::timing::{digits, measure, subject};

const DEPTHS: [u32; 3] = [64, 4096, 65_536];

/// Prints the rows whose name, as `posted, none`, contains `only`; false if there is none.
pub(crate) fn print(repeat: u32, only: &str) -> bool {
    let mut any = false;
    println!(
        "Nanoseconds a pair in `indexed`, queues of steady length, median of {repeat}; `chase` is a dependent \
         load at random in as many bytes as the structure holds.\n"
    );
    println!("| queue | wildcards | 64 | chase | 4096 | chase | 65536 | chase | 65536 / 64 |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (queue, queue_name) in [(Queue::Posted, "posted"), (Queue::Unexpected, "unexpected")] {
        for (wild, name) in [
            (Wild::Source, "`ANY_SOURCE`"),
            (Wild::Tag, "`ANY_TAG`"),
            (Wild::Both, "any source, most of the tag ignored"),
        ] {
            for percent in [0, 1, 10, 50] {
                if percent == 0 && wild != Wild::Source {
                    continue;
                }
                let name = match percent {
                    0 => "none".to_owned(),
                    _ => format!("{percent} % {name}"),
                };
                if format!("{queue_name}, {name}").contains(only) {
                    any = true;
                    print!("| {queue_name} | {name} |");
                    row(queue, wild, percent, repeat);
                }
            }
        }
    }
    any
}

/// Prints the figures of a row.
fn row(queue: Queue, wild: Wild, percent: u32, repeat: u32) {
    let mut medians = Vec::new();
    for depth in DEPTHS {
        let stream = steady(queue, depth, wild, percent);
        let median = measure(&stream, &[Kind::Indexed], repeat)[0].median;
        medians.push(median);
        let mut filled = subject(Kind::Indexed);
        filled.run(&stream.fill);
        filled.run(&stream.steps);
        print!(" {} | {} |", digits(median), digits(chase(filled.bytes())));
    }
    println!(" {:.1} |", medians[medians.len() - 1] / medians[0]);
}

/// Nanoseconds of a load that has to wait for the one before it, anywhere in so many bytes.
fn chase(bytes: usize) -> f64 {
    const LINE: usize = 64;
    let lines = (bytes / LINE).max(2);
    let mut order: Vec<usize> = (1..lines).collect();
    order.shuffle(&mut random(5));
    let mut next = vec![0_usize; lines * (LINE / size_of::<usize>())];
    let mut at = 0;
    for to in order.into_iter().chain([0]) {
        next[at * (LINE / size_of::<usize>())] = to;
        at = to;
    }
    let loads = 2_000_000;
    let start = std::time::Instant::now();
    let mut at = 0;
    for _ in 0..loads {
        at = next[at * (LINE / size_of::<usize>())];
    }
    std::hint::black_box(at);
    start.elapsed().as_nanos() as f64 / f64::from(loads)
}
