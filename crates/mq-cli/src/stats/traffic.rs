//! Traffic: operations by kind, wildcards, classes and communicators.

use std::collections::BTreeMap;

use mq_core::mpi::{MpiPattern, TagSelector};
use mq_core::{Source, TrafficClass};
use mq_trace::{Operation, Trace};
use serde::Serialize;

/// The traffic of a trace. The fields are keys of the JSON output.
#[derive(Serialize, Default)]
pub(crate) struct Traffic {
    /// Receives posted.
    pub(crate) receives: u64,
    /// Messages that arrived.
    pub(crate) messages: u64,
    pub(crate) probes: u64,
    /// Receives cancelled.
    pub(crate) cancels: u64,
    pub(super) probes_hit: u64,
    pub(super) probes_missed: u64,
    /// Receives from any source.
    pub(super) any_source: u64,
    /// Receives of any tag.
    pub(super) any_tag: u64,
    /// Receives with both wildcards.
    pub(super) any_source_and_tag: u64,
    /// Receives from any source, of any tag, or both.
    pub(crate) wildcard_receives: u64,
    /// Messages that found no receive.
    pub(super) unexpected: u64,
    /// Messages of collective operations.
    pub(super) collective_messages: u64,
    /// Receives of collective operations.
    pub(super) collective_receives: u64,
    /// By message count, largest first; classes without traffic are left out.
    pub(super) classes: Vec<Class>,
    /// By receives and messages, largest first.
    pub(super) communicators: Vec<CommunicatorTraffic>,
}

/// The traffic of one class.
#[derive(Serialize, Clone, Copy)]
pub(super) struct Class {
    pub(super) class: &'static str,
    pub(super) receives: u64,
    pub(super) messages: u64,
}

/// The traffic of one communicator.
#[derive(Serialize)]
pub(super) struct CommunicatorTraffic {
    pub(super) comm: u32,
    /// Ranks that structures plan for: those declared, or more if larger ones occur.
    pub(super) size: u32,
    declared_size: Option<u32>,
    pub(super) my_rank: Option<u32>,
    pub(super) receives: u64,
    pub(super) messages: u64,
    pub(super) unexpected: u64,
    pub(super) any_source: u64,
    pub(super) any_tag: u64,
    /// Receives from any source, of any tag, or both.
    pub(super) wildcard_receives: u64,
}

/// Counts while a trace is read.
struct Counter {
    traffic: Traffic,
    communicators: BTreeMap<u32, CommunicatorTraffic>,
    classes: [Class; TrafficClass::COUNT],
}

impl Traffic {
    /// Counts a trace, by the recorded outcomes.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut counter = Counter::new(trace);
        for (i, operation) in trace.operations().iter().enumerate() {
            counter.count(operation, trace.outcome(i).is_some());
        }
        counter.finish()
    }
}

impl Counter {
    fn new(trace: &Trace) -> Self {
        let communicators = trace.communicators().map(|communicator| {
            let traffic = CommunicatorTraffic {
                comm: communicator.comm,
                size: communicator.size,
                declared_size: communicator.declared_size,
                my_rank: communicator.my_rank,
                receives: 0,
                messages: 0,
                unexpected: 0,
                any_source: 0,
                any_tag: 0,
                wildcard_receives: 0,
            };
            (communicator.comm, traffic)
        });
        let mut classes = [Class {
            class: "",
            receives: 0,
            messages: 0,
        }; TrafficClass::COUNT];
        for (class, known) in classes.iter_mut().zip(TrafficClass::ALL) {
            class.class = known.name();
        }
        Self {
            traffic: Traffic::default(),
            communicators: communicators.collect(),
            classes,
        }
    }

    fn count(&mut self, operation: &Operation, matched: bool) {
        match operation {
            Operation::Post { pattern, .. } => self.post(pattern),
            Operation::Arrive { envelope } => {
                let class = envelope.class();
                let traffic = &mut self.traffic;
                traffic.messages += 1;
                traffic.unexpected += u64::from(!matched);
                traffic.collective_messages += u64::from(class.is_collective());
                self.classes[class as usize].messages += 1;
                if let Some(comm) = self.communicators.get_mut(&envelope.context().0) {
                    comm.messages += 1;
                    comm.unexpected += u64::from(!matched);
                }
            }
            Operation::Probe { .. } => {
                self.traffic.probes += 1;
                self.traffic.probes_hit += u64::from(matched);
                self.traffic.probes_missed += u64::from(!matched);
            }
            Operation::Cancel { .. } => self.traffic.cancels += 1,
        }
    }

    fn post(&mut self, pattern: &MpiPattern) {
        let any_source = pattern.source() == Source::Any;
        let any_tag = pattern.tag() == TagSelector::Any;
        let class = pattern.class();
        let traffic = &mut self.traffic;
        traffic.receives += 1;
        traffic.any_source += u64::from(any_source);
        traffic.any_tag += u64::from(any_tag);
        traffic.any_source_and_tag += u64::from(any_source && any_tag);
        traffic.wildcard_receives += u64::from(any_source || any_tag);
        traffic.collective_receives += u64::from(class.is_collective());
        self.classes[class as usize].receives += 1;
        if let Some(comm) = self.communicators.get_mut(&pattern.context().0) {
            comm.receives += 1;
            comm.any_source += u64::from(any_source);
            comm.any_tag += u64::from(any_tag);
            comm.wildcard_receives += u64::from(any_source || any_tag);
        }
    }

    fn finish(self) -> Traffic {
        let mut classes = Vec::from(self.classes);
        classes.retain(|class| class.receives + class.messages > 0);
        classes.sort_by_key(|class| std::cmp::Reverse((class.messages, class.receives)));
        let mut communicators: Vec<_> = self.communicators.into_values().collect();
        communicators.sort_by_key(|comm| std::cmp::Reverse(comm.receives + comm.messages));
        Traffic {
            classes,
            communicators,
            ..self.traffic
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mq_trace::Line;

    #[test]
    fn every_kind_of_operation_is_counted() {
        let lines: Vec<Line> = [
            "c 3 4 1",
            "p 3 * *",
            "p 3 2 *",
            "p 3 1 -16",
            "a 3 0 9 =0",
            "a 7 6 -12",
            "b 7 6 -12 =1",
            "b 3 0 0",
            "x 1",
        ]
        .iter()
        .map(|line| Line::parse(line).expect("valid"))
        .collect();
        let traffic = Traffic::of(&Trace::from_lines("test", &lines));
        assert_eq!((traffic.receives, traffic.messages), (3, 2));
        assert_eq!(
            (traffic.probes, traffic.probes_hit, traffic.probes_missed),
            (2, 1, 1)
        );
        assert_eq!((traffic.any_source, traffic.any_tag), (1, 2));
        assert_eq!(traffic.wildcard_receives, 2);
        assert_eq!((traffic.any_source_and_tag, traffic.cancels), (1, 1));
        assert_eq!((traffic.unexpected, traffic.collective_messages), (1, 1));
        let classes: Vec<_> = traffic
            .classes
            .iter()
            .map(|class| (class.class, class.receives, class.messages))
            .collect();
        let expected = [
            ("point-to-point", 2, 1),
            ("allreduce", 0, 1),
            ("barrier", 1, 0),
        ];
        assert_eq!(classes, expected);
        let comms: Vec<_> = traffic
            .communicators
            .iter()
            .map(|comm| (comm.comm, comm.size, comm.my_rank, comm.wildcard_receives))
            .collect();
        assert_eq!(comms, [(3, 4, Some(1), 2), (7, 7, None, 0)]);
        let declared = traffic.communicators.iter().map(|comm| comm.declared_size);
        assert!(declared.eq([Some(4), None]));
    }
}
