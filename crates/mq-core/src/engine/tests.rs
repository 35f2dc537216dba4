mod contexts;
mod handles;
mod updates;

use super::*;
use crate::Source;
use crate::error::Refused;
use crate::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use crate::queues::{Arrive, Post};
use crate::structures::{AnyQueues, Indexed, Kind};

type Queues = Indexed<MpiPattern, u32, Vec<u8>>;

fn engine(options: ContextOptions) -> Engine<Queues> {
    let mut engine = Engine::new();
    engine.create_context(7, options).expect("a fresh engine");
    engine
}

#[test]
fn wrong_arguments_are_refused_with_the_payload_and_the_reason() {
    let mut engine = engine(ContextOptions::new().size(4).no_any_source().no_any_tag());
    let refusals = [
        (MpiPattern::new(8, 0, 0), "context 8 does not exist"),
        (
            MpiPattern::new(7, 4, 0),
            "rank 4 is outside context 7, which has 4 ranks",
        ),
        (
            MpiPattern::new(7, Source::Any, 0),
            "has the promise no_any_source",
        ),
        (
            MpiPattern::new(7, 1, TagSelector::Any),
            "has the promise no_any_tag",
        ),
    ];
    for (pattern, reason) in refusals {
        let refused = engine.post(pattern, 42).expect_err("wrong arguments");
        assert_eq!(refused.payload, 42);
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    let refused = engine
        .arrive(MpiEnvelope::new(7, 9, 0), vec![1])
        .expect_err("rank 9 of 4");
    assert_eq!(refused.payload, [1]);
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
}

#[test]
fn a_byte_budget_refuses_exactly_and_is_released_by_every_way_out() {
    let budget = Budget::UNLIMITED.bytes(10, |message: &Vec<u8>| message.len() as u64);
    let mut engine: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
    engine
        .create_context(0, ContextOptions::new())
        .expect("fresh");
    let envelope = MpiEnvelope::new(0, 1, 5);
    let pattern = MpiPattern::new(0, 1, 5);
    for way in 0..3 {
        let _ = engine.arrive(envelope, vec![0; 6]).expect("6 of 10");
        let refused = engine.arrive(envelope, vec![0; 5]).expect_err("11 of 10");
        let error = Error::ByteBudget {
            limit: 10,
            used: 6,
            wanted: 5,
        };
        assert_eq!((refused.error, refused.payload.len()), (error, 5));
        let _ = engine.arrive(envelope, vec![0; 4]).expect("10 of 10");
        match way {
            0 => engine.purge(&mut |_| true, &mut |_| ()),
            1 => while engine.extract(&pattern).expect("valid").is_some() {},
            _ => {
                for receive in 0..2 {
                    let post = engine.post(pattern, receive).expect("valid");
                    assert!(matches!(post, Post::Matched { .. }));
                }
            }
        }
        assert_eq!(engine.used(), Used::default());
    }
}

#[test]
fn a_message_past_the_budget_still_finds_its_posted_receive() {
    let budget = Budget::UNLIMITED.entries(0);
    let mut engine: Engine<Queues> = Engine::with_options(EngineOptions::new().budget(budget));
    engine
        .create_context(0, ContextOptions::new())
        .expect("fresh");
    let _ = engine.post(MpiPattern::new(0, 1, 5), 1);
    let arrival = engine.arrive(MpiEnvelope::new(0, 1, 5), vec![]);
    assert!(matches!(arrival, Ok(Arrive::Matched { receive: 1, .. })));
    assert!(engine.arrive(MpiEnvelope::new(0, 1, 5), vec![]).is_err());
}

#[test]
fn a_refusal_is_passed_on_with_its_payload_or_by_dropping_it() {
    let mut engine = engine(ContextOptions::new());
    let refused = engine.post(MpiPattern::new(9, 0, 0), 1).unwrap_err();
    let why = Error::UnknownContext(ContextId(9));
    assert_eq!(refused.into_parts(), (why, 1));
    assert_eq!(refused.into_error(), why);
    let boxed: Box<dyn core::error::Error> = refused.into();
    assert_eq!(boxed.to_string(), why.to_string());
    let inside = boxed.downcast_ref::<Refused<u32>>();
    assert_eq!(inside.map(|refused| refused.payload), Some(1));
}

#[test]
fn an_engine_of_any_structure_may_be_looked_at_from_several_threads() {
    const fn is_sync<T: Sync + Send>() {}
    is_sync::<Engine<AnyQueues<MpiPattern, u32, Vec<u8>>>>();
}
