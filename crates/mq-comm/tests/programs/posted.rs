//! Receives that wait: they are posted, tested, cancelled, and waited for if they will end.

use crate::pattern::Pattern;
use crate::rank::{Posted, Rank};
use crate::receives::{UNTOUCHED, untouched};
use crate::record::Outcome;
use crate::requests::{Pending, shared};

impl Rank<'_> {
    pub(crate) fn post(&mut self, number: usize, pattern: Pattern, is_awaited: bool) {
        let room = match is_awaited {
            true => self.expected.longest(number, &pattern),
            false => self.room(number, &pattern),
        };
        let communicator = self.communicator(number);
        let (source, selector) = (pattern.source(), pattern.selector());
        let receive = self.record.begin(number, pattern);
        let shared = (room > 0 && self.draw.chance(12)).then(|| shared(&communicator, room));
        let pending = if let Some(Some(mut shared)) = shared {
            shared.fill(UNTOUCHED);
            let request = communicator.irecv(shared, source, selector).unwrap();
            self.requests.keep_shared(request)
        } else {
            let request = communicator.irecv(untouched(room), source, selector);
            self.requests.keep(request.unwrap(), &mut self.draw)
        };
        self.posted.push(Posted {
            receive,
            communicator: number,
            pattern,
            pending,
            has_matched: false,
            is_awaited,
        });
    }

    /// Does something with one that is not a scope's.
    pub(crate) fn with_posted(&mut self, act: impl Fn(&mut Self, usize)) {
        if !self.posted.is_empty() {
            let at = self.draw.below(self.posted.len());
            if !matches!(self.posted[at].pending, Pending::Lent) {
                act(self, at);
            }
        }
    }

    pub(crate) fn test(&mut self, at: usize) {
        if (self.requests).is_done(&self.posted[at].pending, &mut self.draw) {
            self.finish(at);
        }
    }

    pub(crate) fn finish(&mut self, at: usize) {
        let posted = self.posted.remove(at);
        let ended = self.requests.finish(posted.pending, &mut self.draw);
        self.received(posted.receive, ended);
    }

    pub(crate) fn try_cancel(&mut self, at: usize) {
        let posted = &self.posted[at];
        let is_needed = posted.is_awaited && {
            let (communicator, pattern) = (posted.communicator, &posted.pattern);
            self.expected.certain(communicator, pattern, self.now + 1) > 0
        };
        if !is_needed && !posted.has_matched {
            self.cancel(at);
        }
    }

    pub(crate) fn cancel(&mut self, at: usize) -> bool {
        let mut posted = self.posted.remove(at);
        match self.requests.cancel(posted.pending, &mut self.draw) {
            Ok(buffer) => {
                let is_untouched = buffer.iter().all(|&byte| byte == UNTOUCHED);
                assert!(is_untouched, "{:?}", self.record.receives[posted.receive]);
                self.record.end(posted.receive, Outcome::Cancelled);
                true
            }
            Err(pending) => {
                posted.pending = pending;
                posted.has_matched = true;
                self.posted.insert(at, posted);
                false
            }
        }
    }

    /// A receive ends, with its message if it has one.
    pub(crate) fn end_posted(&mut self, at: usize) {
        if self.posted[at].has_matched || !self.cancel(at) {
            self.finish(at);
        }
    }

    /// How many receives that wait may take a message that this one would take, of those before another one.
    pub(crate) fn rivals(&self, communicator: usize, pattern: &Pattern, before: usize) -> usize {
        let may = |posted: &&Posted| {
            posted.communicator == communicator
                && posted.receive < before
                && posted.pattern.overlaps(pattern)
        };
        self.posted.iter().filter(may).count()
    }

    /// Whether such a receive will come to an end with what is sent before an item.
    pub(crate) fn is_safe(&self, communicator: usize, pattern: &Pattern, before: usize) -> bool {
        let certain = self.expected.certain(communicator, pattern, before);
        certain > self.rivals(communicator, pattern, usize::MAX)
    }

    pub(crate) fn will_end(&self, at: usize) -> bool {
        let posted = &self.posted[at];
        let (number, pattern) = (posted.communicator, &posted.pattern);
        let certain = self.expected.certain(number, pattern, self.now);
        posted.has_matched || certain > self.rivals(number, pattern, posted.receive)
    }

    /// Mostly with room for any message that may come.
    pub(crate) fn room(&mut self, communicator: usize, pattern: &Pattern) -> usize {
        let longest = self.expected.longest(communicator, pattern);
        match self.draw.below(16) {
            0 => self.draw.below(longest + 1),
            1 => self.draw.below(40),
            2..5 => longest + self.draw.below(100),
            _ => longest,
        }
    }
}
