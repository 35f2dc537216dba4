//! Time by class and share of wildcards: whether it stays the same however long the queues are.

use mq_core::structures::Kind;
use rand::seq::SliceRandom;

use crate::stream::{Queue, Wild, random, steady};
use crate::timing::{digits, measure, subject};

const DEPTHS: [u32; 3] = [64, 4096, 65_536];

/// Prints the rows whose name, as `posted, none`, contains `only`; false if there is none.
pub(crate) fn print(repeat: u32, only: &str) -> bool {
    let mut rows = rows();
    rows.retain(|row| format!("{}, {}", row.queue_name, row.name).contains(only));
    if rows.is_empty() {
        return false;
    }
    println!(
        "Nanoseconds a pair in `indexed`, queues of steady length, median of {repeat}; `chase` is a dependent \
         load at random in as many bytes as the structure holds.\n"
    );
    println!("| queue | wildcards | 64 | chase | 4096 | chase | 65536 | chase | 65536 / 64 |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in rows {
        print!("| {} | {} |", row.queue_name, row.name);
        print_figures(&row, repeat);
    }
    true
}

struct Row {
    queue: Queue,
    queue_name: &'static str,
    wild: Wild,
    percent: u32,
    /// What is wild, and how much of it.
    name: String,
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (queue, queue_name) in [(Queue::Posted, "posted"), (Queue::Unexpected, "unexpected")] {
        for (wild, wild_name) in [
            (Wild::Source, "`ANY_SOURCE`"),
            (Wild::Tag, "`ANY_TAG`"),
            (Wild::Both, "any source, most of the tag ignored"),
        ] {
            for percent in [0, 1, 10, 50] {
                let name = match percent {
                    0 if wild == Wild::Source => "none".to_owned(),
                    0 => continue,
                    _ => format!("{percent} % {wild_name}"),
                };
                rows.push(Row {
                    queue,
                    queue_name,
                    wild,
                    percent,
                    name,
                });
            }
        }
    }
    rows
}

fn print_figures(row: &Row, repeat: u32) {
    let mut medians = Vec::new();
    for depth in DEPTHS {
        let stream = steady(row.queue, depth, row.wild, row.percent);
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
