//! Random operations on a shared engine over every structure, against the oracle.
//!
//! Reads what `operations` reads, so that one corpus serves both. How contexts are divided follows from
//! the number of steps.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mq_core::mpi::MpiPattern;
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{Footprint, MatchQueues};
use mq_trace::conformance::{
    Divergence, Setup, Step, compare_divided, compare_divided_midway, compare_promised,
    compare_shared, decode,
};

/// Runs steps on a shared engine and on the oracle.
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
        let compare = match self.steps.len() % 5 {
            0 => compare_shared::<Q>,
            1 => compare_divided::<Q>,
            2 => compare_promised::<Q>,
            _ => compare_divided_midway::<Q>,
        };
        let (setup, _) = Setup::chosen(self.choice);
        compare(&setup.of_all_ranks(), self.steps)
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
