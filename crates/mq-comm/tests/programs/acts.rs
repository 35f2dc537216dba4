//! What a rank does between the items of the plan, as its chance says.

use std::time::Duration;

use crate::pattern::{ANY, Pattern};
use crate::rank::Rank;

const MOST_POSTED: usize = 40;

impl Rank<'_> {
    pub(crate) fn act(&mut self) {
        // One that takes what comes mostly probes, and finds messages where they lie.
        let most = if self.takes_what_comes { 160 } else { 100 };
        match self.draw.below(most) {
            0..22 if self.posted.len() < MOST_POSTED && !self.takes_what_comes => {
                let (communicator, pattern) = self.any_pattern();
                self.post(communicator, pattern, false);
            }
            22..33 => self.with_posted(Self::test),
            33..40 => self.with_posted(Self::try_cancel),
            40..42 => self.drop_some(),
            42..58 => {
                let (communicator, pattern) = self.any_pattern();
                if self.is_safe(communicator, &pattern, self.now) {
                    match self.draw.chance(70) {
                        true => self.receive(communicator, pattern),
                        false => self.probe(communicator, pattern),
                    }
                }
            }
            58..72 => {
                let (communicator, pattern) = self.any_pattern();
                self.probe_once(communicator, pattern);
            }
            72..78 => self.with_posted(|rank, at| {
                if rank.will_end(at) {
                    rank.finish(at);
                }
            }),
            78..82 => self.world.progress().unwrap(),
            82..86 => self.pause(),
            86..91 => self.receive_some_held(),
            91..100 => self.ask_for_send(),
            _ => {
                let (communicator, pattern) = self.any_pattern();
                if self.is_safe(communicator, &pattern, self.now) {
                    self.probe(communicator, pattern);
                }
            }
        }
    }

    /// Receives all that has been sent before this item, as chance has it.
    pub(crate) fn drain(&mut self) {
        let mut rounds = 0;
        while !self.expected.open(self.now).is_empty() || !self.held.is_empty() {
            self.act();
            rounds += 1;
            if rounds < 30 {
                continue;
            }
            self.with_posted(Self::try_cancel);
            self.receive_some_held();
            let open = self.expected.open(self.now);
            if open.is_empty() {
                continue;
            }
            let next = open[self.draw.below(open.len())];
            let (number, from, tag) = (next.message.communicator, next.from, next.message.tag);
            let from = self.draw.pick(&[None, Some(from)]);
            let pattern = Pattern::new(from, tag, 0);
            if self.is_safe(number, &pattern, self.now) {
                self.receive(number, pattern);
            } else {
                self.probe_once(number, pattern);
            }
        }
    }

    /// Mostly what messages match that are about to come.
    pub(crate) fn any_pattern(&mut self) -> (usize, Pattern) {
        let here = self.here();
        self.pattern_on(&here)
    }

    /// The communicators that this rank is in and has not dropped.
    pub(crate) fn here(&self) -> Vec<usize> {
        let is_here = |number: &usize| self.communicators[*number].is_some();
        (0..self.communicators.len()).filter(is_here).collect()
    }

    pub(crate) fn pattern_on(&mut self, here: &[usize]) -> (usize, Pattern) {
        let mut open = match self.draw.chance(80) {
            true => self.expected.open(self.now + 12),
            false => self.expected.loose(self.now + 12),
        };
        open.retain(|its| here.contains(&its.message.communicator));
        let (number, from, tag) = if !open.is_empty() && self.draw.chance(85) {
            let next = open[self.draw.below(open.len())];
            (next.message.communicator, next.from, next.message.tag)
        } else {
            let number = self.draw.pick(here);
            let from = self.draw.below(self.communicator(number).size() as usize);
            (number, from as u32, self.draw.pick(&[0, 1, 2, 5, i32::MAX]))
        };
        let (any, exact) = if self.takes_what_comes {
            (90, 4)
        } else {
            (40, 11)
        };
        let ignored = match self.draw.below(20) {
            0..11 if self.draw.below(11) < exact => 0,
            0..17 => ANY,
            _ => self.draw.pick(&[1, 3, u32::MAX >> 1]),
        };
        let from = (!self.draw.chance(any)).then_some(from);
        (number, Pattern::new(from, tag, ignored))
    }

    pub(crate) fn pause(&mut self) {
        match self.draw.below(40) {
            0 => std::thread::sleep(Duration::from_micros(self.draw.below(1500) as u64)),
            1..6 => std::thread::yield_now(),
            _ => (0..self.draw.below(3000)).for_each(|_| std::hint::spin_loop()),
        }
    }
}
