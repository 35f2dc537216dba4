//! Random operations for a long time, every answer checked, in memory that does not grow.
//!
//! All operations of the engine, over several contexts that come and go, with wildcards, masks,
//! negative tags, stale names, floods, budgets and high-water marks. Each answer is compared with
//! an incremental oracle ([`shadow`]); in windows of operations also with the oracle of `mq-trace`,
//! and there everything that is queued is compared too.

mod shadow;
mod subject;
mod traffic;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use mq_core::structures::Kind;
use mq_core::{Error, Used};

use crate::shadow::{Outcome, Shadow};
use crate::subject::{Reference, Subject};
use crate::traffic::{CONTEXTS, MOST_POSTED, Operation, Source64};

/// How often a window begins, and how long it is.
const WINDOW_EVERY: u64 = 100_000;
const WINDOW: u64 = 1_000;

/// How often the progress bar moves.
const TICK: u64 = 1 << 16;

/// Allocators round, and keep memory for reuse: growth up to this does not count.
const SLACK_KIB: u64 = 1_024;

/// What the queues may hold when they are empty: two slabs and an index of 256 KiB for each
/// context, and the table of sources.
const IDLE_BYTES: usize = (3 * CONTEXTS + 1) * (256 << 10);

#[derive(Parser, Debug)]
#[command(
    name = "soak",
    about = "Random operations for a long time: every answer is checked, and memory must not grow",
    max_term_width = 100,
    after_help = "\
Examples:
  soak                                        10^8 operations on the default structure
  soak --operations 1000000 --structure list,bins,indexed
  soak --seed 7                               other operations

The same seed gives the same operations. Exit codes: 0 all answers were right and memory did not
grow, 1 otherwise, 2 bad usage."
)]
struct Options {
    /// Number of operations
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100_000_000)]
    operations: u64,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Structures that contexts take in turn as they are made, separated by commas
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "indexed",
        value_parser = PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.name()))
            .try_map(|name| name.parse::<Kind>())
    )]
    structure: Vec<Kind>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let bar = ProgressBar::new(options.operations);
    let style = "{wide_bar} {human_pos} of {human_len} operations, {per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
    let soaked = Soak::new(&options).run(options.operations, &bar);
    bar.finish_and_clear();
    match soaked {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("soak: seed {}: {error}", options.seed);
            ExitCode::FAILURE
        }
    }
}

/// How often each outcome was seen.
#[derive(Debug, Default)]
struct Tally {
    queued: u64,
    matched: u64,
    nothing: u64,
    /// By the engine's entries and bytes, a source's entries and bytes.
    refused: [u64; 4],
    /// Without a context, or creating one that is there.
    invalid: u64,
    removed: u64,
    windows: u64,
}

struct Soak {
    source: Source64,
    subject: Subject,
    shadow: Shadow,
    oracle: Option<Reference>,
    tally: Tally,
    began: Instant,
    /// Resident memory after the first tenth.
    warm_kib: Option<u64>,
}

impl Soak {
    fn new(options: &Options) -> Self {
        Self {
            source: Source64::new(options.seed),
            subject: Subject::new(options.structure.clone()),
            shadow: Shadow::new(),
            oracle: None,
            tally: Tally::default(),
            began: Instant::now(),
            warm_kib: None,
        }
    }

    fn run(mut self, operations: u64, bar: &ProgressBar) -> Result<String, String> {
        for context in 0..CONTEXTS {
            let first_rank = self.source.first_rank();
            self.step(Operation::Create(context, first_rank), 0)?;
        }
        println!("| operations | a second | resident KiB | queues KiB | posted | unexpected |");
        println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
        let tenth = (operations / 10).max(1);
        for number in 1..=operations {
            let operation = self.draw(number, number <= tenth);
            self.step(operation, number)?;
            self.window(number)?;
            if number % TICK == 0 {
                bar.set_position(number);
            }
            if number % tenth == 0 {
                bar.suspend(|| self.tenth(number))?;
            }
        }
        self.drain(operations + 1)?;
        if self.tally.windows == 0 {
            return Err(format!(
                "{operations} operations are too few for a window with the oracle"
            ));
        }
        let Tally {
            queued,
            matched,
            nothing,
            refused: [entries, bytes, source_entries, source_bytes],
            invalid,
            removed,
            windows,
        } = self.tally;
        let crossings = self.shadow.crossings;
        Ok(format!(
            "{queued} queued, {matched} matched, {nothing} nothing, {removed} removed, {invalid} \
             without a context\n\
             refused for entries: {entries} by the engine's budget, {source_entries} by a source's; for \
             bytes: {bytes}, {source_bytes}\n\
             {crossings} high marks; {windows} windows equal to the oracle"
        ))
    }

    fn draw(&mut self, number: u64, warming_up: bool) -> Operation {
        let Subject {
            receives, messages, ..
        } = &self.subject;
        match self.source.draw(receives, messages) {
            // It would hide a leak.
            Operation::Clear if !warming_up => Operation::PurgeSome(number % 4),
            Operation::Post(_) | Operation::PostHalves(_) if self.shadow.posted >= MOST_POSTED => {
                Operation::PurgeSome(number % 4)
            }
            operation => operation,
        }
    }

    /// One operation on all that is compared.
    fn step(&mut self, operation: Operation, number: u64) -> Result<(), String> {
        let got = self.subject.perform(&operation, number, &self.shadow);
        let oracle = self.oracle.as_mut();
        let ruled = oracle.map(|oracle| oracle.perform(&operation, number, &self.shadow, &got));
        let expected = self.shadow.perform(&operation, number);
        if expected != got {
            return Err(format!(
                "operation {number}, {operation:?}, should give {expected:?} but gave {got:?}"
            ));
        }
        if let Some(ruled) = ruled
            && !matches!(got, Outcome::Refused(_))
            && ruled != got
        {
            return Err(format!(
                "operation {number}, {operation:?}, gives {ruled:?} by the oracle but gave {got:?}"
            ));
        }
        let used = self.subject.used();
        if used != self.shadow.used {
            let expected = self.shadow.used;
            return Err(format!(
                "after operation {number}, {operation:?}, {expected:?} is used, not {used:?}"
            ));
        }
        if got == Outcome::Queued && self.subject.crossings() != self.shadow.crossings {
            return Err(format!(
                "after operation {number}, {} high marks were reached, not {}",
                self.shadow.crossings,
                self.subject.crossings()
            ));
        }
        self.count(&got);
        Ok(())
    }

    fn count(&mut self, outcome: &Outcome) {
        let tally = &mut self.tally;
        match outcome {
            Outcome::Queued => tally.queued += 1,
            Outcome::Message(..) | Outcome::Receive(..) => tally.matched += 1,
            Outcome::Nothing => tally.nothing += 1,
            Outcome::Refused(error) => match error {
                Error::EntryBudget { .. } => tally.refused[0] += 1,
                Error::ByteBudget { .. } => tally.refused[1] += 1,
                Error::SourceEntryBudget { .. } => tally.refused[2] += 1,
                Error::SourceByteBudget { .. } => tally.refused[3] += 1,
                _ => tally.invalid += 1,
            },
            Outcome::Removed(entries) => tally.removed += entries.len() as u64,
        }
    }

    /// Begins or ends a window in which the oracle is asked too.
    fn window(&mut self, number: u64) -> Result<(), String> {
        match number % WINDOW_EVERY {
            // The first window immediately, so that a short run has one too.
            1 => self.oracle = Some(self.subject.oracle()),
            WINDOW => {
                if let Some(oracle) = self.oracle.take() {
                    self.same_entries(number, &oracle.listed())?;
                    self.tally.windows += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn same_entries(&self, number: u64, expected: &[(usize, bool, u64)]) -> Result<(), String> {
        let queued = self.subject.listed();
        let lengths = (self.shadow.posted, self.shadow.used.entries);
        if queued != expected || queued != self.shadow.listed() || self.subject.lengths() != lengths
        {
            return Err(format!(
                "after operation {number}, other entries are queued than should be"
            ));
        }
        Ok(())
    }

    /// A row of figures; memory must not have grown since the first.
    fn tenth(&mut self, number: u64) -> Result<(), String> {
        self.same_entries(number, &self.shadow.listed())?;
        let (posted, unexpected) = self.subject.lengths();
        let resident = resident_kib();
        let shown = resident.map_or_else(|| "unknown".into(), |kib| kib.to_string());
        println!(
            "| {number} | {} | {shown} | {} | {posted} | {unexpected} |",
            per_second(number, self.began.elapsed()),
            self.subject.bytes() >> 10,
        );
        let Some(now) = resident else { return Ok(()) };
        let warm = *self.warm_kib.get_or_insert(now);
        if now > warm + SLACK_KIB {
            return Err(format!(
                "resident memory grew from {warm} KiB after the first tenth to {now} KiB"
            ));
        }
        Ok(())
    }

    /// Takes everything out; nothing may be counted then, and little held.
    fn drain(&mut self, number: u64) -> Result<(), String> {
        for context in 0..CONTEXTS {
            if self.shadow.exists(context) {
                self.step(Operation::Free(context), number)?;
            }
        }
        let (used, bytes) = (self.subject.used(), self.subject.bytes());
        if used != Used::default() || bytes > IDLE_BYTES {
            return Err(format!("empty queues use {used:?} and hold {bytes} bytes"));
        }
        println!("\nempty queues hold {} KiB", bytes >> 10);
        Ok(())
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate for people to read"
)]
fn per_second(operations: u64, time: Duration) -> u64 {
    (operations as f64 / time.as_secs_f64()) as u64
}

/// Resident memory of this process, if the system reports it in `/proc`.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
