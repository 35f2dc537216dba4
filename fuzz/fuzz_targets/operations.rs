//! Random operations on every structure, against the oracle.
//!
//! The first byte chooses the structure and whether an engine with budgets is between; the rest
//! are steps, as `mq_trace::conformance::decode` reads them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mq_core::mpi::MpiPattern;
use mq_core::structures::{
    Adaptive, Array, Bins, ClusteredLists, Col, ColPnp, FourD, Indexed, Kind, List, Pnp, RbTree,
    Threshold,
};
use mq_core::MatchQueues;
use mq_trace::conformance::{Divergence, Setup, Step, compare, compare_engine, decode};

fn both<Q>(budgets: bool, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    if budgets {
        let setup = Setup::small()
            .with_budgets(12, 40)
            .with_source_budgets(4, 12)
            .with_marks(8, 3);
        compare_engine::<Q>(&setup, steps)
    } else {
        compare::<Q>(&Setup::small(), steps)
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let steps = decode(bytes);
    let kind = Kind::ALL[usize::from(choice) % Kind::ALL.len()];
    let budgets = choice >= 128;
    let result = match kind {
        Kind::List => both::<List<_, _, _>>(budgets, &steps),
        Kind::Array => both::<Array<_, _, _>>(budgets, &steps),
        Kind::FourD => both::<FourD<_, _, _>>(budgets, &steps),
        Kind::Threshold => both::<Threshold<_, _, _>>(budgets, &steps),
        Kind::RbTree => both::<RbTree<_, _, _>>(budgets, &steps),
        Kind::Bins => both::<Bins<_, _, _>>(budgets, &steps),
        Kind::Adaptive => both::<Adaptive<_, _, _>>(budgets, &steps),
        Kind::Pnp => both::<Pnp<_, _, _>>(budgets, &steps),
        Kind::Col => both::<Col<_, _, _>>(budgets, &steps),
        Kind::ColPnp => both::<ColPnp<_, _, _>>(budgets, &steps),
        Kind::Clusters => both::<ClusteredLists<_, _, _>>(budgets, &steps),
        Kind::Indexed => both::<Indexed<_, _, _>>(budgets, &steps),
    };
    if let Err(divergence) = result {
        panic!("{kind}: {divergence}");
    }
});
