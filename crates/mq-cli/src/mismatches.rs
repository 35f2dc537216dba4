//! In words, what is wrong if a trace and structures differ.

use mq_core::structures::Choice;
use mq_trace::{Mismatch, Report};

/// The first mismatch of every structure, once for structures that agree on it. If all agree, the
/// trace is wrong.
pub(crate) fn sentences(trace: &str, reports: &[(Choice, Report)]) -> Vec<String> {
    of_all(trace, reports, " (every structure)")
}

/// The same for structures that the user did not choose: that all of them agree is not mentioned.
pub(crate) fn of_judges(trace: &str, reports: &[(Choice, Report)]) -> Vec<String> {
    of_all(trace, reports, "")
}

fn of_all(trace: &str, reports: &[(Choice, Report)], unanimous: &str) -> Vec<String> {
    let mut told: Vec<(Mismatch, Vec<String>)> = Vec::new();
    for (choice, report) in reports {
        let Some(mismatch) = report.first_mismatch else {
            continue;
        };
        match told.iter_mut().find(|(other, _)| *other == mismatch) {
            Some((_, names)) => names.push(choice.to_string()),
            None => told.push((mismatch, vec![choice.to_string()])),
        }
    }
    let sentence = |(mismatch, names): &(Mismatch, Vec<String>)| match &names[..] {
        [_, _, ..] if names.len() == reports.len() => {
            differ(trace, mismatch, "MPI's rules", "give") + unanimous
        }
        [one] => differ(trace, mismatch, one, "gives"),
        several => differ(trace, mismatch, &several.join(", "), "give"),
    };
    told.iter().map(sentence).collect()
}

fn differ(trace: &str, mismatch: &Mismatch, who: &str, verb: &str) -> String {
    let (line, recorded, found) = (mismatch.line, mismatch.recorded(), mismatch.found());
    format!("{trace}:{line}: recorded {recorded}, {who} {verb} {found}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mq_core::structures::Kind;
    use mq_trace::{Line, Trace, check};

    #[test]
    fn a_structure_alone_is_named_and_all_together_blame_the_trace() {
        let lines = ["p 0 * 5", "p 0 1 5", "a 0 1 5 =1"];
        let lines = lines.map(|line| Line::parse(line).expect("valid"));
        let wrong = Trace::from_lines("t", &lines);
        let report = |kind: Kind| (kind.into(), check(&wrong, kind));
        let mut reports = vec![report(Kind::List), report(Kind::Bins), report(Kind::Pnp)];
        let rules = "t:4: recorded receive 1, MPI's rules give receive 0 (every structure)";
        assert_eq!(sentences("t", &reports), [rules]);
        let rules = "t:4: recorded receive 1, MPI's rules give receive 0";
        assert_eq!(of_judges("t", &reports), [rules]);
        let one = "t:4: recorded receive 1, list gives receive 0";
        assert_eq!(sentences("t", &reports[..1]), [one]);
        reports[1].1.first_mismatch = None;
        assert_eq!(
            of_judges("t", &reports[..2]),
            [one],
            "one of two judges agrees with the trace"
        );
        let two = "t:4: recorded receive 1, list, pnp give receive 0";
        assert_eq!(sentences("t", &reports), [two]);
        let other = reports[2].1.first_mismatch.as_mut();
        other.expect("pnp differs too").got = None;
        let each = [one, "t:4: recorded receive 1, pnp gives no receive"];
        assert_eq!(sentences("t", &reports), each);
    }
}
