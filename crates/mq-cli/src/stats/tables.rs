//! The tables of one described trace.

use super::Summary;
use super::searches::SearchLengths;
use super::traffic::Traffic;
use crate::library::Library;
use crate::report::{Cells, count, counted, decimal, escaped, percent, table};

/// The most communicators in the table; JSON has all of them.
const MAX_COMMUNICATORS: usize = 20;

/// All tables of a trace, under its name; empty ones are left out.
pub(super) fn render(summary: &Summary) -> String {
    let mut parts = vec![overview(summary)];
    if summary.operations > 0 {
        parts.push(searches(summary));
        if !summary.tags_tell_classes {
            parts.push(unknown_classes(summary.library));
        } else if !summary.traffic.classes.is_empty() {
            parts.push(classes(summary));
        }
        parts.push(communicators(summary));
    }
    parts.join("\n")
}

fn unknown_classes(library: Option<Library>) -> String {
    let why = match library {
        Some(Library::Mpich) => "MPICH's tags do not tell",
        _ => "Open MPI's tags tell, but the header (mpi=, source=) does not name it",
    };
    format!("Which messages belong to collective operations is not known: {why}\n")
}

fn overview(summary: &Summary) -> String {
    let mut text = escaped(&summary.trace);
    for (key, value) in summary.header.iter() {
        text += &escaped(&format!(" {key}={value}"));
    }
    text += "\n\n";
    for (name, value, remark) in counts(summary) {
        let line = format!("{name:<20}{:>12}  {remark}", count(value));
        text += &format!("{}\n", line.trim_end());
    }
    text
}

const COLLECTIVE: &str = "  collective";

/// A line of the overview: name, count, remark.
type Count = (&'static str, u64, String);

fn counts(summary: &Summary) -> Vec<Count> {
    let comms = summary.traffic.communicators.len();
    let noun = Library::context_noun(summary.library);
    let mut comms = format!("in {}", counted(comms, noun));
    if Library::splits_communicators(summary.library) {
        comms += ", of which MPICH has two for a communicator";
    }
    let (posted, unexpected) = (summary.max_posted as u64, summary.max_unexpected as u64);
    let mut counts = vec![("operations", summary.operations as u64, comms)];
    let by_kind = traffic_counts(&summary.traffic).into_iter();
    counts.extend(by_kind.filter(|(name, ..)| *name != COLLECTIVE || summary.tags_tell_classes));
    counts.extend([
        ("longest posted", posted, "receives queued at a time".into()),
        (
            "longest unexpected",
            unexpected,
            "messages queued at a time".into(),
        ),
    ]);
    if summary.mismatches > 0 {
        let mismatches = summary.mismatches as u64;
        counts.push(("mismatches", mismatches, super::MISMATCHES.into()));
    }
    counts
}

fn traffic_counts(traffic: &Traffic) -> [Count; 10] {
    let whole = |name, count| (name, count, String::new());
    let receives = |name, part| (name, part, share(part, traffic.receives, "receives"));
    let messages = |name, part| (name, part, share(part, traffic.messages, "messages"));
    let probes = |name, part| (name, part, share(part, traffic.probes, "those recorded"));
    let mut any_tag = receives("  ANY_TAG", traffic.any_tag);
    if traffic.any_source_and_tag > 0 {
        any_tag.2 += &format!("; {} have both", count(traffic.any_source_and_tag));
    }
    let mut missed = probes("  found nothing then", traffic.probes_missed);
    if traffic.probes > 0 {
        missed.2 += "; repeated misses may be left out";
    }
    [
        whole("receives posted", traffic.receives),
        receives("  ANY_SOURCE", traffic.any_source),
        any_tag,
        receives("  cancelled", traffic.cancels),
        whole("messages arrived", traffic.messages),
        messages("  unexpected", traffic.unexpected),
        messages(COLLECTIVE, traffic.collective_messages),
        whole("probes", traffic.probes),
        probes("  found a message", traffic.probes_hit),
        missed,
    ]
}

/// A share in words; empty if the whole is 0.
fn share(part: u64, whole: u64, of: &str) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{} of {of}", percent(part, whole))
}

fn searches(summary: &Summary) -> String {
    let row = |queue: &str, lengths: &SearchLengths| {
        vec![
            queue.into(),
            count(lengths.searches as u64),
            decimal(lengths.mean),
            count(lengths.median),
            count(lengths.p99),
            count(lengths.max),
        ]
    };
    let rows = [
        row("posted", &summary.posted_searches),
        row("unexpected", &summary.unexpected_searches),
    ];
    let header = ["queue", "searches", "mean", "median", "99%", "longest"];
    let table = table(&header, &rows, Cells::Numbers);
    format!("Search lengths: entries compared, in one list for all communicators\n{table}")
}

fn classes(summary: &Summary) -> String {
    let traffic = &summary.traffic;
    let rows: Vec<Vec<String>> = traffic
        .classes
        .iter()
        .map(|class| {
            vec![
                class.class.into(),
                count(class.receives),
                count(class.messages),
                percent(class.messages, traffic.messages),
            ]
        })
        .collect();
    let header = ["class", "receives", "messages", "of messages"];
    let collective = percent(traffic.collective_messages, traffic.messages);
    let table = table(&header, &rows, Cells::Numbers);
    format!(
        "Traffic classes, by the tags that Open MPI gives its collective operations: {collective} of messages \
         belong to one\n{table}"
    )
}

fn communicators(summary: &Summary) -> String {
    let communicators = &summary.traffic.communicators;
    let rows: Vec<Vec<String>> = communicators
        .iter()
        .take(MAX_COMMUNICATORS)
        .map(|comm| {
            vec![
                comm.comm.to_string(),
                count(comm.size),
                comm.my_rank.map_or_else(|| "-".into(), count),
                count(comm.receives),
                count(comm.messages),
                percent(comm.unexpected, comm.messages),
                count(comm.wildcard_receives),
            ]
        })
        .collect();
    let header = [
        "comm",
        "size",
        "my rank",
        "receives",
        "messages",
        "unexpected",
        "wildcards",
    ];
    let title = match Library::splits_communicators(summary.library) {
        true => "Contexts",
        false => "Communicators",
    };
    let mut text = format!("{title}\n{}", table(&header, &rows, Cells::Numbers));
    if communicators.len() > rows.len() {
        let more = communicators.len() - rows.len();
        let more = count(more);
        text += &format!("and {more} more with less traffic; --format json lists all\n");
    }
    text
}
