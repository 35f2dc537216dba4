//! Time by depth, order and key.

use mq_core::structures::Kind;

use crate::stream::{
    By, Order, Queue, Stream, Wild, fill_and_drain, hotspot, keys, random, random_tag, steady,
    windows,
};
use crate::timing::{measure, show};

/// Prints the rows whose name contains `only`; false if there is none.
pub(crate) fn print(kinds: &[Kind], repeat: u32, only: &str) -> bool {
    let streams: Vec<_> = (streams().into_iter())
        .filter(|(name, _)| name.contains(only))
        .collect();
    if streams.is_empty() {
        return false;
    }
    println!("Nanoseconds a pair, median (best) of {repeat} repetitions.\n");
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    println!("| stream | {} |", names.join(" | "));
    println!("| --- |{}", " ---: |".repeat(names.len()));
    for (name, stream) in streams {
        let costs = measure(&stream, kinds, repeat);
        let costs: Vec<String> = costs.into_iter().map(show).collect();
        println!("| {name} | {} |", costs.join(" | "));
    }
    true
}

fn streams() -> Vec<(String, Stream)> {
    let mut streams = vec![
        ("hot spot, preposted".to_owned(), hotspot(false)),
        ("hot spot, a quarter `ANY_SOURCE`".to_owned(), hotspot(true)),
    ];
    for (depth, order, name) in [
        (1, Order::Forward, "forward"),
        (4, Order::Forward, "forward"),
        (4, Order::Reverse, "reverse"),
        (4, Order::Random, "random"),
        (64, Order::Reverse, "reverse"),
        (64, Order::Random, "random"),
        (4096, Order::Forward, "forward"),
        (4096, Order::Reverse, "reverse"),
        (4096, Order::Random, "random"),
        (65_536, Order::Reverse, "reverse"),
        (65_536, Order::Random, "random"),
    ] {
        for (by, by_name) in [(By::Source, "source"), (By::Tag, "tag")] {
            for (queue, queue_name) in
                [(Queue::Posted, "posted"), (Queue::Unexpected, "unexpected")]
            {
                let stream = fill_and_drain(queue, &keys(by, depth), order);
                streams.push((format!("{depth} {queue_name} by {by_name}, {name}"), stream));
            }
        }
    }
    for (queue, name) in [(Queue::Posted, "posted"), (Queue::Unexpected, "unexpected")] {
        let name = format!("4096 {name}, 64 of one tag from each of 64 senders");
        streams.push((name, windows(queue)));
    }
    let mut random = random(4);
    let distinct: Vec<_> = (0..65_536)
        .map(|i| (i % 1024, random_tag(&mut random)))
        .collect();
    let stream = fill_and_drain(Queue::Posted, &distinct, Order::Random);
    streams.push(("65536 posted by both, random".to_owned(), stream));
    for (depth, percent, wild, name) in [
        (4, 10, Wild::Source, "`ANY_SOURCE`"),
        (4, 10, Wild::Tag, "`ANY_TAG`"),
        (4096, 10, Wild::Source, "`ANY_SOURCE`"),
        (4096, 10, Wild::Tag, "`ANY_TAG`"),
        (65_536, 1, Wild::Source, "`ANY_SOURCE`"),
        (65_536, 10, Wild::Source, "`ANY_SOURCE`"),
        (65_536, 10, Wild::Tag, "`ANY_TAG`"),
    ] {
        let stream = steady(Queue::Posted, depth, wild, percent);
        streams.push((
            format!("{depth} posted, steady, {percent} % {name}"),
            stream,
        ));
    }
    streams
}
