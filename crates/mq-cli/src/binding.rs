//! A core for each process, or one for several neighbours if there are more processes than cores.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Core numbers in rank order, written as `0,2` or `4-7`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CoreList(Vec<usize>);

impl FromStr for CoreList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.parse::<usize>(), last.parse::<usize>()) {
                (Ok(first), Ok(last)) if first <= last && last < CpuSet::MAX_CPU => {
                    cores.extend(first..=last);
                }
                _ => {
                    let last = CpuSet::MAX_CPU - 1;
                    return Err(format!(
                        "expected core numbers up to {last}, such as 0,2 or 4-7"
                    ));
                }
            }
        }
        Ok(Self(cores))
    }
}

impl fmt::Display for CoreList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &self.0[..];
        while let [first, ..] = rest {
            let run = rest
                .iter()
                .zip(*first..)
                .take_while(|(core, next)| **core == *next);
            let run = run.count();
            match run {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
            if !rest.is_empty() {
                f.write_str(",")?;
            }
        }
        Ok(())
    }
}

impl From<Vec<usize>> for CoreList {
    fn from(cores: Vec<usize>) -> Self {
        Self(cores)
    }
}

impl CoreList {
    /// The core of each of `processes` processes: its own if there are enough; otherwise processes with
    /// consecutive ranks, which often communicate most, share one.
    pub(crate) fn deal(&self, processes: u32) -> Vec<usize> {
        let (processes, cores) = (processes as usize, &self.0);
        (0..processes)
            .map(|rank| cores[place(rank, processes, cores.len())])
            .collect()
    }
}

/// The core of each process, dealt by [`CoreList::deal`] from the [`usable`] ones.
///
/// # Errors
/// If the system does not report the cores, or a wanted one is not among them.
pub(crate) fn cores(processes: u32, wanted: Option<&CoreList>) -> io::Result<Vec<usize>> {
    Ok(usable(wanted)?.deal(processes))
}

/// The `wanted` cores, or all that this process may use.
///
/// # Errors
/// If the system does not report the cores, or a wanted one is not among them.
pub(crate) fn usable(wanted: Option<&CoreList>) -> io::Result<CoreList> {
    let allowed = CoreList(allowed()?);
    let Some(CoreList(cores)) = wanted else {
        return Ok(CoreList(a_core_each_first(allowed.0, siblings)));
    };
    match missing(cores, &allowed) {
        Some(core) => Err(io::Error::other(format!(
            "core {core} is not one of those that this process may use: {allowed}"
        ))),
        None => Ok(CoreList(cores.clone())),
    }
}

/// The same cores with the first thread of each core before the second ones: if the threads of a core have
/// consecutive numbers, two processes would otherwise share one core while others idle.
fn a_core_each_first(cores: Vec<usize>, siblings: impl Fn(usize) -> Option<String>) -> Vec<usize> {
    let mut threads = BTreeMap::<String, usize>::new();
    let mut turns: Vec<(usize, usize)> = Vec::with_capacity(cores.len());
    for core in cores {
        let turn = siblings(core).map_or(0, |together| {
            let before = threads.entry(together).or_default();
            *before += 1;
            *before
        });
        turns.push((turn, core));
    }
    turns.sort_unstable();
    turns.into_iter().map(|(_, core)| core).collect()
}

/// The system's list of the threads of this thread's core; none if it does not report it.
fn siblings(core: usize) -> Option<String> {
    fs::read_to_string(format!(
        "/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
    ))
    .ok()
}

/// The first core that is not allowed.
fn missing(cores: &[usize], allowed: &CoreList) -> Option<usize> {
    let missing = |core: &&usize| !allowed.0.contains(core);
    cores.iter().find(missing).copied()
}

/// The cores that this process may use.
fn allowed() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None).map_err(unreported)?;
    let cores = 0..CpuSet::MAX_CPU;
    Ok(cores.filter(|&core| allowed.is_set(core)).collect())
}

/// Why the system does not report the cores.
fn unreported(error: Errno) -> io::Error {
    match error {
        // The kernel's answer if it knows more than there is room for.
        Errno::INVAL => io::Error::other(format!(
            "this machine may have more than {} CPUs (/sys/devices/system/cpu/possible says how many), which this \
             version cannot bind to: bind with the batch system or `taskset`",
            CpuSet::MAX_CPU
        )),
        error => error.into(),
    }
}

/// The index of a process's core.
fn place(rank: usize, processes: usize, cores: usize) -> usize {
    if processes <= cores {
        rank
    } else {
        rank * cores / processes
    }
}

/// Binds this process to a core.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn bind(core: usize) -> io::Result<()> {
    let mut own = CpuSet::new();
    own.set(core);
    Ok(sched_setaffinity(None, &own)?)
}

/// The core that this process is bound to, by whatever means.
pub(crate) fn bound_to() -> Option<usize> {
    match allowed().ok()?[..] {
        [core] => Some(core),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_core_where_there_are_too_few() {
        let places = |processes, cores| -> Vec<usize> {
            let ranks = 0..processes;
            ranks.map(|rank| place(rank, processes, cores)).collect()
        };
        assert_eq!(places(2, 4), [0, 1]);
        assert_eq!(places(4, 4), [0, 1, 2, 3]);
        assert_eq!(places(4, 2), [0, 0, 1, 1]);
        assert_eq!(places(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(places(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(places(3, 1), [0, 0, 0]);
    }

    #[test]
    fn a_core_s_second_thread_comes_after_all_first_ones() {
        let pairs = |core: usize| Some(format!("{}-{}", core & !1, core | 1));
        assert_eq!(
            a_core_each_first((0..6).collect(), pairs),
            [0, 2, 4, 1, 3, 5]
        );
        // Second threads are numbered after all first ones, as on most machines.
        let behind = |core: usize| Some(format!("{},{}", core % 3, core % 3 + 3));
        assert_eq!(
            a_core_each_first((0..6).collect(), behind),
            [0, 1, 2, 3, 4, 5]
        );
        assert_eq!(a_core_each_first(vec![1, 4, 7], |_| None), [1, 4, 7]);
    }

    #[test]
    fn core_lists_are_read_and_written() {
        for (text, cores, written) in [
            ("0", &[0][..], "0"),
            ("3,1", &[3, 1], "3,1"),
            ("0-3,8,9", &[0, 1, 2, 3, 8, 9], "0-3,8-9"),
            ("5-5,5", &[5, 5], "5,5"),
        ] {
            let list: CoreList = text.parse().expect(text);
            assert_eq!(list.0, cores);
            assert_eq!(list.to_string(), written);
        }
        for text in ["", ",", "1,", "-1", "2-", "3-2", "a", "0-1024", "1 2"] {
            assert!(text.parse::<CoreList>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_machine_with_too_many_cores_is_told() {
        let why = unreported(Errno::INVAL).to_string();
        assert!(why.contains("more than 1024 CPUs"), "{why}");
        assert_eq!(unreported(Errno::PERM).raw_os_error(), Some(1));
    }

    #[test]
    fn a_core_that_is_not_allowed_is_found() {
        let allowed = CoreList(vec![0, 2, 3]);
        assert_eq!(missing(&[3, 0, 0], &allowed), None);
        assert_eq!(missing(&[2, 1, 4], &allowed), Some(1));
    }
}
