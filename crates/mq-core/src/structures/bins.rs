//! `bins`: a fixed number of lists, chosen by a hash of the sender.
//!
//! Flajslik, Dinan & Underwood, "Mitigating MPI Message Matching Misery", ISC 2016. Receives from
//! any source have a list of their own. Choose it if the number of busy peers is known: searches shrink
//! by the number of bins, and the memory is paid once.
//!
//! Search: the entries of the senders that share a bin; from any source, those of all bins. Memory: 16 bytes
//! per bin, allocated on first use.

use super::lane::{Lane, LaneId};
use super::routed::{Route, Routed, Sender};
use crate::config::Config;
use crate::hash::mix;
use crate::memory::vec_bytes;
use crate::meter::Meter;
use crate::queues::Scope;

/// The `bins` structure; see the [module](self).
pub type Bins<P, R, M> = Routed<HashedBins, P, R, M>;

/// Lanes chosen by a hash of context and rank.
#[derive(Debug)]
pub struct HashedBins {
    bins: Vec<Lane>,
    mask: u32,
}

impl HashedBins {
    const MOST: u32 = 1 << 24;

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "any bits of the hash will do"
    )]
    pub(super) fn bin_of(&self, sender: Sender) -> LaneId {
        let word = u64::from(sender.context.0) << 32 | u64::from(sender.rank.0);
        mix(word, 0) as u32 & self.mask
    }
}

impl Route for HashedBins {
    fn from_config(config: &Config) -> Self {
        let bins = config.tuning.bins.clamp(1, Self::MOST).next_power_of_two();
        Self {
            bins: Vec::new(),
            mask: bins - 1,
        }
    }

    fn scope() -> Scope {
        Scope::Process
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        meter.passed(1);
        (!self.bins.is_empty()).then(|| self.bin_of(sender))
    }

    #[inline]
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        meter.passed(1);
        if self.bins.is_empty() {
            self.bins = vec![Lane::EMPTY; self.mask as usize + 1];
        }
        self.bin_of(sender)
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        &self.bins[id as usize]
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.bins[id as usize]
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        self.bins.iter().for_each(visitor);
    }

    fn reset(&mut self) {
        self.bins.fill(Lane::EMPTY);
    }

    fn bytes(&self) -> usize {
        vec_bytes(&self.bins)
    }
}
