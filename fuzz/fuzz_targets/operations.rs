//! Random operations on every structure, against the oracle.
//!
//! The first byte selects the structure, whether an engine with budgets wraps it, and whether queues may
//! stay in their windows; the rest are steps, decoded by `mq_trace::conformance::decode`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mq_core::mpi::MpiPattern;
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Footprint, MatchQueues};
use mq_trace::conformance::{Divergence, Setup, Step, compare, compare_engine, decode};

/// Runs steps on a structure and on the oracle.
struct Both<'a> {
    steps: &'a [Step],
    choice: u8,
}

impl KindVisitor<MpiPattern, u32, u32> for Both<'_> {
    type Output = Result<(), Divergence>;

    fn visit<Q>(self) -> Self::Output
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint + 'static,
    {
        match Setup::chosen(self.choice) {
            (setup, true) => compare_engine::<Q>(&setup, self.steps),
            (setup, false) => compare::<Q>(&setup, self.steps),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let steps = decode(bytes);
    let kind = Kind::ALL[usize::from(choice) % Kind::ALL.len()];
    let both = Both {
        steps: &steps,
        choice,
    };
    if let Err(divergence) = kind.accept(both) {
        panic!("{kind}: {divergence}");
    }
});
