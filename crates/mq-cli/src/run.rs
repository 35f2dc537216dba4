//! `mq run`: the processes of a program on this machine, supervised by one thread that sleeps until
//! one of them writes or ends, a signal comes, or a deadline passes.

mod asked;
mod ends;
mod guard;
mod lines;
mod orphans;
mod output;
mod proc;
mod ranks;
mod refusals;
mod segment;
mod signals;
mod source;
mod start;
mod stuck;
mod terminal;
mod verdict;
mod watch;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use self::asked::Asked;
use self::guard::Guard;
pub(crate) use self::guard::guard_ranks;
use self::output::Output;
use self::refusals::Refusals;
use self::signals::Signals;
pub(crate) use self::signals::ignored;
use self::source::Source;
use self::start::Started;
pub(crate) use self::start::start_rank;
use self::stuck::Stuck;
use self::terminal::Terminal;
use self::verdict::Verdict;
use self::watch::Watch;
use crate::binding;
use crate::cli::RunOptions;
use crate::error::Error;
use crate::exit::Ended;
use crate::progress::ByLines;
use crate::signals::die_of_interrupt;

/// Runs the processes to their end.
pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Error> {
    run_with(options, None)
}

/// Like [`run`], with a progress bar that advances by the lines that the ranks print.
pub(crate) fn run_with(options: &RunOptions, progress: Option<ByLines>) -> Result<ExitCode, Error> {
    if options.cores.is_some() {
        let cores = binding::cores(options.processes, options.cores.as_ref());
        cores.map_err(|error| Error::Usage(format!("--cores: {error}")))?;
    }
    let launched = launch(options, progress);
    let ended = launched.map_err(|error| Error::Launch(start::explained(&error)))?;
    if ended.is_interrupted {
        die_of_interrupt();
    }
    Ok(ended.code)
}

fn launch(options: &RunOptions, progress: Option<ByLines>) -> io::Result<Ended> {
    let time_limit = options
        .timeout
        .and_then(|limit| Instant::now().checked_add(limit));
    // Before all that opens one.
    let open_files = start::raise_open_files(options.processes)?;
    // Before the first rank starts, so that no end and no signal is missed.
    let signals = Signals::held()?;
    let refusals = Refusals::new()?;
    // Before the segment, which only the ranks inherit.
    let guard = Guard::start().map_err(|error| start::no_process("the ranks' guard", &error))?;
    let segment = segment::segment_for(options.processes)?;
    let Started {
        ranks,
        pipes,
        input,
    } = start::start_all(
        options,
        open_files,
        guard,
        terminal::input(options.stdin),
        &segment,
        &refusals,
    )?;
    let terminal = input.map(Terminal::new).transpose()?;
    if terminal.is_none() {
        start::give_away_input()?;
    }
    let watch = Watch {
        options,
        ranks,
        segment,
        sources: pipes
            .into_iter()
            .map(|pipe| Source::new(pipe, options))
            .collect(),
        terminal,
        signals,
        refusals,
        output: Output::new(progress),
        verdict: Verdict::default(),
        asked: Asked::default(),
        stuck: Stuck::default(),
        time_limit,
        kill_at: None,
        remind_at: None,
    };
    Ok(watch.finish())
}
