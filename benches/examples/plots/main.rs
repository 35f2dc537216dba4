//! Draws what the printed documents say, as SVG, so that nobody has to read tables to see what stands out.

mod document;
mod draw;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use plotters::style::RGBColor;

use crate::document::{Table, origin};
use crate::draw::{BYTES, Line, Panel, Plot, Style};

#[derive(Parser, Debug)]
#[command(
    name = "plots",
    about = "Draws plots of the printed results",
    max_term_width = 100,
    after_help = "\
Reads engine-MAKER.md and node-MAKER.md in the folder, and writes engine-depth-MAKER.svg,
engine-wildcards-MAKER.svg and node-MAKER.svg into its folder `plots`.

Examples:
  plots                    docs/measured, of both makers
  plots --check            whether the plots in docs/measured/plots are those of the documents

Exit codes: 0 written or current, 1 a document lacks a table or a plot is not current, 2 bad usage."
)]
struct Options {
    /// The folder of the documents
    #[arg(default_value = "docs/measured")]
    folder: PathBuf,
    /// Write nothing; fail if a plot is not current
    #[arg(long)]
    check: bool,
}

/// Who has made the processors of the documents.
const MAKERS: [&str; 2] = ["amd", "intel"];

const fn style(legend: &'static str, color: (u8, u8, u8), width: u32) -> Style {
    let (red, green, blue) = color;
    Style {
        legend,
        color: RGBColor(red, green, blue),
        width,
    }
}

const OTHERS: Style = style("other published ones", (0xbb, 0xbb, 0xbb), 1);
const ORANGE: (u8, u8, u8) = (0xd5, 0x5e, 0x00);
const BLUE: (u8, u8, u8) = (0x1f, 0x6f, 0xb4);
const GREEN: (u8, u8, u8) = (0x00, 0x9e, 0x73);
const VIOLET: (u8, u8, u8) = (0x6a, 0x3d, 0x9a);
const GREY: (u8, u8, u8) = (0x77, 0x77, 0x77);
const SKY: (u8, u8, u8) = (0x56, 0xb4, 0xe9);

/// The columns of the engine's tables, those that are to lie above last.
const STRUCTURES: [(&str, Style); 13] = [
    ("threshold", OTHERS),
    ("rbtree", OTHERS),
    ("adaptive", OTHERS),
    ("pnp", OTHERS),
    ("col", OTHERS),
    ("col+pnp", OTHERS),
    ("clusters", OTHERS),
    ("4d", style("4d", VIOLET, 2)),
    ("bins", style("bins", GREEN, 2)),
    ("array", style("array (Open MPI)", BLUE, 2)),
    ("list", style("list (MPICH)", GREY, 2)),
    ("bare table", style("a bare hash table", SKY, 1)),
    ("indexed", style("indexed, the default", ORANGE, 3)),
];

const PAIR: &str = "ns a pair";
const BARE: &str = "the bare machine";

/// The columns of the tables of messages.
const LIBRARIES: [(&str, Style); 4] = [
    ("openmpi", style("Open MPI", BLUE, 2)),
    ("mpich", style("MPICH, ch4", GREEN, 2)),
    ("nemesis", style("MPICH, ch3:nemesis", VIOLET, 2)),
    ("ours", style("mq", ORANGE, 3)),
];

fn engine_depth(document: &str) -> Result<Plot, String> {
    let table = Table::after(document, "## Rows")?;
    let panel = |key: &str| {
        let line = |&(column, style): &(&str, Style)| {
            let point = |depth: u32| {
                let order = if depth == 1 { "forward" } else { "random" };
                let stream = format!("{depth} posted by {key}, {order}");
                let found = table.numbers(column, &[("stream", &stream)])?;
                Ok::<_, String>((f64::from(depth), found[0]))
            };
            let points = [1, 4, 64, 4096, 65536].map(point).into_iter();
            let points = points.collect::<Result<Vec<_>, String>>()?;
            Ok::<_, String>(Line { style, points })
        };
        let lines = STRUCTURES.iter().map(line).collect::<Result<_, _>>()?;
        Ok::<_, String>(Panel {
            title: format!("receives that differ by {key}, taken at random"),
            x: "receives in the queue",
            y: PAIR,
            lines,
        })
    };
    Ok(Plot {
        title: "Time of a post and an arrival, by the number of receives that wait",
        origin: origin(document)?,
        panels: vec![panel("source")?, panel("tag")?],
    })
}

fn engine_wildcards(document: &str) -> Result<Plot, String> {
    let table = Table::after(document, "## Wildcards")?;
    let panel = |queue: &str, class: &str, title: &str| {
        let line = |&(column, style): &(&str, Style)| {
            let point = |entries: u32| {
                let of = [
                    ("queue", queue),
                    ("wildcards", class),
                    ("entries", &entries.to_string()),
                ];
                Ok::<_, String>((f64::from(entries), table.numbers(column, &of)?[0]))
            };
            let points = [64, 4096, 65536].map(point).into_iter();
            let points = points.collect::<Result<Vec<_>, String>>()?;
            Ok::<_, String>(Line { style, points })
        };
        let lines = STRUCTURES.iter().map(line).collect::<Result<_, _>>()?;
        Ok::<_, String>(Panel {
            title: title.into(),
            x: "entries in the queue",
            y: PAIR,
            lines,
        })
    };
    Ok(Plot {
        title: "The same where a tenth of the receives has a wildcard, in queues of steady length",
        origin: origin(document)?,
        panels: vec![
            panel("posted", "10 % `ANY_SOURCE`", "posted, ANY_SOURCE")?,
            panel("unexpected", "10 % `ANY_SOURCE`", "unexpected, ANY_SOURCE")?,
            panel("posted", "10 % `ANY_TAG`", "posted, ANY_TAG")?,
        ],
    })
}

fn node(document: &str) -> Result<Plot, String> {
    let latency = Table::after(document, "Ping-pong, one way (ns)")?;
    let bandwidth = Table::after(document, "Bandwidth (GB/s")?;
    let lines = |table: &Table, of: &[(&str, &str)], bare: (&'static str, Style)| {
        let sizes = table.numbers("size", of)?;
        let line = |&(column, style): &(&str, Style)| {
            let values = table.numbers(column, of)?;
            let points = sizes.iter().copied().zip(values);
            // No bytes have no place on a logarithmic axis.
            let points = points.filter(|&(size, _)| size > 0.0).collect();
            Ok::<_, String>(Line { style, points })
        };
        let all = core::iter::once(&bare).chain(&LIBRARIES);
        all.map(line).collect::<Result<Vec<_>, _>>()
    };
    let bare = |column, legend| (column, style(legend, SKY, 1));
    let line = bare("1 line", BARE);
    let copy = bare("memcpy", BARE);
    Ok(Plot {
        title: "Messages between two processes",
        origin: origin(document)?,
        panels: vec![
            Panel {
                title: "ping-pong (bare: one cache line)".into(),
                x: BYTES,
                y: "ns one way",
                lines: lines(&latency, &[], line)?,
            },
            Panel {
                title: "windows of messages (bare: memcpy)".into(),
                x: BYTES,
                y: "GB/s",
                lines: lines(&bandwidth, &[("by", "window")], copy)?,
            },
            Panel {
                title: "ping-pong (bare: memcpy)".into(),
                x: BYTES,
                y: "GB/s",
                lines: lines(&bandwidth, &[("by", "pingpong")], copy)?,
            },
        ],
    })
}

type Maker = fn(&str) -> Result<Plot, String>;

const PLOTS: [(&str, &str, Maker); 3] = [
    ("engine", "engine-depth", engine_depth),
    ("engine", "engine-wildcards", engine_wildcards),
    ("node", "node", node),
];

/// Writes a plot, or says whether it is current.
fn handle(options: &Options, maker: &str, of: &str, name: &str, plot: Maker) -> Result<(), String> {
    let source = options.folder.join(format!("{of}-{maker}.md"));
    let target = options
        .folder
        .join("plots")
        .join(format!("{name}-{maker}.svg"));
    let said = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let document = fs::read_to_string(&source).map_err(|error| said(&source, &error))?;
    let plot = plot(&document).map_err(|error| said(&source, &error))?;
    let svg = draw::draw(&plot).map_err(|error| said(&target, &error))?;
    if !options.check {
        return fs::write(&target, svg).map_err(|error| said(&target, &error));
    }
    match fs::read_to_string(&target) {
        Ok(found) if found == svg => Ok(()),
        Ok(_) => Err(said(
            &target,
            &"not current: draw it anew (ci/plots.sh --write)",
        )),
        Err(error) => Err(said(&target, &error)),
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut failed = false;
    for maker in MAKERS {
        for (of, name, plot) in PLOTS {
            if let Err(error) = handle(&options, maker, of, name, plot) {
                eprintln!("plots: {error}");
                failed = true;
            }
        }
    }
    if failed {
        return ExitCode::FAILURE;
    }
    let plots = MAKERS.len() * PLOTS.len();
    println!(
        "{plots} plots {}",
        if options.check {
            "are current"
        } else {
            "written"
        }
    );
    ExitCode::SUCCESS
}
