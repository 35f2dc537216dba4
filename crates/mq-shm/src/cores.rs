//! Whether processes have to share their cores.

use std::thread::available_parallelism;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::liveness::{self, State};
use crate::place::Place;
use crate::sync::Ordering;

/// Whether there is a core for this process and for each other process that may run on the same
/// cores, according to the kernel's affinity masks. Launchers bind processes: of many processes, one
/// that may use a single core usually has it for itself. `None` while one of the others has not
/// joined, or if the kernel does not say. A process in another PID namespace cannot be queried:
/// there may be too few cores.
pub(crate) fn a_core_each<'a>(others: impl Iterator<Item = &'a Place>) -> Option<bool> {
    let own = sched_getaffinity(None).ok()?;
    let namespace = liveness::namespace();
    let mut beside = Vec::new();
    for other in others {
        match State::of(other) {
            State::Absent | State::Joining => return None,
            State::Joined => {
                let pid = liveness::pid(other.pid.load(Ordering::Relaxed))?;
                if other.namespace.load(Ordering::Relaxed) != namespace {
                    return Some(false);
                }
                // This one has ended in the meantime.
                let Ok(cores) = sched_getaffinity(Some(pid)) else {
                    continue;
                };
                beside.push(cores);
            }
            State::Left | State::Died => {}
        }
    }
    // A group of processes may be limited to less time than its cores have.
    let time = available_parallelism().map_or(1, usize::from);
    Some(enough(&own, &beside, time))
}

/// Whether there are at least as many cores, and as much `time`, as processes that may run on any of
/// these cores.
fn enough(own: &CpuSet, others: &[CpuSet], time: usize) -> bool {
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&core| own.is_set(core))
        .collect();
    let meets = |other: &&CpuSet| cores.iter().any(|&core| other.is_set(core));
    others.iter().filter(meets).count() < cores.len().min(time)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::thread::sched_setaffinity;

    use super::*;
    use crate::liveness::Gone;

    fn set(cores: impl IntoIterator<Item = usize>) -> CpuSet {
        let mut set = CpuSet::new();
        cores.into_iter().for_each(|core| set.set(core));
        set
    }

    #[test]
    fn processes_share_cores_if_too_many_may_run_on_them() {
        assert!(enough(&set([3]), &[], 1));
        // Each on its own.
        assert!(enough(&set([3]), &[set([0]), set([1]), set([2])], 1));
        assert!(!enough(&set([3]), &[set([3])], 1));
        // Two on each.
        assert!(!enough(&set([1]), &[set([0]), set([0]), set([1])], 1));
        // Anywhere.
        assert!(enough(&set(0..4), &[set(0..4), set(0..4), set(0..4)], 4));
        assert!(!enough(&set(0..3), &[set(0..3), set(0..3), set(0..3)], 3));
        // One socket each.
        assert!(enough(&set(0..2), &[set(0..2), set(2..4), set(2..4)], 2));
        // Anywhere, for half of the time.
        assert!(!enough(&set(0..2), &[set(0..2)], 1));
    }

    #[test]
    fn the_kernel_says_who_may_run_where() {
        let before = sched_getaffinity(None).unwrap();
        let one = (0..CpuSet::MAX_CPU).find(|&core| before.is_set(core));
        let one = set(one);
        sched_setaffinity(None, &one).unwrap();
        // The child inherits that.
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let place = Place::default();
        let ask = || a_core_each([&place].into_iter());
        assert_eq!(ask(), None, "it has not joined");
        place.pid.store(other.id(), Ordering::Relaxed);
        place
            .namespace
            .store(liveness::namespace(), Ordering::Relaxed);
        (place.state).store(liveness::State::Joined as u32, Ordering::Relaxed);
        let (both, alone) = (ask(), a_core_each([].into_iter()));
        place.namespace.fetch_add(1, Ordering::Relaxed);
        let elsewhere = ask();
        liveness::left(&place, Gone::Left);
        let after = ask();
        sched_setaffinity(None, &before).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!((both, alone, after), (Some(false), Some(true), Some(true)));
        assert_eq!(elsewhere, Some(false), "it is not asked again and again");
    }
}
