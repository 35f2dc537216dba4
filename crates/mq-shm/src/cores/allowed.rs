//! [`Cores`]: the cores that a process or thread may use.

use std::fs;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::liveness;

/// Some cores, as bits.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cores(Vec<u64>);

impl Cores {
    /// Those of this thread; `None` if the system does not say.
    pub(super) fn own() -> Option<Self> {
        Self::asked(None, "thread-self")
    }

    /// Those of a process's first thread, or of another thread, by its number; `None` if there is none, or if the
    /// system does not say.
    pub(super) fn of(number: u32) -> Option<Self> {
        Self::asked(Some(liveness::pid(number)?), &number.to_string())
    }

    fn asked(number: Option<rustix::process::Pid>, in_proc: &str) -> Option<Self> {
        match sched_getaffinity(number) {
            Ok(set) => Some(
                (0..CpuSet::MAX_CPU)
                    .filter(|&core| set.is_set(core))
                    .collect(),
            ),
            // The kernel may have more cores than fit into the set, however few there are.
            Err(Errno::INVAL) => {
                let status = fs::read_to_string(format!("/proc/{in_proc}/status")).ok()?;
                Self::in_status(&status)
            }
            Err(_) => None,
        }
    }

    /// Those that a file of `/proc` lists, as `0-3,8`.
    fn in_status(status: &str) -> Option<Self> {
        let mut lines = status.lines();
        let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let ranges = list.trim().split(',').map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
        });
        let ranges: Option<Vec<_>> = ranges.collect();
        Some(ranges?.into_iter().flatten().collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the two have a core in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .any(|(ours, theirs)| ours & theirs != 0)
    }
}

impl FromIterator<usize> for Cores {
    fn from_iter<I: IntoIterator<Item = usize>>(cores: I) -> Self {
        let mut words = Vec::new();
        for core in cores {
            let word = core / 64;
            if words.len() <= word {
                words.resize(word + 1, 0);
            }
            words[word] |= 1_u64 << (core % 64);
        }
        Self(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<const N: usize>(cores: [usize; N]) -> Cores {
        cores.into_iter().collect()
    }

    #[test]
    fn a_list_of_the_kernel_is_read_however_many_cores_there_are() {
        let status =
            "Name:\tmq\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,5,1200-1201\nMems_allowed:\t1\n";
        assert_eq!(
            Cores::in_status(status),
            Some(set([0, 1, 2, 5, 1200, 1201]))
        );
        for nothing in [
            "",
            "Name:\tmq\n",
            "Cpus_allowed_list:\t\n",
            "Cpus_allowed_list:\t0-x\n",
        ] {
            assert_eq!(Cores::in_status(nothing), None, "{nothing:?}");
        }
        assert_eq!(set([1200, 1]).count(), 2);
        assert!(set([1200, 1]).meets(&set([1200])));
        assert!(!set([1200]).meets(&set([1, 2])));
    }

    #[test]
    fn both_ways_of_asking_give_the_same() {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        assert_eq!(Cores::in_status(&status), Cores::own());
        let own = std::process::id();
        let status = fs::read_to_string(format!("/proc/{own}/status")).unwrap();
        assert_eq!(Cores::in_status(&status), Cores::of(own));
        assert_eq!(Cores::of(0), None);
    }
}
