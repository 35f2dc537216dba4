//! Every workload: its trace is valid, the same for the same seed, and close to what was published.

use mq_core::structures::Kind;

use super::{Filled, Keys, MAX_RANKS, Model, Neighbors, Order, Statistics, Workload};
use crate::check::check;
use crate::line::Line;
use crate::trace::Trace;

/// Every model with every option.
fn models() -> Vec<Model> {
    let mut models = vec![Model::Nbody, Model::Amr, Model::Fds];
    models.extend(Neighbors::ALL.iter().copied().map(Model::Halo));
    models.extend(Keys::ALL.iter().copied().map(Model::Radix));
    for &order in Order::ALL {
        let gathers = Filled::ALL.iter();
        models.extend(gathers.map(|&filled| Model::Gather { order, filled }));
    }
    models
}

#[test]
fn every_model_is_read_from_its_text() {
    for model in models() {
        assert_eq!(model.to_string().parse(), Ok(model));
    }
}

/// Every model on few processes, and different ones of them.
fn small() -> impl Iterator<Item = Workload> {
    let processes = [(2, 0), (2, 1), (5, 3), (60, 0), (60, 59)];
    models().into_iter().flat_map(move |model| {
        processes.into_iter().map(move |(ranks, rank)| {
            Workload::new(model, ranks).with(|w| (w.rank, w.rounds, w.seed) = (rank, 3, 7))
        })
    })
}

#[test]
fn every_workload_is_reproduced_by_every_structure() {
    for workload in small() {
        let trace = Trace::from_lines("test", &workload.resolved(&mut |_| ()));
        for &kind in Kind::ALL {
            let report = check(&trace, kind);
            assert_eq!(report.first_mismatch, None, "{kind} on {workload:?}");
        }
    }
}

#[test]
fn every_message_has_its_receive_and_the_operations_are_known_before() {
    for workload in small() {
        let lines = workload.resolved(&mut |_| ());
        let operations = lines.len() as u64 - 1;
        assert_eq!(operations, workload.operations(), "{workload:?}");
        let is_matched = |line: &&Line| match line {
            Line::Post { matched, .. } | Line::Arrive { matched, .. } => matched.is_some(),
            _ => false,
        };
        let matched = lines.iter().filter(is_matched).count() as u64;
        assert_eq!(2 * matched, operations, "{workload:?}");
    }
}

#[test]
fn statistics_are_those_of_a_list() {
    for workload in small() {
        let lines = workload.resolved(&mut |_| ());
        let Statistics { posted, unexpected } = Statistics::of(&lines);
        let report = check(&Trace::from_lines("test", &lines), Kind::List);
        let lengths = (posted.longest, unexpected.longest);
        assert_eq!(
            lengths,
            (report.max_posted as u64, report.max_unexpected as u64),
            "{workload:?}"
        );
        let searches = (posted.all.searches, unexpected.all.searches);
        let expected = (report.posted_searches, report.unexpected_searches);
        assert_eq!(searches, expected, "{workload:?}");
        let visited = (posted.all.visited, unexpected.all.visited);
        let expected = (report.visits.posted, report.visits.unexpected);
        assert_eq!(visited, expected, "{workload:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_lines_and_another_gives_others() {
    for model in [
        Model::Halo(Neighbors::All),
        Model::Gather {
            order: Order::Random,
            filled: Filled::Posted,
        },
        Model::Nbody,
        Model::Radix(Keys::N28),
        Model::Amr,
        Model::Fds,
    ] {
        // Rank 0 of a radix sort does nothing at random, and the others of a gather do nothing.
        let rank = u32::from(matches!(model, Model::Radix(_)));
        let workload = Workload::new(model, 64).with(|w| (w.rank, w.rounds, w.seed) = (rank, 4, 1));
        assert_eq!(workload.lines(), workload.lines(), "{workload}");
        let other = workload.with(|w| w.seed = 2);
        assert_ne!(workload.lines(), other.lines(), "{workload}");
    }
}

/// Enough rounds for averages.
fn workload(model: Model, ranks: u32, rank: u32) -> Workload {
    Workload::new(model, ranks).with(|w| w.rank = rank)
}

/// Checks that each statistic is within a factor of the published one, but for those that the model is known to
/// miss, which are not.
fn fits(model: Model, ranks: u32, rank: u32, factor: f64, missed: &[&str]) {
    let workload = workload(model, ranks, rank);
    let statistics = Statistics::of(&workload.resolved(&mut |_| ()));
    let fit = workload.fit(&statistics);
    assert_eq!(fit.run.map(|run| run.ranks), Some(ranks), "{workload}");
    let mut compared = 0;
    for row in &fit.rows {
        let Some(ratio) = row.ratio else {
            continue;
        };
        compared += 1;
        let is_close = (1.0 / factor..=factor).contains(&ratio);
        let is_missed = missed.contains(&row.statistic);
        assert_ne!(is_close, is_missed, "{workload}: {ratio} in {row:?}");
    }
    assert!(compared > missed.len(), "{workload}");
}

#[test]
fn nbody_has_the_queues_of_table_8() {
    for ranks in [256, 512, 704] {
        fits(Model::Nbody, ranks, 1, 1.15, &[]);
        // The process with the longest searches of the UMQ is not the one with those of the PRQ.
        fits(Model::Nbody, ranks, 0, 1.15, &["mean search of the PRQ"]);
    }
}

#[test]
fn radix_has_the_queues_of_table_8() {
    for &keys in Keys::ALL {
        fits(Model::Radix(keys), 512, 0, 1.15, &[]);
        // The runs of 2019 had shorter searches than those of Table 8.
        fits(Model::Radix(keys), 512, 1, 1.15, &["mean search of both"]);
    }
}

#[test]
fn lists_of_collective_elements_are_as_many_as_published() {
    fits(Model::Amr, 2048, 3, 1.1, &[]);
    for ranks in [1024, 2048] {
        fits(Model::Fds, ranks, 0, 1.1, &[]);
        fits(Model::Fds, ranks, 9, 1.01, &[]);
    }
    let gather = Model::Gather {
        order: Order::Random,
        filled: Filled::Posted,
    };
    fits(gather, 4096, 0, 1.01, &[]);
}

#[test]
fn a_halo_of_26_searches_like_amg() {
    fits(Model::Halo(Neighbors::All), 512, 100, 1.3, &[]);
}

#[test]
fn most_elements_belong_where_the_papers_say() {
    let share = |model, ranks, rank| {
        let workload = workload(model, ranks, rank);
        Statistics::of(&workload.resolved(&mut |_| ())).collective_share()
    };
    assert!(share(Model::Nbody, 512, 1) < 0.5);
    assert!(share(Model::Radix(Keys::N28), 512, 1) > 0.99);
    assert!(share(Model::Amr, 512, 1) > 0.5);
    assert!(share(Model::Fds, 512, 0) > 0.5);
}

#[test]
fn of_some_processes_nothing_is_published() {
    let gather = |rank, filled| {
        let order = Order::Forward;
        workload(Model::Gather { order, filled }, 1024, rank)
    };
    let run = |workload: Workload| workload.fit(&Statistics::default()).run;
    assert!(run(gather(0, Filled::Posted)).is_some());
    assert_eq!(run(gather(1, Filled::Posted)), None);
    assert_eq!(run(gather(0, Filled::Unexpected)), None);
}

#[test]
fn the_most_processes_are_not_too_many() {
    let gather = Model::Gather {
        order: Order::Reverse,
        filled: Filled::Posted,
    };
    let workload = Workload::new(gather, MAX_RANKS).with(|w| w.rounds = 1);
    let posted = Statistics::of(&workload.resolved(&mut |_| ())).posted;
    assert_eq!(posted.longest, u64::from(MAX_RANKS) - 1);
    // In reverse order, the searches visit what is left: half of it on average.
    let half = u64::from(MAX_RANKS) / 2;
    assert_eq!(posted.all.visited, posted.all.searches * half);
}
