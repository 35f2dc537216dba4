//! The loop that supervises a run.
//!
//! The first rank that fails begins the end of the others: SIGTERM, and SIGKILL after a while. One that dies of a
//! signal that was passed on has not failed: all have been told the same, and those that do something first, such as
//! writing a checkpoint, are waited for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

use super::asked::{Asked, IN_A_ROW, PATIENCE};
use super::output::{Output, Stream};
use super::ranks::{End, Ranks};
use super::refusals::Refusals;
use super::segment::Segment;
use super::signals::{self, Signals};
use super::source::{Source, Took};
use super::stuck::Stuck;
use super::terminal::Terminal;
use super::verdict::Verdict;
use crate::FAILED;
use crate::cli::RunOptions;
use crate::exit::Ended;
use crate::signals::THE_SAME;

/// How often a launcher in the background checks whether it may read the terminal.
const FOREGROUND_CHECK: Duration = Duration::from_secs(1);

/// The most ranks that are named at the time limit.
const MOST_NAMED: usize = 16;

/// How long what ranks have started may go on after the last of them: a `tee` of a rank ends by itself when it has
/// written the last lines.
const LAST_LINES: Duration = Duration::from_millis(500);

/// A run and all that is watched.
pub(super) struct Watch<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) ranks: Ranks,
    pub(super) segment: Segment,
    pub(super) sources: Vec<Source>,
    pub(super) terminal: Option<Terminal>,
    pub(super) signals: Signals,
    pub(super) refusals: Refusals,
    pub(super) output: Output,
    pub(super) verdict: Verdict,
    /// Which signal asked the ranks to end, and how often.
    pub(super) asked: Asked,
    /// Ranks that SIGKILL has not ended.
    pub(super) stuck: Stuck,
    /// When `--timeout` expires.
    pub(super) time_limit: Option<Instant>,
    /// When ranks that were asked to end are killed.
    pub(super) kill_at: Option<Instant>,
    /// When it is said that ranks are waited for, though a signal that was passed on has ended others.
    pub(super) remind_at: Option<Instant>,
}

/// What has become ready.
#[derive(Default)]
struct Ready {
    signals: bool,
    /// Nobody reads standard output any more.
    unread: bool,
    terminal: bool,
    /// Positions in the list of sources, ascending.
    sources: Vec<usize>,
}

impl Watch<'_> {
    /// Watches until nothing is left of the run.
    pub(super) fn finish(mut self) -> Ended {
        while self.ranks.running() > 0 && self.stuck.given_up_by().is_none() {
            self.output.flush();
            let ready = self.wait(self.next_deadline());
            self.read(&ready.sources);
            self.heed_reader(&ready);
            if ready.terminal && !self.terminal.as_mut().is_some_and(Terminal::step) {
                self.terminal = None;
            }
            if ready.signals {
                self.heed_signals();
            }
            self.heed_time();
        }
        self.wait_for_last_lines();
        // Processes that the ranks left behind would hold the pipes open.
        for sentence in self.ranks.clear() {
            self.output.say(&sentence);
        }
        let given_up_by = self.stuck.given_up_by();
        if let Some(sentence) = self.verdict.last_word(self.options.processes)
            && given_up_by.is_none()
        {
            self.output.say(&sentence);
        }
        if let Some(signal) = self.hand_over_the_rest().or(given_up_by) {
            return Ended {
                code: End::Killed(signal).code().into(),
                is_interrupted: signal == SIGINT,
            };
        }
        let otherwise = if self.output.failed() { FAILED } else { 0 };
        let code = self.verdict.code(otherwise);
        let is_interrupted = self.verdict.interrupted() == Some(SIGINT);
        Ended {
            code: code.into(),
            is_interrupted: is_interrupted && code == End::Killed(SIGINT).code(),
        }
    }

    fn wait_for_last_lines(&mut self) {
        self.terminal = None;
        let enough = Instant::now() + LAST_LINES;
        while self.ranks.have_left_others() && Instant::now() < enough {
            self.output.flush();
            // The end of one of them is a signal.
            let ready = self.wait(Some(enough));
            self.read(&ready.sources);
            self.heed_reader(&ready);
            if ready.signals {
                self.heed_signals();
            }
        }
    }

    /// Waits until something is ready or the deadline passes. It must not write anything: a caller that
    /// waits because something is left to write would not be woken if that were written here.
    fn wait(&self, deadline: Option<Instant>) -> Ready {
        let mut fds = vec![PollFd::from_borrowed_fd(
            self.signals.awaited(),
            PollFlags::IN,
        )];
        let output = self.output.awaited();
        fds.extend(output.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        let standard_output = fds.len();
        fds.extend(
            self.output
                .watched()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::empty())),
        );
        let terminal = fds.len();
        fds.extend(self.terminal.as_ref().and_then(Terminal::awaited));
        let sources = fds.len();
        let sources_now = self.sources.iter().enumerate();
        let wanted: Vec<usize> = sources_now
            .filter(|(_, source)| !self.output.full(source.stream()))
            .map(|(i, _)| i)
            .collect();
        let pipes = wanted.iter().map(|&i| self.sources[i].awaited());
        fds.extend(pipes.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| left.try_into().ok());
        if poll(&mut fds, left.as_ref()).is_err() {
            // Interrupted by a signal, which the next wait finds.
            return Ready::default();
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let pipes = wanted.iter().zip(&fds[sources..]);
        Ready {
            signals: is_ready(&fds[0]),
            unread: fds[standard_output..terminal].iter().any(is_ready),
            terminal: fds[terminal..sources].iter().any(is_ready),
            sources: pipes
                .filter(|(_, fd)| is_ready(fd))
                .map(|(&i, _)| i)
                .collect(),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let waits = self
            .terminal
            .as_ref()
            .is_some_and(|terminal| terminal.awaited().is_none());
        let check = waits.then(|| Instant::now() + FOREGROUND_CHECK);
        let stuck = self.stuck.deadline();
        [self.kill_at, stuck, self.remind_at, self.time_limit, check]
            .into_iter()
            .flatten()
            .min()
    }

    /// Passes on what ranks have written, and forgets streams that have ended.
    fn read(&mut self, ready: &[usize]) {
        // In order: of what one rank wrote to both streams at the same time, standard output comes first.
        let mut ended = Vec::new();
        for &i in ready {
            if self.sources[i].take(&mut self.output) == Took::Ended {
                ended.push(i);
            }
        }
        for i in ended.into_iter().rev() {
            self.sources.remove(i);
        }
    }

    /// Nobody may read standard output any more: then who writes there is to know at once.
    fn heed_reader(&mut self, ready: &Ready) {
        if ready.unread {
            self.output.nobody_reads();
            self.sources.retain(|source| source.stream() != Stream::Out);
        }
    }

    fn heed_signals(&mut self) {
        let mut come: VecDeque<i32> = self.signals.come().into();
        // They come by number: which of the two was first is not known, and to run on is no harm.
        let has_continued = come.contains(&SIGCONT);
        while let Some(signal) = come.pop_front() {
            match signal {
                SIGCHLD => self.heed_children(),
                SIGTSTP if !signals::may_stop() => {}
                SIGTSTP => {
                    self.pass_on(SIGTSTP);
                    come.extend(self.signals.come());
                    // One that has come meanwhile would not wake a launcher that has stopped.
                    if !come.contains(&SIGCONT) && !has_continued {
                        signals::stop();
                    }
                    self.pass_on(SIGCONT);
                }
                other => self.pass_on(other),
            }
        }
    }

    fn pass_on(&mut self, signal: i32) {
        self.verdict.record_passed_on(signal);
        if matches!(signal, SIGINT | SIGTERM) {
            match self.asked.once_more(signal, Instant::now()) {
                None => return,
                Some(_) if self.stuck.is_told() => return self.give_up(signal),
                Some(..PATIENCE) => {}
                Some(PATIENCE) => self.output.say(&format!(
                    "{} of {} still running after {PATIENCE} times {}; another one in {} to {} s kills them",
                    self.ranks.running(),
                    self.options.processes,
                    signals::describe(signal),
                    THE_SAME.as_secs(),
                    IN_A_ROW.as_secs()
                )),
                _ => {
                    self.verdict.ending = true;
                    return self.kill();
                }
            }
        }
        if let Some(sendable) = signals::sendable(signal) {
            self.ranks.send(sendable);
        }
        if matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT) {
            self.ranks.wake();
        }
    }

    fn heed_time(&mut self) {
        let now = Instant::now();
        if self.time_limit.is_some_and(|limit| limit <= now) {
            self.time_limit = None;
            self.heed_time_limit();
        }
        if self.remind_at.is_some_and(|deadline| deadline <= now) {
            self.remind_at = None;
            self.remind();
        }
        if self.kill_at.is_some_and(|deadline| deadline <= now) {
            self.kill_at = None;
            self.kill();
        }
        if self
            .stuck
            .deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.name_the_stuck();
        }
    }

    /// Says why the run goes on after a signal that has ended some ranks.
    fn remind(&mut self) {
        let running = self.ranks.running();
        let Some(signal) = self.verdict.interrupted() else {
            return;
        };
        if running == 0 || self.verdict.ending {
            return;
        }
        self.output.say(&format!(
            "{running} of {} still running {} s after {} ended others; mq waits for them (SIGTERM three times, {} to \
             {} s apart, kills them)",
            self.options.processes,
            self.options.grace.as_secs_f64(),
            signals::describe(signal),
            THE_SAME.as_secs(),
            IN_A_ROW.as_secs()
        ));
    }

    fn heed_time_limit(&mut self) {
        let running = self.ranks.running();
        if running == 0 || self.verdict.ending {
            return;
        }
        self.verdict.out_of_time = true;
        let seconds = self.options.timeout.unwrap_or_default().as_secs_f64();
        let all = self.options.processes;
        let left = self.ranks.left();
        let mut ranks: Vec<String> = left.iter().map(|(rank, _)| rank.to_string()).collect();
        if ranks.len() > MOST_NAMED {
            ranks.truncate(MOST_NAMED);
            ranks.push("...".into());
        }
        let ranks = ranks.join(", ");
        self.output.say(&format!(
            "--timeout of {seconds} s expired; ending the {running} of {all} still running: {ranks}"
        ));
        self.end_all();
    }

    /// Asks all ranks to end; those that do not are killed after the grace period.
    pub(super) fn end_all(&mut self) {
        self.verdict.ending = true;
        self.ranks.send(Signal::TERM);
        // A stopped process ends only when it is continued.
        self.ranks.send(Signal::CONT);
        self.kill_at = Instant::now().checked_add(self.options.grace);
    }

    /// Writes what is left when the ranks have ended, however long the reader takes, unless a time limit
    /// expires, a signal had ended them, or a new signal ends the writing. Returns that signal.
    fn hand_over_the_rest(&mut self) -> Option<i32> {
        self.terminal = None;
        let is_told = self.verdict.was_told_to_end();
        let deadline = if self.verdict.out_of_time || is_told {
            Instant::now().checked_add(self.options.grace)
        } else {
            self.time_limit
        };
        loop {
            self.sources
                .retain_mut(|source| !source.empty(&mut self.output));
            self.output.flush();
            if self.sources.is_empty() && self.output.awaited().next().is_none() {
                return None;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                let limit = if is_told || self.verdict.out_of_time {
                    "--grace"
                } else {
                    self.verdict.output_out_of_time = true;
                    "--timeout"
                };
                (self.output).say(&format!(
                    "the ranks' last output was not read within {limit} and is lost"
                ));
                self.output.flush();
                return None;
            }
            let ready = self.wait(deadline);
            self.heed_reader(&ready);
            if ready.signals {
                for signal in self.signals.come() {
                    match signal {
                        // A repeat of the signal that the ranks have obeyed.
                        SIGINT | SIGTERM if !self.count_signal(signal) => {}
                        SIGINT | SIGTERM | SIGHUP | SIGQUIT => return Some(signal),
                        SIGTSTP if signals::may_stop() => signals::stop(),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Counts a signal; returns whether it is more than a repeat of the last one.
    fn count_signal(&mut self, signal: i32) -> bool {
        self.asked.once_more(signal, Instant::now()).is_some()
    }
}
