//! How much time the group of processes may use that this one is in: a container's limit.
//!
//! `available_parallelism` has it only where it is below the number of cores that the process may use, which is 1 for
//! most that a launcher has bound.

use std::fs;
use std::path::Path;

/// The whole cores whose time the control groups of this process may use together, at least one; `None` if nothing
/// limits them, or the system does not say.
pub(super) fn cores() -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    cores_of(&groups, Path::new("/sys/fs/cgroup"))
}

/// The same, from a list of groups, in a tree that is mounted at `root`.
fn cores_of(groups: &str, root: &Path) -> Option<usize> {
    let limits = groups.lines().filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        if controllers.is_empty() {
            return least(root, group, of_version_2);
        }
        if controllers.split(',').any(|name| name == "cpu") {
            return least(&root.join("cpu"), group, of_version_1);
        }
        None
    });
    limits.min()
}

/// The smallest limit of a group and of those that it is in. In a container the path may lead to nothing, and the
/// tree's root is the container's own group.
fn least(root: &Path, group: &str, limit: fn(&Path) -> Option<usize>) -> Option<usize> {
    let group = root.join(group.trim_start_matches('/'));
    let above = group
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    above.filter_map(limit).min()
}

fn of_version_2(group: &Path) -> Option<usize> {
    let text = fs::read_to_string(group.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    whole_cores(quota, period)
}

fn of_version_1(group: &Path) -> Option<usize> {
    let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    whole_cores(quota.trim(), period.trim())
}

/// `None` for `max`, and for -1, which say that there is no limit.
fn whole_cores(quota: &str, period: &str) -> Option<usize> {
    let (quota, period): (usize, usize) = (quota.parse().ok()?, period.parse().ok()?);
    Some(quota.checked_div(period)?.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_files(files: &[(&str, &str)], groups: &str) -> Option<usize> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        cores_of(groups, root.path())
    }

    #[test]
    fn the_smallest_limit_of_all_groups_above_counts() {
        let files = [
            ("cpu.max", "max 100000\n"),
            ("jobs/cpu.max", "350000 100000\n"),
            ("jobs/mine/cpu.max", "800000 100000\n"),
            ("others/cpu.max", "100000 100000\n"),
        ];
        assert_eq!(with_files(&files, "0::/jobs/mine\n"), Some(3));
        assert_eq!(with_files(&files, "0::/\n"), None);
        assert_eq!(with_files(&files, "0::/others/gone\n"), Some(1));
        // Less than a core.
        assert_eq!(with_files(&[("cpu.max", "50000 100000")], "0::/"), Some(1));
        assert_eq!(with_files(&[("cpu.max", "nonsense")], "0::/"), None);
        assert_eq!(with_files(&[("cpu.max", "1 0")], "0::/"), None);
    }

    #[test]
    fn groups_of_version_1_have_two_files() {
        let limit = |quota| {
            let files = [
                ("cpu/docker/cpu.cfs_quota_us", quota),
                ("cpu/docker/cpu.cfs_period_us", "100000\n"),
                ("cpu/cpu.cfs_quota_us", "-1\n"),
                ("cpu/cpu.cfs_period_us", "100000\n"),
            ];
            with_files(
                &files,
                "4:memory:/docker\n3:cpu,cpuacct:/docker/inner\n0::/docker\n",
            )
        };
        assert_eq!(limit("200000\n"), Some(2));
        assert_eq!(limit("-1\n"), None);
    }
}
