//! What a rank does in a scope: the items of the plan, and between them whatever chance says.

use std::ops::Range;
use std::panic::resume_unwind;
use std::time::Duration;

use crate::lent::{Handle, Lender, Operation, What};
use crate::plan::{Fate, Item};
use crate::record::Outcome;
use crate::scope::{Early, End, Unseen};

impl Lender<'_, '_, '_, '_> {
    pub(crate) fn carry_out(&mut self, items: Range<usize>) {
        let plan = self.rank.plan;
        self.drain = (items.clone()).rfind(|&at| matches!(plan.items[at], Item::Drain));
        for now in items {
            if !self.rank.begin_item(now) {
                continue;
            }
            if self.rank.draw.chance(80) {
                for _ in 0..self.rank.draw.below(6) {
                    self.act();
                }
            }
            match plan.items[now] {
                Item::Send(number) if self.may_lend(number) && self.rank.draw.chance(80) => {
                    self.send(number);
                }
                Item::Drain => {
                    self.settle();
                    self.rank.carry_out(&plan.items[now]);
                }
                _ => self.rank.carry_out(&plan.items[now]),
            }
            self.rank.receive_put_off();
        }
    }

    /// Whether the scope may end with such a send: it waits for nobody but ranks that do their part before they wait
    /// for this one, or is withdrawn.
    fn may_lend(&self, number: usize) -> bool {
        let message = &self.rank.plan.messages[number];
        let may = match message.fate {
            _ if self.rank.is_eager(message) => true,
            Fate::Needed => {
                self.end == End::Well && self.drain.is_some_and(|drain| message.at < drain)
            }
            // Whoever is told of a panic takes this process for dead.
            Fate::Loose => {
                let is_own = message.to == self.rank.me;
                self.end == End::Error || self.end == End::Panic && is_own
            }
            Fate::Left => false,
        };
        may && message.communicator == self.communicator
    }

    fn act(&mut self) {
        match self.rank.draw.below(100) {
            0..22 => self.post(),
            22..32 => self.with_handle(|lender, at| {
                if lender.operations[at]
                    .handle
                    .as_ref()
                    .is_some_and(Handle::test)
                {
                    lender.finish(at);
                }
            }),
            32..40 => self.with_handle(|lender, at| {
                if matches!(lender.operations[at].what, What::Receive(_)) {
                    lender.cancel(at);
                }
            }),
            40..46 => self.with_handle(|lender, at| {
                if lender.will_end(at) {
                    lender.finish(at);
                }
            }),
            46..50 => self.with_handle(Self::drop_handle),
            50..58 => self.ask(),
            58..64 => self.wait_for_any(),
            64..68 => self.wait_for_some(),
            68..72 => self.wait_for_all(),
            _ => self.rank.act(),
        }
    }

    fn with_handle(&mut self, act: impl Fn(&mut Self, usize)) {
        if !self.operations.is_empty() {
            let at = self.rank.draw.below(self.operations.len());
            if self.operations[at].handle.is_some() {
                act(self, at);
            }
        }
    }

    fn ask(&mut self) {
        let mut completed = Vec::new();
        match self.rank.draw.below(3) {
            0 => completed.extend(self.scope.test_any().unwrap()),
            1 => drop(self.scope.test_some(&mut completed).unwrap()),
            _ => {
                if self.scope.test_all().unwrap() {
                    for operation in &mut self.operations {
                        let is_done = operation.handle.as_ref().is_none_or(Handle::test);
                        assert!(is_done, "{:?} is complete", operation.what);
                        operation.will_end = true;
                    }
                }
            }
        }
        completed.into_iter().for_each(|its| self.report(its));
    }

    /// Waits for any or some, if there is one that will be complete.
    fn wait_for_any(&mut self) {
        let mut all = 0..self.operations.len();
        if all.any(|at| self.operations[at].result.is_none() && self.will_end(at)) {
            let mut completed = Vec::new();
            match self.rank.draw.chance(50) {
                true => completed.extend(self.scope.wait_any().unwrap()),
                false => drop(self.scope.wait_some(&mut completed).unwrap()),
            }
            assert!(!completed.is_empty(), "one is complete");
            completed.into_iter().for_each(|its| self.report(its));
        }
    }

    /// Waits for some that will be complete, and for some that are over.
    fn wait_for_some(&mut self) {
        let mut its = self.over.clone();
        its.retain(|_| self.rank.draw.chance(30));
        let mut chosen = Vec::new();
        for at in 0..self.operations.len() {
            if self.will_end(at) && self.rank.draw.chance(60) {
                its.push(self.operations[at].id);
                chosen.push(at);
            }
        }
        self.scope.wait_for(&its).unwrap();
        for at in chosen {
            let is_done = self.operations[at].handle.as_ref().is_none_or(Handle::test);
            assert!(is_done, "{:?} was waited for", self.operations[at].what);
        }
    }

    /// Waits for all, if all will be complete, and the receives have handles that say with which message.
    fn wait_for_all(&mut self) {
        let all = 0..self.operations.len();
        let will_all = all.clone().all(|at| {
            let operation = &self.operations[at];
            let is_send = matches!(operation.what, What::Send(_));
            (is_send || operation.handle.is_some()) && self.will_end(at)
        });
        if !will_all {
            return;
        }
        let said = self.scope.wait_all().map_err(|error| format!("{error:?}"));
        let mut failed = Vec::new();
        for at in all.rev() {
            let operation = &self.operations[at];
            if operation.handle.is_none() {
                self.has_been_seen(at);
                continue;
            }
            let is_news = operation.result.is_none();
            failed.extend(self.finish(at).filter(|_| is_news));
        }
        match said {
            Ok(()) => assert!(failed.is_empty(), "not told of {failed:?}"),
            Err(error) => assert!(failed.contains(&error), "{error} of {failed:?}"),
        }
    }

    /// Waits for the receives whose handles are gone, all of which will be complete.
    fn hear(&mut self) {
        let is_open = |operation: &Operation<'_>| {
            let is_receive = matches!(operation.what, What::Receive(_));
            is_receive && operation.handle.is_none()
        };
        while self.operations.iter().any(is_open) {
            self.wait_for_any();
        }
    }

    /// Ends all receives, so that what they have taken is known.
    fn settle(&mut self) {
        self.hear();
        for at in (0..self.operations.len()).rev() {
            self.end_receive(at);
        }
    }

    fn end_receive(&mut self, at: usize) {
        if matches!(self.operations[at].what, What::Receive(_)) {
            let waits = self.will_end(at) && self.rank.draw.chance(50);
            if waits || !self.cancel(at) {
                self.finish(at);
            }
        }
    }

    /// Ends the scope. What it is to see through, or to give up, is left to it.
    pub(crate) fn end(mut self, unseen: &mut Vec<Unseen>) -> Result<(), Early> {
        if self.end != End::Well {
            self.lose();
            unseen.append(&mut self.unseen);
            return match self.end {
                End::Panic => resume_unwind(Box::new(Early::ByIntention)),
                End::Well | End::Error => Err(Early::ByIntention),
            };
        }
        for _ in 0..self.rank.draw.below(4) {
            self.post();
        }
        for at in (0..self.operations.len()).rev() {
            if self.operations[at].handle.is_none() {
                continue;
            }
            let is_send = matches!(self.operations[at].what, What::Send(_));
            let is_left = self.rank.draw.chance(70)
                && (is_send || self.will_end(at) && self.will_be_known(at));
            match is_left {
                true => {}
                false if is_send => drop(self.finish(at)),
                false => self.end_receive(at),
            }
        }
        unseen.append(&mut self.unseen);
        unseen.extend(self.operations.drain(..).map(Operation::into_unseen));
        Ok(())
    }

    /// Before an early end: what is left are sends that may be given up, and receives that may be lost.
    fn lose(&mut self) {
        self.hear();
        for at in (0..self.operations.len()).rev() {
            let What::Receive(receive) = self.operations[at].what else {
                self.linger(at);
                continue;
            };
            let pattern = self.rank.record.receives[receive].pattern;
            let may_be_lost = self.operations[at].result.is_none()
                && self.rank.may_be_lost(self.communicator, &pattern);
            if may_be_lost {
                self.rank.forget_lent(receive);
                self.rank.record.end(receive, Outcome::Dropped);
            } else {
                self.end_receive(at);
            }
        }
    }

    /// A message that is about to be withdrawn may be found before.
    fn linger(&mut self, at: usize) {
        if let What::Send(number) = self.operations[at].what
            && !self.rank.is_eager(&self.rank.plan.messages[number])
            && self.rank.draw.chance(60)
        {
            let time = Duration::from_micros(self.rank.draw.below(400) as u64);
            std::thread::sleep(time);
        }
    }
}
