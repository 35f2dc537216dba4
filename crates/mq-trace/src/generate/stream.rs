//! [`Stream`]: the operations of one process, as a model makes them.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::process::Process;
use crate::line::{Line, SourceField, TagField};

/// The only communicator.
const COMM: u32 = 0;

/// What tells a message and its receive from others.
#[derive(Clone, Copy)]
pub(super) struct Key {
    /// The sender.
    pub(super) source: u32,
    /// The tag; one that Open MPI gives a collective operation makes it that operation's.
    pub(super) tag: i32,
}

impl Key {
    /// One from each sender, all with the same tag.
    pub(super) fn each(
        sources: impl IntoIterator<Item = u32>,
        tag: i32,
    ) -> impl Iterator<Item = Self> {
        sources.into_iter().map(move |source| Self { source, tag })
    }
}

/// The receives and messages of one process, without outcomes.
pub(super) struct Stream {
    /// Whose they are.
    pub(super) process: Process,
    /// The source of all that is random.
    pub(super) random: StdRng,
    lines: Vec<Line>,
}

impl Stream {
    /// A stream without operations yet, which come into `lines`.
    pub(super) fn new(process: Process, seed: u64, mut lines: Vec<Line>) -> Self {
        lines.push(Line::Communicator {
            comm: COMM,
            size: process.ranks,
            my_rank: process.rank,
        });
        let random = StdRng::seed_from_u64(seed);
        Self {
            process,
            random,
            lines,
        }
    }

    /// A receive is posted.
    pub(super) fn post(&mut self, key: Key) {
        self.lines.push(Line::Post {
            comm: COMM,
            source: SourceField::Rank(key.source),
            tag: TagField::Tag(key.tag),
            matched: None,
        });
    }

    /// A message arrives.
    pub(super) fn arrive(&mut self, key: Key) {
        self.lines.push(Line::Arrive {
            comm: COMM,
            source: key.source,
            tag: key.tag,
            matched: None,
        });
    }

    /// A receive for each key in order, and the messages in random order: `ahead` of them before all
    /// the receives, the others after.
    pub(super) fn exchange(&mut self, keys: &[Key], ahead: usize) {
        let mut arriving = keys.to_vec();
        arriving.shuffle(&mut self.random);
        let (early, late) = arriving.split_at(ahead.min(keys.len()));
        early.iter().for_each(|&key| self.arrive(key));
        keys.iter().for_each(|&key| self.post(key));
        late.iter().for_each(|&key| self.arrive(key));
    }

    /// Exchanges one after the other, each posted in order; messages arrive shuffled, and of each exchange the share
    /// `ahead` already during the one before.
    pub(super) fn overlapping(
        &mut self,
        exchanges: u32,
        ahead: f64,
        keys: impl Fn(u32) -> Vec<Key>,
    ) {
        let mut posted = keys(0);
        let mut late = posted.clone();
        for exchange in 0..exchanges {
            posted.iter().for_each(|&key| self.post(key));
            posted = match exchange + 1 {
                next if next < exchanges => keys(next),
                _ => Vec::new(),
            };
            let mut arriving = late;
            late = posted.clone();
            late.shuffle(&mut self.random);
            arriving.extend(late.split_off(late.len() - share(late.len(), ahead)));
            arriving.shuffle(&mut self.random);
            arriving.into_iter().for_each(|key| self.arrive(key));
        }
    }

    /// The numbers below `count` in order, but for a share of them, which are anywhere.
    pub(super) fn disordered(&mut self, count: u32, share: f64) -> Vec<u32> {
        let placed = (0..count).map(|number| {
            let place = match self.random.random_bool(share) {
                true => self.random.random_range(0..count),
                false => number,
            };
            (place, number)
        });
        let mut placed: Vec<(u32, u32)> = placed.collect();
        placed.sort_unstable();
        placed.into_iter().map(|(_, number)| number).collect()
    }

    pub(super) fn into_lines(self) -> Vec<Line> {
        self.lines
    }
}

/// That share of `count`, rounded.
pub(super) fn share(count: usize, share: f64) -> usize {
    let part = (count as f64 * share).round() as usize;
    part.min(count)
}
