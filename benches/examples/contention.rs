//! Pairs of post and arrive per second from several threads: the shared engine against an engine
//! behind one lock.
//!
//! Each thread repeatedly posts a receive and delivers its message. Rounds of all measurements are
//! interleaved and medians taken, so that disturbances of the machine affect all alike.
//! `contention --help` lists the options.

use std::fmt;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use mq_benches::say;
use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Arrive, ContextOptions, Engine, EngineOptions, Post, Source};
use parking_lot::Mutex;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;

type Queues = Indexed<MpiPattern, u32, u32>;

/// Pairs of post and arrive per second from several threads.
#[derive(Parser)]
struct Arguments {
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8], value_parser = clap::value_parser!(u32).range(1..))]
    threads: Vec<u32>,
    /// Pairs that each thread does in a round.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Rounds, of which the median is printed.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Nanoseconds that each thread works for itself after each pair.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    work: u64,
    /// Shards of a divided context; twice the processors unless set.
    #[arg(long)]
    shards: Option<usize>,
    /// Processors to bind the threads to, in turn; otherwise all that this program may use.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..CpuSet::MAX_CPU as i64))]
    cores: Vec<u32>,
    /// How to print the table.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Columns.
    Text,
    /// One JSON array of objects.
    Json,
    /// A Markdown table, a column for each number of threads.
    Markdown,
}

/// What the threads do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Each has a context of its own.
    Separate,
    /// One context, without wildcards by promise.
    Promised,
    /// One context that admits wildcards, of which none is posted.
    Exact,
    /// One context; one receive in ten is for any source.
    AnySource,
}

impl Work {
    const ALL: [Self; 4] = [Self::Separate, Self::Promised, Self::Exact, Self::AnySource];

    fn context(self, thread: u32) -> u32 {
        if self == Self::Separate { thread } else { 0 }
    }

    fn options(self) -> ContextOptions {
        match self {
            Self::Promised => ContextOptions::new().no_any_source().no_any_tag(),
            _ => ContextOptions::new(),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Separate => "separate contexts",
            Self::Promised => "one context, no wildcards promised",
            Self::Exact => "one context, wildcards allowed",
            Self::AnySource => "one context, 10 % any source",
        })
    }
}

/// The engine that does the matching.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// `Mutex<Engine>`.
    Locked,
    /// `SharedEngine`, the context found by its number.
    ByNumber,
    /// `SharedContext`.
    ByHandle,
    /// `SharedContext`, divided from the beginning.
    Divided,
}

impl Subject {
    const ALL: [Self; 4] = [Self::Locked, Self::ByNumber, Self::ByHandle, Self::Divided];
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Locked => "locked engine",
            Self::ByNumber => "shared, by number",
            Self::ByHandle => "shared, by handle",
            Self::Divided => "shared, divided",
        })
    }
}

/// The operations of a pair, as one thread does them.
trait Matcher: Sync {
    fn post(&self, pattern: MpiPattern, receive: u32) -> bool;
    fn arrive(&self, envelope: MpiEnvelope, message: u32) -> bool;
}

impl Matcher for Mutex<Engine<Queues>> {
    fn post(&self, pattern: MpiPattern, receive: u32) -> bool {
        matches!(self.lock().post(pattern, receive), Ok(Post::Queued(_)))
    }
    fn arrive(&self, envelope: MpiEnvelope, message: u32) -> bool {
        matches!(
            self.lock().arrive(envelope, message),
            Ok(Arrive::Matched { .. })
        )
    }
}

impl Matcher for SharedEngine<Queues> {
    fn post(&self, pattern: MpiPattern, receive: u32) -> bool {
        matches!(self.post(pattern, receive), Ok(Post::Queued(_)))
    }
    fn arrive(&self, envelope: MpiEnvelope, message: u32) -> bool {
        matches!(self.arrive(envelope, message), Ok(Arrive::Matched { .. }))
    }
}

impl Matcher for SharedContext<Queues> {
    fn post(&self, pattern: MpiPattern, receive: u32) -> bool {
        matches!(self.post(pattern, receive), Ok(Post::Queued(_)))
    }
    fn arrive(&self, envelope: MpiEnvelope, message: u32) -> bool {
        matches!(self.arrive(envelope, message), Ok(Arrive::Matched { .. }))
    }
}

/// One thread's pairs. Each thread has its own tag, so each of its messages takes its own receive.
fn pairs(matcher: &impl Matcher, work: Work, thread: u32, count: u32, own: Duration) {
    let context = work.context(thread);
    let tag = i32::try_from(thread).expect("few threads");
    for number in 0..count {
        let (context, sender, tag) = black_box((context, thread, tag));
        let any = work == Work::AnySource && number % 10 == 0;
        let source = if any {
            Source::Any
        } else {
            Source::from(sender)
        };
        let queued = matcher.post(MpiPattern::new(context, source, tag), number);
        let matched = matcher.arrive(MpiEnvelope::new(context, sender, tag), number);
        assert!(queued && matched, "a pair of thread {thread}");
        if !own.is_zero() {
            let begin = Instant::now();
            while begin.elapsed() < own {}
        }
    }
}

/// The processors to bind threads to: those requested, or all that this program may use.
fn processors(arguments: &Arguments) -> Vec<u32> {
    if !arguments.cores.is_empty() {
        return arguments.cores.clone();
    }
    let allowed = sched_getaffinity(None).expect("the system tells the processors");
    (0..CpuSet::MAX_CPU as u32)
        .filter(|&cpu| allowed.is_set(cpu as usize))
        .collect()
}

/// Binds the calling thread to one of the processors in turn, as libraries do: a round is over before the
/// system has moved two threads that began on the same processor apart.
fn bind(thread: u32, processors: &[u32]) -> rustix::io::Result<()> {
    let mut own = CpuSet::new();
    own.set(processors[thread as usize % processors.len()] as usize);
    sched_setaffinity(None, &own)
}

/// Seconds from the moment the first thread begins to the moment the last has finished.
///
/// The threads read the clock themselves: with as many threads as processors, a thread that only waits
/// for them would see the beginning late.
fn seconds<T: Matcher>(
    matchers: &[T],
    work: Work,
    arguments: &Arguments,
    processors: &[u32],
) -> f64 {
    let (count, own) = (arguments.pairs, Duration::from_nanos(arguments.work));
    let ready = Barrier::new(matchers.len());
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(matchers)
            .map(|(thread, matcher)| {
                let ready = &ready;
                scope.spawn(move || {
                    bind(thread, processors).expect("main has tried them all");
                    pairs(matcher, work, thread, count / 4, own);
                    ready.wait();
                    let begin = Instant::now();
                    pairs(matcher, work, thread, count, own);
                    (begin, Instant::now())
                })
            })
            .collect();
        let spans = threads.into_iter().map(ScopedJoinHandle::join);
        spans.map(|span| span.expect("all pairs match")).collect()
    });
    let begin = spans.iter().map(|span| span.0).min();
    let end = spans.iter().map(|span| span.1).max();
    match (begin, end) {
        (Some(begin), Some(end)) => (end - begin).as_secs_f64(),
        _ => f64::NAN,
    }
}

impl<T: Matcher> Matcher for &T {
    fn post(&self, pattern: MpiPattern, receive: u32) -> bool {
        (*self).post(pattern, receive)
    }
    fn arrive(&self, envelope: MpiEnvelope, message: u32) -> bool {
        (*self).arrive(envelope, message)
    }
}

/// Million pairs per second of all threads together.
fn measure(
    subject: Subject,
    work: Work,
    threads: u32,
    arguments: &Arguments,
    processors: &[u32],
) -> f64 {
    let count = arguments.pairs;
    let contexts = if work == Work::Separate { threads } else { 1 };
    let spent = if subject == Subject::Locked {
        let mut engine = Engine::new();
        for context in 0..contexts {
            let created = engine.create_context(context, work.options());
            created.expect("it is new");
        }
        let engine = Mutex::new(engine);
        let matchers: Vec<_> = (0..threads).map(|_| &engine).collect();
        seconds(&matchers, work, arguments, processors)
    } else {
        let mut sharding = Sharding::new();
        if let Some(shards) = arguments.shards {
            sharding = sharding.shards(shards);
        }
        if subject == Subject::Divided {
            sharding = sharding.divide(Divide::AtOnce);
        }
        let engine = SharedEngine::with_options(EngineOptions::new(), sharding);
        let created: Vec<_> = (0..contexts)
            .map(|context| engine.create_context(context, work.options()))
            .map(|created| created.expect("it is new"))
            .collect();
        if subject == Subject::ByNumber {
            let matchers: Vec<_> = (0..threads).map(|_| &engine).collect();
            seconds(&matchers, work, arguments, processors)
        } else {
            let context = |thread| created[work.context(thread) as usize].clone();
            let matchers: Vec<_> = (0..threads).map(context).collect();
            seconds(&matchers, work, arguments, processors)
        }
    };
    f64::from(threads) * f64::from(count) / spent / 1e6
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// A line of the table.
struct Row {
    work: Work,
    subject: Subject,
    threads: u32,
    rate: f64,
    /// Against the first number of threads.
    scaling: f64,
    /// Against the locked engine with as many threads.
    gain: f64,
}

fn rows(arguments: &Arguments, processors: &[u32]) -> Vec<Row> {
    let cases: Vec<(Work, Subject, u32)> = Work::ALL
        .into_iter()
        .flat_map(|work| Subject::ALL.map(|subject| (work, subject)))
        .flat_map(|(work, subject)| arguments.threads.iter().map(move |&t| (work, subject, t)))
        .collect();
    let mut rates = vec![Vec::new(); cases.len()];
    for _ in 0..arguments.rounds.max(1) {
        for (&(work, subject, threads), rates) in cases.iter().zip(&mut rates) {
            rates.push(measure(subject, work, threads, arguments, processors));
        }
    }
    let medians: Vec<f64> = rates.into_iter().map(median).collect();
    let rate_of = |wanted: (Work, Subject, u32)| {
        let position = cases.iter().position(|&case| case == wanted);
        position.map_or(f64::NAN, |position| medians[position])
    };
    let first = arguments.threads.first().copied().unwrap_or(1);
    let row = |(&(work, subject, threads), &rate): (&(Work, Subject, u32), &f64)| Row {
        work,
        subject,
        threads,
        rate,
        scaling: rate / rate_of((work, subject, first)),
        gain: rate / rate_of((work, Subject::Locked, threads)),
    };
    cases.iter().zip(&medians).map(row).collect()
}

fn main() {
    let arguments = Arguments::parse();
    let processors = processors(&arguments);
    // In a separate thread: a bound thread passes its binding on to the threads it starts.
    let unusable = std::thread::scope(|scope| {
        let tried = scope.spawn(|| {
            (0..)
                .zip(&processors)
                .find(|(at, _)| bind(*at, &processors).is_err())
        });
        tried.join().expect("nothing in it panics")
    });
    if let Some((_, processor)) = unusable {
        eprintln!("contention: --cores: processor {processor} cannot be used");
        std::process::exit(2);
    }
    let rows = rows(&arguments, &processors);
    match arguments.format {
        Format::Text => print_text(&rows),
        Format::Json => print_json(&rows),
        Format::Markdown => print_markdown(&rows, &arguments),
    }
}

fn print_markdown(rows: &[Row], arguments: &Arguments) {
    say!(
        "Million pairs a second, medians of {} interleaved rounds; in brackets against one engine behind a lock, at as \
         many threads.\n",
        arguments.rounds
    );
    let numbers: Vec<String> = arguments.threads.iter().map(u32::to_string).collect();
    say!("| work | engine | {} |", numbers.join(" | "));
    say!("| --- | --- |{}", " ---: |".repeat(numbers.len()));
    for line in rows.chunks(numbers.len()) {
        let cells: String = (line.iter())
            .map(|row| format!(" {:.2} ({:.2}) |", row.rate, row.gain))
            .collect();
        say!("| {} | {} |{cells}", line[0].work, line[0].subject);
    }
}

fn print_json(rows: &[Row]) {
    let objects: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "work": row.work.to_string(),
                "engine": row.subject.to_string(),
                "threads": row.threads,
                "million_pairs_per_second": row.rate,
                "against_first": row.scaling,
                "against_locked": row.gain,
            })
        })
        .collect();
    say!("{}", json!(objects));
}

fn print_text(rows: &[Row]) {
    say!(
        "{:<36}{:<20}{:>8}{:>10}{:>9}{:>10}",
        "work",
        "engine",
        "threads",
        "Mpairs/s",
        "scaling",
        "x locked"
    );
    for row in rows {
        say!(
            "{:<36}{:<20}{:>8}{:>10.2}{:>9.2}{:>10.2}",
            row.work,
            row.subject,
            row.threads,
            row.rate,
            row.scaling,
            row.gain
        );
    }
}
