//! Rows as they are measured: a line of JSON each, or a table and a plot at the end.

use serde::Serialize;

use super::cores::Cores;
use crate::cli::{Format, NodeOptions};
use crate::error::Error;
use crate::plot::{self, series};
use crate::report::{self, Cells, count, decimal};

/// One measurement, in the words of `benches/node/README.md`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub(super) enum Row {
    Pingpong {
        size: usize,
        ns: f64,
        best: f64,
    },
    Bandwidth {
        by: &'static str,
        size: usize,
        gb_s: f64,
        best: f64,
    },
    Rate {
        senders: u32,
        size: usize,
        per_s: f64,
        best: f64,
    },
    Halo {
        tile: usize,
        ns: f64,
        best: f64,
    },
}

impl Row {
    fn header(&self) -> Vec<&'static str> {
        match self {
            Self::Pingpong { .. } => vec!["bytes", "ns one way", "best"],
            Self::Bandwidth { .. } => vec!["by", "bytes", "GB/s", "best"],
            Self::Rate { .. } => vec!["senders", "bytes", "messages/s", "best"],
            Self::Halo { .. } => vec!["tile", "ns an exchange", "best"],
        }
    }

    fn cells(&self) -> Vec<String> {
        match self {
            Self::Pingpong { size, ns, best } => vec![count(*size), decimal(*ns), decimal(*best)],
            Self::Bandwidth {
                by,
                size,
                gb_s,
                best,
            } => {
                vec![
                    (*by).to_owned(),
                    count(*size),
                    decimal(*gb_s),
                    decimal(*best),
                ]
            }
            Self::Rate {
                senders,
                size,
                per_s,
                best,
            } => {
                vec![
                    senders.to_string(),
                    count(*size),
                    count(*per_s as u64),
                    count(*best as u64),
                ]
            }
            Self::Halo { tile, ns, best } => vec![count(*tile), decimal(*ns), decimal(*best)],
        }
    }

    /// The line that the row belongs to, and its point on it.
    fn point(&self) -> (&'static str, f64, f64) {
        match self {
            Self::Pingpong { size, ns, .. } => ("median", *size as f64, *ns),
            Self::Bandwidth { by, size, gb_s, .. } => (by, *size as f64, *gb_s),
            Self::Rate { senders, per_s, .. } => ("median", f64::from(*senders), *per_s),
            Self::Halo { tile, ns, .. } => ("median", *tile as f64, *ns),
        }
    }

    fn axes(&self) -> series::Axes {
        let (title, x, y) = match self {
            Self::Pingpong { .. } => ("Latency", "bytes", "ns one way"),
            Self::Bandwidth { .. } => ("Bandwidth", "bytes", "GB/s"),
            Self::Rate { .. } => ("Message rate", "senders", "messages/s"),
            Self::Halo { .. } => ("Halo exchange", "elements in a border", "ns an exchange"),
        };
        series::Axes { title, x, y }
    }
}

/// A row, and where it was measured.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    row: &'a Row,
    cores: &'a Cores,
}

/// What rank 0 has measured; the others print nothing.
pub(super) struct Rows<'a> {
    options: &'a NodeOptions,
    cores: Cores,
    first: bool,
    rows: Vec<Row>,
    failed: Option<Error>,
}

impl<'a> Rows<'a> {
    pub(super) const fn new(options: &'a NodeOptions, cores: Cores, first: bool) -> Self {
        Self {
            options,
            cores,
            first,
            rows: Vec::new(),
            failed: None,
        }
    }

    /// A row is known.
    pub(super) fn add(&mut self, row: Row) {
        if !self.first {
            return;
        }
        if self.options.format == Format::Json && self.failed.is_none() {
            let cores = &self.cores;
            let line = serde_json::to_string(&Line { row: &row, cores }).unwrap_or_default();
            self.failed = report::print(&format!("{line}\n")).err();
        }
        self.rows.push(row);
    }

    /// All rows are known.
    pub(super) fn finish(self) -> Result<(), Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Some(first) = self.rows.first() else {
            return Ok(());
        };
        if self.options.format != Format::Json {
            let cells: Vec<_> = self.rows.iter().map(Row::cells).collect();
            let table = report::table(&first.header(), &cells, Cells::Numbers);
            report::print(&format!("{}\n\n{table}", self.cores.line()))?;
        }
        if let Some(path) = &self.options.plot {
            let points: Vec<_> = self.rows.iter().map(Row::point).collect();
            plot::save(path, &series::draw(&first.axes(), &points)?)?;
        }
        Ok(())
    }
}
