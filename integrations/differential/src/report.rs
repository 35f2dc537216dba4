//! [`Report`]: what was done and compared, in numbers, and differences in words.

use mq_core::structures::Kind;

use crate::event::Event;
use crate::program::Step;
use crate::rules::Freedom;
use crate::subject::{Counts, Difference, Subjects};

/// Differences that are printed; the rest is counted.
const PRINTED: u64 = 10;
/// Events that are printed with a difference.
const EVENTS: usize = 15;

/// Where in the run a difference was found.
pub(crate) struct Whereabouts<'a> {
    /// The seed of the round.
    pub(crate) seed: u64,
    pub(crate) number: usize,
    /// The step; none after the last one, when the queues are emptied.
    pub(crate) step: Option<&'a Step>,
}

/// What rank 0 has counted.
#[derive(Debug, Default)]
pub(crate) struct Report {
    again: String,
    pub(crate) rounds: u64,
    pub(crate) steps: u64,
    arrived: u64,
    long: u64,
    posted: u64,
    probed: u64,
    extracted: u64,
    cancelled: u64,
    late: u64,
    collectives: u64,
    strict: u64,
    /// Those in which a message met a receive or was shown.
    paired: u64,
    free: u64,
    /// The most receives and messages that waited.
    longest: [usize; 2],
    differences: u64,
}

impl Report {
    /// Nothing yet. `again`, with a seed, is the command that repeats a round.
    pub(crate) fn new(again: String) -> Self {
        Self {
            again,
            ..Self::default()
        }
    }

    /// Counts what the library did, and how many receives and messages wait now.
    pub(crate) fn told(&mut self, event: &Event, freedom: Freedom, lengths: [usize; 2]) {
        for (longest, length) in self.longest.iter_mut().zip(lengths) {
            *longest = length.max(*longest);
        }
        let counter = match event {
            Event::Arrived { message, .. } => {
                self.long += u64::from(message.long);
                &mut self.arrived
            }
            Event::Posted { .. } => &mut self.posted,
            Event::Probed { .. } => &mut self.probed,
            Event::Extracted { .. } => &mut self.extracted,
            Event::Cancelled { done: true, .. } => &mut self.cancelled,
            Event::Cancelled { done: false, .. } => &mut self.late,
            Event::Collective { .. } => &mut self.collectives,
            Event::Empty => return,
        };
        *counter += 1;
        match (event, freedom) {
            (Event::Collective { .. }, _) => {}
            (_, Freedom::Strict) => {
                self.strict += 1;
                self.paired += u64::from(event.is_pairing());
            }
            (_, Freedom::Free) => self.free += 1,
        }
    }

    /// Prints that a structure differs.
    pub(crate) fn differs(&mut self, at: &Whereabouts<'_>, events: &[Event], found: &Difference) {
        self.differences += 1;
        if self.differences > PRINTED {
            return;
        }
        let Difference { structure, answer } = found;
        self.place(at, events, &format!("{structure}: {answer}"));
    }

    /// Prints that the library does not do what MPI demands.
    pub(crate) fn broken(
        &self,
        at: &Whereabouts<'_>,
        events: &[Event],
        why: &str,
        subjects: &Subjects,
    ) {
        let why = format!("the library against MPI's rules: {why}");
        self.place(at, events, &why);
        println!(
            "{} passed, 1 failed, and nothing further was tried",
            self.passed(subjects)
        );
    }

    fn place(&self, at: &Whereabouts<'_>, events: &[Event], what: &str) {
        let Whereabouts { seed, number, step } = at;
        eprintln!("\nDIFFERENCE, {what}");
        match step {
            Some(step) => eprintln!("  seed {seed}, step {number}: {step:?}"),
            None => eprintln!("  seed {seed}, emptying the queues after step {number}"),
        }
        eprintln!("  what the library did, latest last:");
        for event in &events[events.len().saturating_sub(EVENTS)..] {
            eprintln!("    {event}");
        }
        eprintln!("  again: {} --seed {seed}", self.again);
    }

    /// Pairs of a round and a structure without a difference.
    fn passed(&self, subjects: &Subjects) -> u64 {
        subjects
            .results()
            .map(|(.., failed)| self.rounds - failed)
            .sum()
    }

    /// Prints everything; true if there was no difference.
    pub(crate) fn print(&self, subjects: &Subjects) -> bool {
        let Self {
            rounds,
            steps,
            arrived,
            long,
            posted,
            probed,
            extracted,
            cancelled,
            late,
            collectives,
            strict,
            paired,
            free,
            longest: [most_receives, most_messages],
            differences,
            ..
        } = self;
        println!(
            "{rounds} rounds, {steps} steps: {arrived} messages ({long} long), {posted} receives,"
        );
        println!(
            "{probed} probes, {extracted} matched probes, {cancelled} receives cancelled and {late} too late \
             for it, {collectives} collectives"
        );
        println!("at most {most_receives} receives and {most_messages} messages waited");
        println!(
            "MPI defines {strict} of the outcomes, {paired} of them pairings; it leaves {free} pairings to"
        );
        println!("the library, which kept within the rules");
        println!("\n structure | outcomes | left free: | another sender's | rounds with");
        println!("           |  defined |   the same |     turn (legal) | differences");
        println!("-----------+----------+------------+------------------+------------");
        let mut failed = 0;
        for (kind, counts, rounds_failed) in subjects.results() {
            line(kind, counts, rounds_failed);
            failed += rounds_failed;
        }
        println!(
            "\n(each structure twice: published parameters, and small ones with steps in halves)"
        );
        if *differences > PRINTED {
            println!("{differences} differences, of which {PRINTED} are printed above");
        }
        println!("{} passed, {failed} failed", self.passed(subjects));
        failed == 0
    }
}

fn line(kind: Kind, counts: Counts, failed: u64) {
    let Counts {
        strict,
        free_same,
        free_other,
    } = counts;
    println!(" {kind:<9} | {strict:>8} | {free_same:>10} | {free_other:>16} | {failed:>11}");
}
