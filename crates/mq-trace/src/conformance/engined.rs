//! Runs the suite's steps on an engine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mq_core::structures::Kind;
use mq_core::{
    Budget, ContextOptions, Engine, EngineOptions, EntryOf, MatchQueues, Pattern, RemovedOf, Used,
};

use super::family::EnvelopeFamily;
use super::payload::Payload;
use super::step::Step;
use super::subject::{
    Numbers, Outcome, Subject, arrived, call, cancelled, chosen, found, refused, show_entry,
    show_removed, show_wrong, shown, taken,
};
use super::{CONTEXTS, Setup};

/// A context that no step uses, created while entries are queued in others.
const SPARE: u32 = CONTEXTS;

/// The weight of a message in the byte budget.
pub(super) fn weigh<M: Payload>(message: &M) -> u64 {
    u64::from(message.number() % 7)
}

/// The options of the engine.
///
/// Each time a high mark is reached, the number of messages is recorded in `crossings`.
pub(super) fn engine_options<M: Payload>(
    setup: &Setup,
    crossings: &Arc<Mutex<Vec<usize>>>,
) -> EngineOptions<M> {
    let mut budget = Budget::UNLIMITED;
    if let Some(limit) = setup.entry_budget {
        budget = budget.entries(limit);
    }
    if let Some(limit) = setup.byte_budget {
        budget = budget.bytes(limit, weigh);
    }
    if let Some(limit) = setup.source_entry_budget {
        budget = budget.entries_per_source(limit);
    }
    if let Some(limit) = setup.source_byte_budget {
        budget = budget.bytes_per_source(limit, weigh);
    }
    let options = EngineOptions::new()
        .tuning(setup.tuning.clone())
        .budget(budget);
    let Some(marks) = setup.high_water() else {
        return options;
    };
    let noted = Arc::clone(crossings);
    options.high_water(marks, move |used| {
        noted.lock().expect("no panic").push(used.entries);
    })
}

/// Queues in an engine, one context for each number.
///
/// If each context has [another structure](Setup::kind), contexts move between objects of their own and shared
/// ones.
pub(super) struct Engined<Q: MatchQueues> {
    engine: Engine<Q>,
    numbers: Numbers,
    setup: Setup,
    /// Contexts created so far.
    made: usize,
    has_spare: bool,
    crossings: Arc<Mutex<Vec<usize>>>,
}

impl<Q: MatchQueues<Message: Payload>> Engined<Q> {
    pub(super) fn new(setup: &Setup) -> Self {
        let crossings = Arc::<Mutex<Vec<usize>>>::default();
        let mut engined = Self {
            engine: Engine::with_options(engine_options(setup, &crossings)),
            numbers: Numbers::default(),
            setup: setup.clone(),
            made: 0,
            has_spare: false,
            crossings,
        };
        (0..CONTEXTS).for_each(|comm| engined.create_context(comm));
        engined
    }

    fn create_context(&mut self, comm: u32) {
        let kind = self.setup.kind_of_context(self.made);
        self.made += 1;
        self.create_of_kind(comm, kind);
    }

    /// Once entries are queued, a context more, of the structure that the first context had.
    fn create_spare(&mut self) {
        if !self.has_spare && self.engine.posted_len() > 1 {
            self.has_spare = true;
            self.create_of_kind(SPARE, self.setup.kind_of_context(0));
        }
    }

    fn create_of_kind(&mut self, comm: u32, kind: Kind) {
        let mut options = ContextOptions::new().kind(kind);
        if let Some(size) = self.setup.size {
            options = options.size(size);
        }
        self.engine
            .create_context(comm, options)
            .expect("it was never made, or freed");
    }
}

impl<Q> Engined<Q>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
{
    /// A whole context is purged by freeing it, and is created again afterwards. Its old handles name nothing then.
    fn purge_context(&mut self, comm: u32) -> Outcome {
        let mut purged = Vec::new();
        let mut back = |removed: RemovedOf<Q>| purged.push(show_removed(&removed));
        self.engine
            .free_context(comm, &mut back)
            .expect("it exists");
        self.create_context(comm);
        for handle in self.numbers.stale(comm) {
            let wrong = self.engine.cancel(handle);
            purged.extend(wrong.map(|receive| show_wrong(handle, &receive)));
        }
        Outcome::Purged(purged)
    }

    fn purge_source(&mut self, comm: u32, source: u32) -> Outcome {
        let mut purged = Vec::new();
        let mut select = |entry: EntryOf<'_, Q>| chosen(&entry, comm, Some(source));
        let mut back = |removed: RemovedOf<Q>| purged.push(show_removed(&removed));
        self.engine.purge(&mut select, &mut back);
        Outcome::Purged(purged)
    }
}

impl<P, Q> Subject<P> for Engined<Q>
where
    P: Pattern,
    Q: MatchQueues<Pattern = P, Receive: Payload, Message: Payload>,
{
    fn perform<F: EnvelopeFamily<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        self.create_spare();
        let Self {
            engine, numbers, ..
        } = self;
        match step {
            Step::Post(wanted) => {
                let (number, receive) = numbers.next_receive();
                match engine.post(F::pattern(wanted), receive) {
                    Ok(post) => numbers.posted(number, post),
                    Err(back) => refused(&back),
                }
            }
            Step::Arrive(carried) => {
                let (number, message) = numbers.next_message();
                match engine.arrive(F::envelope(carried), message) {
                    Ok(arrival) => arrived(number, arrival),
                    Err(back) => refused(&back),
                }
            }
            Step::Probe(wanted) => shown(engine.probe(&F::pattern(wanted)).expect("valid")),
            Step::Extract(wanted) => found(engine.extract(&F::pattern(wanted)).expect("valid")),
            Step::Deliver(carried) => found(engine.deliver(&F::envelope(carried)).expect("valid")),
            Step::PostHalves(wanted) => {
                let (number, receive) = numbers.next_receive();
                let taken = engine.extract(&F::pattern(wanted)).expect("valid");
                numbers.in_halves(number, taken, || {
                    engine.queue_receive(F::pattern(wanted), receive)
                })
            }
            Step::ArriveHalves(carried) => {
                let (_, message) = numbers.next_message();
                let taken = engine.deliver(&F::envelope(carried)).expect("valid");
                if taken.is_some() {
                    return found(taken);
                }
                match engine.queue_message(F::envelope(carried), message) {
                    Ok(named) => {
                        numbers.last_message = Some(named);
                        Outcome::Unexpected
                    }
                    Err(back) => refused(&back),
                }
            }
            Step::Take(wanted) => {
                let seen = engine.find(&F::pattern(wanted)).expect("valid");
                let named = seen.map(|(name, ..)| name);
                let Some(named) = named.or(numbers.last_message) else {
                    return Outcome::Nothing;
                };
                taken(engine.take(named), engine.take(named))
            }
            Step::Cancel(receive) => {
                let handle = numbers.handle(*receive);
                cancelled(handle.and_then(|handle| engine.cancel(handle)))
            }
            Step::PurgeContext(comm) => self.purge_context(*comm),
            Step::PurgeSource(comm, source) => self.purge_source(*comm, *source),
            Step::Resize(comm, size) => {
                let options = ContextOptions::new().size(*size);
                let told = engine.update_context(*comm, options);
                told.expect("all ranks are below it");
                Outcome::Nothing
            }
            Step::Announce(comm, tag, bytes) => {
                engine.announce(&call(*comm, *tag, *bytes)).expect("valid");
                Outcome::Nothing
            }
            Step::Clear => {
                engine.clear();
                Outcome::Nothing
            }
        }
    }

    fn lengths(&self) -> (usize, usize) {
        (self.engine.posted_len(), self.engine.unexpected_len())
    }

    fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    fn into_numbers(self) -> Numbers {
        self.numbers
    }

    fn crossings(&self) -> Vec<usize> {
        self.crossings.lock().expect("no panic").clone()
    }

    fn used(&self) -> Option<Used> {
        Some(self.engine.used())
    }

    fn contents(&self) -> BTreeMap<u32, Vec<String>> {
        let mut contents = BTreeMap::<u32, Vec<String>>::new();
        self.engine.visit(&mut |entry| {
            let (context, text) = show_entry(&entry);
            contents.entry(context).or_default().push(text);
        });
        contents
    }
}
