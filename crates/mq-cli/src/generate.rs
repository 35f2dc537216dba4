//! `mq generate`: synthetic traces.

mod depth;
mod fit;
mod workload;

use std::collections::TryReserveError;
use std::io::Write;
use std::path::Path;

use mq_trace::generate::Model;
use mq_trace::{Header, Line, TraceWriter};

use crate::cli::GenerateCommand;
use crate::error::Error;
use crate::{output_file, progress, report};

/// The most operations of a generated trace, some 2 GB of memory.
const MAX_OPERATIONS: u64 = 20_000_000;
/// Operations between two steps of the progress bar.
const STEP: usize = 1024;

/// Writes the trace that is asked for.
pub(crate) fn run(command: &GenerateCommand) -> Result<(), Error> {
    match command {
        GenerateCommand::Depth(options) => depth::run(options),
        GenerateCommand::Halo(options) => {
            workload::run(Model::Halo(options.neighbors), &options.process)
        }
        GenerateCommand::Gather(options) => {
            let (order, filled) = (options.order, options.queue);
            workload::run(Model::Gather { order, filled }, &options.process)
        }
        GenerateCommand::Nbody(options) => workload::run(Model::Nbody, &options.process),
        GenerateCommand::Radix(options) => {
            workload::run(Model::Radix(options.keys), &options.process)
        }
        GenerateCommand::Amr(options) => workload::run(Model::Amr, &options.process),
        GenerateCommand::Fds(options) => workload::run(Model::Fds, &options.process),
    }
}

/// Refuses a trace with too many operations; `choose` says what to choose instead, up to the number.
fn limit(operations: u64, choose: &str) -> Result<(), Error> {
    if operations > MAX_OPERATIONS {
        return Err(Error::Usage(format!(
            "the trace would have {} operations; {choose} at most {}",
            report::count(operations),
            report::count(MAX_OPERATIONS)
        )));
    }
    Ok(())
}

/// Makes a trace, with a progress bar over its operations, and writes it to a file or to standard output.
fn write(
    output: Option<&Path>,
    header: &Header,
    operations: u64,
    make: impl FnOnce(&mut dyn FnMut(usize)) -> Result<Vec<Line>, TryReserveError>,
) -> Result<Vec<Line>, Error> {
    let file = output.filter(|path| *path != Path::new("-") && !output_file::is_stdout(path));
    file.map_or(Ok(()), output_file::prepare)?;
    let lines = {
        let bar = progress::bar(operations, "matching");
        make(&mut |done| {
            if done.is_multiple_of(STEP) {
                bar.set_position(done as u64);
            }
        })
        .map_err(|_| short_of_memory(&format!("{} operations", report::count(operations))))?
    };
    match file {
        Some(path) => {
            let packed = path
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
            let written = output_file::write(path, |file| {
                let writer = match packed {
                    true => TraceWriter::gzip(file, header)?,
                    false => TraceWriter::new(file, header)?,
                };
                write_lines(writer, &lines)
            });
            written.map_err(|error| Error::write(path, error))?;
        }
        None => {
            let writer = TraceWriter::new(std::io::stdout().lock(), header);
            let written = writer.and_then(|writer| write_lines(writer, &lines));
            written.map_err(Error::stdout)?;
        }
    }
    Ok(lines)
}

fn short_of_memory(what: &str) -> Error {
    Error::Usage(format!(
        "not enough memory for {what}; give the process more, or choose fewer --rounds"
    ))
}

fn write_lines(mut writer: TraceWriter<impl Write>, lines: &[Line]) -> std::io::Result<()> {
    let bar = progress::bar(lines.len() as u64, "writing");
    for (i, line) in lines.iter().enumerate() {
        writer.write(line)?;
        if i.is_multiple_of(STEP) {
            bar.set_position(i as u64);
        }
    }
    writer.finish().map(drop)
}
