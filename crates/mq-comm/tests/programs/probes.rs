//! Probes, and what is done with a message that was shown.

use std::time::Duration;

use mq_comm::Status;

use crate::pattern::{ANY, Envelope, Pattern};
use crate::rank::{Posted, Rank};
use crate::receives::untouched;

impl Rank<'_> {
    /// A blocking probe for which there will be a message.
    pub(crate) fn probe(&mut self, number: usize, pattern: Pattern) {
        let communicator = self.communicator(number);
        let (source, selector) = (pattern.source(), pattern.selector());
        let shown = if self.draw.chance(30) {
            let longest = Duration::from_secs(3600);
            let shown = communicator.probe_within(source, selector, longest);
            shown.unwrap().expect("that is long")
        } else {
            communicator.probe(source, selector).unwrap()
        };
        self.probed(number, pattern, Some(shown));
        self.after_shown(number, pattern, shown);
    }

    pub(crate) fn probe_once(&mut self, number: usize, pattern: Pattern) {
        let communicator = self.communicator(number);
        let (source, selector) = (pattern.source(), pattern.selector());
        let shown = match self.draw.below(5) {
            0..2 => communicator.iprobe(source, selector).unwrap(),
            2 => {
                let longest = Duration::from_micros(self.draw.below(200) as u64);
                (communicator.probe_within(source, selector, longest)).unwrap()
            }
            _ => {
                match communicator.improbe(source, selector).unwrap() {
                    Some(matched) => {
                        let receive = self.record.begin(number, pattern);
                        self.hold(receive, matched);
                    }
                    None => self.probed(number, pattern, None),
                }
                return;
            }
        };
        self.probed(number, pattern, shown);
        if let Some(shown) = shown {
            self.after_shown(number, pattern, shown);
        }
    }

    pub(crate) fn probed(&mut self, number: usize, pattern: Pattern, shown: Option<Status>) {
        let shown = shown.map(Envelope::from);
        let fits = |shown: Envelope| pattern.takes(shown.from, shown.tag);
        assert!(shown.is_none_or(fits), "{pattern:?} shows {shown:?}");
        self.record.probe(number, pattern, shown);
    }

    /// A message is shown: mostly it is received, at once or after the next item.
    fn after_shown(&mut self, number: usize, probed: Pattern, shown: Status) {
        match self.draw.below(10) {
            0 | 1 => {
                let (number, pattern) = self.any_pattern();
                if self.is_safe(number, &pattern, self.now) {
                    self.receive(number, pattern);
                } else if self.draw.chance(50) {
                    self.post(number, pattern, false);
                }
            }
            2..5 => self.put_off = Some((self.record.looks, number, probed, shown)),
            _ => self.receive_shown(number, probed, shown),
        }
    }

    /// Receives what was shown before the last item, if nothing has looked for messages since.
    pub(crate) fn receive_put_off(&mut self) {
        if let Some((looks, number, probed, shown)) = self.put_off.take()
            && self.record.looks == looks
            && self.communicators[number].is_some()
        {
            self.receive_shown(number, probed, shown);
        }
    }

    fn receive_shown(&mut self, number: usize, probed: Pattern, shown: Status) {
        if self.draw.chance(30) {
            self.pause();
        }
        if self.draw.chance(10) {
            self.world.progress().unwrap();
        }
        let from = self.draw.pick(&[probed.from, Some(shown.source()), None]);
        let mut pattern = Pattern::new(from, shown.tag(), 0);
        if self.draw.chance(50) {
            (pattern.tag, pattern.ignored) = (probed.tag, probed.ignored);
        }
        let communicator = self.communicator(number);
        let (source, selector) = (pattern.source(), pattern.selector());
        match self.draw.below(4) {
            0..2 => {
                let mut buffer = untouched(self.expected.longest(number, &pattern));
                let receive = self.record.begin(number, pattern);
                let result = communicator.recv(&mut buffer, source, selector);
                self.received(receive, (buffer, result));
            }
            2 => {
                let receive = self.record.begin(number, pattern);
                let found = communicator.improbe(source, selector).unwrap();
                let found = found.unwrap_or_else(|| panic!("{pattern:?} hides {shown:?}"));
                self.hold(receive, found);
            }
            _ => {
                self.post(number, pattern, false);
                if self.draw.chance(50) {
                    self.try_to_pass(number);
                }
            }
        }
    }

    /// Takes out another message than the receive that was just posted, and cancels that.
    fn try_to_pass(&mut self, number: usize) {
        let receive = self.record.receives.len() - 1;
        if self.draw.chance(50) {
            self.act();
        } else {
            self.probe_once(number, Pattern::new(None, 0, ANY));
        }
        let is_it = |posted: &Posted| posted.receive == receive;
        if let Some(at) = self.posted.iter().position(is_it) {
            self.try_cancel(at);
        }
    }
}
