//! What the kernel tells of processes in `/proc` (proc(5)).

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// Whether the numbers in `/proc` are those of this process's namespace: a process may enter a new one without mounting
/// another `/proc`. If they are not, they belong to processes that have nothing to do with this one.
pub(super) fn is_ours() -> bool {
    let number = std::process::id().to_string();
    fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&number))
}

/// All processes; none if the numbers are not [ours](is_ours).
pub(super) fn processes() -> Vec<Pid> {
    if !is_ours() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| process(entry.file_name().to_str()?))
        .collect()
}

/// The children of this process as the kernel lists them, if it was built with that list; none if the numbers are not
/// [ours](is_ours).
pub(super) fn children() -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    if !is_ours() {
        return Some(children);
    }
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(list.split_whitespace().filter_map(process));
    }
    Some(children)
}

/// A process, by its number.
pub(super) fn process(number: &str) -> Option<Pid> {
    let number = number.parse::<i32>().ok();
    Pid::from_raw(number.filter(|&number| number > 0)?)
}

/// The parent of a process.
pub(super) fn parent(pid: Pid) -> Option<Pid> {
    process(field(&stat(pid)?, 4)?)
}

/// What the kernel tells of a process. Its name need not be UTF-8: the kernel cuts it at 15 bytes.
pub(super) fn stat(pid: Pid) -> Option<String> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    Some(String::from_utf8_lossy(&stat).into_owned())
}

/// The name of a process, as the kernel cuts it.
pub(super) fn name(pid: Pid) -> Option<String> {
    let stat = stat(pid)?;
    let (_, name) = stat.split_once('(')?;
    name.rsplit_once(") ").map(|(name, _)| name.to_owned())
}

/// A field of a `stat` by its number, from 3 on, the state.
pub(super) fn field(stat: &str, number: usize) -> Option<&str> {
    // Before the third is the name, in brackets, which may contain any characters.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.trim_end().split(' ').nth(number - 3)
}

/// The signals that this process ignores, as bits from 0 on.
pub(super) fn ignored_signals() -> u64 {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
