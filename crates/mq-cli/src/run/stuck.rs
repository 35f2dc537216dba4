//! Ranks that SIGKILL has not ended: those that this user may not signal, as of a program that runs as another one, and
//! those that the kernel holds, as in a file system that does not answer, in a frozen control group or for a debugger.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::ranks::named;
use super::watch::Watch;

/// How long ranks may take to end after SIGKILL before they are named.
const SOON: Duration = Duration::from_secs(2);

/// What is known of them.
#[derive(Default)]
pub(super) struct Stuck {
    /// When they are looked for.
    look_at: Option<Instant>,
    is_told: bool,
    given_up_by: Option<i32>,
}

impl Stuck {
    /// When something is to be done.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// Whether all that still run have been named.
    pub(super) const fn is_told(&self) -> bool {
        self.is_told
    }

    /// The signal that has ended the waiting for them.
    pub(super) const fn given_up_by(&self) -> Option<i32> {
        self.given_up_by
    }
}

impl Watch<'_> {
    /// Kills the ranks.
    pub(super) fn kill(&mut self) {
        self.ranks.send(Signal::KILL);
        if !self.stuck.is_told {
            self.stuck
                .look_at
                .get_or_insert_with(|| Instant::now() + SOON);
        }
    }

    /// Says which ranks have not ended, and why.
    pub(super) fn name_the_stuck(&mut self) {
        self.stuck.look_at = None;
        let all = self.ranks.len();
        let (others, held): (Vec<_>, Vec<_>) = self
            .ranks
            .left()
            .into_iter()
            .partition(|&(rank, _)| self.ranks.refuses_kill(rank));
        self.stuck.is_told = !others.is_empty() || !held.is_empty();
        let whom = |ranks: &[_]| if ranks.len() == 1 { "it" } else { "them" };
        let further = "a further SIGINT or SIGTERM ends the waiting";
        if !others.is_empty() {
            let (who, whom) = (named(&others, all), whom(&others));
            let run = if others.len() == 1 {
                "it runs"
            } else {
                "they run"
            };
            self.output.say(&format!(
                "{who} cannot be ended: {run} as another user; mq waits for {whom} ({further})"
            ));
        }
        if !held.is_empty() {
            let (who, whom) = (named(&held, all), whom(&held));
            let have = if held.len() == 1 { "has" } else { "have" };
            self.output.say(&format!(
                "{who} {have} been killed, but the kernel, or a debugger, has not let {whom} end yet; mq waits for \
                 {whom} ({further})"
            ));
        }
    }

    /// Waits no longer for the ranks that have been named.
    pub(super) fn give_up(&mut self, signal: i32) {
        let left = self.ranks.left();
        if left.is_empty() || self.stuck.given_up_by.is_some() {
            return;
        }
        self.stuck.given_up_by = Some(signal);
        self.ranks.give_up();
        let are = if left.len() == 1 { "is" } else { "are" };
        let who = named(&left, self.ranks.len());
        self.output
            .say(&format!("{who} {are} not waited for any more"));
    }
}
