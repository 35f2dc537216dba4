//! What is compared with the shadow: the engine and, in some windows, the oracle of `mq-trace`.

use std::sync::{Arc, Mutex};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{
    Arrive, Budget, CollectiveCall, Config, ContextId, ContextOptions, Engine, EngineOptions,
    Entry, Error, Footprint, Handle, HighWater, MatchQueues, MessageHandle, Post, Refused, Removed,
    Source, Tag, TrafficClass, Used,
};
use mq_trace::Oracle;

use crate::shadow::{
    BYTES, ENTRIES, HIGH, LOW, Outcome, SOURCE_BYTES, SOURCE_ENTRIES, Shadow, weigh,
};
use crate::traffic::{Carried, Named, Operation, Ring, TAGS, Wanted};

/// The engine, and names that were given.
pub(crate) struct Subject {
    engine: Engine<AnyQueues<MpiPattern, u64, u64>>,
    kinds: Vec<Kind>,
    made: usize,
    crossings: Arc<Mutex<u64>>,
    pub(crate) receives: Ring<Handle, Wanted>,
    pub(crate) messages: Ring<MessageHandle, Carried>,
}

fn id(context: usize) -> u32 {
    u32::try_from(context).expect("few")
}

fn queued_or<T>(taken: Option<T>, outcome: impl FnOnce(T) -> Outcome) -> Outcome {
    taken.map_or(Outcome::Queued, outcome)
}

fn refused(refused: &Refused<u64>, number: u64) -> Outcome {
    assert_eq!(refused.payload, number, "another payload came back");
    Outcome::Refused(refused.error)
}

fn message(found: Option<(MpiEnvelope, u64)>) -> Outcome {
    found.map_or(Outcome::Nothing, |(envelope, number)| {
        Outcome::Message(number, envelope)
    })
}

fn receive(found: Option<(MpiPattern, u64)>) -> Outcome {
    found.map_or(Outcome::Nothing, |(pattern, number)| {
        Outcome::Receive(number, pattern)
    })
}

fn answer<T>(result: Result<T, Error>, outcome: impl FnOnce(T) -> Outcome) -> Outcome {
    result.map_or_else(Outcome::Refused, outcome)
}

/// By context, receives first; within these in the order in which they came.
fn grouped(mut entries: Vec<(usize, bool, u64)>) -> Vec<(usize, bool, u64)> {
    entries.sort_by_key(|&(context, posted, _)| (context, !posted));
    entries
}

fn removed_entry(removed: &Removed<MpiPattern, u64, u64>) -> (usize, bool, u64) {
    match removed {
        Removed::Posted(pattern, number) => (pattern.context().0 as usize, true, *number),
        Removed::Unexpected(envelope, number) => (envelope.context().0 as usize, false, *number),
    }
}

/// Whether a purge of one sender, or of a quarter, chooses an entry.
fn chosen(operation: &Operation, shadow: &Shadow, entry: &Entry<'_, MpiPattern, u64, u64>) -> bool {
    let (context, source, number) = match entry {
        Entry::Posted(_, pattern, number) => (pattern.context(), pattern.source(), **number),
        Entry::Unexpected(_, envelope, number) => {
            let source = Source::Rank(envelope.source());
            (envelope.context(), source, **number)
        }
    };
    match *operation {
        Operation::PurgeSender(purged, sender) => {
            let carried = Carried {
                context: purged,
                sender,
                tag: 0,
            };
            let envelope = shadow.envelope(carried);
            context == envelope.context() && source == Source::Rank(envelope.source())
        }
        Operation::Free(freed) => context == ContextId(id(freed)),
        Operation::PurgeSome(rest) => number % 4 == rest,
        _ => false,
    }
}

impl Subject {
    pub(crate) fn new(kinds: Vec<Kind>) -> Self {
        let budget = Budget::UNLIMITED
            .entries(ENTRIES)
            .bytes(BYTES, weigh)
            .entries_per_source(SOURCE_ENTRIES)
            .bytes_per_source(SOURCE_BYTES, weigh);
        let crossings = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&crossings);
        let options = EngineOptions::new().budget(budget).high_water(
            HighWater::NEVER.entries(HIGH, LOW),
            move |_| {
                *counted.lock().expect("no panic") += 1;
            },
        );
        Self {
            engine: Engine::with_options(options),
            kinds,
            made: 0,
            crossings,
            receives: Ring::new(),
            messages: Ring::new(),
        }
    }

    pub(crate) fn crossings(&self) -> u64 {
        *self.crossings.lock().expect("no panic")
    }

    pub(crate) fn used(&self) -> Used {
        self.engine.used()
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.engine.posted_len(), self.engine.unexpected_len())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.engine.memory().total()
    }

    fn queued(&mut self, name: Handle, number: u64, at: Wanted) -> Outcome {
        self.receives.push(Named { name, number, at });
        Outcome::Queued
    }

    fn kept(&mut self, name: MessageHandle, number: u64, at: Carried) -> Outcome {
        self.messages.push(Named { name, number, at });
        Outcome::Queued
    }

    /// Performs an operation; `shadow` tells the ranks, and has not performed it yet.
    pub(crate) fn perform(
        &mut self,
        operation: &Operation,
        number: u64,
        shadow: &Shadow,
    ) -> Outcome {
        let engine = &mut self.engine;
        match *operation {
            Operation::Post(wanted) => match engine.post(shadow.pattern(wanted), number) {
                Ok(Post::Queued(name)) => self.queued(name, number, wanted),
                Ok(Post::Matched {
                    envelope,
                    message,
                    receive,
                }) => {
                    assert_eq!(receive, number, "another receive came back");
                    Outcome::Message(message, envelope)
                }
                Err(error) => refused(&error, number),
            },
            Operation::PostHalves(wanted) => {
                let pattern = shadow.pattern(wanted);
                match engine.extract(&pattern) {
                    Ok(None) => match engine.queue_receive(pattern, number) {
                        Ok(name) => self.queued(name, number, wanted),
                        Err(error) => refused(&error, number),
                    },
                    taken => answer(taken, message),
                }
            }
            Operation::Arrive(carried) => match engine.arrive(shadow.envelope(carried), number) {
                Ok(Arrive::Unexpected) => Outcome::Queued,
                Ok(Arrive::Matched {
                    pattern,
                    receive,
                    message,
                }) => {
                    assert_eq!(message, number, "another message came back");
                    Outcome::Receive(receive, pattern)
                }
                Err(error) => refused(&error, number),
            },
            Operation::ArriveHalves(carried) => {
                let envelope = shadow.envelope(carried);
                match engine.deliver(&envelope) {
                    Ok(None) => match engine.queue_message(envelope, number) {
                        Ok(name) => self.kept(name, number, carried),
                        Err(error) => refused(&error, number),
                    },
                    taken => answer(taken, receive),
                }
            }
            Operation::Probe(wanted) => answer(engine.probe(&shadow.pattern(wanted)), |seen| {
                message(seen.map(|(envelope, &number)| (envelope, number)))
            }),
            Operation::Extract(wanted) => answer(engine.extract(&shadow.pattern(wanted)), message),
            Operation::Take(wanted) => {
                let found = engine.find(&shadow.pattern(wanted));
                match found.map(|found| found.map(|(name, ..)| name)) {
                    Ok(Some(name)) => message(engine.take(name)),
                    none => answer(none, |_| Outcome::Nothing),
                }
            }
            Operation::Deliver(carried) => {
                answer(engine.deliver(&shadow.envelope(carried)), receive)
            }
            Operation::Cancel(named) => {
                let cancelled = engine.cancel(named.name);
                receive(cancelled.map(|number| (shadow.pattern(named.at), number)))
            }
            Operation::TakeNamed(named) => message(engine.take(named.name)),
            _ => self.perform_rare(operation, shadow),
        }
    }

    fn perform_rare(&mut self, operation: &Operation, shadow: &Shadow) -> Outcome {
        let engine = &mut self.engine;
        let mut removed = Vec::new();
        match *operation {
            Operation::Free(context) => {
                let freed = engine.free_context(id(context), &mut |entry| {
                    removed.push(removed_entry(&entry));
                });
                answer(freed, |()| Outcome::Removed(removed))
            }
            Operation::Create(context, _) => {
                let kind = self.kinds[self.made % self.kinds.len()];
                let options = ContextOptions::new().kind(kind);
                let created = engine.create_context(id(context), options);
                self.made += usize::from(created.is_ok());
                answer(created, |()| Outcome::Nothing)
            }
            Operation::Announce(context, tag) => {
                let class = TrafficClass::from_open_mpi_tag(Tag(TAGS[tag]));
                let call = CollectiveCall::new(ContextId(id(context)), class, 64, 64);
                answer(engine.announce(&call), |()| Outcome::Nothing)
            }
            Operation::Clear => {
                engine.clear();
                Outcome::Nothing
            }
            _ => {
                engine.purge(
                    &mut |entry| chosen(operation, shadow, &entry),
                    &mut |entry| removed.push(removed_entry(&entry)),
                );
                Outcome::Removed(grouped(removed))
            }
        }
    }

    /// Everything that is queued: by context, receives first, each in order.
    pub(crate) fn listed(&self) -> Vec<(usize, bool, u64)> {
        let mut entries = Vec::new();
        self.engine.visit(&mut |entry| {
            entries.push(match entry {
                Entry::Posted(_, pattern, &number) => (pattern.context().0 as usize, true, number),
                Entry::Unexpected(_, envelope, &number) => {
                    (envelope.context().0 as usize, false, number)
                }
            });
        });
        grouped(entries)
    }

    /// The oracle, with the same entries.
    pub(crate) fn oracle(&self) -> Reference {
        let mut oracle = Oracle::with_config(&Config::default());
        self.engine.visit(&mut |entry| match entry {
            Entry::Posted(_, pattern, &number) => {
                oracle.queue_receive(pattern, number);
            }
            Entry::Unexpected(_, envelope, &number) => {
                oracle.queue_message(envelope, number);
            }
        });
        Reference(oracle)
    }
}

/// The oracle of `mq-trace`: the rules as plain searches, for windows of operations.
#[derive(Debug)]
pub(crate) struct Reference(Oracle<MpiPattern, u64, u64>);

impl Reference {
    /// What an operation answered by `answer` should do; `shadow` has not performed it yet.
    pub(crate) fn perform(
        &mut self,
        operation: &Operation,
        number: u64,
        shadow: &Shadow,
        answer: &Outcome,
    ) -> Outcome {
        let oracle = &mut self.0;
        let budget_refused = match answer {
            Outcome::Refused(Error::UnknownContext(_) | Error::ContextExists(_)) => {
                // The oracle knows no contexts.
                return Outcome::Nothing;
            }
            Outcome::Refused(_) => true,
            _ => false,
        };
        match *operation {
            Operation::Post(wanted) | Operation::PostHalves(wanted) => {
                let pattern = shadow.pattern(wanted);
                let taken = oracle.extract(&pattern);
                if taken.is_none() {
                    oracle.queue_receive(pattern, number);
                }
                queued_or(taken, |taken| message(Some(taken)))
            }
            Operation::Arrive(carried) | Operation::ArriveHalves(carried) => {
                let envelope = shadow.envelope(carried);
                let taken = oracle.deliver(&envelope);
                if taken.is_none() && !budget_refused {
                    oracle.queue_message(envelope, number);
                }
                queued_or(taken, |taken| receive(Some(taken)))
            }
            Operation::Probe(wanted) => {
                let seen = oracle.probe(&shadow.pattern(wanted));
                message(seen.map(|(envelope, &number)| (envelope, number)))
            }
            Operation::Extract(wanted) | Operation::Take(wanted) => {
                message(oracle.extract(&shadow.pattern(wanted)))
            }
            Operation::Deliver(carried) => receive(oracle.deliver(&shadow.envelope(carried))),
            Operation::Cancel(named) => {
                let removed = self.remove(
                    |entry| matches!(entry, Entry::Posted(_, _, number) if **number == named.number),
                );
                let number = removed.first().map(|entry| entry.2);
                receive(number.map(|number| (shadow.pattern(named.at), number)))
            }
            Operation::TakeNamed(named) => {
                let removed = self.remove(|entry| {
                    matches!(entry, Entry::Unexpected(_, _, number) if **number == named.number)
                });
                let number = removed.first().map(|entry| entry.2);
                message(number.map(|number| (shadow.envelope(named.at), number)))
            }
            Operation::PurgeSender(..) | Operation::PurgeSome(_) | Operation::Free(_) => {
                Outcome::Removed(self.remove(|entry| chosen(operation, shadow, entry)))
            }
            Operation::Create(..) | Operation::Announce(..) => Outcome::Nothing,
            Operation::Clear => {
                oracle.clear();
                Outcome::Nothing
            }
        }
    }

    fn remove(
        &mut self,
        select: impl Fn(&Entry<'_, MpiPattern, u64, u64>) -> bool,
    ) -> Vec<(usize, bool, u64)> {
        let mut removed = Vec::new();
        self.0.purge(&mut |entry| select(&entry), &mut |entry| {
            removed.push(removed_entry(&entry));
        });
        grouped(removed)
    }

    pub(crate) fn listed(&self) -> Vec<(usize, bool, u64)> {
        let mut entries = Vec::new();
        self.0.visit(&mut |entry| {
            entries.push(match entry {
                Entry::Posted(_, pattern, &number) => (pattern.context().0 as usize, true, number),
                Entry::Unexpected(_, envelope, &number) => {
                    (envelope.context().0 as usize, false, number)
                }
            });
        });
        grouped(entries)
    }
}
