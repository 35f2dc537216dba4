//! The same, where memory is refused now and then.

use std::rc::Rc;

use mq_shm::{Geometry, Mapped};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::common::hindered::{Hindered, Hindrance, join};
use super::common::watchdog;
use super::{Run, Step, options, steps};

/// Steps, among which each process is refused memory for a while, or several times.
fn steps_and_refusals(size: u32) -> impl Strategy<Value = Vec<Step>> {
    let refusal = (0..size, any::<bool>(), any::<proptest::sample::Index>())
        .prop_map(|(at, refuses, place)| (Step::Refuse { at, refuses }, place));
    (steps(size), proptest::collection::vec(refusal, 0..12)).prop_map(|(mut steps, refusals)| {
        for (step, place) in refusals {
            steps.insert(place.index(steps.len() + 1), step);
        }
        steps
    })
}

fn join_all(size: u32, options: &mq_comm::Options) -> (Run<Hindered>, Vec<Rc<Hindrance>>) {
    let memory = Mapped::create(Geometry::new(size).unwrap()).unwrap();
    let open = || Mapped::open(memory.file().try_clone_to_owned().unwrap(), "it").unwrap();
    let all = (0..size).map(|rank| join(open(), rank, options));
    let (worlds, hindrances) = all.unzip();
    (Run::new(worlds), hindrances)
}

#[test]
fn refusals_of_memory_lose_nothing_and_change_no_order() {
    let _dog = watchdog("refusals_of_memory_lose_nothing");
    let mut runner = TestRunner::new(Config {
        cases: 1_000,
        failure_persistence: None,
        ..Config::default()
    });
    let all = (2_u32..=4)
        .prop_flat_map(|size| (Just(size), steps_and_refusals(size), 0..16_u32, 0..3_u32));
    runner
        .run(&all, |(size, steps, switches, limit)| {
            let (mut run, hindrances) = join_all(size, &options(switches, limit));
            for step in &steps {
                match *step {
                    Step::Refuse { at, refuses } => hindrances[at as usize].refuses.set(refuses),
                    _ => run.step(step),
                }
            }
            for hindrance in &hindrances {
                hindrance.refuses.set(false);
            }
            run.drain();
            run.check_order();
            Ok(())
        })
        .unwrap();
}
