//! The subjects that take the steps: queues alone, and queues in an engine.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mq_core::{
    Arrive, Budget, CollectiveCall, Config, ContextId, ContextOptions, Engine, EngineOptions,
    Entry, EntryOf, Envelope, Error, Handle, MatchQueues, MessageHandle, Pattern, Post, Refused,
    Removed, RemovedOf, Source, Tag, TrafficClass, Used,
};

use super::family::Family;
use super::step::Step;
use super::{CONTEXTS, RANKS, Setup};

/// The answer to a step. A partner is its number and the `Debug` output of its pattern or envelope, so
/// that returning a changed one is a difference too.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Queued,
    Unexpected,
    Matched(u32, String),
    Nothing,
    Cancelled(u32),
    Purged(Vec<String>),
    Refused(Error, u32),
}

/// Something that takes steps.
pub(super) trait Subject<P: Pattern> {
    fn perform<F: Family<Pattern = P>>(&mut self, step: &Step) -> Outcome;
    /// Posted receives and unexpected messages queued.
    fn lengths(&self) -> (usize, usize);
    /// The lengths of the unexpected queue at which a high mark was reached.
    fn crossings(&self) -> Vec<usize> {
        Vec::new()
    }
    /// What is counted against budgets and marks, if anything is.
    fn used(&self) -> Option<Used> {
        None
    }
    /// How many entries have been queued, if this counts them.
    fn queued_total(&self) -> Option<u32> {
        None
    }
    /// What is queued, by context, in order.
    fn contents(&self) -> BTreeMap<u32, Vec<String>>;
}

/// Numbers of receives and messages, and the handles of receives.
#[derive(Default)]
pub(super) struct Numbers {
    handles: Vec<Option<Handle>>,
    pub(super) messages: u32,
    /// The message last queued in halves; its name is stale if the message has left since.
    last_message: Option<MessageHandle>,
}

impl Numbers {
    pub(super) fn next_receive(&mut self) -> u32 {
        self.handles.push(None);
        u32::try_from(self.handles.len() - 1).expect("few steps")
    }

    pub(super) fn next_message(&mut self) -> u32 {
        self.messages += 1;
        self.messages - 1
    }

    pub(super) fn posted<E: core::fmt::Debug>(
        &mut self,
        receive: u32,
        post: Post<E, u32, u32>,
    ) -> Outcome {
        match post {
            Post::Queued(handle) => {
                self.handles[receive as usize] = Some(handle);
                Outcome::Queued
            }
            Post::Matched {
                envelope,
                message,
                receive: back,
            } => {
                assert_eq!(back, receive, "another receive came back");
                Outcome::Matched(message, format!("{envelope:?}"))
            }
        }
    }

    /// The second half of posting a receive.
    fn in_halves<E: core::fmt::Debug>(
        &mut self,
        receive: u32,
        taken: Option<(E, u32)>,
        queue: impl FnOnce() -> Result<Handle, Refused<u32>>,
    ) -> Outcome {
        if taken.is_some() {
            return found(taken);
        }
        match queue() {
            Ok(handle) => {
                self.handles[receive as usize] = Some(handle);
                Outcome::Queued
            }
            Err(refused) => Outcome::Refused(refused.error, refused.payload),
        }
    }

    pub(super) fn handle(&self, receive: u32) -> Option<Handle> {
        self.handles.get(receive as usize).copied().flatten()
    }
}

pub(super) fn arrived<P: core::fmt::Debug>(message: u32, arrival: Arrive<P, u32, u32>) -> Outcome {
    match arrival {
        Arrive::Unexpected => Outcome::Unexpected,
        Arrive::Matched {
            pattern,
            receive,
            message: back,
        } => {
            assert_eq!(back, message, "another message came back");
            Outcome::Matched(receive, format!("{pattern:?}"))
        }
    }
}

pub(super) fn found<E: core::fmt::Debug>(found: Option<(E, u32)>) -> Outcome {
    match found {
        Some((partner, number)) => Outcome::Matched(number, format!("{partner:?}")),
        None => Outcome::Nothing,
    }
}

/// Whether a purge step chooses an entry: all of a context, or those that name a source and every third
/// of the receives that name none.
pub(super) fn chosen<P: Pattern>(
    entry: &Entry<'_, P, u32, u32>,
    comm: u32,
    source: Option<u32>,
) -> bool {
    let (context, from, number) = match entry {
        Entry::Posted(pattern, number) => (pattern.context(), pattern.source(), **number),
        Entry::Unexpected(envelope, number) => {
            let from = Source::Rank(envelope.source());
            (envelope.context(), from, **number)
        }
    };
    let is_chosen = |rank: u32| match from {
        Source::Any => number % 3 == rank % 3,
        named => named == Source::from(rank),
    };
    context.0 == comm && source.is_none_or(is_chosen)
}

pub(super) fn show_removed<P: Pattern>(removed: &Removed<P, u32, u32>) -> String {
    match removed {
        Removed::Posted(pattern, receive) => format!("{pattern:?} {receive}"),
        Removed::Unexpected(envelope, message) => format!("{envelope:?} {message}"),
    }
}

pub(super) fn show_entry<P: Pattern>(entry: &Entry<'_, P, u32, u32>) -> (u32, String) {
    match entry {
        Entry::Posted(p, receive) => (p.context().0, format!("{p:?} {receive}")),
        Entry::Unexpected(e, message) => (e.context().0, format!("{e:?} {message}")),
    }
}

pub(super) fn call(comm: u32, tag: i32, bytes: u32) -> CollectiveCall {
    let class = TrafficClass::from_open_mpi_tag(Tag(tag));
    CollectiveCall::new(ContextId(comm), class, bytes as usize, RANKS)
}

fn config(setup: &Setup) -> Config {
    let mut config = Config::default();
    config.size = setup.size;
    config.tuning = setup.tuning.clone();
    config
}

/// Queues used without an engine.
pub(super) struct Bare<Q> {
    pub(super) queues: Q,
    pub(super) numbers: Numbers,
    config: Config,
}

impl<Q: MatchQueues> Bare<Q> {
    pub(super) fn new(setup: &Setup) -> Self {
        let config = config(setup);
        Self {
            queues: Q::with_config(&config),
            numbers: Numbers::default(),
            config,
        }
    }
}

impl<Q> Bare<Q>
where
    Q: MatchQueues<Receive = u32, Message = u32>,
{
    /// `select` sees all entries, in order, before any of their context comes back.
    fn purge(&mut self, comm: u32, source: Option<u32>) -> Outcome {
        let mut queued = BTreeMap::<u32, Vec<String>>::new();
        self.queues.visit(&mut |entry| {
            let (context, text) = show_entry(&entry);
            queued.entry(context).or_default().push(text);
        });
        let asked = RefCell::new(BTreeMap::<u32, Vec<String>>::new());
        let mut purged = Vec::new();
        let mut select = |entry: EntryOf<'_, Q>| {
            let (context, text) = show_entry(&entry);
            asked.borrow_mut().entry(context).or_default().push(text);
            chosen(&entry, comm, source)
        };
        let mut back = |removed: RemovedOf<Q>| {
            let asked = asked.borrow();
            assert_eq!(asked.get(&comm), queued.get(&comm), "asked about too late");
            purged.push(show_removed(&removed));
        };
        self.queues.purge(&mut select, &mut back);
        assert_eq!(*asked.borrow(), queued, "what a purge asked about");
        Outcome::Purged(purged)
    }
}

impl<P, Q> Subject<P> for Bare<Q>
where
    P: Pattern,
    Q: MatchQueues<Pattern = P, Receive = u32, Message = u32>,
{
    fn perform<F: Family<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        let Self {
            queues,
            numbers,
            config,
        } = self;
        match step {
            Step::Post(wanted) => {
                let receive = numbers.next_receive();
                numbers.posted(receive, queues.post(F::pattern(wanted), receive))
            }
            Step::Arrive(carried) => {
                let message = numbers.next_message();
                arrived(message, queues.arrive(F::envelope(carried), message))
            }
            Step::Probe(wanted) => {
                let seen = queues.probe(&F::pattern(wanted));
                found(seen.map(|(envelope, &message)| (envelope, message)))
            }
            Step::Extract(wanted) => found(queues.extract(&F::pattern(wanted))),
            Step::Deliver(carried) => {
                let shown = queues.find_receive(&F::envelope(carried));
                let shown = found(shown.map(|(_, pattern, &receive)| (pattern, receive)));
                let delivered = found(queues.deliver(&F::envelope(carried)));
                assert_eq!(shown, delivered, "another receive was shown than delivered");
                delivered
            }
            Step::PostHalves(wanted) => {
                let receive = numbers.next_receive();
                let taken = queues.extract(&F::pattern(wanted));
                numbers.in_halves(receive, taken, || {
                    // What may come between the halves.
                    if receive % 2 == 0 {
                        queues.raise_sequence(queues.next_sequence());
                    }
                    Ok(queues.queue_receive(F::pattern(wanted), receive))
                })
            }
            Step::ArriveHalves(carried) => {
                let message = numbers.next_message();
                let envelope = F::envelope(carried);
                let delivered = if message % 2 == 0 {
                    queues.deliver(&envelope)
                } else {
                    let shown = queues.find_receive(&envelope);
                    let shown = shown.map(|(handle, pattern, _)| (handle, pattern));
                    shown.and_then(|(handle, pattern)| Some((pattern, queues.cancel(handle)?)))
                };
                match delivered {
                    None => {
                        let named = queues.queue_message(envelope, message);
                        numbers.last_message = Some(named);
                        Outcome::Unexpected
                    }
                    taken => found(taken),
                }
            }
            Step::Take(wanted) => {
                let named = queues.find(&F::pattern(wanted)).map(|(name, ..)| name);
                let Some(named) = named.or(numbers.last_message) else {
                    return Outcome::Nothing;
                };
                let taken = found(queues.take(named));
                assert!(queues.take(named).is_none(), "a message was taken twice");
                taken
            }
            Step::Cancel(receive) => {
                let handle = numbers.handle(*receive);
                let cancelled = handle.and_then(|handle| queues.cancel(handle));
                cancelled.map_or(Outcome::Nothing, Outcome::Cancelled)
            }
            Step::PurgeContext(comm) => self.purge(*comm, None),
            Step::PurgeSource(comm, source) => self.purge(*comm, Some(*source)),
            Step::Resize(comm, size) => {
                config.size = Some(*size);
                queues.update_context(ContextId(*comm), config);
                Outcome::Nothing
            }
            Step::Announce(comm, tag, bytes) => {
                queues.announce(&call(*comm, *tag, *bytes));
                Outcome::Nothing
            }
            Step::Clear => {
                queues.clear();
                Outcome::Nothing
            }
        }
    }

    fn lengths(&self) -> (usize, usize) {
        (self.queues.posted_len(), self.queues.unexpected_len())
    }

    fn queued_total(&self) -> Option<u32> {
        Some(self.queues.queued_total())
    }

    fn contents(&self) -> BTreeMap<u32, Vec<String>> {
        let mut contents = BTreeMap::<u32, Vec<String>>::new();
        self.queues.visit(&mut |entry| {
            let (context, text) = show_entry(&entry);
            contents.entry(context).or_default().push(text);
        });
        contents
    }
}

/// The weight of message `n` in the byte budget.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the engine's signature")]
pub(super) fn weigh(message: &u32) -> u64 {
    u64::from(*message % 7)
}

/// The options of the engine.
///
/// Each time a high mark is reached, the number of messages is recorded in `crossings`.
pub(super) fn engine_options(
    setup: &Setup,
    crossings: &Arc<Mutex<Vec<usize>>>,
) -> EngineOptions<u32> {
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
    crossings: Arc<Mutex<Vec<usize>>>,
}

impl<Q: MatchQueues<Message = u32>> Engined<Q> {
    pub(super) fn new(setup: &Setup) -> Self {
        let crossings = Arc::<Mutex<Vec<usize>>>::default();
        let mut engined = Self {
            engine: Engine::with_options(engine_options(setup, &crossings)),
            numbers: Numbers::default(),
            setup: setup.clone(),
            made: 0,
            crossings,
        };
        (0..CONTEXTS).for_each(|comm| engined.create_context(comm));
        engined
    }

    fn create_context(&mut self, comm: u32) {
        let kind = self.setup.kind_of_context(self.made);
        self.made += 1;
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
    Q: MatchQueues<Receive = u32, Message = u32>,
{
    /// A whole context is purged by freeing it, and is created again afterwards.
    fn purge_context(&mut self, comm: u32) -> Outcome {
        let mut purged = Vec::new();
        let mut back = |removed: RemovedOf<Q>| purged.push(show_removed(&removed));
        self.engine
            .free_context(comm, &mut back)
            .expect("it exists");
        self.create_context(comm);
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
    Q: MatchQueues<Pattern = P, Receive = u32, Message = u32>,
{
    fn perform<F: Family<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        let Self {
            engine, numbers, ..
        } = self;
        match step {
            Step::Post(wanted) => {
                let receive = numbers.next_receive();
                match engine.post(F::pattern(wanted), receive) {
                    Ok(post) => numbers.posted(receive, post),
                    Err(refused) => Outcome::Refused(refused.error, refused.payload),
                }
            }
            Step::Arrive(carried) => {
                let message = numbers.next_message();
                match engine.arrive(F::envelope(carried), message) {
                    Ok(arrival) => arrived(message, arrival),
                    Err(refused) => Outcome::Refused(refused.error, refused.payload),
                }
            }
            Step::Probe(wanted) => {
                let seen = engine.probe(&F::pattern(wanted)).expect("valid");
                found(seen.map(|(envelope, &message)| (envelope, message)))
            }
            Step::Extract(wanted) => found(engine.extract(&F::pattern(wanted)).expect("valid")),
            Step::Deliver(carried) => found(engine.deliver(&F::envelope(carried)).expect("valid")),
            Step::PostHalves(wanted) => {
                let receive = numbers.next_receive();
                let taken = engine.extract(&F::pattern(wanted)).expect("valid");
                numbers.in_halves(receive, taken, || {
                    engine.queue_receive(F::pattern(wanted), receive)
                })
            }
            Step::ArriveHalves(carried) => {
                let message = numbers.next_message();
                let taken = engine.deliver(&F::envelope(carried)).expect("valid");
                if taken.is_some() {
                    return found(taken);
                }
                match engine.queue_message(F::envelope(carried), message) {
                    Ok(named) => {
                        numbers.last_message = Some(named);
                        Outcome::Unexpected
                    }
                    Err(refused) => Outcome::Refused(refused.error, refused.payload),
                }
            }
            Step::Take(wanted) => {
                let seen = engine.find(&F::pattern(wanted)).expect("valid");
                let named = seen.map(|(name, ..)| name);
                let Some(named) = named.or(numbers.last_message) else {
                    return Outcome::Nothing;
                };
                let taken = found(engine.take(named));
                assert!(engine.take(named).is_none(), "a message was taken twice");
                taken
            }
            Step::Cancel(receive) => {
                let handle = numbers.handle(*receive);
                let cancelled = handle.and_then(|handle| engine.cancel(handle));
                cancelled.map_or(Outcome::Nothing, Outcome::Cancelled)
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
