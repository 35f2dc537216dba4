//! The demands of a trace on its queues, as far as they explain the costs of structures.

use serde::Serialize;

use crate::report::{count, decimal, percent};
use crate::stats::{Searched, Summary};

/// Why structures differ or not. The fields are keys of the JSON output.
#[derive(Serialize, Default)]
pub(super) struct Evidence {
    /// Receives posted.
    receives: u64,
    /// Receives from any source, of any tag, or both.
    wildcard_receives: u64,
    /// The most posted receives queued at a time.
    max_posted: usize,
    /// The most unexpected messages queued at a time.
    max_unexpected: usize,
    /// Searches of `list` in the posted queue.
    posted_searches: Searched,
    /// Searches of `list` in the unexpected queue.
    unexpected_searches: Searched,
}

impl Evidence {
    /// The evidence of one trace.
    pub(super) fn of(summary: &Summary) -> Self {
        Self {
            receives: summary.traffic.receives,
            wildcard_receives: summary.traffic.wildcard_receives,
            max_posted: summary.max_posted,
            max_unexpected: summary.max_unexpected,
            posted_searches: Searched::of(&summary.posted_searches),
            unexpected_searches: Searched::of(&summary.unexpected_searches),
        }
    }

    /// The evidence of several traces in sequence.
    pub(super) fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.receives += one.receives;
            sum.wildcard_receives += one.wildcard_receives;
            sum.max_posted = sum.max_posted.max(one.max_posted);
            sum.max_unexpected = sum.max_unexpected.max(one.max_unexpected);
            sum.posted_searches = sum.posted_searches.with(&one.posted_searches);
            sum.unexpected_searches = sum.unexpected_searches.with(&one.unexpected_searches);
        }
        sum
    }

    /// The mean number of entries that a search of either queue compares.
    pub(super) fn mean_search(&self) -> f64 {
        self.posted_searches.with(&self.unexpected_searches).mean
    }

    /// The evidence in two lines.
    pub(super) fn lines(&self) -> String {
        let (posted, unexpected) = (&self.posted_searches, &self.unexpected_searches);
        let wildcards = match self.receives {
            0 => "no receives".into(),
            receives => format!(
                "wildcards: {} of receives",
                percent(self.wildcard_receives, receives)
            ),
        };
        format!(
            "a search of list: {} posted receives on average, {} at most; {} unexpected messages, \
             {} at most\n\
             {wildcards}; longest queues: {} posted, {} unexpected\n",
            decimal(posted.mean),
            count(posted.max),
            decimal(unexpected.mean),
            count(unexpected.max),
            count(self.max_posted),
            count(self.max_unexpected),
        )
    }
}

#[cfg(test)]
impl Evidence {
    /// Evidence of 100 searches of this mean.
    pub(super) fn searched(mean: f64) -> Self {
        Self {
            posted_searches: Searched {
                searches: 100,
                mean,
                max: mean.ceil() as u64,
            },
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_searches() {
        let mut one = Evidence::searched(4.0);
        one.unexpected_searches.searches = 300;
        assert!((one.mean_search() - 1.0).abs() < 1e-9);
        let both = Evidence::together([one, Evidence::searched(8.0)].iter());
        assert_eq!(both.posted_searches.searches, 200);
        assert_eq!(both.posted_searches.max, 8);
        assert!((both.posted_searches.mean - 6.0).abs() < 1e-9);
        assert!(Evidence::default().mean_search().abs() < f64::EPSILON);
    }
}
