//! Time by depth, order and key.

use mq_benches::say;
use mq_core::structures::Kind;

use crate::goals::{Goal, Measured, Target};
use crate::stream::{
    By, Order, Queue, Stream, Wild, fill_and_drain, hotspot, keys, random, random_tag, steady,
    windows,
};
use crate::table::{Table, columns};
use crate::timing::{MARK, Plan, measure_beside_table, show};

/// Prints the rows whose name contains `only`; false if there is none.
pub(crate) fn print(kinds: &[Kind], plan: Plan, only: &str) -> bool {
    let mut rows = rows();
    rows.retain(|row| row.depth <= plan.deepest());
    rows.retain(|row| row.name.contains(only));
    if rows.is_empty() {
        return false;
    }
    say!(
        "Nanoseconds a pair, median (best) of at most {} repetitions, structures taking turns, each turn run \
         once before it is timed. Queues that fill and drain have consecutive sources or tags (random ones: chosen \
         keys). {MARK}. `bare table`: \
         entries in the chains of a hash table of fixed size and nothing around it, where no key comes twice; queues \
         of steady length have no wildcards there.\n",
        plan.repeat
    );
    let after = [&["bare table"], &Target::HEADINGS[..]].concat();
    let table = Table::new(&columns(&["stream"], kinds, &after), 1, rows.len());
    for row in rows {
        table.begin(&row.name);
        let stream = (row.stream)();
        let in_full = row.in_full.map(|stream| stream());
        let (costs, bare) =
            measure_beside_table(&stream, in_full.as_ref().unwrap_or(&stream), kinds, plan);
        let measured: Vec<Measured> = costs.iter().map(Measured::from).collect();
        let mut cells = vec![row.name];
        cells.extend(costs.into_iter().map(show));
        cells.push(bare.map_or(String::new(), show));
        cells.extend(row.target.cells(kinds, &measured));
        table.row(&cells);
    }
    true
}

struct Row {
    name: String,
    /// Entries of the queue.
    depth: u32,
    /// Created when its turn comes.
    stream: Box<dyn Fn() -> Stream>,
    /// The same without wildcards, for the bare table, if the stream has wildcards.
    in_full: Option<Box<dyn Fn() -> Stream>>,
    target: Target,
}

fn row(name: String, depth: u32, target: Target, stream: impl Fn() -> Stream + 'static) -> Row {
    Row {
        name,
        depth,
        stream: Box::new(stream),
        in_full: None,
        target,
    }
}

const QUEUES: [(Queue, &str); 2] = [(Queue::Posted, "posted"), (Queue::Unexpected, "unexpected")];

fn rows() -> Vec<Row> {
    // A hot spot is an application: existing engines were measured per operation there, and the goals,
    // 5 and 8, are per operation. Two operations make a pair.
    let hot_spot = Target::new("4.2 an operation", Goal::AtMost(10.0));
    let quarter = Target::new("10.1 an operation", Goal::AtMost(16.0));
    let mut rows = vec![
        row("hot spot, preposted".to_owned(), 2032, hot_spot, || {
            hotspot(false)
        }),
        row(
            "hot spot, a quarter `ANY_SOURCE`".to_owned(),
            2032,
            quarter,
            || hotspot(true),
        ),
    ];
    rows.extend(drained());
    for (queue, name) in QUEUES {
        let name = format!("4096 {name}, 64 of one tag from each of 64 senders");
        rows.push(row(name, 4096, Target::NONE, move || windows(queue)));
    }
    let target = Target::new("", Goal::AtMost(35.0));
    rows.push(row(
        "65536 posted by both, random".to_owned(),
        65_536,
        target,
        || {
            let mut random = random(4);
            let distinct: Vec<_> = (0..65_536)
                .map(|i| (i % 1024, random_tag(&mut random)))
                .collect();
            fill_and_drain(Queue::Posted, &distinct, Order::Random)
        },
    ));
    rows.extend(standing());
    rows
}

/// Queues that are filled and drained.
fn drained() -> Vec<Row> {
    const ORDERS: [(Order, &str); 3] = [
        (Order::Forward, "forward"),
        (Order::Reverse, "reverse"),
        (Order::Random, "random"),
    ];
    let mut rows = Vec::new();
    for depth in [1, 4, 64, 4096, 65_536] {
        for (order, order_name) in ORDERS {
            if depth == 1 && order != Order::Forward {
                continue;
            }
            for (by, by_name) in [(By::Source, "source"), (By::Tag, "tag")] {
                for (queue, queue_name) in QUEUES {
                    let name = format!("{depth} {queue_name} by {by_name}, {order_name}");
                    rows.push(row(name, depth, target(depth, by, order), move || {
                        fill_and_drain(queue, &keys(by, depth), order)
                    }));
                }
            }
        }
    }
    rows
}

fn target(depth: u32, by: By, order: Order) -> Target {
    let (best_c, goal) = match (depth, order, by) {
        (1, ..) => ("4.0-5.7", Goal::List),
        (4, ..) => ("3.8-5.9", Goal::List),
        (64, Order::Forward, _) | (65_536, Order::Forward, _) => ("", Goal::None),
        (64, ..) => ("6.5-6.7", Goal::AtMost(6.5)),
        (4096, Order::Forward, _) => ("3.9-6.3", Goal::AtMost(6.0)),
        (4096, Order::Reverse, _) => ("7.9-10.2", Goal::AtMost(9.0)),
        (4096, Order::Random, _) => ("7.8-9.3", Goal::AtMost(9.0)),
        (_, Order::Reverse, By::Source) => ("9-11.5", Goal::AtMost(12.0)),
        (_, Order::Reverse, By::Tag) => ("40-55", Goal::AtMost(12.0)),
        (_, _, By::Source) => ("", Goal::AtMost(35.0)),
        (_, _, By::Tag) => ("47-104", Goal::AtMost(35.0)),
    };
    Target::new(best_c, goal)
}

/// Queues of constant length.
fn standing() -> Vec<Row> {
    const ANY_SOURCE: (Wild, &str) = (Wild::Source, "`ANY_SOURCE`");
    const ANY_TAG: (Wild, &str) = (Wild::Tag, "`ANY_TAG`");
    let rows = [
        (4, 10, ANY_SOURCE, "3.8-5.9", Goal::List),
        (4, 10, ANY_TAG, "3.8-5.9", Goal::List),
        (4096, 10, ANY_SOURCE, "17-31", Goal::AtMost(15.0)),
        (4096, 10, ANY_TAG, "11.6-14.6", Goal::AtMost(12.0)),
        (65_536, 1, ANY_SOURCE, "403", Goal::AtMost(40.0)),
        (65_536, 10, ANY_SOURCE, "328", Goal::AtMost(40.0)),
        (65_536, 10, ANY_TAG, "34", Goal::AtMost(40.0)),
    ];
    let rows = rows.map(|(depth, percent, (wild, wild_name), best_c, goal)| {
        let name = format!("{depth} posted, steady, {percent} % {wild_name}");
        let mixed = move || steady(Queue::Posted, depth, wild, percent);
        Row {
            in_full: Some(Box::new(move || steady(Queue::Posted, depth, wild, 0))),
            ..row(name, depth, Target::new(best_c, goal), mixed)
        }
    });
    rows.into()
}
