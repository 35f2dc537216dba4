//! [`Subjects`]: every structure of `mq-core`, told what the library did and asked whether it would have
//! done the same.

use core::fmt;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mq_core::config::Clusters;
use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{
    Arrive, CollectiveCall, ContextId, ContextOptions, Engine, EngineOptions, Handle, Post, Rank,
    Source, Tag, TrafficClass, Tuning,
};

use crate::event::{Event, Message, Receive, Wanted, Which};
use crate::program::COMMUNICATORS;
use crate::rules::Freedom;
use crate::wire;

type Queues = AnyQueues<MpiPattern, u32, u32>;

/// The tag of a collective's own messages, as Open MPI numbers them.
const ALLGATHER: i32 = -10;

/// What was compared, and with what result.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    /// Pairings that MPI defines.
    pub(crate) strict: u64,
    /// Free choices in which the library took what the structure would have.
    pub(crate) free_same: u64,
    /// Free choices in which it took another sender's earliest message, which the structure had
    /// too.
    pub(crate) free_other: u64,
}

/// How a structure is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// With the parameters of the papers; each step at once.
    Whole,
    /// With parameters so small that short queues reach every form; each step in two halves.
    Halves,
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "published parameters, whole steps",
            Self::Halves => "small parameters, steps in halves",
        })
    }
}

/// How a comparison that did not fail went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Agreement {
    /// The structure does what the library did.
    Same,
    /// It would have taken another message, and follows the library, which was free.
    Other,
    /// Nothing was compared with the library.
    Nothing,
}

/// An engine of one structure.
struct Subject {
    manner: Manner,
    processes: u32,
    engine: Engine<Queues>,
    /// Receives that wait, and what they ask for.
    posted: BTreeMap<u32, (Handle, MpiPattern)>,
    /// It has differed in this round, and its queues are no longer the library's.
    differs: bool,
}

fn tuning(manner: Manner, processes: u32) -> Tuning {
    if manner == Manner::Whole {
        return Tuning::default();
    }
    let groups = (0..COMMUNICATORS)
        .flat_map(|comm| (0..processes).map(move |rank| ((ContextId(comm), Rank(rank)), rank % 2)));
    let mut tuning = Tuning::default();
    tuning.scan_limit = 2;
    tuning.short_limit = 6;
    tuning.hash_seed = None;
    tuning.adjustment = 1.0;
    tuning.bins = 2;
    tuning.adaptive_search = 2;
    tuning.partner_threshold = 3;
    tuning.point_to_point_k = 1.0;
    tuning.collective_k = 1.5;
    tuning.clusters = Some(Arc::new(Clusters::new(groups)));
    tuning
}

impl Subject {
    fn new(kind: Kind, manner: Manner, processes: u32) -> Self {
        let options = EngineOptions::new()
            .kind(kind)
            .tuning(tuning(manner, processes));
        let mut engine = Engine::with_options(options);
        for comm in 0..COMMUNICATORS {
            engine
                .create_context(comm, ContextOptions::new().size(processes))
                .expect("it is new and has ranks");
        }
        Self {
            manner,
            processes,
            engine,
            posted: BTreeMap::new(),
            differs: false,
        }
    }

    fn pattern(&self, wanted: &Wanted) -> MpiPattern {
        let source = wanted.sender.map_or(Source::Any, |sender| {
            Source::from(wire::rank_in(wanted.comm, sender, self.processes))
        });
        let tag = wanted
            .tag
            .map_or(TagSelector::Any, |tag| TagSelector::Exact(Tag(tag)));
        MpiPattern::new(wanted.comm, source, tag)
    }

    fn envelope(&self, message: &Message) -> MpiEnvelope {
        let source = wire::rank_in(message.comm, message.sender, self.processes);
        MpiEnvelope::new(message.comm, source, message.tag)
    }

    fn tell(&mut self, event: &Event, freedom: Freedom) -> Result<Agreement, String> {
        match *event {
            Event::Arrived { message, receive } => self.arrived(&message, receive),
            Event::Posted {
                receive,
                wanted,
                message,
            } => match message {
                Some(message) => self.took(&wanted, &message, freedom, Some(receive)),
                None => self.queued(receive, &wanted),
            },
            Event::Probed { wanted, message } => {
                self.chosen(&wanted, message, freedom).map(|(a, _)| a)
            }
            Event::Extracted { wanted, message } => match message {
                Some(message) => self.took(&wanted, &message, freedom, None),
                None => self.chosen(&wanted, None, freedom).map(|(a, _)| a),
            },
            Event::Cancelled { receive, done } => self.cancelled(receive, done),
            Event::Collective { comm } => self.collective(comm),
            Event::Empty => {
                let queued = (self.engine.posted_len(), self.engine.unexpected_len());
                if queued != (0, 0) {
                    let (posted, unexpected) = queued;
                    return Err(format!("{posted} receives and {unexpected} messages"));
                }
                Ok(Agreement::Nothing)
            }
        }
    }

    fn arrived(&mut self, message: &Message, receive: Option<u32>) -> Result<Agreement, String> {
        let envelope = self.envelope(message);
        let taken = match self.manner {
            Manner::Whole => match self.engine.arrive(envelope, message.id) {
                Ok(Arrive::Matched {
                    pattern,
                    receive,
                    message: back,
                }) => {
                    if back != message.id {
                        return Err(format!("message {back} handed back"));
                    }
                    Some((pattern, receive))
                }
                Ok(Arrive::Unexpected) => None,
                Err(refused) => return Err(format!("refused: {refused}")),
            },
            Manner::Halves => {
                let taken = said(self.engine.deliver(&envelope))?;
                if taken.is_none() {
                    said(self.engine.queue_message(envelope, message.id))?;
                }
                taken
            }
        };
        if taken.map(|(_, receive)| receive) != receive {
            let taken = Receive(taken.map(|(_, receive)| receive));
            return Err(format!("it takes {taken}"));
        }
        let Some((pattern, receive)) = taken else {
            return Ok(Agreement::Same);
        };
        let (handle, asked) = self.posted.remove(&receive).expect("it was queued");
        if pattern != asked {
            return Err(format!(
                "receive {receive} asked for {asked:?} and comes back as {pattern:?}"
            ));
        }
        if self.engine.cancel(handle).is_some() {
            return Err(format!("receive {receive} was taken and is still there"));
        }
        Ok(Agreement::Same)
    }

    fn queued(&mut self, receive: u32, wanted: &Wanted) -> Result<Agreement, String> {
        let pattern = self.pattern(wanted);
        let handle = match self.manner {
            Manner::Whole => match said(self.engine.post(pattern, receive))? {
                Post::Queued(handle) => handle,
                Post::Matched { message, .. } => return Err(format!("it takes message {message}")),
            },
            Manner::Halves => {
                if let Some((_, message)) = said(self.engine.extract(&pattern))? {
                    return Err(format!("it takes message {message}"));
                }
                said(self.engine.queue_receive(pattern, receive))?
            }
        };
        self.posted.insert(receive, (handle, pattern));
        Ok(Agreement::Same)
    }

    /// Compares what the library showed or took with what the structure would, which it leaves in
    /// place. Gives the pattern with which the structure finds it.
    fn chosen(
        &mut self,
        wanted: &Wanted,
        chosen: Option<Message>,
        freedom: Freedom,
    ) -> Result<(Agreement, MpiPattern), String> {
        let pattern = self.pattern(wanted);
        let first = self.show(&pattern)?;
        let id = chosen.map(|message| message.id);
        if first == id {
            return Ok((Agreement::Same, pattern));
        }
        let shows = |id: Option<u32>| match id {
            Some(id) => format!("it finds message {id}"),
            None => "it finds nothing".to_owned(),
        };
        let (Freedom::Free, Some(message)) = (freedom, chosen) else {
            return Err(shows(first));
        };
        // Another sender's turn: its earliest message must be the one.
        let of_sender = self.pattern(&wanted.from(message.sender));
        let second = self.show(&of_sender)?;
        if second != id {
            return Err(format!(
                "{}, and from {} alone {}",
                shows(first),
                message.sender,
                shows(second)
            ));
        }
        Ok((Agreement::Other, of_sender))
    }

    /// The message that a pattern finds.
    fn show(&mut self, pattern: &MpiPattern) -> Result<Option<u32>, String> {
        let seen = said(self.engine.probe(pattern))?;
        Ok(seen.map(|(_, message)| *message))
    }

    /// The library gave a message to a receive that was posted, or to a matched probe.
    fn took(
        &mut self,
        wanted: &Wanted,
        message: &Message,
        freedom: Freedom,
        receive: Option<u32>,
    ) -> Result<Agreement, String> {
        let (agreement, pattern) = self.chosen(wanted, Some(*message), freedom)?;
        let taken = match (self.manner, receive) {
            (Manner::Whole, Some(receive)) if agreement == Agreement::Same => {
                match said(self.engine.post(pattern, receive))? {
                    Post::Matched {
                        envelope,
                        message,
                        receive: back,
                    } => {
                        if back != receive {
                            return Err(format!("receive {back} handed back"));
                        }
                        Some((envelope, message))
                    }
                    Post::Queued(_) => None,
                }
            }
            (Manner::Whole, _) => said(self.engine.extract(&pattern))?,
            (Manner::Halves, _) => {
                let name = said(self.engine.find(&pattern))?.map(|(name, ..)| name);
                name.and_then(|name| self.engine.take(name))
            }
        };
        match taken {
            Some((envelope, id)) if id == message.id && envelope == self.envelope(message) => {
                Ok(agreement)
            }
            Some((envelope, id)) => Err(format!("it takes message {id}, {envelope:?}")),
            None => Err(format!("it shows {} and takes none", Which(Some(*message)))),
        }
    }

    fn cancelled(&mut self, receive: u32, done: bool) -> Result<Agreement, String> {
        let back = match self.posted.remove(&receive) {
            Some((handle, _)) => self.engine.cancel(handle),
            None => None,
        };
        match back {
            Some(back) if back != receive => Err(format!("receive {back} handed back")),
            Some(_) if !done => Err("it waits".to_owned()),
            None if done => Err("it has its message".to_owned()),
            _ => Ok(Agreement::Same),
        }
    }

    /// The collective's own messages come and are received: no wildcard of the application takes
    /// them, as none did in the library.
    fn collective(&mut self, comm: u32) -> Result<Agreement, String> {
        let class = TrafficClass::Allgather;
        let call = CollectiveCall::new(ContextId(comm), class, size_of::<u32>(), self.processes);
        said(self.engine.announce(&call))?;
        for rank in 0..self.processes {
            let envelope = MpiEnvelope::new(comm, rank, ALLGATHER).with_class(class);
            match said(self.engine.arrive(envelope, rank))? {
                Arrive::Unexpected => {}
                Arrive::Matched { receive, .. } => {
                    return Err(format!("receive {receive} takes a collective's message"));
                }
            }
        }
        for rank in 0..self.processes {
            let pattern = MpiPattern::new(comm, rank, ALLGATHER).with_class(class);
            let taken = said(self.engine.extract(&pattern))?;
            if taken.map(|(envelope, message)| (envelope.source(), message))
                != Some((Rank(rank), rank))
            {
                return Err(format!("it finds {taken:?} for the collective's receive"));
            }
        }
        Ok(Agreement::Nothing)
    }
}

/// A refusal, as a sentence.
fn said<T>(result: Result<T, impl fmt::Display>) -> Result<T, String> {
    result.map_err(|error| format!("refused: {error}"))
}

/// An answer of a structure that is not the library's.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The structure, and how it was used.
    pub(crate) structure: String,
    /// What it answers.
    pub(crate) answer: String,
}

/// One structure, in both manners, over the whole run.
struct Structure {
    kind: Kind,
    subjects: [Subject; 2],
    counts: Counts,
    failed_rounds: u64,
}

/// All structures.
pub(crate) struct Subjects {
    structures: Vec<Structure>,
    processes: u32,
}

impl Subjects {
    /// Every structure of `mq-core`, with empty queues.
    pub(crate) fn new(processes: u32) -> Self {
        let structure = |kind: &Kind| Structure {
            kind: *kind,
            subjects: [Manner::Whole, Manner::Halves].map(|m| Subject::new(*kind, m, processes)),
            counts: Counts::default(),
            failed_rounds: 0,
        };
        Self {
            structures: Kind::ALL.iter().map(structure).collect(),
            processes,
        }
    }

    /// Tells every structure what the library did; gives those that would have done otherwise. They
    /// are told nothing more until the round ends.
    pub(crate) fn tell(&mut self, event: &Event, freedom: Freedom) -> Vec<Difference> {
        let mut differences = Vec::new();
        for structure in &mut self.structures {
            for subject in &mut structure.subjects {
                if subject.differs {
                    continue;
                }
                let told = catch_unwind(AssertUnwindSafe(|| subject.tell(event, freedom)));
                match told.unwrap_or_else(|_| Err("it panics".to_owned())) {
                    Ok(agreement) => structure.counts.add(agreement, freedom),
                    Err(answer) => {
                        subject.differs = true;
                        differences.push(Difference {
                            structure: format!("{} ({})", structure.kind, subject.manner),
                            answer,
                        });
                    }
                }
            }
        }
        differences
    }

    /// Ends a round. Structures that differed start anew, the others keep what they have learned.
    pub(crate) fn end_round(&mut self) {
        for structure in &mut self.structures {
            if structure.subjects.iter().any(|subject| subject.differs) {
                structure.failed_rounds += 1;
            }
            for subject in &mut structure.subjects {
                if subject.differs {
                    *subject = Subject::new(structure.kind, subject.manner, self.processes);
                }
                subject.posted.clear();
            }
        }
    }

    /// Each structure: its name, what was compared, and the rounds in which it differed.
    pub(crate) fn results(&self) -> impl Iterator<Item = (Kind, Counts, u64)> + '_ {
        let result = |structure: &Structure| {
            let Structure {
                kind,
                counts,
                failed_rounds,
                ..
            } = structure;
            (*kind, *counts, *failed_rounds)
        };
        self.structures.iter().map(result)
    }
}

impl Counts {
    const fn add(&mut self, agreement: Agreement, freedom: Freedom) {
        match (agreement, freedom) {
            (Agreement::Nothing, _) => {}
            (_, Freedom::Strict) => self.strict += 1,
            (Agreement::Same, Freedom::Free) => self.free_same += 1,
            (Agreement::Other, Freedom::Free) => self.free_other += 1,
        }
    }
}

#[cfg(test)]
mod tests;
