use super::*;
use crate::mpi::{MpiEnvelope, MpiPattern};
use crate::{ContextOptions, Engine, Entry, MatchQueues, Post, TrafficClass, Visits};

/// Queues of this many ranks, of which one can be a partner.
fn with_room_for_one(ranks: u32, threshold: u32) -> Pnp<MpiPattern, (), ()> {
    let mut config = Config::default().with_size(ranks);
    config.tuning.point_to_point_k = 1.2 / f64::from(ranks).sqrt();
    config.tuning.partner_threshold = threshold;
    Pnp::with_config(&config)
}

/// Empties the queues. Then fifty messages of another rank arrive, and one of this rank: the entries that its
/// receive visits, which is one if the sender is a partner.
fn visited_behind_others(queues: &mut Pnp<MpiPattern, (), ()>, rank: u32) -> u64 {
    queues.purge(&mut |_| true, &mut |_| {});
    for tag in 0..50 {
        let _ = queues.arrive(MpiEnvelope::new(0, rank + 1, tag), ());
    }
    let _ = queues.arrive(MpiEnvelope::new(0, rank, 0), ());
    let mut visits = Visits::default();
    let _ = queues.post_metered(MpiPattern::new(0, rank, 0), (), &mut visits);
    visits.unexpected
}

#[test]
fn busy_senders_become_partners_and_never_more_than_the_limit() {
    // 0.03 times the square root of 10,000 is 3.
    let mut config = Config::default().with_size(10_000);
    config.tuning.point_to_point_k = 0.03;
    let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&config);
    for round in 0..400 {
        for sender in 0..50 {
            if sender < 5 || round % 50 == 0 {
                let _ = queues.arrive(MpiEnvelope::new(0, sender, round), ());
            }
        }
    }
    assert_eq!(
        queues.partners(Queue::Unexpected),
        3,
        "of the five busy senders"
    );
    assert_eq!(queues.partners(Queue::Posted), 0);
}

/// As in the paper, where those that have sent nothing lower the average.
#[test]
fn senders_that_are_all_alike_become_partners_up_to_the_limit() {
    for (ranks, partners) in [(128, 90), (512, 181), (2_048, 362)] {
        let config = Config::default().with_size(ranks);
        let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&config);
        for rank in 1..ranks {
            let _ = queues.arrive(MpiEnvelope::new(0, rank, 5), ());
        }
        let chosen = queues.partners(Queue::Unexpected);
        assert_eq!(chosen, partners, "of {ranks} ranks");
    }
}

/// As those with masked tags are, and all receives of a library that does not tell.
#[test]
fn receives_of_unknown_class_make_partners_too() {
    let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
    for i in 0..400 {
        let pattern = MpiPattern::new(0, i % 10 * (i % 2), 5);
        let _ = queues.post(pattern.with_class(TrafficClass::Unknown), ());
    }
    assert!(queues.partners(Queue::Posted) > 0);
}

/// Ranks that are all alike leave nothing to choose, and those that send much later are others.
#[test]
fn a_choice_that_found_nobody_is_forgotten_when_the_list_has_become_short() {
    const RANKS: u32 = 100;
    let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
    // One that waits all the time, of the first rank.
    let _ = queues.post(MpiPattern::new(0, 0, 6), ());
    for i in 1..1_000 {
        let _ = queues.post(MpiPattern::new(0, i % RANKS, 5), ());
    }
    assert_eq!(queues.partners(Queue::Posted), 0);
    let far = queues.plan(Queue::Posted).next_choice;
    for i in 1..1_000 {
        let _ = queues.arrive(MpiEnvelope::new(0, i % RANKS, 5), ());
    }
    let soon = queues.plan(Queue::Posted).next_choice;
    assert!(far > 1_000 && soon == 100, "{far}, {soon}");
}

#[test]
fn shared_lists_that_have_emptied_are_searched_no_more() {
    let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
    for round in 0..50 {
        // In each round another sender is busy.
        let sender = |i: u32| if i.is_multiple_of(4) { 100 + i } else { round };
        for i in 0..200 {
            let _ = queues.arrive(MpiEnvelope::new(0, sender(i), 5), ());
        }
        for i in 0..200 {
            let _ = queues.post(MpiPattern::new(0, sender(i), 5), ());
        }
    }
    let plan = queues.plan(Queue::Unexpected);
    assert!(plan.partners() > 1, "{}", plan.partners());
    assert!(plan.levels.len() <= 2, "{} levels", plan.levels.len());
    assert!(
        plan.partners
            .values()
            .all(|partner| partner.levels as usize <= plan.levels.len())
    );
}

#[test]
fn partners_of_a_freed_context_make_room_for_others() {
    let mut engine: Engine<Pnp<MpiPattern, u32, u32>> = Engine::new();
    let plan = |engine: &Engine<Pnp<_, u32, u32>>| {
        let (_, queues) = engine.queues(0).expect("context 0 stays");
        let plan = queues.plan(Queue::Unexpected);
        (plan.partners.len(), plan.levels.len(), plan.lists)
    };
    engine.create_context(0, ContextOptions::new()).unwrap();
    // One that stays, in the list that all share. Its sender is a partner from the first choice on.
    let _ = engine.arrive(MpiEnvelope::new(0, 1, 7), 1).unwrap();
    let mut most = (0, 0, 0);
    for round in 1..200 {
        let options = ContextOptions::new().size(10_000);
        engine.create_context(round, options).unwrap();
        for i in 0..1_000 {
            let message = MpiEnvelope::new(round, i % 7 * (i % 50 / 40), 3);
            let _ = engine.arrive(message, i).unwrap();
        }
        if round == 1 {
            most = plan(&engine);
            assert!(most.0 >= 2 && most.1 >= 2, "{most:?}");
        }
        engine.free_context(round, &mut |_| {}).unwrap();
        let (partners, shared, lists) = plan(&engine);
        assert_eq!((partners, shared), (1, 2), "in round {round}");
        assert!(lists <= most.2 + 1, "{lists} lists in round {round}");
    }
    let post = engine.post(MpiPattern::new(0, 1, 7), 2).unwrap();
    assert!(matches!(post, Post::Matched { message: 1, .. }));
}

#[test]
fn a_list_that_never_empties_does_not_remember_every_sender() {
    let mut queues = Pnp::<MpiPattern, (), ()>::with_config(&Config::default());
    let _ = queues.arrive(MpiEnvelope::new(0, 0, 0), ());
    let bytes = |queues: &Pnp<_, (), ()>| queues.plan(Queue::Unexpected).bytes();
    let mut least = usize::MAX;
    for sender in 1..200_000 {
        let _ = queues.arrive(MpiEnvelope::new(0, sender, 0), ());
        let _ = queues.post(MpiPattern::new(0, sender, 0), ());
        if sender == 20_000 {
            least = bytes(&queues);
        }
    }
    assert!(bytes(&queues) <= least, "{} > {least}", bytes(&queues));
}

#[test]
fn if_there_is_room_for_one_the_busiest_sender_gets_it() {
    let mut queues = with_room_for_one(100, 100);
    for i in 0..100 {
        let rank = [3, 5, 5, 4][i % 4];
        let _ = queues.arrive(MpiEnvelope::new(0, rank, 0), ());
    }
    assert_eq!(queues.partners(Queue::Unexpected), 1);
    assert_eq!(visited_behind_others(&mut queues, 5), 1);
}

/// They neither take the only place, nor do they raise the average.
#[test]
fn what_senders_of_a_freed_context_sent_counts_no_more() {
    let mut queues = with_room_for_one(4, 100);
    // One that stays, so that the list does not empty.
    let _ = queues.arrive(MpiEnvelope::new(0, 0, 0), ());
    for _ in 0..98 {
        let _ = queues.arrive(MpiEnvelope::new(1, 1, 0), ());
    }
    let is_freed = |entry: Entry<'_, MpiPattern, (), ()>| match entry {
        Entry::Posted(..) => false,
        Entry::Unexpected(_, envelope, _) => envelope.context() == ContextId(1),
    };
    queues.purge(&mut |entry| is_freed(entry), &mut |_| {});
    queues.remove_context(ContextId(1));
    for i in 0..99 {
        let rank = [0, 1, 2, 3, 3][i % 5];
        let _ = queues.arrive(MpiEnvelope::new(0, rank, 0), ());
    }
    assert_eq!(visited_behind_others(&mut queues, 3), 1);
}

#[test]
fn senders_that_were_forgotten_do_not_raise_the_average() {
    const RANKS: u32 = 30;
    let mut queues = with_room_for_one(RANKS, 4);
    // One that stays, so that the list does not empty.
    let _ = queues.arrive(MpiEnvelope::new(0, 0, 1), ());
    for i in 0..100 * RANKS {
        let _ = queues.arrive(MpiEnvelope::new(0, i % RANKS, 0), ());
        let _ = queues.post(MpiPattern::new(0, i % RANKS, 0), ());
    }
    assert_eq!(queues.partners(Queue::Unexpected), 0);
    for _ in 0..3 {
        let _ = queues.arrive(MpiEnvelope::new(0, 5, 0), ());
    }
    assert_eq!(visited_behind_others(&mut queues, 5), 1);
}
