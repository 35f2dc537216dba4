use super::super::all::All;
use super::*;
use crate::config::Config;
use crate::engine::Terms;
use crate::envelope::ContextId;
use crate::mpi::{MpiEnvelope, MpiPattern};
use crate::pattern::Pattern;
use crate::queues::Entry;
use crate::shared::Sharding;
use crate::structures::Indexed;
use crate::{ContextOptions, Source};

type Queues = Indexed<MpiPattern, u32, u32>;

#[test]
fn what_was_there_before_concerns_its_own_shard_alone() {
    let id = ContextId(0);
    let context: Context<Queues> = Context::new(id, Sharding::new().shards(4), None);
    let terms = Terms::new(id, &ContextOptions::new());
    context.begin(terms, Config::default()).unwrap();
    // A receive that waits for a long time, and a message that nobody wants.
    context
        .undivided()
        .queues
        .queue_receive(MpiPattern::new(0, 1, 7), 5);
    context
        .undivided()
        .queues
        .queue_message(MpiEnvelope::new(0, 0, 9), 6);
    context.divide(None);
    let mut all = context.lock_all();
    let closed = |all: &All<'_, Queues>| -> Vec<usize> {
        (0..4).filter(|&at| all.shards[at].gate != OPEN).collect()
    };
    let elders: Vec<usize> = (0..4).filter(|&at| all.shards[at].elders > 0).collect();
    assert_eq!((closed(&all).len(), elders.len()), (1, 1));
    assert_ne!(
        closed(&all),
        elders,
        "ranks 0 and 1 are in different shards"
    );
    // A receive from any source concerns all shards, as long as it is there.
    let any = MpiPattern::new(0, Source::Any, 8);
    let own = closed(&all)[0];
    let leave: [&dyn Fn(Handle); 3] = [
        &|handle| assert_eq!(context.cancel(None, handle), Some(8)),
        &|_| assert_eq!(purge_tag(&context, 8), 1),
        &|_| {
            for rank in 0..16 {
                let envelope = MpiEnvelope::new(0, rank, 8);
                let found = context.deliver(None, &envelope).unwrap();
                assert_eq!(found.is_some(), rank == 0);
            }
        },
    ];
    for leave in leave {
        let handle = all.queue_receive(any, 8);
        assert_eq!(closed(&all), [0, 1, 2, 3]);
        drop(all);
        leave(handle);
        for rank in 0..16 {
            let none = context.deliver(None, &MpiEnvelope::new(0, rank, 9));
            assert!(none.unwrap().is_none());
        }
        all = context.lock_all();
        assert_eq!(
            closed(&all),
            [own],
            "gates that only it kept closed are open"
        );
    }
    // The early one goes too.
    drop(all);
    let envelope = MpiEnvelope::new(0, 1, 7);
    assert_eq!(context.deliver(None, &envelope).unwrap().unwrap().1, 5);
    assert!(closed(&context.lock_all()).is_empty());
}

/// A context of four shards in which such messages came before it was divided.
fn divided_behind(messages: &[(u32, i32)]) -> Context<Queues> {
    let id = ContextId(0);
    let context: Context<Queues> = Context::new(id, Sharding::new().shards(4), None);
    let terms = Terms::new(id, &ContextOptions::new());
    context.begin(terms, Config::default()).unwrap();
    for &(rank, tag) in messages {
        arrive(&context, rank, tag);
    }
    context.divide(None);
    context
}

fn arrive(context: &Context<Queues>, rank: u32, tag: i32) {
    let arrival = context.arrive(None, MpiEnvelope::new(0, rank, tag), rank);
    assert!(matches!(arrival, Ok(crate::Arrive::Unexpected)));
}

/// The sender of the message that a receive takes.
fn receive(context: &Context<Queues>, source: Source, tag: i32) -> Option<u32> {
    let taken = context.extract(None, &MpiPattern::new(0, source, tag));
    Some(taken.unwrap()?.1)
}

#[test]
fn a_shard_whose_elders_have_left_is_alone_again_though_others_have_some() {
    let elders = |context: &Context<Queues>| -> Vec<usize> {
        let all = context.lock_all();
        all.shards.iter().map(|shard| shard.elders).collect()
    };
    let context = divided_behind(&[(0, 7), (1, 7), (1, 8), (0, 9), (0, 6)]);
    assert_eq!(elders(&context).iter().sum::<usize>(), 5);
    let mut handle = None;
    context.lock_all().visit(&mut |entry| match entry {
        Entry::Unexpected(message, envelope, _) if envelope.tag().0 == 6 => {
            handle = Some(message);
        }
        _ => {}
    });
    let taken = context.take(None, handle.expect("it is shown"));
    assert!(taken.is_some_and(|(_, sender)| sender == 0));
    let before = elders(&context);
    assert_eq!(before.iter().filter(|&&left| left == 2).count(), 2);
    assert_eq!(receive(&context, Source::from(1), 8), Some(1));
    assert_eq!(receive(&context, Source::Any, 7), Some(0));
    assert_eq!(elders(&context).iter().sum::<usize>(), 2);
    assert_eq!(receive(&context, Source::from(1), 7), Some(1));
    // The first rank's other message is left, and concerns nobody else.
    assert_eq!(elders(&context).iter().filter(|&&left| left > 0).count(), 1);
    let mut all = context.lock_all();
    context.purge(&mut all, &mut |entry| {
        matches!(entry, Entry::Unexpected(..))
    });
    drop(all);
    assert_eq!(elders(&context), [0; 4]);
}

#[test]
fn whoever_arrives_after_an_elder_was_taken_by_any_source_is_later_than_all_that_waits() {
    let context = divided_behind(&[(0, 7)]);
    arrive(&context, 1, 7);
    arrive(&context, 1, 7);
    for _ in 0..2 {
        assert_eq!(receive(&context, Source::from(1), 7), Some(1));
    }
    arrive(&context, 1, 7);
    assert_eq!(receive(&context, Source::Any, 7), Some(0), "the elder");
    arrive(&context, 0, 7);
    assert_eq!(receive(&context, Source::Any, 7), Some(1));
    assert_eq!(receive(&context, Source::Any, 7), Some(0));
}

fn probed(context: &Context<Queues>, source: Source) -> Option<u32> {
    let pattern = MpiPattern::new(0, source, 7);
    let seen = context.find_with(None, &pattern, |_, envelope, _| envelope.source().0);
    seen.unwrap()
}

#[test]
fn a_receive_from_any_source_takes_what_a_probe_showed_before_it() {
    let context = divided_behind(&[]);
    for _ in 0..2 {
        arrive(&context, 0, 7);
        assert_eq!(receive(&context, Source::from(0), 7), Some(0));
    }
    arrive(&context, 0, 7);
    assert_eq!(probed(&context, Source::Any), Some(0));
    arrive(&context, 1, 7);
    assert_eq!(receive(&context, Source::Any, 7), Some(0));
    assert_eq!(receive(&context, Source::Any, 7), Some(1));
}

#[test]
fn a_sender_that_goes_on_sending_is_not_always_the_one_that_a_probe_shows() {
    let context = divided_behind(&[]);
    // A's messages have high numbers, and one of them waits.
    for _ in 0..100 {
        arrive(&context, 0, 7);
        assert_eq!(receive(&context, Source::from(0), 7), Some(0));
    }
    arrive(&context, 0, 7);
    // B sends one for each that is received; the receives name the source that a probe showed.
    arrive(&context, 1, 7);
    let shown: Vec<_> = (0..3)
        .map(|_| {
            let source = probed(&context, Source::Any).unwrap();
            assert_eq!(receive(&context, Source::from(source), 7), Some(source));
            arrive(&context, 1, 7);
            source
        })
        .collect();
    assert_eq!(shown, [1, 0, 1]);
}

/// Removes all receives of a tag, and says how many.
fn purge_tag(context: &Context<Queues>, tag: i32) -> usize {
    let mut all = context.lock_all();
    let tag = MpiPattern::new(0, Source::Any, tag).bits();
    let mut chosen = |entry: Entry<'_, MpiPattern, u32, u32>| matches!(entry, Entry::Posted(_, pattern, _) if pattern.bits() == tag);
    context.purge(&mut all, &mut chosen).len()
}
