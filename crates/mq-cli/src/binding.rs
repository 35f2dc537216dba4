//! A core for each process, where there are as many.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Binds this process to one of the cores it may use. With more processes than cores, or where the
/// system does not permit it, the scheduler decides.
pub(super) fn bind(rank: u32, processes: u32) {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&core| allowed.is_set(core))
        .collect();
    if cores.len() < processes as usize {
        return;
    }
    let mut own = CpuSet::new();
    own.set(cores[rank as usize]);
    let _ = sched_setaffinity(None, &own);
}
