//! How much memory there still is.

use std::fs;
use std::path::Path;

/// Where the control groups are, by name.
const GROUPS: &str = "/sys/fs/cgroup";

/// The bytes of memory that processes could still have without anything being moved to disk, if the system says so:
/// what the machine has left, or less if this process's control groups (version 2) have a limit, as those of a batch
/// job do.
pub(super) fn available() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = [on_the_machine(), in_groups(Path::new(GROUPS), &own)];
    left.into_iter().flatten().min()
}

fn on_the_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = (text.lines()).find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// What is left in the process's `own` group, which the kernel names after `0::`, and in those that contain it.
fn in_groups(all: &Path, own: &str) -> Option<u64> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let groups = Path::new(own).ancestors();
    groups.filter_map(|group| in_group(&all.join(group))).min()
}

/// What is left in a group; none if it has no limit.
fn in_group(group: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // Without a limit, it is `max`.
    let (limit, used) = (number("memory.max")?, number("memory.current")?);
    let statistics = read("memory.stat").unwrap_or_default();
    // What is cached of files is used too, and given up when it is wanted.
    let cached: u64 = statistics.lines().filter_map(of_files).sum();
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

/// The bytes in a line of a group's statistics, if it is about cached files.
fn of_files(line: &str) -> Option<u64> {
    let (name, bytes) = line.split_once(' ')?;
    match name {
        "active_file" | "inactive_file" => bytes.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_limit_of_all_groups_around_counts() {
        let all = tempfile::tempdir().expect("a temporary folder");
        let write = |group: &str, files: &[(&str, &str)]| {
            let group = all.path().join(group);
            fs::create_dir_all(&group).expect("made");
            for (name, content) in files {
                fs::write(group.join(name), content).expect("written");
            }
        };
        let left = |own: &str| in_groups(all.path(), own);
        let used = ("memory.current", "600\n");
        write("job/step", &[("memory.max", "max\n"), used]);
        assert_eq!(left("0::/job/step\n"), None, "no group has a limit");
        write("job", &[("memory.max", "1000\n"), used]);
        assert_eq!(left("0::/job/step\n"), Some(400), "that of the job");
        write("job/step", &[("memory.max", "700\n")]);
        assert_eq!(left("0::/job/step\n"), Some(100), "that of the step");
        let cached = "anon 100\ninactive_file 200\nactive_file 50\nfile 260\n";
        write("job/step", &[("memory.stat", cached)]);
        assert_eq!(left("0::/job/step\n"), Some(350), "files can go");
        assert_eq!(left("0::/job\n"), Some(400));
        write("job", &[("memory.max", "500\n")]);
        assert_eq!(left("0::/job/step\n"), Some(0), "more than allowed");
        assert_eq!(left("0::/other\n"), None);
        // Below a root that is a container's own group.
        write("", &[("memory.max", "650\n"), used]);
        assert_eq!(left("0::/\n"), Some(50));
        assert_eq!(left("4:memory:/job\n"), None, "version 1");
        assert_eq!(left(""), None);
    }

    #[test]
    fn the_machine_has_some() {
        assert!(on_the_machine() > Some(0));
    }
}
