//! What a session prints on stderr: an application's own output stays as it is.

use std::io::Write;

use mq_core::structures::Choice;

use super::signals;
use super::tally::{Tally, mq_queue_statistics};
use super::trace_file::Recorded;

/// One line, written whole even if others print too.
pub(super) fn say(rank: u32, text: &str) {
    write(&format!("mq: rank {rank}: {text}\n"));
}

/// Writes text in one piece. If stderr is gone there is nowhere to report that.
pub(super) fn write(text: &str) {
    let _ = signals::without(|| std::io::stderr().lock().write_all(text.as_bytes()));
}

/// What recording a trace took.
#[expect(clippy::cast_precision_loss, reason = "for reading")]
pub(super) fn recorded(recorded: &Recorded, left_out: u64) -> String {
    let Recorded {
        path,
        bytes,
        lines,
        time,
        is_cut,
        of,
    } = recorded;
    // The folder is MQ_TRACE's, or one that `mq record` collects from.
    let name = path.file_name().unwrap_or(path.as_os_str());
    // It is an estimate: of a short run it may be more than there was.
    let time = *time.min(of);
    let each = time.as_nanos() as f64 / (*lines).max(1) as f64;
    let share = 100.0 * time.as_secs_f64() / of.as_secs_f64().max(1e-9);
    let share = match is_cut {
        false => format!("{share:.2} % of the run"),
        true if share < 1.0 => "less than 1 % of the run but for interruptions".into(),
        true => format!("about {share:.0} % of the run but for interruptions"),
    };
    let repeated = match left_out {
        0 => String::new(),
        _ => format!("; {left_out} probes that missed again are left out"),
    };
    format!(
        "recorded {lines} lines in {} ({bytes} bytes); about {each:.0} ns each, {share}{repeated}",
        name.display()
    )
}

/// The table of `MQ_STATS=1`.
pub(super) fn table(library: &str, rank: u32, tally: &Tally) -> String {
    let all = tally.read();
    let names: Vec<_> = tally.structures().iter().map(Choice::to_string).collect();
    let structures = match names.as_slice() {
        [] => String::from("no engines"),
        [one] => format!("structure {one}"),
        several => format!("structures {}", several.join(", ")),
    };
    let of = |part: u64, whole: u64| match whole {
        0 => String::from("-"),
        _ => format!("{:.1} %", percent(part, whole)),
    };
    let mut text = format!(
        "mq: rank {rank}: {} match operations in {library}, {structures}\n",
        tally.operations()
    );
    let mut line = |name: &str, value: String, remark: String| {
        text.push_str(&format!("  {name:<26}{value:>14}  {remark}\n"));
    };
    line(
        "receives posted",
        all.receives.to_string(),
        format!(
            "{} took an unexpected message",
            of(all.receives_matched, all.receives)
        ),
    );
    line(
        "messages arrived",
        all.messages.to_string(),
        format!("{} were expected", of(all.messages_matched, all.messages)),
    );
    line("probes", all.probes.to_string(), String::new());
    line(
        "receives removed",
        all.cancels.to_string(),
        "cancelled, purged, or freed with their communicator".into(),
    );
    if all.messages_removed > 0 {
        line(
            "messages removed",
            all.messages_removed.to_string(),
            "purged, withdrawn, or freed with their communicator".into(),
        );
    }
    text.push_str(&format!(
        "  {:<18}{:>12}{:>14}{:>16}{:>13}{:>14}\n",
        "queue", "searches", "mean search", "longest search", "most queued", "most bytes"
    ));
    text.push_str(&queue("posted", &all.posted));
    text.push_str(&queue("unexpected", &all.unexpected));
    text
}

fn queue(name: &str, queue: &mq_queue_statistics) -> String {
    let mean = percent(queue.visited, queue.searches) / 100.0;
    format!(
        "  {name:<18}{:>12}{mean:>14.2}{:>16}{:>13}{:>14}\n",
        queue.searches, queue.longest_search, queue.longest, queue.most_bytes
    )
}

#[expect(clippy::cast_precision_loss, reason = "for reading")]
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use mq_core::structures::Kind;

    use super::*;

    #[test]
    fn the_structures_of_the_engines_are_named_and_no_others() {
        let tally = Tally::default();
        let heading = |tally: &Tally| {
            let text = table("a library", 3, tally);
            text.lines().next().map(str::to_owned)
        };
        let with = |structures: &str| {
            let text = format!("mq: rank 3: 0 match operations in a library, {structures}");
            Some(text)
        };
        assert_eq!(heading(&tally), with("no engines"));
        let bins: Choice = "bins:bins=8".parse().expect("a structure");
        tally.uses(&bins);
        tally.uses(&bins);
        assert_eq!(heading(&tally), with("structure bins:bins=8"));
        tally.uses(&Kind::Bins.into());
        assert_eq!(heading(&tally), with("structures bins:bins=8, bins"));
    }

    #[test]
    fn what_was_cut_is_said_without_decimals() {
        let said = |millis, is_cut| {
            let trace = Recorded {
                path: PathBuf::from("traces/mq-r0-1.mqt"),
                bytes: 10_000,
                lines: 1_000,
                time: Duration::from_millis(millis),
                is_cut,
                of: Duration::from_secs(1),
            };
            let text = recorded(&trace, 0);
            let share = text
                .rsplit_once(" ns each, ")
                .expect("it says how long each took");
            share.1.to_owned()
        };
        assert_eq!(said(12, false), "1.20 % of the run");
        assert_eq!(said(12, true), "about 1 % of the run but for interruptions");
        assert_eq!(
            said(2, true),
            "less than 1 % of the run but for interruptions"
        );
    }

    #[test]
    fn receives_that_left_without_a_message_are_not_said_to_be_cancelled_all() {
        let tally = Tally::default();
        tally.cancelled();
        let text = table("a library", 0, &tally);
        let line = text.lines().find(|line| line.contains("receives removed"));
        let words: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
        let expected = "receives removed 1 cancelled, purged, or freed with their communicator";
        assert_eq!(words.join(" "), expected);
    }
}
