use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::shared::{Divide, Sharding, SharedEngine};
use mq_core::structures::{Kind, List};
use mq_core::tagged::TaggedPattern;
use mq_core::{
    Arrive, Budget, Config, ContextOptions, EngineOptions, EntryOf, EnvelopeOf, FoundMessageOf,
    FoundReceiveOf, Handle, MatchQueues, MessageHandle, Meter, Rank, RemovedOf, Scope, Source,
    TakenMessageOf, Used, matches,
};

use self::deques::Deques;
use super::*;
use crate::check::check;
use crate::reader::TraceReader;
use crate::trace::Trace;

mod deques;

type Inner = List<MpiPattern, u32, u32>;

/// A list of which only what [`MatchQueues`] requires is to be had, so that the rest is made of its defaults.
struct Least<const FAULT: u8>(Inner, u64);

/// What a structure may do wrong.
const NOTHING: u8 = 0;
/// It treats a receive from any source as one from rank 0.
const ANY_SOURCE: u8 = 1;
/// It counts from 0, wherever it is told to begin.
const BEGINNING: u8 = 2;
/// Its next number is only above those that it has given, and not above those that it was told to pass.
const RAISED: u8 = 3;
/// All its messages have the same number.
const EQUAL: u8 = 4;

type Sound = Least<NOTHING>;
type Faulty = Least<ANY_SOURCE>;

/// The message at which they panic.
const PANICS: u32 = u32::MAX;

fn narrowed(pattern: MpiPattern) -> MpiPattern {
    let source = match pattern.source() {
        Source::Any => Source::Rank(Rank(0)),
        named => named,
    };
    MpiPattern::new(pattern.context().0, source, pattern.tag()).with_class(pattern.class())
}

impl<const FAULT: u8> MatchQueues for Least<FAULT> {
    type Pattern = MpiPattern;
    type Receive = u32;
    type Message = u32;

    fn with_config(config: &Config) -> Self {
        let first = match FAULT {
            BEGINNING => 0,
            _ => config.first_sequence,
        };
        Self(Inner::with_config(config), first)
    }
    fn scope(config: &Config) -> Scope {
        Inner::scope(config)
    }
    fn find_metered(
        &mut self,
        pattern: &MpiPattern,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        self.0.find_metered(pattern, meter)
    }
    fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        self.0.find_receive_metered(envelope, meter)
    }
    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>> {
        self.0.take(message)
    }
    fn queue_receive(&mut self, pattern: MpiPattern, receive: u32) -> Handle {
        let narrow = FAULT == ANY_SOURCE;
        let pattern = if narrow { narrowed(pattern) } else { pattern };
        let handle = self.0.queue_receive(pattern, receive);
        self.1 = handle.sequence() + 1;
        handle
    }
    fn queue_message(&mut self, envelope: EnvelopeOf<Self>, message: u32) -> MessageHandle {
        assert_ne!(message, PANICS, "as planned");
        let name = self.0.queue_message(envelope, message);
        self.1 = name.sequence() + 1;
        match FAULT {
            EQUAL => MessageHandle::new(Handle::new(name.context(), name.slot(), bare::FIRST)),
            _ => name,
        }
    }
    fn cancel(&mut self, handle: Handle) -> Option<u32> {
        self.0.cancel(handle)
    }
    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    ) {
        self.0.purge(select, back);
    }
    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>)) {
        self.0.visit(visitor);
    }
    fn posted_len(&self) -> usize {
        self.0.posted_len()
    }
    fn unexpected_len(&self) -> usize {
        self.0.unexpected_len()
    }
    fn next_sequence(&self) -> u64 {
        match FAULT {
            BEGINNING | RAISED => self.1,
            _ => self.0.next_sequence(),
        }
    }
    fn raise_sequence(&mut self, sequence: u64) {
        self.0.raise_sequence(sequence);
    }
    fn add_context(&mut self, config: &Config) {
        self.0.add_context(config);
    }
    fn clear(&mut self) {
        self.0.clear();
    }
}

#[test]
fn what_is_made_of_the_required_operations_is_sound() {
    for seed in 0..50 {
        let steps = random_steps(seed, 200);
        compare_all::<Sound>(&Setup::published(), &steps).expect("as the oracle");
    }
}

#[test]
fn a_faulty_structure_is_found_by_random_steps() {
    let found = (0..50).any(|seed| {
        let steps = random_steps(seed, 200);
        compare::<Faulty>(&Setup::published(), &steps).is_err()
    });
    assert!(found);
}

#[test]
fn a_structure_that_numbers_its_entries_otherwise_is_found() {
    let steps = parse_steps("p 0 1 5\nP 0 1 5\nP 0 1 5\nA 0 2 5\nA 0 2 5").expect("valid");
    let found = |compared: Result<(), Divergence>| compared.expect_err("wrong").to_string();
    let setup = Setup::published();
    let beginning = found(compare::<Least<BEGINNING>>(&setup, &steps));
    assert!(
        beginning.contains("though it is to begin at"),
        "{beginning}"
    );
    let raised = found(compare::<Least<RAISED>>(&setup, &steps));
    assert!(raised.contains("below"), "{raised}");
    let equal = found(compare::<Least<EQUAL>>(&setup, &steps));
    assert!(equal.contains("an entry numbered"), "{equal}");
    compare::<Sound>(&setup, &steps).expect("as the oracle");
}

#[test]
fn a_divergence_prints_a_trace_that_sound_structures_reproduce() {
    let steps = parse_steps("p 0 * 5\nx 7\nb 0 2 1\na 0 3 5").expect("valid");
    let divergence = compare::<Faulty>(&Setup::published(), &steps).expect_err("it is faulty");
    assert_eq!(divergence.steps().len(), 4);
    let text = divergence.trace().expect("a trace can hold these steps");
    let expected = "# mqtrace 1 source=conformance\np 0 * 5\nb 0 2 1\na 0 3 5 =0\n";
    assert_eq!(text, expected);
    assert!(divergence.to_string().ends_with(expected));
    let reader = TraceReader::new("divergence", text.as_bytes()).expect("valid");
    let trace = Trace::read(reader).expect("valid");
    for &kind in Kind::ALL {
        assert_eq!(check(&trace, kind).first_mismatch, None, "{kind}");
    }
}

#[test]
fn steps_that_no_trace_can_hold_are_printed_as_steps() {
    let steps = parse_steps("p 0 * 5/0x3\na 0 3 4").expect("valid");
    let divergence = compare::<Faulty>(&Setup::published(), &steps).expect_err("it is faulty");
    assert_eq!(divergence.trace(), None);
    assert!(
        divergence
            .to_string()
            .ends_with("the steps:\np 0 * 5/0x3\na 0 3 4\n")
    );
}

/// The rule of MPI, apart from the words that [`matches`](mq_core::matches) compares and how they are
/// packed: the oracle shares both with the structures.
fn is_admitted(wanted: &Wanted, carried: &Carried) -> bool {
    let source = match wanted.source {
        Source::Any => true,
        Source::Rank(rank) => rank.0 == carried.source,
    };
    let tag = match wanted.tag {
        TagSelector::Exact(tag) => tag.0 == carried.tag,
        TagSelector::Any => carried.tag >= 0,
        TagSelector::Masked { wanted, ignore } => {
            let differs = wanted.0.cast_unsigned() ^ carried.tag.cast_unsigned();
            differs & !ignore == 0
        }
    };
    wanted.comm == carried.comm && source && tag
}

#[test]
fn what_patterns_match_is_what_the_rule_says() {
    let mut admitted = [0; 2];
    for seed in 0..60 {
        let steps = random_steps(seed, 200);
        let wanted = steps.iter().filter_map(|step| match step {
            Step::Post(wanted) | Step::PostHalves(wanted) => Some(wanted),
            _ => None,
        });
        let wanted: Vec<&Wanted> = wanted.collect();
        for step in &steps {
            let (Step::Arrive(carried) | Step::ArriveHalves(carried)) = step else {
                continue;
            };
            for wanted in &wanted {
                let right = is_admitted(wanted, carried);
                admitted[usize::from(right)] += 1;
                let mpi = matches(&MpiPattern::pattern(wanted), &MpiPattern::envelope(carried));
                assert_eq!(mpi, right, "{wanted:?} and {carried:?}");
                let tagged = matches(
                    &TaggedPattern::pattern(wanted),
                    &TaggedPattern::envelope(carried),
                );
                assert_eq!(tagged, right, "{wanted:?} and {carried:?}, 64 bits");
            }
        }
    }
    assert!(admitted.iter().all(|&pairs| pairs > 1000), "{admitted:?}");
}

#[test]
fn a_queue_that_panics_keeps_no_room_of_a_shared_budget() {
    for divide in [Divide::Never, Divide::AtOnce] {
        let budget = Budget::UNLIMITED.entries(1).entries_per_source(1);
        let options = EngineOptions::new().budget(budget);
        let sharding = Sharding::new().divide(divide);
        let engine: SharedEngine<Sound> = SharedEngine::with_options(options, sharding);
        let made = engine.create_context(0, ContextOptions::new());
        let _ = made.expect("it is new");
        let envelope = MpiEnvelope::new(0, 3, 7);
        let arrival = AssertUnwindSafe(|| engine.arrive(envelope, PANICS));
        assert!(catch_unwind(arrival).is_err());
        assert_eq!(engine.used(), Used::default());
        assert!(matches!(engine.arrive(envelope, 5), Ok(Arrive::Unexpected)));
    }
}

/// The seeds of the documented recipe at which a structure differs from the oracle.
fn found_by_the_recipe<Q>() -> usize
where
    Q: MatchQueues<Pattern = MpiPattern, Receive: Payload, Message: Payload>,
{
    let differs =
        |&seed: &u64| compare_all::<Q>(&Setup::small(), &random_steps(seed, 200)).is_err();
    (0..100).filter(differs).count()
}

#[test]
fn the_recipe_finds_what_is_wrong_with_numbers_and_names() {
    assert_eq!(found_by_the_recipe::<Deques<{ deques::NOTHING }>>(), 0);
    let found = [
        found_by_the_recipe::<Deques<{ deques::UNRAISED }>>(),
        found_by_the_recipe::<Deques<{ deques::LOWERED }>>(),
        found_by_the_recipe::<Deques<{ deques::LOWERED_BY_CONTEXTS }>>(),
        found_by_the_recipe::<Deques<{ deques::ANY_CONTEXT }>>(),
    ];
    assert!(found.iter().all(|&seeds| seeds > 0), "{found:?}");
}

#[test]
fn a_message_that_a_younger_one_overtakes_in_a_divided_context_is_found() {
    // One sender's shard counts further than the other's.
    let ahead = "a 0 0 7\np 0 0 7\n".repeat(20);
    let overtaken = "a 0 0 7\na 0 1 7\nm 0 * 7\na 0 1 7\n";
    for seen in ["m 0 * 7", "b 0 * 7", "p 0 * 7"] {
        let steps = parse_steps(&format!("{ahead}{overtaken}{seen}")).expect("valid");
        let setup = Setup::small();
        compare_divided::<Deques<{ deques::NOTHING }>>(&setup, &steps).expect("as the oracle");
        let found = compare_divided::<Deques<{ deques::UNRAISED }>>(&setup, &steps);
        let found = found.expect_err("it is overtaken").to_string();
        assert!(found.contains("should give Matched(20,"), "{found}");
    }
}

#[test]
fn the_recipe_finds_what_is_neither_handed_back_nor_dropped() {
    let sound = found_by_the_recipe::<Deques<{ deques::NOTHING }, Counted>>();
    let forgetful = found_by_the_recipe::<Deques<{ deques::FORGETFUL }, Counted>>();
    assert!(sound == 0 && forgetful > 0, "{forgetful}");
    let steps = parse_steps("p 0 * 5\np 0 1 5\nz").expect("valid");
    let found = compare::<Deques<{ deques::FORGETFUL }, Counted>>(&Setup::small(), &steps);
    let found = found.expect_err("two are forgotten").to_string();
    let expected = "step 3 should give 0 receives that are not dropped but gave 2 receives";
    assert!(found.starts_with(expected), "{found}");
}
