//! Every structure and the oracle on contexts, ranks and tags at the ends of their ranges, which the steps of the
//! conformance suite do not reach. In engines whose contexts have no size, any rank may come.

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{
    Arrive, ContextOptions, Engine, EngineOptions, EnvelopeOf, Handle, MatchQueues, Post, Removed,
    Source, Tuning,
};
use mq_trace::Oracle;
use proptest::prelude::*;

const CONTEXTS: [u32; 4] = [0, 4095, 4096, u32::MAX];
const RANKS: [u32; 8] = [
    0,
    1,
    255,
    (1 << 20) - 1,
    1 << 20,
    1 << 31,
    u32::MAX - 1,
    u32::MAX,
];
const TAGS: [i32; 8] = [
    0,
    1,
    -1,
    i32::MAX,
    i32::MIN,
    i32::MAX - 1,
    1 << 30,
    i32::MIN + 1,
];

/// What one operation did, by the numbers of receives and messages.
#[derive(Clone, Debug, PartialEq)]
enum Did {
    Matched(u32, u32, i32),
    Queued,
    Probed(Option<u32>),
    Cancelled(bool),
    Purged(Vec<u32>),
}

#[derive(Clone, Copy, Debug)]
enum What {
    Post,
    Arrive,
    Probe,
    Cancel,
    Purge,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    what: What,
    context: usize,
    rank: usize,
    tag: usize,
    any_source: bool,
    any_tag: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        6 => Just(What::Post),
        6 => Just(What::Arrive),
        2 => Just(What::Probe),
        1 => Just(What::Cancel),
        1 => Just(What::Purge),
    ];
    let wildcard = || prop::bool::weighted(0.2);
    let key = (0..CONTEXTS.len(), 0..RANKS.len(), 0..TAGS.len());
    (what, key, wildcard(), wildcard()).prop_map(
        |(what, (context, rank, tag), any_source, any_tag)| Step {
            what,
            context,
            rank,
            tag,
            any_source,
            any_tag,
        },
    )
}

struct Subject<Q: MatchQueues> {
    engine: Engine<Q>,
    handles: Vec<Handle>,
}

impl<Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>> Subject<Q> {
    fn new(options: EngineOptions<u32>) -> Self {
        let mut engine = Engine::with_options(options);
        for context in CONTEXTS {
            engine
                .create_context(context, ContextOptions::new())
                .expect("new");
        }
        Self {
            engine,
            handles: Vec::new(),
        }
    }

    fn perform(&mut self, step: Step, number: u32) -> Did {
        let (context, rank, tag) = (CONTEXTS[step.context], RANKS[step.rank], TAGS[step.tag]);
        let source = if step.any_source {
            Source::Any
        } else {
            Source::from(rank)
        };
        let selector = if step.any_tag {
            TagSelector::Any
        } else {
            TagSelector::from(tag)
        };
        let pattern = MpiPattern::new(context, source, selector);
        match step.what {
            What::Post => match self.engine.post(pattern, number).expect("admitted") {
                Post::Matched {
                    envelope, message, ..
                } => matched::<Q>(message, envelope),
                Post::Queued(handle) => {
                    self.handles.push(handle);
                    Did::Queued
                }
            },
            What::Arrive => {
                let envelope = MpiEnvelope::new(context, rank, tag);
                match self.engine.arrive(envelope, number).expect("admitted") {
                    Arrive::Matched { receive, .. } => matched::<Q>(receive, envelope),
                    Arrive::Unexpected => Did::Queued,
                }
            }
            What::Probe => {
                let seen = self.engine.probe(&pattern).expect("admitted");
                Did::Probed(seen.map(|(_, &message)| message))
            }
            What::Cancel => {
                let handle = self
                    .handles
                    .get(number as usize % self.handles.len().max(1))
                    .copied();
                Did::Cancelled(handle.is_some_and(|handle| self.engine.cancel(handle).is_some()))
            }
            What::Purge => {
                let mut purged = Vec::new();
                let mut chosen = |entry: mq_core::EntryOf<'_, Q>| match entry {
                    mq_core::Entry::Posted(_, pattern, _) => pattern.source() == Source::from(rank),
                    mq_core::Entry::Unexpected(_, envelope, _) => envelope.source().0 == rank,
                };
                self.engine
                    .purge(&mut chosen, &mut |removed| match removed {
                        Removed::Posted(_, number) | Removed::Unexpected(_, number) => {
                            purged.push(number);
                        }
                    });
                // A structure of process scope goes through all contexts at once.
                purged.sort_unstable();
                Did::Purged(purged)
            }
        }
    }
}

fn matched<Q: MatchQueues<Pattern = MpiPattern>>(number: u32, envelope: EnvelopeOf<Q>) -> Did {
    Did::Matched(number, envelope.source().0, envelope.tag().0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn extreme_contexts_ranks_and_tags_match_as_the_oracle_says(
        steps in prop::collection::vec(step(), 0..300),
        small in any::<bool>(),
    ) {
        for &kind in Kind::ALL {
            let mut tuning = Tuning::default();
            if small {
                // Tables and the deep form with a few entries.
                tuning = tuning.with(|t| (t.scan_limit, t.short_limit) = (2, 8));
            }
            let options = EngineOptions::new().kind(kind).tuning(tuning);
            let mut subject: Subject<AnyQueues<MpiPattern, u32, u32>> = Subject::new(options);
            let mut oracle: Subject<Oracle<MpiPattern, u32, u32>> = Subject::new(EngineOptions::new());
            for (number, &step) in (0..).zip(&steps) {
                let (did, right) = (subject.perform(step, number), oracle.perform(step, number));
                prop_assert_eq!(did, right, "{}: step {}, {:?}", kind, number, step);
            }
            prop_assert_eq!(subject.engine.posted_len(), oracle.engine.posted_len());
            prop_assert_eq!(subject.engine.unexpected_len(), oracle.engine.unexpected_len());
        }
    }
}
