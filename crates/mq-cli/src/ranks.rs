//! Which ranks' traces are missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{Fields, count, some};

/// The most missing ranks that are named.
const NAMED: usize = 3;

/// What the processes of one job have in common in their headers: the library, their number, and the job's name.
type Job = (String, u64, String);

/// In words, of how many ranks of a job there are traces, for each job of which not all are there. Headers without
/// `rank` and `ranks` say nothing.
pub(crate) fn missing<'a>(headers: impl Iterator<Item = &'a Fields>) -> Vec<String> {
    let mut jobs: BTreeMap<Job, BTreeSet<u64>> = BTreeMap::new();
    for header in headers {
        // `mq generate` makes the trace of one process.
        if header.get("source") == Some("generated") {
            continue;
        }
        let number = |key| header.get(key)?.parse::<u64>().ok();
        let (Some(rank), Some(ranks)) = (number("rank"), number("ranks")) else {
            continue;
        };
        let text = |key| header.get(key).unwrap_or_default().to_owned();
        let found = jobs.entry((text("source"), ranks, text("job")));
        let found = found.or_default();
        if rank < ranks {
            found.insert(rank);
        }
    }
    jobs.iter().filter_map(sentence).collect()
}

fn sentence((job, found): (&Job, &BTreeSet<u64>)) -> Option<String> {
    let (_, ranks, name) = job;
    let lacking = ranks - found.len() as u64;
    if lacking == 0 {
        return None;
    }
    let absent = (0..*ranks).filter(|rank| !found.contains(rank));
    let mut named: Vec<String> = absent.take(NAMED).map(count).collect();
    // The others are only counted: a header may give any number.
    let more = lacking - named.len() as u64;
    let verb = if lacking == 1 { "is" } else { "are" };
    let more = match more {
        0 if named.len() > 1 => format!(" and {}", named.pop().unwrap_or_default()),
        0 => String::new(),
        more => format!(" and {} more", count(more)),
    };
    let of_job = match name.as_str() {
        "" => String::new(),
        name => format!(" of job {name}"),
    };
    Some(format!(
        "traces of {} of {} ranks{of_job}: {}{more} {verb} missing",
        count(found.len()),
        count(*ranks),
        some(&named)
    ))
}

#[cfg(test)]
mod tests {
    use mq_trace::Header;

    use super::*;

    fn said(ranks: &str, found: &[&str]) -> Vec<String> {
        let header =
            |rank: &&str| Fields::of(&Header::new().with("rank", rank).with("ranks", ranks));
        let headers: Vec<Fields> = found.iter().map(header).collect();
        missing(headers.iter())
    }

    #[test]
    fn missing_ranks_are_named_and_counted() {
        assert_eq!(said("2", &["0", "1", "1"]), [""; 0]);
        let one = "traces of 3 of 4 ranks: 2 is missing";
        assert_eq!(said("4", &["0", "1", "3"]), [one]);
        let two = "traces of 2 of 4 ranks: 1 and 3 are missing";
        assert_eq!(said("4", &["2", "0"]), [two]);
        let many = "traces of 1 of 4,294,967,295 ranks: 0, 1, 3 and 4,294,967,291 more are missing";
        assert_eq!(said("4294967295", &["2"]), [many]);
        // Not a rank of that job, and no numbers.
        assert_eq!(said("1", &["7"]), ["traces of 0 of 1 ranks: 0 is missing"]);
        assert_eq!(said("many", &["0"]), [""; 0]);
        assert_eq!(missing([Fields::of(&Header::new())].iter()), [""; 0]);
        let generated = Header::new().with("source", "generated").with("rank", 0);
        let generated = [Fields::of(&generated.with("ranks", 64))];
        assert_eq!(missing(generated.iter()), [""; 0]);
    }

    #[test]
    fn jobs_are_told_apart() {
        let header = |rank, job| {
            let header = Header::new().with("rank", rank).with("ranks", 2);
            Fields::of(&header.with("job", job))
        };
        let headers = [header(0, "a"), header(0, "b"), header(1, "a")];
        let expected = ["traces of 1 of 2 ranks of job b: 1 is missing"];
        assert_eq!(missing(headers.iter()), expected);
    }
}
