//! [`Bare`]: queues used without an engine.

use core::cell::RefCell;
use std::collections::BTreeMap;

use mq_core::{
    Config, ContextId, EntryOf, Handle, MatchQueues, MessageHandle, Pattern, Refused, RemovedOf,
    Scope,
};

use super::Setup;
use super::family::EnvelopeFamily;
use super::payload::Payload;
use super::step::Step;
use super::subject::{
    Numbers, Outcome, Subject, arrived, call, cancelled, chosen, found, show_entry, show_removed,
    shown, taken,
};

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
    /// What the numbers of all entries from now on must be at least.
    passed: u64,
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
            passed: FIRST,
            least_next: FIRST,
        }
    }

    /// Numbers of a context rise in the order of queueing, and the next one is above them all.
    fn check_numbers(&mut self, receive: Option<Handle>, message: Option<MessageHandle>) {
        if let Some(receive) = receive {
            let above = &mut self.above.entry(receive.context()).or_default().0;
            let least = core::mem::replace(above, receive.sequence() + 1);
            self.is_numbered(receive.sequence(), least.max(self.passed));
        }
        if let Some(message) = message {
            let above = &mut self.above.entry(message.context()).or_default().1;
            let least = core::mem::replace(above, message.sequence() + 1);
            self.is_numbered(message.sequence(), least.max(self.passed));
        }
        self.check_next();
    }

    fn check_next(&mut self) {
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

/// What an engine asks of the numbers.
impl<Q: MatchQueues> Bare<Q> {
    /// A number that the queues are told to pass, in every fourth turn one that they have passed.
    fn to_pass(&self, turn: u32) -> u64 {
        match turn % 4 {
            3 => FIRST,
            skipped => self.queues.next_sequence() + u64::from(skipped),
        }
    }

    fn raise(&mut self, turn: u32) {
        let to = self.to_pass(turn);
        self.queues.raise_sequence(to);
        self.must_have_passed(to);
    }

    /// A context without entries is freed and another created, as an engine tells queues that serve several.
    fn replace_context(&mut self, comm: u32, turn: u32) {
        if Q::scope(&self.config) != Scope::Process {
            return;
        }
        self.queues.remove_context(ContextId(comm));
        let mut config = self.config.clone();
        config.first_sequence = self.to_pass(turn);
        self.queues.add_context(&config);
        self.must_have_passed(config.first_sequence);
    }

    fn must_have_passed(&mut self, number: u64) {
        self.passed = self.passed.max(number);
        self.least_next = self.least_next.max(number);
        self.check_next();
    }
}

impl<Q> Bare<Q>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
{
    fn step<F: EnvelopeFamily<Pattern = Q::Pattern>>(&mut self, step: &Step) -> Outcome {
        let Self {
            queues,
            numbers,
            config,
            ..
        } = self;
        match step {
            Step::Post(wanted) => {
                let (number, receive) = numbers.next_receive();
                numbers.posted(number, queues.post(F::pattern(wanted), receive))
            }
            Step::Arrive(carried) => {
                let (number, message) = numbers.next_message();
                arrived(number, queues.arrive(F::envelope(carried), message))
            }
            Step::Probe(wanted) => shown(queues.probe(&F::pattern(wanted))),
            Step::Extract(wanted) => found(queues.extract(&F::pattern(wanted))),
            Step::Deliver(carried) => {
                let found_first = queues.find_receive(&F::envelope(carried));
                let shown = shown(found_first.map(|(_, pattern, receive)| (pattern, receive)));
                let delivered = found(queues.deliver(&F::envelope(carried)));
                if shown != delivered {
                    return Outcome::Wrong(format!("{shown:?} shown, {delivered:?} delivered"));
                }
                delivered
            }
            Step::PostHalves(wanted) => {
                let (number, receive) = numbers.next_receive();
                let taken = queues.extract(&F::pattern(wanted));
                if taken.is_none() {
                    // What may come between the halves.
                    self.raise(number);
                }
                let Self {
                    queues, numbers, ..
                } = self;
                numbers.in_halves(number, taken, || {
                    Ok::<_, Refused<Q::Receive>>(queues.queue_receive(F::pattern(wanted), receive))
                })
            }
            Step::ArriveHalves(carried) => {
                let (number, message) = numbers.next_message();
                let envelope = F::envelope(carried);
                let delivered = if number % 2 == 0 {
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
                taken(queues.take(named), queues.take(named))
            }
            Step::Cancel(receive) => {
                let handle = numbers.handle(*receive);
                cancelled(handle.and_then(|handle| queues.cancel(handle)))
            }
            Step::PurgeContext(comm) => {
                let turn = numbers.messages;
                let purged = self.purge(*comm, None);
                self.replace_context(*comm, turn);
                purged
            }
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
        let mut late = None;
        let mut back = |removed: RemovedOf<Q>| {
            let removed = show_removed(&removed);
            if asked.borrow().get(&comm) != queued.get(&comm) {
                let wrong =
                    || format!("{removed} back before all of context {comm} was asked about");
                late.get_or_insert_with(wrong);
            }
            purged.push(removed);
        };
        self.queues.purge(&mut select, &mut back);
        if let Some(late) = late {
            return Outcome::Wrong(late);
        }
        let asked = asked.into_inner();
        if asked != queued {
            return Outcome::Wrong(format!("{asked:?} asked about, of {queued:?}"));
        }
        Outcome::Purged(purged)
    }
}

impl<P, Q> Subject<P> for Bare<Q>
where
    P: Pattern,
    Q: MatchQueues<Pattern = P, Receive: Payload, Message: Payload>,
{
    fn perform<F: EnvelopeFamily<Pattern = P>>(&mut self, step: &Step) -> Outcome {
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

    fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    fn into_numbers(self) -> Numbers {
        self.numbers
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
