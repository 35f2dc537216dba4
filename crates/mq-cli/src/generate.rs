//! `mq generate`: synthetic traces.

use std::io::Write;

use mq_trace::generate::DepthPattern;
use mq_trace::{Header, Line, TraceWriter};

use crate::cli::DepthOptions;
use crate::error::Error;
use crate::{output_file, progress, report};

/// The most operations of a generated trace, some 2 GB of memory.
const MAX_OPERATIONS: u64 = 20_000_000;
/// Operations between two steps of the progress bar.
const STEP: usize = 1024;

/// Writes the trace of a depth pattern.
pub(crate) fn depth(options: &DepthOptions) -> Result<(), Error> {
    let operations = 2 * u64::from(options.depth) * u64::from(options.rounds);
    if operations > MAX_OPERATIONS {
        return Err(Error::Usage(format!(
            "the trace would have {} operations; choose --depth and --rounds so that twice their \
             product is at most {}",
            report::count(operations),
            report::count(MAX_OPERATIONS)
        )));
    }
    let file = options.output.as_ref();
    let file = file.filter(|path| path.as_os_str() != "-");
    file.map_or(Ok(()), |path| output_file::prepare(path))?;
    let pattern = pattern(options);
    let lines = {
        let bar = progress::bar(operations, "matching");
        pattern.resolved(&mut |done| {
            if done.is_multiple_of(STEP) {
                bar.set_position(done as u64);
            }
        })
    };
    let header = header(options, &pattern);
    match file {
        Some(path) => {
            let written = output_file::write(path, |path| {
                let writer = TraceWriter::create(path, &header)?;
                write(writer, &lines)
            });
            written.map_err(|error| Error::write(path, error))
        }
        None => {
            let writer = TraceWriter::new(std::io::stdout().lock(), &header);
            let written = writer.and_then(|writer| write(writer, &lines));
            written.map_err(Error::stdout)
        }
    }
}

fn pattern(options: &DepthOptions) -> DepthPattern {
    DepthPattern {
        depth: options.depth,
        order: options.order,
        filled: options.queue,
        keyed_by: options.by,
        any_source: options.any_source / 100.0,
        any_tag: options.any_tag / 100.0,
        contexts: options.contexts,
        rounds: options.rounds,
        seed: options.seed,
    }
}

/// Everything needed to generate the trace again.
fn header(options: &DepthOptions, pattern: &DepthPattern) -> Header {
    Header::new()
        .with("source", "generated")
        .with("pattern", pattern)
        .with("any_source", options.any_source)
        .with("any_tag", options.any_tag)
        .with("contexts", options.contexts)
        .with("rounds", options.rounds)
        .with("seed", options.seed)
}

fn write(mut writer: TraceWriter<impl Write>, lines: &[Line]) -> std::io::Result<()> {
    let bar = progress::bar(lines.len() as u64, "writing");
    for (i, line) in lines.iter().enumerate() {
        writer.write(line)?;
        if i.is_multiple_of(STEP) {
            bar.set_position(i as u64);
        }
    }
    writer.finish().map(drop)
}
