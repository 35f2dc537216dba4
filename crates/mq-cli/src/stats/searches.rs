//! Search lengths.

use mq_trace::Trace;
use serde::Serialize;

use crate::error::Error;

/// The search lengths of a queue, in one trace or in several together.
#[derive(Serialize, Default)]
pub(crate) struct Searched {
    pub(crate) searches: u64,
    pub(crate) mean: f64,
    pub(crate) max: u64,
}

/// The number of entries that each search of a queue compared.
pub(super) struct Searches {
    visited: Vec<u64>,
}

/// The search lengths of a queue in entries compared; all 0 if there were no searches.
#[derive(Serialize, Debug, PartialEq)]
pub(crate) struct SearchLengths {
    pub(crate) searches: usize,
    pub(crate) mean: f64,
    /// By nearest rank, like the 99th percentile: a length that occurred.
    pub(super) median: u64,
    pub(super) p99: u64,
    pub(crate) max: u64,
}

impl Searches {
    /// No lengths yet, and room for this many, of the searches of this trace.
    pub(super) fn with_room_for(searches: usize, trace: &Trace) -> Result<Self, Error> {
        let mut visited = Vec::new();
        match visited.try_reserve_exact(searches) {
            Ok(()) => Ok(Self { visited }),
            Err(_) => Err(no_memory(trace)),
        }
    }

    pub(super) fn add(&mut self, visited: u64) {
        self.visited.push(visited);
    }

    pub(super) fn lengths(mut self) -> SearchLengths {
        self.visited.sort_unstable();
        let searches = self.visited.len();
        let sum: u64 = self.visited.iter().sum();
        SearchLengths {
            searches,
            mean: sum as f64 / searches.max(1) as f64,
            median: self.percentile(50),
            p99: self.percentile(99),
            max: self.percentile(100),
        }
    }

    /// The smallest length that `percent` of the sorted lengths do not exceed.
    fn percentile(&self, percent: usize) -> u64 {
        let rank = (self.visited.len() * percent).div_ceil(100);
        self.visited
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or(0)
    }
}

/// There is no memory for what the searches of this trace need.
pub(super) fn no_memory(trace: &Trace) -> Error {
    Error::Usage(format!(
        "{}: not enough memory for the lengths of its searches; give the process more, or use a shorter trace",
        trace.name()
    ))
}

impl Searched {
    pub(crate) fn of(lengths: &SearchLengths) -> Self {
        Self {
            searches: lengths.searches as u64,
            mean: lengths.mean,
            max: lengths.max,
        }
    }

    /// These and other searches together.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let searches = self.searches + other.searches;
        Self {
            searches,
            mean: (self.entries() + other.entries()) / searches.max(1) as f64,
            max: self.max.max(other.max),
        }
    }

    /// The number of entries that all searches together compared.
    pub(crate) fn entries(&self) -> f64 {
        self.mean * self.searches as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_lengths_that_occurred() {
        let mut searches = Searches {
            visited: Vec::new(),
        };
        (1..=200).rev().for_each(|visited| searches.add(visited));
        let expected = SearchLengths {
            searches: 200,
            mean: 100.5,
            median: 100,
            p99: 198,
            max: 200,
        };
        assert_eq!(searches.lengths(), expected);
    }

    #[test]
    fn no_search_has_no_length() {
        let none = Searches {
            visited: Vec::new(),
        };
        let lengths = none.lengths();
        assert_eq!((lengths.searches, lengths.max), (0, 0));
        assert!(lengths.mean.abs() < f64::EPSILON);
    }
    #[test]
    fn means_are_weighted_by_searches() {
        let searched = |searches, mean, max| Searched {
            searches,
            mean,
            max,
        };
        let both = searched(100, 4.0, 9).with(&searched(300, 8.0, 5));
        assert_eq!((both.searches, both.max), (400, 9));
        assert!((both.mean - 7.0).abs() < 1e-9);
        let none = Searched::default().with(&Searched::default());
        assert!(none.mean.abs() < f64::EPSILON);
    }
}
