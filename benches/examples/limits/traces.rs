//! Recorded traces: every pairing compared, then time an operation, the empty loop subtracted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mq_benches::say;
use mq_core::structures::Kind;
use mq_trace::{Floor, Replay, Report, Trace, check, timed};

use crate::goals::{Goal, Measured, Target};
use crate::table::{Table, columns};
use crate::timing::{Plan, digits};

/// Repetitions of a trace, if they fit: short ones need many.
const MOST: u32 = 51;

/// The prefix of the names of hot-spot traces; the other traces have short queues.
const HOT_SPOT: &str = "hotspot";

const HOT: Target = Target::new("4.2, preposted", Goal::AtMost(5.0));
const SHORT: Target = Target::new("3-5, loop included", Goal::AtMost(3.5));

/// Prints the table; an error says what is wrong with the traces or the answers.
pub(crate) fn print(paths: &[PathBuf], kinds: &[Kind], plan: Plan) -> Result<(), String> {
    let traces = read(paths)?;
    let most = if plan.quick { plan.repeat } else { MOST };
    say!(
        "Nanoseconds an operation, median (best) of at most {most} repetitions, structures taking turns, each turn \
         replayed once before it is timed, the empty loop subtracted. Whether a goal is met is said of the time with \
         the loop, as that of the C engines is. Every structure reproduces every recorded pairing.\n"
    );
    let mut after = Target::HEADINGS.to_vec();
    after.push("entries visited by `list` (posted, unexpected)");
    let table = Table::new(&columns(&["trace"], kinds, &after), 1, traces.len() + 1);
    // Less the loop, and with it.
    let (mut short, mut short_with_loop) = (Vec::new(), Vec::new());
    let mut loops = Vec::new();
    for trace in &traces {
        table.begin(name(trace));
        let visited = visited(trace, kinds)?;
        let (measured, empty) = measure(trace, kinds, most, plan.allowance);
        let target = if hot(trace) { HOT } else { SHORT };
        let mut cells = vec![name(trace).to_owned()];
        cells.extend(measured.iter().copied().map(show));
        let whole = with_loop(&measured, empty);
        cells.extend(target.cells(kinds, &whole));
        cells.push(visited);
        loops.push(digits(empty));
        table.row(&cells);
        if !hot(trace) {
            short.push(measured);
            short_with_loop.push(whole);
        }
    }
    if !short.is_empty() {
        let means = geometric_means(&short, kinds.len());
        let whole = geometric_means(&short_with_loop, kinds.len());
        let mut cells = vec![format!("geometric mean of {}, short queues", short.len())];
        cells.extend(means.iter().copied().map(show));
        cells.extend(SHORT.cells(kinds, &whole));
        cells.push(String::new());
        table.row(&cells);
    }
    say!(
        "\nThe empty loop takes {} ns an operation.",
        loops.join(", ")
    );
    Ok(())
}

/// The times with that of the loop.
fn with_loop(net: &[Measured], empty: f64) -> Vec<Measured> {
    let whole = |net: &Measured| Measured {
        median: net.median + empty,
        best: net.best + empty,
    };
    net.iter().map(whole).collect()
}

fn hot(trace: &Trace) -> bool {
    name(trace).starts_with(HOT_SPOT)
}

/// The file's name, without where it is and how it is packed.
fn name(trace: &Trace) -> &str {
    let file = trace.name().rsplit('/').next().unwrap_or_default();
    file.trim_end_matches(".gz").trim_end_matches(".mqt")
}

/// Median and best.
fn show(Measured { median, best }: Measured) -> String {
    format!("{} ({})", digits(median), digits(best))
}

fn geometric_means(rows: &[Vec<Measured>], structures: usize) -> Vec<Measured> {
    let mean = |figures: &dyn Fn(&[Measured]) -> f64| {
        let logarithms = rows
            .iter()
            .map(|row| figures(row).max(f64::MIN_POSITIVE).ln());
        (logarithms.sum::<f64>() / rows.len() as f64).exp()
    };
    let of_structure = |i: usize| Measured {
        median: mean(&|row| row[i].median),
        best: mean(&|row| row[i].best),
    };
    (0..structures).map(of_structure).collect()
}

/// The traces; a directory stands for those in it.
fn read(paths: &[PathBuf]) -> Result<Vec<Trace>, String> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(inside(path)?),
            false => files.push(path.clone()),
        }
    }
    let open = |path| {
        let trace = Trace::open(path).map_err(|error| error.to_string())?;
        match trace.operations().is_empty() {
            true => Err(format!("{}: no operation is in it", trace.name())),
            false => Ok(trace),
        }
    };
    files.iter().map(open).collect()
}

fn inside(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let unread = |error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in directory.read_dir().map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.to_string_lossy().ends_with(".mqt.gz") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(format!(
            "{}: no traces (*.mqt.gz); name others with --traces",
            directory.display()
        ));
    }
    files.sort();
    Ok(files)
}

/// Entries visited by a search in `list`, after every structure's pairings were compared with the
/// recorded ones.
fn visited(trace: &Trace, kinds: &[Kind]) -> Result<String, String> {
    for &kind in kinds {
        let report = check(trace, kind);
        if let Some(mismatch) = report.first_mismatch {
            return Err(format!("{}: {kind}: {mismatch}", trace.name()));
        }
    }
    let list: Report = check(trace, Kind::List);
    Ok(format!(
        "{:.2}, {:.2}",
        list.mean_posted_visited(),
        list.mean_unexpected_visited()
    ))
}

/// Nanoseconds an operation in each structure, the empty loop subtracted, and those of that.
fn measure(trace: &Trace, kinds: &[Kind], most: u32, allowance: Duration) -> (Vec<Measured>, f64) {
    let mut floor = Series::new(Box::new(Floor::new(trace)), most, allowance);
    let mut series: Vec<Series<'_>> = (kinds.iter())
        .map(|&kind| Series::new(timed(trace, kind), most, allowance))
        .collect();
    for _ in 0..most {
        floor.repeat();
        series.iter_mut().for_each(Series::repeat);
    }
    let operations = trace.operations().len() as f64;
    let floor = floor.measured();
    // The same from both, so that the best is not worse than the median.
    let net = |series: Series<'_>| {
        let Measured { median, best } = series.measured();
        Measured {
            median: ((median - floor.median) / operations).max(0.0),
            best: ((best - floor.median) / operations).max(0.0),
        }
    };
    let net = series.into_iter().map(net).collect();
    (net, floor.median / operations)
}

/// The repetitions of one structure.
struct Series<'a> {
    replay: Box<dyn Replay + 'a>,
    wanted: usize,
    times: Vec<Duration>,
}

impl<'a> Series<'a> {
    /// Warms up, which also shows how often the trace fits into the allowance.
    fn new(mut replay: Box<dyn Replay + 'a>, most: u32, allowance: Duration) -> Self {
        let one = replay.repetition().as_secs_f64().max(1e-9);
        let fitting = (allowance.as_secs_f64() / (2.0 * one)) as u32;
        Self {
            replay,
            wanted: fitting.clamp(1, most) as usize,
            times: Vec::new(),
        }
    }

    /// The first replay finds the processor's caches and predictors as the previous structure left them,
    /// which no program does to its engine.
    fn repeat(&mut self) {
        if self.times.len() < self.wanted {
            self.replay.repetition();
            self.times.push(self.replay.repetition());
        }
    }

    /// Nanoseconds.
    fn measured(mut self) -> Measured {
        self.times.sort_unstable();
        let nanoseconds = |at: usize| self.times[at].as_nanos() as f64;
        Measured {
            median: nanoseconds(self.times.len() / 2),
            best: nanoseconds(0),
        }
    }
}
