//! A core for each process, or for neighbours together where there are more processes than cores.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The core for each of so many processes, of those that this one may use: its own where there are
/// enough; otherwise processes whose ranks follow each other, which often talk most, have one
/// together.
///
/// # Errors
/// If the system does not say which cores there are.
pub(crate) fn cores(processes: u32) -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&core| allowed.is_set(core))
        .collect();
    let processes = processes as usize;
    Ok((0..processes)
        .map(|rank| allowed[place(rank, processes, allowed.len())])
        .collect())
}

/// Which of the cores that there are is for a process.
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
/// If the system does not permit it.
pub(crate) fn bind(core: usize) -> io::Result<()> {
    let mut own = CpuSet::new();
    own.set(core);
    Ok(sched_setaffinity(None, &own)?)
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
}
