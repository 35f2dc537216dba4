//! What becomes of the ranks: the terminal stops them, or they end.

use std::time::Instant;

use mq_comm::Gone;

use super::output::Stream;
use super::ranks::{End, named};
use super::signals;
use super::watch::Watch;

impl Watch<'_> {
    /// Something has become of a child: it has ended, or stopped.
    pub(super) fn heed_children(&mut self) {
        for (rank, signal) in self.ranks.stopped_by_terminal() {
            self.output.say(&format!(
                "rank {rank} (pid {}) was stopped by {}: it has read the terminal or changed its settings, which ranks \
                 of `mq run` may not; SIGINT and SIGTERM continue it",
                self.ranks.pid(rank),
                signals::describe(signal)
            ));
        }
        self.heed_ends();
    }

    fn heed_ends(&mut self) {
        let mut failed = self.ranks.look();
        for &(rank, end) in &failed {
            let how = self.segment.ended(rank);
            // After a signal it may have had enough.
            let was_told = self.verdict.ending || self.verdict.was_told_to_end();
            if end == End::Exited(0) && how == Some(Gone::Died) && !was_told {
                self.output.say(&format!(
                    "rank {rank} (pid {}) exited with status 0 and has not left the world, as by `std::process::exit` or `World::fail`: \
                     what it had not sent in full is lost",
                    self.ranks.pid(rank)
                ));
            }
        }
        failed.retain(|(_, end)| *end != End::Exited(0));
        if failed.is_empty() {
            return;
        }
        let mut sentences = Vec::new();
        let is_news = self.verdict.refused.is_empty();
        let refusals = self.refusals.told();
        if let Some((_, refusal)) = refusals.first()
            && is_news
        {
            sentences.push(refusal.sentence(&self.options.program[0]));
        }
        let pids = refusals.into_iter().map(|(pid, _)| pid);
        self.verdict.refused.extend(pids);
        self.verdict.unread = self.output.unread(Stream::Out);
        let have_obeyed = failed
            .iter()
            .all(|(_, end)| self.verdict.signal_obeyed_by(*end).is_some());
        let are_first = self.verdict.interrupted().is_none();
        let mut told = Vec::new();
        for (rank, end) in failed {
            let pid = self.ranks.pid(rank);
            if self.verdict.record_failure(pid, end) {
                told.push((rank, pid, end));
            }
        }
        sentences.extend(alike(&told, self.ranks.len()));
        let running = self.ranks.running();
        if have_obeyed {
            if are_first {
                self.remind_at = Instant::now().checked_add(self.options.grace);
            }
        } else if !self.options.keep_going && !self.verdict.ending {
            if let (Some(last), 1.., true) = (
                sentences.last_mut(),
                running,
                self.verdict.refused.is_empty(),
            ) {
                *last += &format!("; ending the {running} still running");
            }
            self.end_all();
        }
        sentences
            .iter()
            .for_each(|sentence| self.output.say(sentence));
    }
}

/// A sentence for each kind of end, of this many ranks: hundreds may end alike, as by a wrong option.
fn alike(ends: &[(usize, u32, End)], of: usize) -> Vec<String> {
    let mut kinds: Vec<(End, Vec<(usize, u32)>)> = Vec::new();
    for &(rank, pid, end) in ends {
        match kinds.iter_mut().find(|(kind, _)| *kind == end) {
            Some((_, ranks)) => ranks.push((rank, pid)),
            None => kinds.push((end, vec![(rank, pid)])),
        }
    }
    let sentence = |(end, ranks): &(End, Vec<_>)| {
        let who = named(ranks, of);
        format!("{who} {}", end.told_of(ranks.len()))
    };
    kinds.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::SIGSEGV;

    use super::*;

    #[test]
    fn equal_ends_are_one_sentence() {
        let (two, killed) = (End::Exited(2), End::Killed(SIGSEGV));
        let ends = [(1, 11, two), (2, 12, killed), (5, 15, two), (6, 16, two)];
        let expected = [
            "3 of 9 ranks, rank 1 (pid 11) first, exited with status 2",
            "rank 2 (pid 12) was killed by signal 11 (SIGSEGV)",
        ];
        assert_eq!(alike(&ends, 9), expected);
        let ends = [(0, 10, killed), (1, 11, killed)];
        let expected = "2 of 2 ranks, rank 0 (pid 10) first, were killed by signal 11 (SIGSEGV)";
        assert_eq!(alike(&ends, 2), [expected]);
        assert!(alike(&[], 2).is_empty());
    }
}
