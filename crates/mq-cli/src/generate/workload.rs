//! `mq generate halo`, `gather`, `nbody`, `radix`, `amr` and `fds`.

use mq_trace::Header;
use mq_trace::generate::{Model, Statistics, Workload};

use super::{MAX_OPERATIONS, fit};
use crate::cli::WorkloadOptions;
use crate::error::Error;
use crate::report;

/// Rounds, if they are not given and the operations are not too many.
const ROUNDS: u32 = 16;

/// Writes the trace of one process, and says how well its statistics fit the published ones.
pub(super) fn run(model: Model, options: &WorkloadOptions) -> Result<(), Error> {
    if options.rank >= options.ranks {
        return Err(Error::Usage(format!(
            "rank {} is not one of the {} processes; choose a --rank below --ranks",
            report::count(options.rank),
            report::count(options.ranks)
        )));
    }
    let workload = workload(model, options);
    super::limit(
        workload.operations(),
        "choose --ranks and --rounds so that there are",
    )?;
    let lines = super::write(
        options.output.as_deref(),
        &header(&workload),
        workload.operations(),
        |progress| workload.try_resolved(progress),
    )?;
    let statistics = Statistics::try_of(&lines)
        .map_err(|_| super::short_of_memory("the statistics of the trace, which is written"))?;
    fit::print(&workload, &workload.fit(&statistics));
    Ok(())
}

fn workload(model: Model, options: &WorkloadOptions) -> Workload {
    let of = |rounds| {
        Workload::new(model, options.ranks).with(|workload| {
            workload.rank = options.rank;
            workload.rounds = rounds;
            workload.seed = options.seed;
        })
    };
    match options.rounds {
        Some(rounds) => of(rounds),
        None => (1..=ROUNDS)
            .rev()
            .map(of)
            .find(|workload| workload.operations() <= MAX_OPERATIONS)
            .unwrap_or_else(|| of(1)),
    }
}

/// Everything needed to generate the trace again. Its collective operations have Open MPI's tags.
fn header(workload: &Workload) -> Header {
    let header = Header::new()
        .with("source", "generated")
        .with("pattern", workload.model.name())
        .with("mpi", "openmpi-tags")
        .with("ranks", workload.ranks)
        .with("rank", workload.rank);
    let parameters = workload.model.parameters();
    let header = parameters.fold(header, |header, (name, value)| header.with(name, value));
    header
        .with("rounds", workload.rounds)
        .with("seed", workload.seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mq_trace::generate::{Keys, MAX_RANKS};

    #[test]
    fn rounds_that_are_not_given_are_as_many_as_are_allowed() {
        let rounds = |model, ranks, rounds| {
            let options = WorkloadOptions {
                ranks,
                rank: 0,
                rounds,
                seed: 0,
                output: None,
            };
            workload(model, &options).rounds
        };
        assert_eq!(rounds(Model::Nbody, 512, None), 16);
        assert_eq!(rounds(Model::Nbody, 512, Some(99)), 99);
        assert_eq!(rounds(Model::Nbody, MAX_RANKS, None), 8);
        assert_eq!(rounds(Model::Radix(Keys::N28), MAX_RANKS, None), 1);
        // Too many in any case, which is said before anything is made.
        assert_eq!(rounds(Model::Radix(Keys::N30), MAX_RANKS, None), 1);
    }
}
