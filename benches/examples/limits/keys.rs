//! Time with keys that are chosen to collide, against keys drawn at random.

use mq_core::structures::Kind;

use crate::stream::{Key, Order, Queue, fill_and_drain, random, random_tag};
use crate::timing::{digits, measure};

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

pub(crate) fn print(repeat: u32) {
    println!(
        "Nanoseconds a pair in `indexed`, posted receives taken at random, median of {repeat}; in brackets \
         against random keys.\n"
    );
    println!("| keys | 4096 | 65536 |\n| --- | ---: | ---: |");
    let mut generator = random(6);
    let drawn: Vec<Key> = (0..65_536)
        .map(|i| (i % 4096, random_tag(&mut generator)))
        .collect();
    let random_row = row("random", |i| drawn[i as usize], repeat, None);
    for (name, key) in FAMILIES {
        row(name, key, repeat, Some(&random_row));
    }
    new_tags(repeat);
}

fn row(name: &str, key: impl Fn(u32) -> Key, repeat: u32, random: Option<&[f64]>) -> Vec<f64> {
    print!("| {name} |");
    let mut medians = Vec::new();
    for (i, depth) in DEPTHS.into_iter().enumerate() {
        let keys: Vec<Key> = (0..depth).map(&key).collect();
        let stream = fill_and_drain(Queue::Posted, &keys, Order::Random);
        let median = measure(&stream, &[Kind::Indexed], repeat)[0].median;
        medians.push(median);
        match random {
            None => print!(" {} |", digits(median)),
            Some(random) => print!(" {} ({:.2}) |", digits(median), median / random[i]),
        }
    }
    println!();
    medians
}

/// 2^20 tags, each used once, 4096 at a time: what was learned of a tag must not stay.
fn new_tags(repeat: u32) {
    let mut steps = Vec::new();
    for burst in 0..256_u32 {
        let keys: Vec<Key> = (0..4096)
            .map(|i| (0, (burst * 4096 + i).cast_signed()))
            .collect();
        steps.extend(fill_and_drain(Queue::Posted, &keys, Order::Random).steps);
    }
    let stream = crate::stream::Stream {
        fill: Vec::new(),
        steps,
        rounds: 1,
    };
    let median = measure(&stream, &[Kind::Indexed], repeat.min(5))[0].median;
    println!(
        "| 2^20 tags, each once, 4096 at a time | {} | |",
        digits(median)
    );
}
