//! Names of traces that are listed together, without terminal control characters.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use crate::report::escaped;

/// The shortest suffix of each path, in whole components, that no other path has: mostly the file name.
pub(crate) fn distinct(paths: &[&str]) -> Vec<String> {
    let mut lengths = vec![1; paths.len()];
    loop {
        let ends: Vec<String> = paths
            .iter()
            .zip(&lengths)
            .map(|(path, &length)| end(path, length))
            .collect();
        let mut same: HashMap<&str, Vec<usize>> = HashMap::new();
        for (i, end) in ends.iter().enumerate() {
            same.entry(end).or_default().push(i);
        }
        // A path that is given twice has no unique suffix.
        let ambiguous: Vec<usize> = same
            .values()
            .filter(|all| all.iter().any(|&i| paths[i] != paths[all[0]]))
            .flatten()
            .copied()
            .filter(|&i| lengths[i] < Path::new(paths[i]).iter().count())
            .collect();
        if ambiguous.is_empty() {
            return ends;
        }
        ambiguous.into_iter().for_each(|i| lengths[i] += 1);
    }
}

/// Like [`distinct`], without the extensions of traces if the names remain distinct.
pub(crate) fn labels(paths: &[&str]) -> Vec<String> {
    let distinct = distinct(paths);
    let mut wholes: HashMap<&str, &str> = HashMap::new();
    let mut shared = HashSet::new();
    for whole in &distinct {
        if wholes
            .insert(bare(whole), whole)
            .is_some_and(|other| other != whole)
        {
            shared.insert(bare(whole));
        }
    }
    let label = |whole: &String| match bare(whole) {
        bare if shared.contains(bare) => whole.clone(),
        bare => bare.to_owned(),
    };
    distinct.iter().map(label).collect()
}

/// A trace's file name without its extensions, for labels.
pub(crate) fn label(path: &str) -> String {
    bare(&end(path, 1)).to_owned()
}

/// What to sort a file's name by: r2 comes before r10, as numbers do.
pub(crate) fn sorted(path: &Path) -> Vec<Part> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut parts: Vec<Part> = Vec::new();
    for letter in name.chars() {
        match (letter.is_ascii_digit(), parts.last_mut()) {
            (true, Some(Part::Number(_, digits))) if digits == "0" => {
                *digits = letter.into();
            }
            (true, Some(Part::Number(length, digits))) => {
                *length += 1;
                digits.push(letter);
            }
            (true, _) => parts.push(Part::Number(1, letter.into())),
            (false, _) => parts.push(Part::Letter(letter)),
        }
    }
    parts
}

/// A part of a name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The length of a number without zeros before it, and its digits: it may be longer than any type's.
    Number(usize, String),
    Letter(char),
}

fn bare(name: &str) -> &str {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.strip_suffix(".mqt").unwrap_or(name)
}

/// The last `names` components of a path.
fn end(path: &str, names: usize) -> String {
    let all: Vec<&OsStr> = Path::new(path).iter().collect();
    let from = all.len().saturating_sub(names);
    let end: std::path::PathBuf = all[from..].iter().collect();
    escaped(&end.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_bare_file_name() {
        assert_eq!(label("a/b/hpcc32-r0.mqt.gz"), "hpcc32-r0");
        assert_eq!(label("x.mqt"), "x");
        assert_eq!(label("a/\x1b[31mred.mqt"), "\\u{1b}[31mred");
        assert_eq!(label("/dev/stdin"), "stdin");
        assert_eq!(label(".."), "..");
        assert_eq!(label(""), "");
    }

    #[test]
    fn names_are_as_long_as_tells_them_apart() {
        for (paths, names) in [
            (&["a/x.mqt", "a/y.mqt"][..], &["x.mqt", "y.mqt"][..]),
            (&["a/x", "b/x", "b/y"], &["a/x", "b/x", "y"]),
            (&["1/a/x", "2/a/x", "b/x"], &["1/a/x", "2/a/x", "b/x"]),
            (&["x", "a/x"], &["x", "a/x"]),
            (&["/x", "x"], &["/x", "x"]),
            (&["a/x", "a/x"], &["x", "x"]),
            (&["a/x", "a/x", "b/x"], &["a/x", "a/x", "b/x"]),
            (&[], &[]),
        ] {
            assert_eq!(distinct(paths), names);
        }
        let labels = labels(&["a/r0.mqt", "b/r0.mqt", "r1.mqt", "r1.mqt.gz"]);
        assert_eq!(labels, ["a/r0", "b/r0", "r1.mqt", "r1.mqt.gz"]);
        assert_eq!(super::labels(&["a/x.mqt", "a/x.mqt"]), ["x", "x"]);
    }

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut names = [
            "b", "r10.mqt", "r9-3", "r010.mqt", "r2", "r", "r9-20", "1", "r00", "r\u{e9}",
        ];
        names.sort_by_key(|name| sorted(Path::new(name)));
        let expected = [
            "1", "b", "r", "r00", "r2", "r9-3", "r9-20", "r10.mqt", "r010.mqt", "r\u{e9}",
        ];
        assert_eq!(names, expected);
        let long = [
            "t99999999999999999999999999",
            "t100000000000000000000000000",
        ];
        assert!(sorted(Path::new(long[0])) < sorted(Path::new(long[1])));
    }

    #[test]
    fn many_traces_are_named_at_once() {
        let paths: Vec<String> = (0..5000)
            .map(|i| format!("{}/r{}.mqt", i % 2, i / 2))
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let labels = labels(&paths);
        assert_eq!((&*labels[0], &*labels[4999]), ("0/r0", "1/r2499"));
    }
}
