//! The shared engine as a taker of steps, used by one thread.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mq_core::mpi::TagSelector;
use mq_core::shared::{Divide, Sharding, SharedEngine};
use mq_core::{ContextOptions, EntryOf, MatchQueues, Pattern, RemovedOf, Source, Tag, Used};

use super::engined::engine_options;
use super::family::EnvelopeFamily;
use super::payload::Payload;
use super::step::{Step, Wanted};
use super::subject::{
    Numbers, Outcome, Subject, arrived, call, cancelled, chosen, found, refused, show_entry,
    show_removed, show_wrong, shown,
};
use super::{CONTEXTS, RANKS, Setup};

/// A shared engine, one context for each number.
pub(super) struct Shared<Q: MatchQueues> {
    engine: SharedEngine<Q>,
    numbers: Numbers,
    setup: Setup,
    /// Whether entries of a context are in several places, or will be, so that order between them
    /// shows only in what is matched.
    divided: bool,
    /// Whether any source and any tag are promised away, so that shards are by everything that is matched.
    promised: bool,
    crossings: Arc<Mutex<Vec<usize>>>,
    /// Contexts created so far.
    made: Cell<usize>,
}

impl<Q: MatchQueues<Message: Payload>> Shared<Q> {
    pub(super) fn new(setup: &Setup, divide: Divide) -> Self {
        let sharding = Sharding::new().shards(setup.shards).divide(divide);
        let crossings = Arc::<Mutex<Vec<usize>>>::default();
        let shared = Self {
            engine: SharedEngine::with_options(engine_options(setup, &crossings), sharding),
            numbers: Numbers::default(),
            setup: setup.clone(),
            divided: divide == Divide::AtOnce,
            promised: false,
            crossings,
            made: Cell::new(0),
        };
        (0..CONTEXTS).for_each(|comm| shared.create_context(comm));
        shared
    }

    /// A shared engine whose contexts are divided immediately, with any source and any tag promised away in all of
    /// them.
    pub(super) fn promised(setup: &Setup) -> Self {
        let mut promised = Self::new(setup, Divide::AtOnce);
        promised.promised = true;
        for comm in 0..CONTEXTS {
            let freed = promised.engine.free_context(comm, &mut |_| {});
            freed.expect("it exists");
            promised.create_context(comm);
        }
        promised
    }

    fn create_context(&self, comm: u32) {
        let made = self.made.get();
        self.made.set(made + 1);
        let kind = self.setup.kind_of_context(made);
        let created = self.engine.create_context(comm, self.options().kind(kind));
        created.expect("it was never made, or freed");
    }

    fn options(&self) -> ContextOptions {
        let mut options = ContextOptions::new();
        if self.promised {
            options = options.no_any_source().no_any_tag();
        }
        match self.setup.size {
            Some(size) => options.size(size),
            None => options,
        }
    }

    /// A shared engine whose contexts are to be [divided](Self::divide).
    pub(super) fn to_be_divided(setup: &Setup) -> Self {
        Self {
            divided: true,
            ..Self::new(setup, Divide::Never)
        }
    }

    /// Divides all contexts, with the entries queued there. Odd-numbered contexts first promise away any
    /// source and any tag, if no queued receive has a wildcard, and withdraw it again, so that their shards
    /// are of both kinds in turn.
    pub(super) fn divide(&self) {
        for comm in 0..CONTEXTS {
            let context = self.engine.context(comm).expect("it exists");
            let promises = self.options().no_any_source().no_any_tag();
            let promised = comm % 2 == 1 && context.update(promises).is_ok();
            context.divide().expect("it exists");
            if promised {
                let taken_back = context.update(self.options());
                taken_back.expect("nothing has been queued since");
            }
        }
    }
}

impl<Q: MatchQueues<Receive: Payload, Message: Payload>> Shared<Q> {
    fn purge(&self, comm: u32, source: Option<u32>) -> Outcome {
        let mut purged = Vec::new();
        let mut back = |removed: RemovedOf<Q>| purged.push(show_removed(&removed));
        match source {
            None => {
                let freed = self.engine.free_context(comm, &mut back);
                freed.expect("it exists");
                self.create_context(comm);
                for handle in self.numbers.stale(comm) {
                    let wrong = self.engine.cancel(handle);
                    purged.extend(wrong.map(|receive| show_wrong(handle, &receive)));
                }
            }
            Some(_) => {
                let mut select = |entry: EntryOf<'_, Q>| chosen(&entry, comm, source);
                self.engine.purge(&mut select, &mut back);
            }
        }
        if self.divided {
            purged.sort();
        }
        Outcome::Purged(purged)
    }
}

impl<P, Q> Subject<P> for Shared<Q>
where
    P: Pattern,
    Q: MatchQueues<Pattern = P, Receive: Payload, Message: Payload>,
{
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

    fn perform<F: EnvelopeFamily<Pattern = P>>(&mut self, step: &Step) -> Outcome {
        let options = self.options();
        let Self {
            engine, numbers, ..
        } = self;
        match step {
            Step::Post(wanted) | Step::PostHalves(wanted) => {
                let (number, receive) = numbers.next_receive();
                match engine.post(F::pattern(wanted), receive) {
                    Ok(post) => numbers.posted(number, post),
                    Err(back) => refused(&back),
                }
            }
            Step::Arrive(carried) | Step::ArriveHalves(carried) => {
                let (number, message) = numbers.next_message();
                match engine.arrive(F::envelope(carried), message) {
                    Ok(arrival) => arrived(number, arrival),
                    Err(back) => refused(&back),
                }
            }
            Step::Probe(wanted) => {
                let pattern = F::pattern(wanted);
                let show = |envelope, message: &_| shown(Some((envelope, message)));
                let seen = engine.probe_with(&pattern, show).expect("valid");
                seen.unwrap_or(Outcome::Nothing)
            }
            Step::Extract(wanted) | Step::Take(wanted) => {
                found(engine.extract(&F::pattern(wanted)).expect("valid"))
            }
            Step::Deliver(carried) => found(engine.deliver(&F::envelope(carried)).expect("valid")),
            Step::Cancel(receive) => {
                let handle = numbers.handle(*receive);
                cancelled(handle.and_then(|handle| engine.cancel(handle)))
            }
            Step::PurgeContext(comm) => self.purge(*comm, None),
            Step::PurgeSource(comm, source) => self.purge(*comm, Some(*source)),
            Step::Resize(comm, size) => {
                let context = engine.context(*comm).expect("it exists");
                let told = context.update(options.size(*size));
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

    fn contents(&self) -> BTreeMap<u32, Vec<String>> {
        let mut contents = BTreeMap::<u32, Vec<String>>::new();
        self.engine.visit(&mut |entry| {
            let (context, text) = show_entry(&entry);
            contents.entry(context).or_default().push(text);
        });
        if self.divided {
            contents.values_mut().for_each(|entries| entries.sort());
        }
        contents
    }
}

/// A model that follows a divided context: an operation for any source may choose the sender, and
/// the model then does the same operation for that sender. But a message that came after such an operation had
/// taken or shown another overtakes none that waited then.
pub(super) struct Following<M> {
    model: M,
    arrived: Vec<Arrived>,
    /// How often an operation for any source has taken or shown a message, by context.
    levels: BTreeMap<u32, u32>,
}

/// What is kept of a message.
struct Arrived {
    source: u32,
    /// How often an operation for any source had taken or shown a message of the context before.
    level: u32,
}

impl<M> Following<M> {
    pub(super) fn new(model: M) -> Self {
        Self {
            model,
            arrived: Vec::new(),
            levels: BTreeMap::new(),
        }
    }

    /// The right answer, if `got` chose a sender that it may choose.
    pub(super) fn perform<F: EnvelopeFamily>(&mut self, step: &Step, got: &Outcome) -> Outcome
    where
        M: Subject<F::Pattern>,
    {
        if let Step::Arrive(carried) | Step::ArriveHalves(carried) = step {
            self.arrived.push(Arrived {
                source: carried.source,
                level: self.levels.get(&carried.comm).copied().unwrap_or(0),
            });
        }
        let step = match (step, got) {
            (Step::Post(wanted), Outcome::Matched(n, _)) => {
                Step::Post(self.narrowed::<F>(wanted, *n))
            }
            (Step::Probe(wanted), Outcome::Matched(n, _)) => {
                Step::Probe(self.narrowed::<F>(wanted, *n))
            }
            (Step::Extract(wanted), Outcome::Matched(n, _)) => {
                Step::Extract(self.narrowed::<F>(wanted, *n))
            }
            (step, _) => *step,
        };
        match self.model.perform::<F>(&step) {
            Outcome::Purged(mut purged) => {
                purged.sort();
                Outcome::Purged(purged)
            }
            other => other,
        }
    }

    /// What is wanted of the sender that was chosen or, if its message has overtaken another, of the other's sender.
    fn narrowed<F: EnvelopeFamily>(&mut self, wanted: &Wanted, message: u32) -> Wanted
    where
        M: Subject<F::Pattern>,
    {
        if wanted.source != Source::Any {
            return *wanted;
        }
        let Outcome::Matched(earliest, _) = self.model.perform::<F>(&Step::Probe(*wanted)) else {
            return *wanted;
        };
        *self.levels.entry(wanted.comm).or_default() += 1;
        let [earliest, chosen] = [earliest, message].map(|n| self.arrived.get(n as usize));
        let overtaken = earliest.filter(|e| chosen.is_none_or(|chosen| e.level < chosen.level));
        Wanted {
            source: overtaken
                .or(chosen)
                .map_or(Source::Any, |of| Source::from(of.source)),
            ..*wanted
        }
    }

    pub(super) fn lengths<P: Pattern>(&self) -> (usize, usize)
    where
        M: Subject<P>,
    {
        self.model.lengths()
    }

    pub(super) const fn model(&self) -> &M {
        &self.model
    }

    pub(super) fn contents<P: Pattern>(&self) -> BTreeMap<u32, Vec<String>>
    where
        M: Subject<P>,
    {
        let mut contents = self.model.contents();
        contents.values_mut().for_each(|entries| entries.sort());
        contents
    }
}

/// The steps without wildcards: each wildcard is replaced by one source or tag, which differs from step
/// to step.
pub(super) fn exact_steps(steps: &[Step]) -> Vec<Step> {
    let exact = |at: usize, wanted: &Wanted| {
        let at = at as u32;
        Wanted {
            comm: wanted.comm,
            source: match wanted.source {
                Source::Any => Source::from(at % RANKS),
                named => named,
            },
            tag: match wanted.tag {
                TagSelector::Exact(tag) => TagSelector::Exact(tag),
                TagSelector::Any | TagSelector::Masked { .. } => {
                    TagSelector::Exact(Tag((at / RANKS % 3).cast_signed()))
                }
            },
        }
    };
    let one = |(at, step): (usize, &Step)| match step {
        Step::Post(wanted) | Step::PostHalves(wanted) => Step::Post(exact(at, wanted)),
        Step::Probe(wanted) => Step::Probe(exact(at, wanted)),
        Step::Extract(wanted) | Step::Take(wanted) => Step::Extract(exact(at, wanted)),
        other => *other,
    };
    steps.iter().enumerate().map(one).collect()
}

/// The steps that a shared engine has: whole steps, since nothing can be held between halves.
pub(super) fn whole_steps(steps: &[Step]) -> Vec<Step> {
    let whole = |step: &Step| match step {
        Step::PostHalves(wanted) => Step::Post(*wanted),
        Step::ArriveHalves(carried) => Step::Arrive(*carried),
        Step::Take(wanted) => Step::Extract(*wanted),
        other => *other,
    };
    steps.iter().map(whole).collect()
}
