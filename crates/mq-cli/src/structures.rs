//! `mq structures`: the structures, when to choose each, and their parameters.

use std::io::IsTerminal;

use mq_core::Tuning;
use mq_core::structures::{Kind, Parameter};
use serde::Serialize;

use crate::cli::{Format, StructuresOptions};
use crate::error::Error;
use crate::report::{self, Cells};

/// Characters per line of a cell on a terminal, so that the tables fit into 80 columns.
const CELL: usize = 30;
/// The same for what a parameter means, and what it may be, which share a line with more.
const MEANING: usize = 22;
const ALLOWED: usize = 13;

/// One structure. The fields are keys of the JSON output.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    source: &'static str,
    when_to_choose: &'static str,
    default: bool,
    parameters: Vec<ParameterRow>,
}

/// One parameter of a structure. The fields are keys of the JSON output.
#[derive(Serialize)]
struct ParameterRow {
    /// Not `name`: scripts look for the structures' names by that key.
    parameter: &'static str,
    default: String,
    allowed: String,
    meaning: &'static str,
}

/// Prints the table of structures, and that of their parameters.
pub(crate) fn run(options: &StructuresOptions) -> Result<(), Error> {
    match options.format {
        Format::Json => report::print_json(&Kind::ALL.iter().map(row).collect::<Vec<_>>()),
        Format::Table => {
            let terminal = std::io::stdout().is_terminal();
            let width = if terminal { CELL } else { usize::MAX };
            let structures = structures(width);
            let parameters = parameters(terminal);
            report::print(&format!(
                "{structures}\n* the default\n\n{parameters}\nname a structure with parameters as in \
                 adaptive:bins=64:adaptive_search=16\n"
            ))
        }
    }
}

fn row(kind: &Kind) -> Row {
    let defaults = Tuning::default();
    let parameter = |parameter: &Parameter| ParameterRow {
        parameter: parameter.name(),
        default: parameter.value(&defaults).to_string(),
        allowed: parameter.allowed(),
        meaning: parameter.meaning(),
    };
    Row {
        name: kind.name(),
        source: kind.source(),
        when_to_choose: kind.when_to_choose(),
        default: *kind == Kind::default(),
        parameters: kind.parameters().map(parameter).collect(),
    }
}

fn structures(width: usize) -> String {
    let cells = |kind: &Kind| {
        let mark = if *kind == Kind::default() { " *" } else { "" };
        vec![
            format!("{kind}{mark}"),
            report::wrapped(kind.source(), width),
            report::wrapped(kind.when_to_choose(), width),
        ]
    };
    let rows: Vec<Vec<String>> = Kind::ALL.iter().map(cells).collect();
    report::table(
        &["structure", "source", "choose it for"],
        &rows,
        Cells::Text,
    )
}

fn parameters(is_narrow: bool) -> String {
    let defaults = Tuning::default();
    let (meaning, allowed) = match is_narrow {
        true => (MEANING, ALLOWED),
        false => (usize::MAX, usize::MAX),
    };
    let cells = |parameter: &Parameter| {
        let kinds: Vec<&str> = parameter.kinds().iter().map(|kind| kind.name()).collect();
        vec![
            parameter.name().into(),
            kinds.join(", "),
            parameter.value(&defaults).to_string(),
            report::wrapped(parameter.meaning(), meaning),
            report::wrapped(&parameter.allowed(), allowed),
        ]
    };
    let rows: Vec<Vec<String>> = Parameter::ALL.iter().map(cells).collect();
    let header = ["parameter", "of", "default", "meaning", "allowed"];
    report::table(&header, &rows, Cells::Text)
}
