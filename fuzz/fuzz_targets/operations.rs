//! Random operations on every structure, against the oracle.
//!
//! The first byte chooses the structure, whether an engine with budgets is between, and whether
//! queues may stay in their windows; the rest are steps, as `mq_trace::conformance::decode` reads them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mq_core::mpi::MpiPattern;
use mq_core::structures::{
    Adaptive, Array, Bins, ClusteredLists, Col, ColPnp, FourD, Indexed, Kind, List, Pnp, RbTree,
    Threshold,
};
use mq_core::MatchQueues;
use mq_trace::conformance::{Divergence, Setup, Step, compare, compare_engine, decode};

fn both<Q>(budgets: bool, windows: bool, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let setup = match windows {
        true => Setup::small_in_windows(),
        false => Setup::small(),
    };
    if budgets {
        let setup = setup
            .with_budgets(12, 40)
            .with_source_budgets(4, 12)
            .with_marks(8, 3);
        compare_engine::<Q>(&setup, steps)
    } else {
        compare::<Q>(&setup, steps)
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let steps = decode(bytes);
    let kind = Kind::ALL[usize::from(choice) % Kind::ALL.len()];
    let budgets = choice & 128 != 0;
    let windows = choice & 64 != 0;
    let result = match kind {
        Kind::List => both::<List<_, _, _>>(budgets, windows, &steps),
        Kind::Array => both::<Array<_, _, _>>(budgets, windows, &steps),
        Kind::FourD => both::<FourD<_, _, _>>(budgets, windows, &steps),
        Kind::Threshold => both::<Threshold<_, _, _>>(budgets, windows, &steps),
        Kind::RbTree => both::<RbTree<_, _, _>>(budgets, windows, &steps),
        Kind::Bins => both::<Bins<_, _, _>>(budgets, windows, &steps),
        Kind::Adaptive => both::<Adaptive<_, _, _>>(budgets, windows, &steps),
        Kind::Pnp => both::<Pnp<_, _, _>>(budgets, windows, &steps),
        Kind::Col => both::<Col<_, _, _>>(budgets, windows, &steps),
        Kind::ColPnp => both::<ColPnp<_, _, _>>(budgets, windows, &steps),
        Kind::Clusters => both::<ClusteredLists<_, _, _>>(budgets, windows, &steps),
        Kind::Indexed => both::<Indexed<_, _, _>>(budgets, windows, &steps),
    };
    if let Err(divergence) = result {
        panic!("{kind}: {divergence}");
    }
});
