//! Time with keys that are chosen to collide, against keys drawn at random.

use mq_benches::say;
use mq_core::structures::Kind;

use crate::stream::{Key, Order, Queue, Stream, fill_and_drain, random, random_tag};
use crate::table::{Table, columns};
use crate::timing::{Cost, MARK, Plan, measure, show_median};

const DEPTHS: [u32; 2] = [4096, 65_536];

type Family = (&'static str, fn(u32) -> Key);

const FAMILIES: [Family; 9] = [
    ("tag i << 16", |i| {
        (i >> 15, ((i & 0x7fff) << 16).cast_signed())
    }),
    ("tag i << 8", |i| (0, (i << 8).cast_signed())),
    ("rank * 4096", |i| ((i * 4096) % (1 << 20) + (i >> 8), 7)),
    ("tag rank * 1000", |i| (i, (i * 1000).cast_signed())),
    ("bits of the tag reversed", |i| {
        (0, (i.reverse_bits() >> 1).cast_signed())
    }),
    ("tags of equal low bits", |i| {
        (0, (i << 13 | 0x1555).cast_signed())
    }),
    ("a grid of 256 ranks", |i| {
        (i % 256, (i / 256).cast_signed())
    }),
    ("negative tags", |i| (0, -(i.cast_signed()) - 10)),
    ("one key", |_| (1, 1)),
];

pub(crate) fn print(kinds: &[Kind], plan: Plan) {
    say!(
        "Nanoseconds a pair, posted receives taken at random, median of at most {}; in brackets against random \
         keys. {MARK}.\n",
        plan.repeat
    );
    let rows = DEPTHS.len() * (FAMILIES.len() + 1) + 1;
    let table = Table::new(&columns(&["keys", "entries"], kinds, &[]), 1, rows);
    for depth in DEPTHS.into_iter().filter(|&depth| depth <= plan.deepest()) {
        let mut generator = random(6);
        let drawn = (0..depth).map(|i| (i % 4096, random_tag(&mut generator)));
        let drawn = drained(&drawn.collect::<Vec<_>>());
        let random = row(&table, "random", depth, &drawn, kinds, plan, None);
        for (name, key) in FAMILIES {
            let stream = drained(&(0..depth).map(key).collect::<Vec<_>>());
            row(&table, name, depth, &stream, kinds, plan, Some(&random));
        }
    }
    let name = "2^20 tags, each once, 4096 at a time";
    row(&table, name, 4096, &new_tags(plan), kinds, plan, None);
}

fn drained(keys: &[Key]) -> Stream {
    fill_and_drain(Queue::Posted, keys, Order::Random)
}

fn row(
    table: &Table,
    name: &str,
    entries: u32,
    stream: &Stream,
    kinds: &[Kind],
    plan: Plan,
    random: Option<&[Cost]>,
) -> Vec<Cost> {
    table.begin(&format!("{name}, {entries}"));
    let costs = measure(stream, kinds, plan);
    let figure = |(i, &cost): (usize, &Cost)| match random {
        None => show_median(cost),
        Some(random) => {
            let ratio = cost.median / random[i].median;
            format!("{} ({ratio:.2})", show_median(cost))
        }
    };
    let mut cells = vec![name.to_owned(), entries.to_string()];
    cells.extend(costs.iter().enumerate().map(figure));
    table.row(&cells);
    costs
}

/// 2^20 tags, each used once, 4096 at a time: what was learned of a tag must not stay.
fn new_tags(plan: Plan) -> Stream {
    let bursts: u32 = if plan.quick { 4 } else { 256 };
    let mut steps = Vec::new();
    let mut unit = 0;
    for burst in 0..bursts {
        let keys: Vec<Key> = (0..4096)
            .map(|i| (0, (burst * 4096 + i).cast_signed()))
            .collect();
        let stream = drained(&keys);
        unit = stream.unit;
        steps.extend(&stream.steps[..unit]);
    }
    Stream {
        fill: Vec::new(),
        steps,
        unit,
        rounds: 1,
    }
}
