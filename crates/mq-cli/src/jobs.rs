//! Which ranks' traces are missing, and which have several.

use std::collections::BTreeMap;

use crate::report::{Fields, count, counted, first_names};
use crate::trace_names;

/// The most missing ranks that are named.
const NAMED: usize = 3;

/// What the processes of one job have in common in their headers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    library: String,
    ranks: u64,
    name: String,
}

/// The traces of each rank of each job, by their names. Headers without `rank` and `ranks` say nothing.
pub(crate) struct Jobs<'a>(BTreeMap<Job, BTreeMap<u64, Vec<&'a str>>>);

impl<'a> Jobs<'a> {
    /// Of traces by their names and headers.
    pub(crate) fn of<'h>(traces: impl Iterator<Item = (&'a str, &'h Fields)>) -> Self {
        let mut jobs: BTreeMap<Job, BTreeMap<u64, Vec<&str>>> = BTreeMap::new();
        for (name, header) in traces {
            // `mq generate` makes the trace of one process.
            if header.get("source") == Some("generated") {
                continue;
            }
            let number = |key| header.get(key)?.parse::<u64>().ok();
            let (Some(rank), Some(ranks)) = (number("rank"), number("ranks")) else {
                continue;
            };
            let text = |key| header.get(key).unwrap_or_default().to_owned();
            let found = jobs.entry(Job {
                library: text("source"),
                ranks,
                name: text("job"),
            });
            let found = found.or_default();
            if rank < ranks {
                found.entry(rank).or_default().push(name);
            }
        }
        Self(jobs)
    }

    /// In words, of how many ranks of a job there are traces, for each job of which not all are there.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.0.iter().filter_map(missing).collect()
    }

    /// In words, which rank of a job has several traces, for each job in which one has: they are counted as those of
    /// as many processes.
    pub(crate) fn repeated(&self) -> Vec<String> {
        self.0.iter().filter_map(repeated).collect()
    }
}

fn missing((job, found): (&Job, &BTreeMap<u64, Vec<&str>>)) -> Option<String> {
    let lacking = job.ranks - found.len() as u64;
    if lacking == 0 {
        return None;
    }
    let absent = (0..job.ranks).filter(|rank| !found.contains_key(rank));
    let mut named: Vec<String> = absent.take(NAMED).map(count).collect();
    // The others are only counted: a header may give any number.
    let more = lacking - named.len() as u64;
    let (rank, verb) = match lacking {
        1 => ("rank", "is"),
        _ => ("ranks", "are"),
    };
    let more = match more {
        0 if named.len() > 1 => format!(" and {}", named.pop().unwrap_or_default()),
        0 => String::new(),
        more => format!(" and {} more", count(more)),
    };
    Some(format!(
        "traces of {} of {} ranks{}: {rank} {}{more} {verb} missing",
        count(found.len()),
        count(job.ranks),
        of_job(job),
        first_names(&named)
    ))
}

fn repeated((job, found): (&Job, &BTreeMap<u64, Vec<&str>>)) -> Option<String> {
    let mut several = found.iter().filter(|(_, names)| names.len() > 1);
    let (&rank, names) = several.next()?;
    let more = match several.count() {
        0 => String::new(),
        1 => "; so has another rank".into(),
        more => format!("; so have {} more ranks", count(more)),
    };
    Some(format!(
        "rank {}{} has {}: {}{more}",
        count(rank),
        of_job(job),
        counted(names.len(), "trace"),
        first_names(&trace_names::distinct(names))
    ))
}

fn of_job(job: &Job) -> String {
    match job.name.as_str() {
        "" => String::new(),
        name => format!(" of job {name}"),
    }
}

#[cfg(test)]
mod tests {
    use mq_trace::Header;

    use super::*;

    fn said(ranks: &str, found: &[&str]) -> Vec<String> {
        let header =
            |rank: &&str| Fields::of(&Header::new().with("rank", rank).with("ranks", ranks));
        let headers: Vec<Fields> = found.iter().map(header).collect();
        missing(&headers)
    }

    fn missing(headers: &[Fields]) -> Vec<String> {
        Jobs::of(headers.iter().map(|header| ("t.mqt", header))).missing()
    }

    #[test]
    fn missing_ranks_are_named_and_counted() {
        assert_eq!(said("2", &["0", "1", "1"]), [""; 0]);
        let one = "traces of 3 of 4 ranks: rank 2 is missing";
        assert_eq!(said("4", &["0", "1", "3"]), [one]);
        let two = "traces of 2 of 4 ranks: ranks 1 and 3 are missing";
        assert_eq!(said("4", &["2", "0"]), [two]);
        let many =
            "traces of 1 of 4,294,967,295 ranks: ranks 0, 1, 3 and 4,294,967,291 more are missing";
        assert_eq!(said("4294967295", &["2"]), [many]);
        // Not a rank of that job, and no numbers.
        assert_eq!(
            said("1", &["7"]),
            ["traces of 0 of 1 ranks: rank 0 is missing"]
        );
        assert_eq!(said("many", &["0"]), [""; 0]);
        assert_eq!(missing(&[Fields::of(&Header::new())]), [""; 0]);
        let generated = Header::new().with("source", "generated").with("rank", 0);
        let generated = [Fields::of(&generated.with("ranks", 64))];
        assert_eq!(missing(&generated), [""; 0]);
    }

    #[test]
    fn jobs_are_told_apart() {
        let header = |rank, job| {
            let header = Header::new().with("rank", rank).with("ranks", 2);
            Fields::of(&header.with("job", job))
        };
        let headers = [header(0, "a"), header(0, "b"), header(1, "a")];
        let expected = ["traces of 1 of 2 ranks of job b: rank 1 is missing"];
        assert_eq!(missing(&headers), expected);
    }

    #[test]
    fn ranks_with_several_traces_are_named_and_counted() {
        let repeated = |traces: &[(&str, &str, u64)]| {
            let header = |&(_, job, rank): &(&str, &str, u64)| {
                let header = Header::new().with("rank", rank).with("ranks", 4);
                Fields::of(&header.with("job", job))
            };
            let headers: Vec<Fields> = traces.iter().map(header).collect();
            let names = traces.iter().map(|&(name, ..)| name);
            Jobs::of(names.zip(&headers)).repeated()
        };
        assert_eq!(repeated(&[("d/a", "1", 0), ("d/b", "2", 0)]), [""; 0]);
        let mut traces = vec![("d/a", "1", 0), ("d/a.gz", "1", 0), ("d/r3", "1", 3)];
        let one = "rank 0 of job 1 has 2 traces: a, a.gz";
        assert_eq!(repeated(&traces), [one]);
        traces.push(("e/r3", "1", 3));
        assert_eq!(repeated(&traces), [format!("{one}; so has another rank")]);
        traces.extend([("d/r1", "1", 1), ("e/r1", "1", 1)]);
        assert_eq!(repeated(&traces), [format!("{one}; so have 2 more ranks")]);
    }
}
