//! Time by class and share of wildcards: whether it stays the same however long the queues are.

use std::hint::black_box;
use std::time::Instant;

use mq_benches::say;
use mq_core::structures::Kind;
use rand::seq::SliceRandom;

use crate::stream::{Queue, Stream, Wild, random, steady};
use crate::subject::subject;
use crate::table::{Table, columns};
use crate::timing::{MARK, Plan, digits, measure_beside_table, show_median};

const DEPTHS: [u32; 3] = [64, 4096, 65_536];

/// Prints the rows whose name, as `posted, none`, contains `only`; false if there is none.
pub(crate) fn print(kinds: &[Kind], plan: Plan, only: &str) -> bool {
    let mut rows = rows();
    rows.retain(|row| format!("{}, {}", row.queue_name, row.name).contains(only));
    if rows.is_empty() {
        return false;
    }
    say!(
        "Nanoseconds a pair, queues of steady length, median of at most {}, structures taking turns, each turn run once before it \
         is timed; `bare table` is the same without wildcards in the chains of a hash table of fixed size and nothing \
         around it, `chase` a dependent load at random in as many bytes as `indexed` holds, and the last line of each \
         class says how all of it grows. {MARK}.\n",
        plan.repeat
    );
    let columns = columns(
        &["queue", "wildcards", "entries"],
        kinds,
        &["bare table", "chase"],
    );
    let depths: Vec<u32> = (DEPTHS.into_iter())
        .filter(|&depth| depth <= plan.deepest())
        .collect();
    let table = Table::new(&columns, 2, rows.len() * (depths.len() + 1));
    for row in rows {
        row.print(&table, &depths, kinds, plan);
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

impl Row {
    fn print(&self, table: &Table, depths: &[u32], kinds: &[Kind], plan: Plan) {
        let cells = |entries: &str, figures: Vec<String>| {
            let mut cells = [self.queue_name, &self.name, entries]
                .map(str::to_owned)
                .to_vec();
            cells.extend(figures);
            cells
        };
        let mut measured: Vec<Vec<f64>> = Vec::new();
        for &depth in depths {
            table.begin(&format!("{}, {}, {depth}", self.queue_name, self.name));
            let stream = steady(self.queue, depth, self.wild, self.percent);
            let in_full = steady(self.queue, depth, self.wild, 0);
            let mut chase = Chase::new(bytes(&stream), plan);
            // Half of it before the structures and half after them, since machines have slow spells.
            chase.run(plan.repeat / 2);
            let (mut costs, bare) = measure_beside_table(&stream, &in_full, kinds, plan);
            costs.extend(bare);
            chase.run(plan.repeat - plan.repeat / 2);
            let floor = chase.median();
            let medians = costs.iter().map(|cost| cost.median);
            measured.push(medians.chain([floor]).collect());
            let mut figures: Vec<String> = costs.into_iter().map(show_median).collect();
            figures.push(digits(floor));
            table.row(&cells(&depth.to_string(), figures));
        }
        let (first, last) = (&measured[0], &measured[depths.len() - 1]);
        let growth = first.iter().zip(last);
        let growth = growth.map(|(first, last)| format!("x {}", digits(last / first)));
        let ratio = format!("{} / {}", depths[depths.len() - 1], depths[0]);
        table.row(&cells(&ratio, growth.collect()));
    }
}

/// Bytes that `indexed` holds with the queues of a steady stream.
fn bytes(stream: &Stream) -> usize {
    let mut filled = subject(Kind::Indexed, stream.ranks());
    filled.run(&stream.fill);
    filled.run(&stream.steps);
    filled.bytes()
}

/// Loads, each of which has to wait for the previous one, all over some memory.
struct Chase {
    /// At the beginning of each line, the place of the next.
    next: Vec<usize>,
    loads: u32,
    /// Nanoseconds of a load in each repetition.
    taken: Vec<f64>,
}

impl Chase {
    /// In this many bytes.
    fn new(bytes: usize, plan: Plan) -> Self {
        const LINE: usize = 64 / size_of::<usize>();
        let lines = (bytes / 64).max(2);
        let mut order: Vec<usize> = (1..lines).collect();
        order.shuffle(&mut random(5));
        let mut next = vec![0_usize; lines * LINE];
        let mut at = 0;
        for to in order.into_iter().chain([0]) {
            next[at * LINE] = to * LINE;
            at = to;
        }
        Self {
            next,
            loads: if plan.quick { 10_000 } else { 250_000 },
            taken: Vec::new(),
        }
    }

    /// Times it, after a pass that is not timed.
    fn run(&mut self, repetitions: u32) {
        self.pass();
        for _ in 0..repetitions {
            let start = Instant::now();
            self.pass();
            let time = start.elapsed().as_nanos() as f64;
            self.taken.push(time / f64::from(self.loads));
        }
    }

    fn pass(&self) {
        let mut at = 0;
        for _ in 0..self.loads {
            at = self.next[at];
        }
        black_box(at);
    }

    fn median(&mut self) -> f64 {
        self.taken.sort_by(f64::total_cmp);
        self.taken[self.taken.len() / 2]
    }
}
