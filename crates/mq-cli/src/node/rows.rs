//! Measured rows: printed one by one as JSON or table lines, and plotted at the end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use mq_comm::{Error as CommError, Options, World};
use serde::Serialize;

use super::Plan;
use super::cores::{Cores, Places};
use crate::cli::{Format, NodeOptions};
use crate::error::Error;
use crate::plot::{self, series};
use crate::report::{self, count, decimal};
use crate::stopping::{self, Kept};

/// The lines of a table before its first row.
pub(super) const HEAD_LINES: u64 = 4;

/// One measurement, with the names of `benches/node/README.md`.
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
        #[serde(skip_serializing_if = "Option::is_none")]
        window: Option<u32>,
        gb_s: f64,
        best: f64,
    },
    Rate {
        senders: u32,
        size: usize,
        window: u32,
        per_s: f64,
        best: f64,
    },
    Halo {
        tile: usize,
        ns: f64,
        best: f64,
    },
    Calls {
        call: &'static str,
        ranks: u32,
        size: usize,
        ns: f64,
        best: f64,
    },
}

impl Row {
    /// The columns and the width of their numbers.
    fn columns(&self) -> &'static [(&'static str, usize)] {
        match self {
            Self::Pingpong { .. } => &[("bytes", 13), ("ns one way", 11), ("best", 11)],
            Self::Bandwidth { .. } => &[("by", 9), ("bytes", 13), ("GB/s", 7), ("best", 7)],
            Self::Rate { .. } => &[
                ("senders", 7),
                ("bytes", 13),
                ("messages/s", 11),
                ("best", 11),
                ("cores", 5),
            ],
            Self::Halo { .. } => &[("tile", 10), ("ns an exchange", 14), ("best", 11)],
            Self::Calls { .. } => &[("call", 9), ("bytes", 13), ("ns a round", 11), ("best", 11)],
        }
    }

    fn cells(&self, cores: &Cores) -> Vec<String> {
        match self {
            Self::Pingpong { size, ns, best } => vec![count(*size), decimal(*ns), decimal(*best)],
            Self::Bandwidth {
                by,
                size,
                gb_s,
                best,
                ..
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
                ..
            } => {
                vec![
                    senders.to_string(),
                    count(*size),
                    decimal(*per_s),
                    decimal(*best),
                    cores.list(),
                ]
            }
            Self::Halo { tile, ns, best } => vec![count(*tile), decimal(*ns), decimal(*best)],
            Self::Calls {
                call,
                size,
                ns,
                best,
                ..
            } => {
                vec![
                    (*call).to_owned(),
                    count(*size),
                    decimal(*ns),
                    decimal(*best),
                ]
            }
        }
    }

    /// The series of the row, and its point in it.
    fn point(&self) -> (&'static str, f64, f64) {
        match self {
            Self::Pingpong { size, ns, .. } => ("median", *size as f64, *ns),
            Self::Bandwidth { by, size, gb_s, .. } => (by, *size as f64, *gb_s),
            Self::Rate { senders, per_s, .. } => ("median", f64::from(*senders), *per_s),
            Self::Halo { tile, ns, .. } => ("median", *tile as f64, *ns),
            Self::Calls { call, size, ns, .. } => (call, *size as f64, *ns),
        }
    }

    fn axes(&self) -> series::Axes {
        let (title, x, y) = match self {
            Self::Pingpong { .. } => ("Latency", "bytes", "ns one way"),
            Self::Bandwidth { .. } => ("Bandwidth", "bytes", "GB/s"),
            Self::Rate { .. } => ("Message rate", "senders", "messages/s"),
            Self::Halo { .. } => ("Halo exchange", "elements in a border", "ns an exchange"),
            Self::Calls { .. } => ("Calls", "bytes", "ns a round"),
        };
        series::Axes { title, x, y }
    }

    /// The lines above the table, and its heading.
    fn head(&self, cores: &Cores) -> String {
        let cores = match self {
            Self::Rate { .. } => {
                "Each row says which cores the receiver and its senders run on.".into()
            }
            _ => cores.line(),
        };
        format!("{cores}\n\n{}", report::head(self.columns()))
    }
}

/// A row, and where and how it was measured.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    row: &'a Row,
    cores: &'a Cores,
    /// What two cores have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<&'static str>,
    shared_buffers: bool,
    settings: &'a Settings,
}

/// The settings of the message layer that the environment sets and that were accepted, by name.
type Settings = BTreeMap<String, String>;

/// The rows of rank 0; the other ranks print nothing.
pub(super) struct Rows<'a> {
    options: &'a NodeOptions,
    places: Places,
    /// Where the next row is measured.
    cores: Cores,
    is_rank_0: bool,
    /// Whether messages come from shared buffers.
    shared_buffers: bool,
    settings: Settings,
    /// Whether no row has been added.
    is_empty: bool,
    /// Those of rank 0, if they are to be plotted.
    kept: Option<Kept<Plotted>>,
    failed: Option<Error>,
}

/// The rows so far, for the plot.
struct Plotted {
    rows: Vec<(Row, Cores)>,
    /// The rows that are to be measured.
    of: usize,
    /// The file.
    plot: PathBuf,
    /// A sentence about what is the same in all rows.
    what: String,
    settings: Settings,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        plan: &Plan,
        options: &'a NodeOptions,
        places: Places,
        cores: Cores,
        is_rank_0: bool,
    ) -> Self {
        let settings = settings(|name| std::env::var_os(name));
        let plot = options.plot.clone().filter(|_| is_rank_0);
        let plotted = plot.map(|plot| Plotted {
            rows: Vec::new(),
            of: plan.rows,
            plot,
            what: plan.what.clone(),
            settings: settings.clone(),
        });
        Self {
            options,
            places,
            cores,
            is_rank_0,
            shared_buffers: plan.shared_buffers,
            settings,
            is_empty: true,
            kept: plotted.map(|plotted| Kept::new(plotted, Plotted::stopped)),
            failed: None,
        }
    }

    /// Only the first `processes` ranks take part in the next rows, so they get the cores.
    pub(super) fn place(&mut self, world: &World, processes: u32) -> Result<(), CommError> {
        self.cores = self.places.bind(world, processes)?;
        Ok(())
    }

    /// Adds a measured row. Called by all ranks; returns whether anybody wants another.
    pub(super) fn add(&mut self, world: &World, row: Row) -> Result<bool, CommError> {
        if self.is_rank_0 {
            let text = self.text(&row);
            self.is_empty = false;
            // Before it is printed: whoever has seen it may send a signal, and finds it in the plot.
            if let Some(kept) = &self.kept {
                let cores = self.cores.clone();
                kept.with(|plotted| plotted.rows.push((row, cores)));
            }
            if self.failed.is_none() {
                self.failed = report::print(&text).err();
            }
        }
        let mut goes_on = [u8::from(match self.failed {
            None => true,
            Some(Error::ClosedPipe) => self.options.plot.is_some(),
            Some(_) => false,
        })];
        world.broadcast(&mut goes_on, 0)?;
        Ok(goes_on == [1])
    }

    /// The printed form of a row.
    fn text(&self, row: &Row) -> String {
        let cores = &self.cores;
        if self.options.format == Format::Json {
            let line = Line {
                row,
                cores,
                between: cores.between(),
                shared_buffers: self.shared_buffers,
                settings: &self.settings,
            };
            let line = serde_json::to_string(&line).unwrap_or_default();
            return format!("{line}\n");
        }
        let head = if self.is_empty {
            row.head(cores)
        } else {
            String::new()
        };
        head + &report::row(row.columns(), &row.cells(cores))
    }

    /// Called after the last row, or when no other can be measured.
    pub(super) fn finish(self) -> Result<(), Error> {
        let drawn = (self.kept).map_or(Ok(()), |kept| kept.show(|plotted| plotted.draw()));
        match self.failed {
            // Nobody reads the output any more, but the plot is still wanted.
            Some(Error::ClosedPipe) if self.options.plot.is_some() => {}
            Some(error) => return Err(error),
            None => {}
        }
        drawn
    }
}

impl Plotted {
    fn draw(&self) -> Result<(), Error> {
        let all = self.rows.iter().map(|(_, cores)| cores);
        let cores = all.max_by_key(|cores| cores.ranks());
        let (Some((first, _)), Some(cores)) = (self.rows.first(), cores) else {
            return Ok(());
        };
        let mut notes = vec![format!("{} {}", self.what, cores.line())];
        notes.extend(one_line(&self.settings));
        let mut points: Vec<_> = self.rows.iter().map(|(row, _)| row.point()).collect();
        // Messages without bytes have no bandwidth, and no place on the axis.
        if points.iter().any(|&(.., value)| value > 0.0) {
            points.retain(|&(.., value)| value > 0.0);
        }
        plot::save(&self.plot, &series::draw(&first.axes(), &notes, &points)?)
    }

    /// Draws the plot when a signal ends the measurement. The rows themselves have been printed.
    fn stopped(&mut self, signal: i32) {
        let drawn = [self.draw()];
        stopping::tell(signal, self.rows.len(), self.of, "rows", &drawn);
    }
}

fn settings(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
    let set = RefCell::new(Settings::new());
    let (_, ignored) = Options::default().with_environment(|name| {
        let value = variable(name).filter(|value| !value.is_empty())?;
        let text = value.to_string_lossy().into_owned();
        set.borrow_mut().insert(name.to_owned(), text);
        Some(value)
    });
    let mut set = set.into_inner();
    set.retain(|name, _| ignored.iter().all(|ignored| ignored.variable != *name));
    set
}

/// None if there are no settings.
fn one_line(settings: &Settings) -> Option<String> {
    let each = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_apply_are_noted() {
        let noted = |set: &[(&str, &str)]| {
            one_line(&settings(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.into())
            }))
        };
        let of_others = ("MQ_TRACE_DIR", "traces");
        let ignored = ("MQ_PATIENCE", "much");
        assert_eq!(noted(&[of_others, ignored, ("MQ_POLICY", "")]), None);
        assert_eq!(
            noted(&[of_others, ("MQ_FASTBOX", "0"), ignored, ("MQ_BYPASS", "1")]),
            Some("MQ_BYPASS=1 MQ_FASTBOX=0".into())
        );
    }
}
