//! A structure of your own: two lanes, one for the senders on this node and one for all others.
//!
//! [`Route`] says which lane holds the entries of a sender; [`Routed`] turns that into a whole
//! structure, with wildcards, cancelling and purging. The structure then runs the conformance suite, is
//! compared with the decisions of a real MPI library in a recorded run and, for the entries that its
//! searches visit, with the list of MPICH.
//!
//! Run it: `cargo run -p mq-examples --example custom_structure`

use std::error::Error;

use mq_core::config::Own;
use mq_core::mpi::MpiPattern;
use mq_core::structures::{Lane, LaneId, List, Route, Routed, Sender};
use mq_core::{Config, Footprint, MatchQueues, Meter, Scope, Tuning};
use mq_trace::conformance::{Counted, Setup, compare_all, random_steps};
use mq_trace::{Trace, check_queues};

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../traces/lmp-melt16-r0.mqt.gz"
);

/// The structure's parameter. The first ranks are on our node, since rank 0 replays the trace.
struct RanksPerNode(u32);

const SAME_NODE: LaneId = 0;
const OTHER_NODES: LaneId = 1;

/// The two lanes. They are never created or freed, so most of the trait is trivial.
#[derive(Debug)]
struct Nodes {
    ranks_per_node: u32,
    lanes: [Lane; 2],
}

impl Nodes {
    fn lane_of(&self, sender: Sender) -> LaneId {
        if sender.rank.0 < self.ranks_per_node {
            SAME_NODE
        } else {
            OTHER_NODES
        }
    }
}

impl Route for Nodes {
    fn from_config(config: &Config) -> Self {
        let given = config.tuning.own.get::<RanksPerNode>();
        Self {
            ranks_per_node: given.map_or(1, |ranks| ranks.0),
            lanes: [Lane::EMPTY; 2],
        }
    }

    /// Two lanes per communicator: a search does not visit the entries of other communicators.
    fn scope() -> Scope {
        Scope::Context
    }

    fn find(&self, sender: Sender, _: &mut impl Meter) -> Option<LaneId> {
        Some(self.lane_of(sender))
    }

    fn find_or_make(&mut self, sender: Sender, _: &mut impl Meter) -> LaneId {
        self.lane_of(sender)
    }

    fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id as usize]
    }

    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.lanes[id as usize]
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        self.lanes.iter().for_each(visitor);
    }

    fn reset(&mut self) {
        self.lanes = [Lane::EMPTY; 2];
    }
}

/// The structure, usable like those of the library, for receives and messages of any type.
type NodeQueues<T> = Routed<Nodes, MpiPattern, T, T>;

fn main() -> Result<(), Box<dyn Error>> {
    // Random operations of every kind, compared with the plain rules of matching; the payloads are counted.
    for seed in 0..100 {
        compare_all::<NodeQueues<Counted>>(&Setup::small(), &random_steps(seed, 300))?;
    }
    println!("100 random runs, each answer as the oracle's");

    // A recorded run of a real program, compared with the decisions of its MPI library.
    let trace = Trace::open(TRACE)?;
    let ours = visited::<NodeQueues<u32>>(&trace)?;
    println!(
        "{} operations, each decided as the MPI library did",
        trace.operations().len()
    );
    let theirs = visited::<List<MpiPattern, u32, u32>>(&trace)?;
    println!("entries visited: {ours} by node, {theirs} in one list");
    assert!(
        ours < theirs,
        "two lanes are searched no longer than one list"
    );
    Ok(())
}

/// The entries that all searches of a replay visit.
fn visited<Q>(trace: &Trace) -> Result<u64, Box<dyn Error>>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32> + Footprint,
{
    let tuning = Tuning::default().with(|tuning| tuning.own = Own::new(RanksPerNode(4)));
    let report = check_queues::<Q>(trace, &tuning, &mut |_| ());
    match report.first_mismatch {
        Some(mismatch) => Err(mismatch.to_string().into()),
        None => Ok(report.visits.total()),
    }
}
