//! Whether processes have to share their cores.

mod allowed;
mod quota;

use self::allowed::Cores;
use crate::liveness::{self, State};
use crate::place::Place;
use crate::sync::Ordering;

/// What the kernel says of this process's cores and of the others that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CoreSharing {
    /// Whether there is a core for this process and for each other process that may run on the same cores, according
    /// to the kernel's affinity masks, and time for all of them. Launchers bind processes: of many processes, one that
    /// may use a single core usually has it for itself.
    pub(crate) a_core_each: bool,
    /// How many of the others have not joined: they may never come.
    pub(crate) absent: usize,
}

/// Who shares this process's cores, of the others that are there; `None` if the kernel does not say. A process in
/// another PID namespace cannot be queried: there may be too few cores.
pub(crate) fn sharing<'a>(others: impl Iterator<Item = &'a Place>) -> Option<CoreSharing> {
    let own = Cores::own()?;
    let namespace = liveness::namespace();
    let (mut beside, mut absent, mut all_known) = (Vec::new(), 0, true);
    for other in others {
        match State::of(other) {
            State::Absent | State::Joining => absent += 1,
            State::Joined if other.namespace.load(Ordering::Relaxed) != namespace => {
                all_known = false;
            }
            State::Joined => {
                let pid = other.pid.load(Ordering::Relaxed);
                // The threads of a process may be bound one by one. The one that joined may be over.
                let thread = other.thread.load(Ordering::Relaxed);
                let cores = Cores::of(thread).or_else(|| Cores::of(pid));
                // Without any, this one has ended in the meantime.
                beside.extend(cores);
            }
            State::Left | State::Died => {}
        }
    }
    Some(CoreSharing {
        a_core_each: all_known && has_a_core_each(&own, &beside, quota::cores()),
        absent,
    })
}

/// Whether there are at least as many cores as processes that may run on any of these cores, and, where a group of
/// processes may use no more than the time of `quota` cores, as many of these as processes at all.
fn has_a_core_each(own: &Cores, others: &[Cores], quota: Option<usize>) -> bool {
    let meeting = others.iter().filter(|other| own.meets(other)).count();
    meeting < own.count() && quota.is_none_or(|cores| others.len() < cores)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Barrier;
    use std::thread;

    use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

    use super::*;
    use crate::liveness::Gone;
    use crate::sync::AtomicU32;

    fn set<const N: usize>(cores: [usize; N]) -> Cores {
        cores.into_iter().collect()
    }

    #[test]
    fn processes_share_cores_if_too_many_may_run_on_them() {
        let enough = |own: Cores, others: &[Cores]| has_a_core_each(&own, others, None);
        assert!(enough(set([3]), &[]));
        // Each on its own.
        assert!(enough(set([3]), &[set([0]), set([1]), set([2])]));
        assert!(!enough(set([3]), &[set([3])]));
        // Two on each.
        assert!(!enough(set([1]), &[set([0]), set([0]), set([1])]));
        // Anywhere.
        let any = || set([0, 1, 2, 3]);
        assert!(enough(any(), &[any(), any(), any()]));
        assert!(!enough(any(), &[any(), any(), any(), any()]));
        // One socket each.
        assert!(enough(
            set([0, 1]),
            &[set([0, 1]), set([2, 3]), set([2, 3])]
        ));
    }

    #[test]
    fn processes_share_the_time_that_their_group_has() {
        // Anywhere, and bound.
        for others in [[set([0, 1]), set([2, 3])], [set([2]), set([3])]] {
            assert!(!has_a_core_each(&set([0, 1]), &others, Some(2)));
            assert!(has_a_core_each(&set([0, 1]), &others, Some(3)));
        }
        assert!(has_a_core_each(&set([0]), &[], Some(1)));
    }

    /// Whether there is a core for each, all of whom have come.
    fn a_core_each<'a>(others: impl Iterator<Item = &'a Place>) -> Option<bool> {
        let found = sharing(others)?;
        assert_eq!(found.absent, 0);
        Some(found.a_core_each)
    }

    /// The place of a process, or thread, that has joined.
    fn joined(pid: u32, thread: u32) -> Place {
        let place = Place::default();
        place.pid.store(pid, Ordering::Relaxed);
        place.thread.store(thread, Ordering::Relaxed);
        place
            .namespace
            .store(liveness::namespace(), Ordering::Relaxed);
        (place.state).store(liveness::State::Joined as u32, Ordering::Relaxed);
        place
    }

    /// One of the cores that this thread may use, and all of them.
    fn one_of_all() -> (CpuSet, CpuSet) {
        let all = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&core| all.is_set(core)).unwrap();
        let mut one = CpuSet::new();
        one.set(first);
        (one, all)
    }

    #[test]
    fn the_kernel_says_who_may_run_where() {
        let (one, before) = one_of_all();
        sched_setaffinity(None, &one).unwrap();
        // The child inherits that.
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let place = Place::default();
        let come = CoreSharing {
            a_core_each: true,
            absent: 1,
        };
        assert_eq!(
            sharing([&place].into_iter()),
            Some(come),
            "it has not joined"
        );
        let place = joined(other.id(), other.id());
        let ask = || a_core_each([&place].into_iter());
        let (both, alone) = (ask(), a_core_each([].into_iter()));
        place.namespace.fetch_add(1, Ordering::Relaxed);
        let elsewhere = ask();
        liveness::record_end(&place, Gone::Left);
        let after = ask();
        sched_setaffinity(None, &before).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!((both, alone, after), (Some(false), Some(true), Some(true)));
        assert_eq!(elsewhere, Some(false), "it is not asked again and again");
    }

    fn own_number() -> u32 {
        gettid().as_raw_nonzero().get().cast_unsigned()
    }

    /// On a machine with one core there is nothing to tell apart.
    #[test]
    fn threads_of_a_process_are_asked_after_one_by_one() {
        let (one, all) = one_of_all();
        if all.count() == 1 {
            return eprintln!("not tried: there is one core");
        }
        let mut others = all;
        let first = (0..CpuSet::MAX_CPU).find(|&core| one.is_set(core)).unwrap();
        others.unset(first);
        // How the thread that is bound elsewhere is asked after: it says its number, and stays until it was asked.
        let (number, over) = (AtomicU32::new(0), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                sched_setaffinity(None, &others).unwrap();
                number.store(own_number(), Ordering::Relaxed);
                over.wait();
                over.wait();
            });
            let asking = scope.spawn(|| {
                sched_setaffinity(None, &one).unwrap();
                over.wait();
                let beside = |thread| {
                    let place = joined(std::process::id(), thread);
                    a_core_each([&place].into_iter())
                };
                // The process's first thread may run on all of them.
                let asked = [own_number(), number.load(Ordering::Relaxed)].map(beside);
                over.wait();
                asked
            });
            let has_time = quota::cores().is_none_or(|cores| cores > 1);
            assert_eq!(asking.join().unwrap(), [Some(false), Some(has_time)]);
        });
    }
}
