//! What each lock of a context protects: queues, and what they know about the context.

use super::pressure::Pressure;
use crate::config::Config;
use crate::engine::Terms;
use crate::envelope::{ContextId, Envelope, MatchBits, Rank};
use crate::error::Error;
use crate::pattern::{Pattern, Source};
use crate::queues::MatchQueues;

/// A gate above every count: nothing needs to be looked up in the undivided queues.
pub(super) const OPEN: u64 = u64::MAX;

/// How a context's entries are distributed over its places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Mode {
    /// There is no context: it was freed or not created yet.
    Absent = 0,
    /// All in the undivided queues.
    Whole = 1,
    /// By the sender's rank. Receives from any source are in the undivided queues.
    BySource = 2,
    /// By everything that is matched, if receives are promised to name source and tag.
    ByBits = 3,
}

impl Mode {
    pub(super) const fn from_u8(mode: u8) -> Self {
        match mode {
            0 => Self::Absent,
            1 => Self::Whole,
            2 => Self::BySource,
            _ => Self::ByBits,
        }
    }

    pub(super) const fn is_divided(self) -> bool {
        matches!(self, Self::BySource | Self::ByBits)
    }

    /// Where a receive's messages are.
    #[inline]
    pub(super) fn reach_of_pattern<P: Pattern>(self, pattern: &P) -> Reach {
        match (self, pattern.source()) {
            (Self::Absent | Self::Whole, _) => Reach::Undivided,
            (Self::BySource, Source::Rank(rank)) => Reach::Shard(spread(rank)),
            (Self::ByBits, _) if pattern.care() == MatchBits::ALL => {
                Reach::Shard(spread_bits(pattern.bits()))
            }
            _ => Reach::All,
        }
    }

    /// Where a message's receives are, apart from those in the undivided queues.
    #[inline]
    pub(super) fn reach_of_envelope<E: Envelope>(self, envelope: &E) -> Reach {
        match self {
            Self::Absent | Self::Whole => Reach::Undivided,
            Self::BySource => Reach::Shard(spread(envelope.source())),
            Self::ByBits => Reach::Shard(spread_bits(envelope.bits())),
        }
    }
}

/// The places that an operation works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    Undivided,
    /// The shard that this hash chooses, by its upper bits.
    Shard(u64),
    All,
}

/// Fibonacci hashing: neighbouring ranks, which are the busiest, fall into different shards as long as
/// there are enough, and so do ranks at a stride.
#[inline]
fn spread(rank: Rank) -> u64 {
    u64::from(rank.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The same for everything that is matched: each of two words of 32 bits, for MPI source and tag, times
/// its own number. With a mixing hash threads meet by chance (8 threads in 32 shards more often than not),
/// and those that meet wait for each other. Of some hundred thousand pairs of numbers, these let the
/// fewest threads meet, for 2 to 32 threads, at most half as many as shards, each with its own source and
/// tag, in rows, at strides and in grids; and none if source and tag are the thread's number.
#[inline]
fn spread_bits<B: MatchBits>(bits: B) -> u64 {
    const OF_SOURCE: u64 = 0x9df4_5a7a_dc2e_a1f3;
    const OF_TAG: u64 = 0x4328_bc48_f333_de3d;
    let word = bits.fold(0);
    let (upper, lower) = (word >> 32, word & u64::from(u32::MAX));
    upper
        .wrapping_mul(OF_SOURCE)
        .wrapping_add(lower.wrapping_mul(OF_TAG))
}

/// The shard for a hash.
#[inline]
pub(super) const fn shard_of(hash: u64, shards: usize) -> usize {
    (((hash >> 32) * shards as u64) >> 32) as usize
}

/// What a place knows about the context. Every place has a copy, so an operation that holds the place's
/// lock needs no other; copies change only while all locks are held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) mode: Mode,
    /// How often the context was created: handles of an earlier life are refused.
    pub(super) life: u64,
    pub(super) terms: Terms,
}

/// The life of a context that a caller means; `None`: whichever is present.
pub(super) type MeantLife = Option<u64>;

impl Standing {
    pub(super) const ABSENT: Self = Self {
        mode: Mode::Absent,
        life: 0,
        terms: Terms::NONE,
    };

    /// The number of the present life.
    pub(super) fn life_now(&self) -> Option<u64> {
        (self.mode != Mode::Absent).then_some(self.life)
    }

    /// Whether the context exists, and in the caller's life if the caller means one.
    #[inline]
    pub(super) fn is_alive(&self, life: MeantLife) -> bool {
        self.mode != Mode::Absent && life.is_none_or(|life| life == self.life)
    }

    /// [`is_alive`](Self::is_alive), for a caller that reports it.
    #[inline]
    pub(super) fn check_alive(&self, context: ContextId, life: MeantLife) -> Result<(), Error> {
        if !self.is_alive(life) {
            return Err(Error::UnknownContext(context));
        }
        Ok(())
    }

    /// How a context on these terms is divided.
    pub(super) fn divided_mode(&self) -> Mode {
        let terms = self.terms.shown();
        if terms.no_any_source && terms.no_any_tag {
            Mode::ByBits
        } else {
            Mode::BySource
        }
    }
}

/// Queues behind one lock: the undivided ones of a context, or one of its shards.
///
/// Once the context is divided, the undivided queues hold the receives that no shard can hold, and what
/// was queued before.
pub(super) struct Place<Q> {
    pub(super) queues: Q,
    pub(super) standing: Standing,
    /// In the undivided queues: no receive that was queued there after the division has a smaller
    /// count; [`OPEN`] only if there is none. In a shard: the same as last learned, or 0 if it has
    /// [early](Self::early) receives.
    pub(super) gate: u64,
    /// In a shard: how many of its messages from before the division are left in the undivided queues.
    pub(super) elders: usize,
    /// In a shard: receives from before the division that could take its messages may be left there.
    pub(super) early: bool,
    /// In the undivided queues.
    pub(super) before: Before,
    /// How often threads wait here; in the undivided queues, operations for any source too.
    pub(super) pressure: Pressure,
}

impl<Q: MatchQueues> Place<Q> {
    pub(super) fn absent() -> Self {
        Self {
            queues: Q::with_config(&Config::default()),
            standing: Standing::ABSENT,
            gate: OPEN,
            elders: 0,
            early: false,
            before: Before::default(),
            pressure: Pressure::default(),
        }
    }

    /// A receive with this count has left the undivided queues.
    #[inline]
    pub(super) fn after_receive_left(&mut self, count: u64) {
        if count < self.before.count {
            self.before.receives -= 1;
        }
        self.open_if_none();
    }

    /// Some receives have left the undivided queues, `early` of them from before the division.
    pub(super) fn after_receives_left(&mut self, early: usize) {
        self.before.receives -= early;
        self.open_if_none();
    }

    fn open_if_none(&mut self) {
        if self.queues.posted_len() == self.before.receives {
            self.gate = OPEN;
        }
    }
}

/// What undivided queues remember of the division: which of their receives are from before it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Before {
    /// They have counts below this one.
    pub(super) count: u64,
    /// How many of them are left.
    pub(super) receives: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ranks_and_ranks_at_a_stride_are_spread() {
        for shards in [2_usize, 4, 8, 16, 32, 64] {
            for stride in [1, 2, 4, 12, 16, 64, 1024] {
                let most = if stride == 1 { 2 } else { 5 };
                let mut load = vec![0; shards];
                for rank in 0..shards {
                    let rank = Rank(u32::try_from(stride * rank).expect("small"));
                    load[shard_of(spread(rank), shards)] += 1;
                }
                let worst = load.iter().max().copied().unwrap_or(0);
                assert!(worst <= most, "{worst} of {shards} at stride {stride}");
            }
        }
    }

    /// How many of the threads of a machine with half as many processors as shards meet another in one, each with a
    /// source and a tag of its own.
    fn met(shards: u32, pair: impl Fn(u32) -> (u32, u32)) -> u32 {
        let mut taken = vec![false; shards as usize];
        let mut met = 0;
        for thread in 0..shards / 2 {
            let (source, tag) = pair(thread);
            let bits = u64::from(source) << 32 | u64::from(tag);
            let shard = &mut taken[shard_of(spread_bits(bits), shards as usize)];
            met += u32::from(core::mem::replace(shard, true));
        }
        met
    }

    #[test]
    fn threads_that_differ_by_source_or_tag_or_both_seldom_meet() {
        let (mut all, mut threads) = (0, 0);
        for shards in [4, 8, 16, 32, 64] {
            for base in [0, 1, 5, 17, 64] {
                let in_rows = [
                    met(shards, |thread| (base + thread, base)),
                    met(shards, |thread| (base, base + thread)),
                    met(shards, |thread| (base + thread, base + thread)),
                    met(shards, |thread| (base + thread, base + shards - thread)),
                ];
                let others = [
                    met(shards, |thread| (base, thread << 16)),
                    met(shards, |thread| (base, thread * 100)),
                    met(shards, |thread| (thread * 16, base)),
                    met(shards, |thread| (base + thread % 4, base + thread / 4)),
                ];
                assert!(
                    in_rows.iter().all(|&met| met <= 2),
                    "{shards}, {base}: {in_rows:?}"
                );
                assert!(base > 0 || in_rows[2] == 0, "{shards}: {in_rows:?}");
                all += in_rows.iter().chain(&others).sum::<u32>();
                threads += 8 * shards / 2;
            }
        }
        // By chance a quarter would.
        assert!(all < threads / 20, "{all} of {threads}");
    }

    #[test]
    fn the_first_two_ranks_are_in_different_shards() {
        assert_ne!(
            shard_of(spread(Rank(0)), 2),
            shard_of(spread(Rank(1)), 2),
            "the models count on it"
        );
    }
}
