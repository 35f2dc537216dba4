//! `mq structures`: the structures, and when to choose each.

use std::io::IsTerminal;

use mq_core::structures::Kind;
use serde::Serialize;

use crate::cli::{Format, StructuresOptions};
use crate::error::Error;
use crate::report::{self, Cells};

/// Characters per line of a cell on a terminal, so that the table fits into 80 columns.
const CELL: usize = 30;

/// One structure in JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    source: &'static str,
    when_to_choose: &'static str,
    default: bool,
}

/// Prints the table of structures.
pub(crate) fn run(options: &StructuresOptions) -> Result<(), Error> {
    let rows = Kind::ALL.iter().map(|&kind| Row {
        name: kind.name(),
        source: kind.source(),
        when_to_choose: kind.when_to_choose(),
        default: kind == Kind::default(),
    });
    match options.format {
        Format::Json => report::print_json(&rows.collect::<Vec<_>>()),
        Format::Table => {
            let terminal = std::io::stdout().is_terminal();
            let width = if terminal { CELL } else { usize::MAX };
            let rows: Vec<Vec<String>> = rows.map(|row| cells(&row, width)).collect();
            let header = ["structure", "source", "choose it for"];
            let table = report::table(&header, &rows, Cells::Text);
            report::print(&format!("{table}\n* the default\n"))
        }
    }
}

fn cells(row: &Row, width: usize) -> Vec<String> {
    let mark = if row.default { " *" } else { "" };
    vec![
        format!("{}{mark}", row.name),
        report::wrapped(row.source, width),
        report::wrapped(row.when_to_choose, width),
    ]
}
