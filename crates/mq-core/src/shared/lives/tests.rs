use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::*;
use crate::ContextOptions;
use crate::envelope::ContextId;
use crate::mpi::MpiPattern;
use crate::shared::Sharding;
use crate::structures::Indexed;

#[test]
fn waits_of_another_life_or_before_the_division_do_not_count() {
    let id = ContextId(0);
    let context: Context<Indexed<MpiPattern, u32, u32>> =
        Context::new(id, Sharding::new().shards(2), None);
    for life in 1..=2 {
        // Threads that meet at a context that does not exist wait for each other too.
        context.undivided().pressure.waited(0, false);
        let terms = Terms::new(id, &ContextOptions::new());
        assert_eq!(context.begin(terms, Config::default()), Ok(life));
        assert_eq!(context.undivided().pressure.waits(), 0);
        context.make_shards();
        for shard in &mut context.lock_all().shards {
            shard.pressure.waited(0, false);
        }
        context.divide(None);
        for shard in &context.lock_all().shards {
            assert_eq!(shard.pressure.waits(), 0);
        }
        assert!(context.end().is_ok());
    }
}

#[test]
fn a_life_is_not_divided_for_what_was_waited_in_the_last_one() {
    let id = ContextId(0);
    let context: Context<Indexed<MpiPattern, u32, u32>> =
        Context::new(id, Sharding::new().shards(2), None);
    let begin = || context.begin(Terms::new(id, &ContextOptions::new()), Config::default());
    assert_eq!(begin(), Ok(1));
    for _ in 0..1024 {
        let mut undivided = context.undivided();
        let handle = undivided.queues.queue_receive(MpiPattern::new(0, 1, 7), 0);
        assert!(undivided.queues.cancel(handle).is_some());
        let come = undivided.queues.queued_total();
        if come > 992 && come < 1024 {
            assert!(!undivided.pressure.waited(come, true));
        }
    }
    // The next one that has to wait finds that it is time to divide the context.
    let contended = (0..1000).find_map(|_| {
        let turn = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let undivided = context.undivided();
                turn.wait();
                thread::sleep(Duration::from_millis(1));
                drop(undivided);
            });
            turn.wait();
            context.lock_undivided(None).err()
        })
    });
    assert_eq!(contended, Some(Some(1)));
    // The life is over when it comes to that.
    assert!(context.end().is_ok());
    assert_eq!(begin(), Ok(2));
    context.divide(contended.flatten());
    assert_eq!(context.undivided().standing.mode, Mode::Whole);
    context.divide(Some(2));
    assert_eq!(context.undivided().standing.mode, Mode::BySource);
}
