//! What MPI promises (4.1 §3.5, §3.8) about what a rank has seen.
//!
//! When a receive found its message is not known, only that it was between two calls. What is promised says of two
//! receives which one found its message first: the one of the earlier message of a sender, if both match it, and the
//! one that was posted first, if both match the message. If that goes round in a circle, or against the calls, it was
//! broken.

use std::collections::{BTreeMap, BTreeSet};

use crate::draw::bytes_of;
use crate::incoming::Incoming;
use crate::pattern::Pattern;
use crate::plan::Fate;
use crate::record::{Outcome, Probe, Receive, Record};

struct Seen<'a> {
    incoming: &'a [Incoming<'a>],
    receives: &'a [Receive],
    /// By receive; messages are the places in `incoming`.
    taken: BTreeMap<usize, usize>,
    /// By message.
    takers: BTreeMap<usize, usize>,
    /// Messages of this many bytes are never withdrawn.
    eager: Option<usize>,
}

/// Between which times each receive found its message.
type Times = BTreeMap<usize, (u32, u32)>;

pub(crate) fn check(incoming: &[Incoming<'_>], record: &Record, eager: Option<usize>) {
    let (taken, takers) = pair(incoming, &record.receives);
    let time = |&number: &usize| {
        let receive = &record.receives[number];
        (number, (receive.begun, receive.ended))
    };
    let mut times: Times = taken.keys().map(time).collect();
    let seen = Seen {
        incoming,
        receives: &record.receives,
        taken,
        takers,
        eager,
    };
    seen.check_withdrawn();
    for probe in &record.probes {
        match seen.shown(probe) {
            Some(message) => seen.check_shown(probe, message, &mut times),
            None => seen.check_hidden(probe, &record.probes),
        }
    }
    seen.check_order(times);
}

/// Finds out which message each receive has taken: of those with one sender and tag, each of these receives the next.
/// None is left but those that may be.
fn pair(
    incoming: &[Incoming<'_>],
    receives: &[Receive],
) -> (BTreeMap<usize, usize>, BTreeMap<usize, usize>) {
    let (mut taken, mut takers) = (BTreeMap::new(), BTreeMap::new());
    for (number, receive) in receives.iter().enumerate() {
        let (envelope, begin) = match &receive.outcome {
            Outcome::Took(envelope, begin) => (envelope, begin),
            Outcome::Cancelled | Outcome::Dropped | Outcome::Withdrawn(..) => continue,
            Outcome::Open => panic!("{receive:?} has no end"),
        };
        let stream = Pattern::new(Some(envelope.from), envelope.tag, 0);
        let next = (0..incoming.len()).find(|at| {
            !takers.contains_key(at) && incoming[*at].matches(receive.communicator, &stream)
        });
        let next = next.unwrap_or_else(|| panic!("{receive:?} takes one too many"));
        let Incoming {
            message,
            number: its,
            ..
        } = incoming[next];
        assert_eq!(
            envelope.bytes, message.bytes as u64,
            "{receive:?} for {message:?}"
        );
        let bytes = bytes_of(its, message.bytes);
        assert!(
            bytes.starts_with(begin),
            "{receive:?} for {its}, {message:?}"
        );
        taken.insert(number, next);
        takers.insert(next, number);
    }
    for (at, Incoming { message, .. }) in incoming.iter().enumerate() {
        assert!(
            message.fate != Fate::Needed || takers.contains_key(&at),
            "{message:?} was not received"
        );
    }
    (taken, takers)
}

impl Seen<'_> {
    /// The messages before another of the same sender and communicator.
    fn before(&self, other: usize) -> impl Iterator<Item = usize> {
        let key = |at: usize| {
            (
                self.incoming[at].message.communicator,
                self.incoming[at].from,
            )
        };
        (0..other).filter(move |&at| key(at) == key(other))
    }

    fn receive_matches(&self, receive: &Receive, message: usize) -> bool {
        self.incoming[message].matches(receive.communicator, &receive.pattern)
    }

    fn probe_matches(&self, probe: &Probe, message: usize) -> bool {
        self.incoming[message].matches(probe.communicator, &probe.pattern)
    }

    fn may_be_withdrawn(&self, message: usize) -> bool {
        let its = self.incoming[message].message;
        let is_eager = self.eager.is_some_and(|most| its.bytes <= most);
        its.fate == Fate::Loose && !is_eager && !self.takers.contains_key(&message)
    }

    /// Whether a message may be gone by some time: withdrawn, or with a receive that was dropped.
    fn may_be_gone(&self, message: usize, by: u32) -> bool {
        let its = self.incoming[message].message;
        let takes = |receive: &Receive| {
            matches!(receive.outcome, Outcome::Dropped)
                && receive.begun < by
                && self.receive_matches(receive, message)
        };
        let is_loose = its.fate == Fate::Loose && !self.takers.contains_key(&message);
        is_loose && (self.may_be_withdrawn(message) || self.receives.iter().any(takes))
    }

    /// What a receive was told to be withdrawn is a message that may be, and told once.
    fn check_withdrawn(&self) {
        let mut told = BTreeSet::new();
        for receive in self.receives {
            if let Outcome::Withdrawn(from, tag) = receive.outcome {
                let its = Pattern::new(Some(from), tag, 0);
                let mut all = 0..self.incoming.len();
                let its = all.find(|&at| self.incoming[at].matches(receive.communicator, &its));
                let is_rightly_told =
                    its.is_some_and(|its| self.may_be_withdrawn(its) && told.insert(its));
                assert!(is_rightly_told, "{receive:?}");
            }
        }
    }

    /// Whether no receive that has begun before a probe takes a message.
    fn is_open(&self, message: usize, probe: &Probe) -> bool {
        let taker = self.takers.get(&message);
        taker.is_none_or(|&taker| self.receives[taker].begun > probe.at)
    }

    /// The message that a probe has shown: the next of its sender and tag.
    fn shown(&self, probe: &Probe) -> Option<usize> {
        let shown = probe.shown?;
        let stream = Pattern::new(Some(shown.from), shown.tag, 0);
        let mut all = 0..self.incoming.len();
        let next = all.find(|&at| {
            self.incoming[at].matches(probe.communicator, &stream) && self.is_open(at, probe)
        });
        let next = next.unwrap_or_else(|| panic!("{probe:?} shows one too many"));
        let message = self.incoming[next].message;
        assert_eq!(
            message.bytes as u64, shown.bytes,
            "{probe:?} for {message:?}"
        );
        Some(next)
    }

    fn check_shown(&self, probe: &Probe, shown: usize, times: &mut Times) {
        let message = self.incoming[shown].message;
        // Receives that match had their messages by then.
        for (number, receive) in self.receives.iter().enumerate() {
            if receive.begun < probe.at && self.receive_matches(receive, shown) {
                match times.get_mut(&number) {
                    Some((_, latest)) => *latest = probe.at.min(*latest),
                    None => assert!(
                        receive.ended < probe.at || receive.may_have_taken(),
                        "{probe:?} for {receive:?}"
                    ),
                }
            }
        }
        // So had those of earlier messages that the probe matches.
        for earlier in self
            .before(shown)
            .filter(|&earlier| self.probe_matches(probe, earlier))
            .filter(|&earlier| !self.may_be_gone(earlier, probe.at))
        {
            let other = self.incoming[earlier].message;
            assert!(
                !self.is_open(earlier, probe),
                "{probe:?}: {message:?} before {other:?}"
            );
            if let Some((_, latest)) = times.get_mut(&self.takers[&earlier]) {
                *latest = probe.at.min(*latest);
            }
        }
        // It is taken by a receive that asks for the same, if that looks next.
        let is_next = |receive: &Receive| {
            let same =
                (receive.communicator, receive.pattern) == (probe.communicator, probe.pattern);
            same && receive.look == probe.look + 1
        };
        if let Some(next) = self.receives.iter().position(is_next)
            && let Some(&taken) = self.taken.get(&next)
        {
            let other = self.incoming[taken].message;
            assert_eq!(
                taken, shown,
                "{probe:?} showed {message:?}, then {other:?} was taken"
            );
        }
    }

    /// A probe that shows nothing: no message that it matches was known to be there, nor a later one of its sender.
    fn check_hidden(&self, probe: &Probe, probes: &[Probe]) {
        let shown = probes.iter().filter(|other| other.at < probe.at);
        let shown = shown.filter_map(|other| self.shown(other));
        let ended = |(&receive, &message): (&usize, &usize)| {
            (self.receives[receive].ended < probe.at).then_some(message)
        };
        for known in shown.chain(self.taken.iter().filter_map(ended)) {
            let message = self.incoming[known].message;
            for other in self.before(known).chain([known]) {
                let is_there = self.is_open(other, probe)
                    && self.probe_matches(probe, other)
                    && !self.may_be_gone(other, probe.at);
                let other = self.incoming[other].message;
                assert!(
                    !is_there,
                    "{probe:?} hides {other:?}, though {message:?} came"
                );
            }
        }
    }

    /// The pairs of receives of which the first found its message before the second. Raises the earliest times of those
    /// that found a message only after an older receive was cancelled.
    fn pairs(&self, times: &mut Times) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (&number, &taken) in &self.taken {
            let receive = &self.receives[number];
            for earlier in self
                .before(taken)
                .filter(|&it| self.receive_matches(receive, it))
                .filter(|&it| !self.may_be_gone(it, receive.ended))
            {
                let other = self.incoming[earlier].message;
                let taker = self.takers.get(&earlier);
                let taker = taker.unwrap_or_else(|| panic!("{receive:?} passes {other:?}"));
                pairs.push((*taker, number));
            }
            for (earlier, other) in self.receives[..number].iter().enumerate() {
                if !self.receive_matches(other, taken) {
                    continue;
                }
                if self.taken.contains_key(&earlier) {
                    pairs.push((earlier, number));
                } else if !other.may_have_taken()
                    && let Some((earliest, _)) = times.get_mut(&number)
                {
                    *earliest = other.ended.max(*earliest);
                }
            }
        }
        pairs
    }

    fn check_order(&self, mut times: Times) {
        let pairs = self.pairs(&mut times);
        // How many receives are still to be looked at before each.
        let mut waits: BTreeMap<usize, usize> = self.taken.keys().map(|&it| (it, 0)).collect();
        for (_, second) in &pairs {
            *waits.entry(*second).or_default() += 1;
        }
        while let Some((&first, _)) = waits.iter().find(|&(_, &waits)| waits == 0) {
            waits.remove(&first);
            let (receive, (earliest, latest)) = (&self.receives[first], times[&first]);
            assert!(
                earliest <= latest,
                "{receive:?} not before {earliest}, not after {latest}"
            );
            for (_, second) in pairs.iter().filter(|(before, _)| *before == first) {
                if let (Some(times), Some(waits)) = (times.get_mut(second), waits.get_mut(second)) {
                    times.0 = earliest.max(times.0);
                    *waits -= 1;
                }
            }
        }
        let circle = waits.keys().map(|&number| &self.receives[number]);
        let circle: Vec<_> = circle.collect();
        assert!(
            circle.is_empty(),
            "each of these passes another: {circle:#?}"
        );
    }
}
