//! The subjects that take the steps: queues alone, and queues in an engine.

use core::cell::RefCell;
use std::collections::BTreeMap;

use mq_core::{
    Arrive, CollectiveCall, Config, ContextId, Entry, EntryOf, Envelope, Error, Handle,
    MatchQueues, MessageHandle, Pattern, Post, Refused, Removed, RemovedOf, Source, Tag,
    TrafficClass, Used,
};

use super::family::Family;
use super::step::Step;
use super::{RANKS, Setup};

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
    /// What is wrong with the numbers of entries, if anything is.
    fn misnumbered(&self) -> Option<&str> {
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
    pub(super) last_message: Option<MessageHandle>,
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
    pub(super) fn in_halves<E: core::fmt::Debug>(
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
        Entry::Posted(_, pattern, number) => (pattern.context(), pattern.source(), **number),
        Entry::Unexpected(_, envelope, number) => {
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
        Entry::Posted(_, p, receive) => (p.context().0, format!("{p:?} {receive}")),
        Entry::Unexpected(_, e, message) => (e.context().0, format!("{e:?} {message}")),
    }
}

pub(super) fn call(comm: u32, tag: i32, bytes: u32) -> CollectiveCall {
    let class = TrafficClass::from_open_mpi_tag(Tag(tag));
    CollectiveCall::new(ContextId(comm), class, bytes as usize, RANKS)
}

/// The number from which queues without an engine are to count.
pub(super) const FIRST: u64 = 1000;

fn config(setup: &Setup) -> Config {
    let mut config = Config::default();
    config.first_sequence = FIRST;
    config.size = setup.size;
    config.tuning = setup.tuning.clone();
    config
}

/// Queues used without an engine.
pub(super) struct Bare<Q> {
    pub(super) queues: Q,
    pub(super) numbers: Numbers,
    config: Config,
    /// Above the numbers of all receives queued so far in a context, and of all messages.
    above: BTreeMap<ContextId, (u64, u64)>,
    /// What the structure's own next number must be at least.
    least_next: u64,
    misnumbered: Option<String>,
}

impl<Q: MatchQueues> Bare<Q> {
    pub(super) fn new(setup: &Setup) -> Self {
        let config = config(setup);
        let queues = Q::with_config(&config);
        let next = queues.next_sequence();
        let ignored = || format!("the next number {next}, though it is to begin at {FIRST}");
        Self {
            misnumbered: (next < FIRST).then(ignored),
            queues,
            numbers: Numbers::default(),
            config,
            above: BTreeMap::new(),
            least_next: FIRST,
        }
    }

    /// Numbers of a context rise in the order of queueing, and the next one is above them all.
    fn check_numbers(&mut self, receive: Option<Handle>, message: Option<MessageHandle>) {
        if let Some(receive) = receive {
            let above = self.above.entry(receive.context());
            let above = &mut above.or_insert((FIRST, FIRST)).0;
            let least = core::mem::replace(above, receive.sequence() + 1);
            self.is_numbered(receive.sequence(), least);
        }
        if let Some(message) = message {
            let above = self.above.entry(message.context());
            let above = &mut above.or_insert((FIRST, FIRST)).1;
            let least = core::mem::replace(above, message.sequence() + 1);
            self.is_numbered(message.sequence(), least);
        }
        let next = self.queues.next_sequence();
        if next < self.least_next {
            let wrong = format!("the next number {next}, below {}", self.least_next);
            self.misnumbered.get_or_insert(wrong);
        }
    }

    /// An entry got a number that must not be below `least`.
    fn is_numbered(&mut self, number: u64, least: u64) {
        self.least_next = self.least_next.max(number + 1);
        if number < least {
            let wrong = format!("an entry numbered {number}, below {least}");
            self.misnumbered.get_or_insert(wrong);
        }
    }
}

impl<Q> Bare<Q>
where
    Q: MatchQueues<Receive = u32, Message = u32>,
{
    fn step<F: Family<Pattern = Q::Pattern>>(&mut self, step: &Step) -> Outcome {
        let Self {
            queues,
            numbers,
            config,
            ..
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
                let mut raised = None;
                let outcome = numbers.in_halves(receive, taken, || {
                    // What may come between the halves.
                    let to = queues.next_sequence() + u64::from(receive % 3);
                    queues.raise_sequence(to);
                    let next = queues.next_sequence();
                    let handle = queues.queue_receive(F::pattern(wanted), receive);
                    raised = Some((next.min(handle.sequence()), to));
                    Ok(handle)
                });
                if let Some((number, to)) = raised {
                    self.is_numbered(number, to);
                }
                outcome
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
        let receives = self.numbers.handles.len();
        let outcome = self.step::<F>(step);
        let mut receives = self.numbers.handles[receives..].iter();
        let receive = receives.find_map(|handle| *handle);
        let queued = matches!(
            (step, &outcome),
            (Step::ArriveHalves(_), Outcome::Unexpected)
        );
        let message = self.numbers.last_message.filter(|_| queued);
        self.check_numbers(receive, message);
        outcome
    }

    fn misnumbered(&self) -> Option<&str> {
        self.misnumbered.as_deref()
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
