//! `radix`: a radix sort. Almost all its messages belong to collective operations, above all `MPI_Iallgather`
//! (Ghazimirsaeed et al. 2019, §5.4.1).
//!
//! In each round a process receives four messages at once, then waits for one that comes late; meanwhile the
//! others' contributions to an allgather fill the UMQ, each compared with the one receive that is posted. So the
//! PRQ has 4 entries at most, and its searches visit at most one.
//!
//! Rank 0 is the bottleneck (Zounmevo & Afsahi 2014, §7.3): the others are several contributions ahead of it, the
//! more the more keys are sorted. It takes them from the sender of the last ones to that of the first, so that
//! searches visit half the UMQ on average, as they do there: "the bigger these two metrics, the closer the search
//! behaviour gets to the ... reverse search scenario". With 2^29 and 2^30 keys they visited up to 56 % of it.
//!
//! Another rank gets one contribution of each process, most of them while it waits and some while nothing is posted,
//! and takes them in the order of the ranks. They come in this order, too, but for a share.

use super::names::named;
use super::process::Process;
use super::stream::{Key, Stream, share};

named! {
    /// How many 64-bit keys are sorted.
    Keys {
        /// 2^28.
        N28 = "n28",
        /// 2^29.
        N29 = "n29",
        /// 2^30.
        N30 = "n30",
    }
}

/// Open MPI's tags of the operations.
const ALLGATHER: i32 = -10;
const ALLREDUCE: i32 = -12;
const REDUCE_SCATTER: i32 = -22;
/// The longest PRQ.
const AT_ONCE: usize = 4;
/// The share of the contributions that finds no receive at all posted.
const IDLE: f64 = 0.18;

impl Keys {
    /// By how many contributions each process is ahead of rank 0.
    const fn backlog(self) -> u32 {
        match self {
            Self::N28 => 6,
            Self::N29 => 12,
            Self::N30 => 26,
        }
    }

    /// The share of the contributions that comes before their receives, on other ranks.
    const fn ahead(self) -> f64 {
        match self {
            Self::N28 => 0.939,
            Self::N29 => 0.942,
            Self::N30 => 0.996,
        }
    }

    /// The share of them that comes out of order.
    const fn disorder(self) -> f64 {
        match self {
            Self::N28 => 0.27,
            Self::N29 => 0.30,
            Self::N30 => 0.39,
        }
    }
}

/// The receives of `rounds` rounds.
pub(super) fn receives(process: Process, keys: Keys, rounds: u32) -> u64 {
    let peers = u64::from(process.peers());
    let contributions = match process.rank {
        0 => peers * u64::from(keys.backlog()),
        _ => peers,
    };
    let others = peers.min(AT_ONCE as u64) + 1;
    (contributions + others) * u64::from(rounds)
}

/// Makes `rounds` rounds.
pub(super) fn run(stream: &mut Stream, keys: Keys, rounds: u32) {
    let peers: Vec<u32> = stream.process.others().collect();
    for _ in 0..rounds {
        at_once(stream, &peers);
        match stream.process.rank {
            0 => bottleneck(stream, &peers, keys),
            _ => ordinary(stream, &peers, keys),
        }
    }
}

/// A few receives at once, and their messages in order.
fn at_once(stream: &mut Stream, peers: &[u32]) {
    let first = peers.iter().copied().take(AT_ONCE);
    let keys: Vec<Key> = Key::each(first, REDUCE_SCATTER).collect();
    keys.iter().for_each(|&key| stream.post(key));
    keys.iter().for_each(|&key| stream.arrive(key));
}

/// What arrives while a receive waits for its message.
fn waiting(stream: &mut Stream, peers: &[u32], meanwhile: impl FnOnce(&mut Stream)) {
    let key = Key {
        source: peers[peers.len() - 1],
        tag: ALLREDUCE,
    };
    stream.post(key);
    meanwhile(stream);
    stream.arrive(key);
}

/// A round of rank 0.
fn bottleneck(stream: &mut Stream, peers: &[u32], keys: Keys) {
    waiting(stream, peers, |stream| {
        for &source in peers {
            (0..keys.backlog()).for_each(|_| stream.arrive(contribution(source)));
        }
    });
    for &source in peers.iter().rev() {
        (0..keys.backlog()).for_each(|_| stream.post(contribution(source)));
    }
}

/// A round of another rank.
fn ordinary(stream: &mut Stream, peers: &[u32], keys: Keys) {
    let count = stream.process.peers();
    let order = stream.disordered(count, keys.disorder());
    let (early, late) = order.split_at(share(order.len(), keys.ahead()));
    let (idle, early) = early.split_at(share(order.len(), IDLE).min(early.len()));
    let arrives = |stream: &mut Stream, i: &u32| stream.arrive(contribution(peers[*i as usize]));
    idle.iter().for_each(|i| arrives(stream, i));
    waiting(stream, peers, |stream| {
        early.iter().for_each(|i| arrives(stream, i));
    });
    let mut is_late = vec![false; peers.len()];
    late.iter().for_each(|&i| is_late[i as usize] = true);
    for (&source, is_late) in peers.iter().zip(is_late) {
        stream.post(contribution(source));
        if is_late {
            stream.arrive(contribution(source));
        }
    }
}

/// A contribution to the allgather.
const fn contribution(source: u32) -> Key {
    Key {
        source,
        tag: ALLGATHER,
    }
}
