//! The statistics of a generated trace beside published ones.

use std::io::Write;

use mq_trace::generate::{Fit, Published, Row, Workload};

use crate::report::{Cells, count, decimal, table};

const HEADER: [&str; 4] = ["statistic", "published", "this trace", "ratio"];

const LEGEND: &str = "\
A search is as long as the entries that it compares in one list. PRQ: posted receives; UMQ: unexpected \
messages
2014: Zounmevo & Afsahi; 2019: Ghazimirsaeed, Grant & Afsahi
";

/// Prints the fit to standard error, since the trace may go to standard output; that nobody reads it is no failure.
pub(super) fn print(workload: &Workload, fit: &Fit) {
    let text = render(&workload.to_string(), workload.ranks, fit);
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn render(name: &str, ranks: u32, fit: &Fit) -> String {
    let rows: Vec<Vec<String>> = fit.rows.iter().map(cells).collect();
    let table = table(&HEADER, &rows, Cells::Numbers);
    format!("{}\n{table}{LEGEND}", heading(name, ranks, fit))
}

fn heading(name: &str, ranks: u32, fit: &Fit) -> String {
    match fit.run {
        None => format!("{name}: nothing is published of such a process"),
        Some(run) if run.ranks == ranks => {
            format!("{name} beside {} on {} processes", run.name, count(ranks))
        }
        Some(run) => format!(
            "{name} beside {} on {} processes: nothing is published for {}, and this is nearest",
            run.name,
            count(run.ranks),
            count(ranks)
        ),
    }
}

fn cells(row: &Row) -> Vec<String> {
    let statistic = match row.place {
        "" => row.statistic.into(),
        place => format!("{} ({place})", row.statistic),
    };
    let published = match row.published {
        Published::Value(value) => decimal(value),
        Published::Words(words) => words.into(),
        // Nothing, or something that this command cannot show yet.
        _ => "-".into(),
    };
    let ratio = row.ratio.map(|ratio| format!("{ratio:.2}"));
    vec![
        statistic,
        published,
        decimal(row.measured),
        ratio.unwrap_or_else(|| "-".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mq_trace::generate::{Model, Neighbors, Statistics};

    /// Of a queue that was never longer than 510 receives.
    fn fit(model: Model) -> Fit {
        let mut statistics = Statistics::default();
        statistics.posted.longest = 510;
        Workload::new(model, 512).fit(&statistics)
    }

    #[test]
    fn figures_stand_beside_published_ones() {
        let fit = fit(Model::Nbody);
        let text = render("nbody-512-r0", 512, &fit);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "nbody-512-r0 beside Nbody.512 on 512 processes");
        let line = |start: &str| {
            let line = lines.iter().find(|line| line.starts_with(start));
            line.expect("a row")
                .split('|')
                .map(str::trim)
                .skip(1)
                .collect::<Vec<_>>()
        };
        let longest = line(" longest PRQ (2014, Table 8, MQL) ");
        assert_eq!(longest, ["511", "510", "1.00"]);
        let share = line(" share of collective elements (2019, §2.1, 512 processes) ");
        assert_eq!(share, ["the minority", "0.00", "-"]);
        let text = render("nbody-4096-r0", 4096, &fit);
        assert!(text.starts_with(
            "nbody-4096-r0 beside Nbody.512 on 512 processes: nothing is published for 4,096, \
             and this is nearest\n"
        ));
    }

    #[test]
    fn a_process_without_published_figures_has_statistics() {
        let text = render("halo-512-r0", 512, &fit(Model::Halo(Neighbors::Six)));
        assert!(text.starts_with("halo-512-r0: nothing is published of such a process\n"));
        let line = text.lines().find(|line| line.starts_with(" longest PRQ "));
        let cells: Vec<_> = line.expect("a row").split('|').map(str::trim).collect();
        assert_eq!(cells, ["longest PRQ", "-", "510", "-"]);
    }
}
