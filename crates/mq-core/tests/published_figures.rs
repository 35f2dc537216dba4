//! The closed forms of Zounmevo & Afsahi 2014: entries visited (Tables 2 and 3) and memory over the
//! list (Tables 4, 5, 7 and 10), measured on the structures here.

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{
    Array, Cube, FourD, Leads, List, RankHeads, RankTree, RbTree, Route, Routed,
};
use mq_core::{Arrive, Config, ContextId, Footprint, MatchQueues, Visits};

const SIZES: [u32; 3] = [4_096, 65_536, 1_048_576];

/// One posted receive for each other rank, in each of `contexts` communicators, and the pointer
/// operations that a message from the last rank of the last communicator takes.
fn reach_the_last<Q>(size: u32, contexts: u32) -> u64
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = ()>,
{
    let mut queues = Q::with_config(&Config::default().with_size(size));
    for context in 0..contexts {
        for rank in 1..size {
            let _ = queues.post(MpiPattern::new(context, rank, 0), rank);
        }
    }
    let mut visits = Visits::default();
    let last = MpiEnvelope::new(contexts - 1, size - 1, 0);
    let arrival = queues.arrive_metered(last, (), &mut visits);
    assert!(matches!(arrival, Arrive::Matched { receive, .. } if receive == size - 1));
    visits.total()
}

type Lists = List<MpiPattern, u32, ()>;
type Arrays = Array<MpiPattern, u32, ()>;
type Cubes = FourD<MpiPattern, u32, ()>;
type Trees = RbTree<MpiPattern, u32, ()>;

#[test]
fn pointer_operations_to_the_last_item_are_those_of_table_2() {
    for (size, list, cube) in [
        (SIZES[0], 4_095, 26),
        (SIZES[1], 65_535, 50),
        (SIZES[2], 1_048_575, 98),
    ] {
        assert_eq!(reach_the_last::<Lists>(size, 1), list, "list of {size}");
        assert_eq!(reach_the_last::<Arrays>(size, 1), 3, "array of {size}");
        assert_eq!(reach_the_last::<Cubes>(size, 1), cube, "4d of {size}");
    }
}

#[test]
fn pointer_operations_in_the_last_of_ten_communicators_are_those_of_table_3() {
    for (size, list, cube) in [(SIZES[0], 40_950, 35), (SIZES[1], 655_350, 59)] {
        assert_eq!(reach_the_last::<Lists>(size, 10), list, "list of {size}");
        assert_eq!(reach_the_last::<Arrays>(size, 10), 12, "array of {size}");
        assert_eq!(reach_the_last::<Cubes>(size, 10), cube, "4d of {size}");
    }
}

#[test]
fn the_largest_size_of_table_3_too() {
    // Ten million receives: one structure at a time, to stay within a small machine's memory.
    assert_eq!(reach_the_last::<Lists>(SIZES[2], 10), 10_485_750);
    assert_eq!(reach_the_last::<Arrays>(SIZES[2], 10), 12);
    assert_eq!(reach_the_last::<Cubes>(SIZES[2], 10), 107);
}

/// Object sizes of Table 4, in bytes.
const LEAD: usize = 56;
const RANK_HEAD: usize = 32;
const SEGMENT: usize = 48;

/// Those of the tree, as Table 7 has them: of an empty one, and of a node.
const TREE: usize = 56;
const TREE_NODE: usize = 56;

/// A Plane holds a pointer for each X coordinate, and 16 bytes.
const fn plane(span: usize) -> usize {
    16 + 8 * span
}

/// Bytes over the list in one context under the paper's object sizes: Eq. (14).
const fn array_overhead(heads: &RankHeads) -> usize {
    LEAD + heads.allocated() * RANK_HEAD
}

/// The same for 4-D: Eq. (15).
fn cube_overhead(cube: &Cube) -> usize {
    let planes = cube.planes() * plane(cube.span() as usize);
    LEAD + planes + cube.segments() * SEGMENT
}

/// The same for the tree: the formula of §6.
fn tree_overhead(tree: &RankTree) -> usize {
    TREE + tree.nodes() * TREE_NODE
}

/// What leads to the entries of a context that was used.
fn route<Rt: Route>(queues: &Leads<Routed<Rt, MpiPattern, u32, ()>>, context: u32) -> &Rt {
    let of_context = queues.queues(ContextId(context));
    of_context.expect("the context was used").route()
}

/// Queues with one item from each of the first `items` ranks.
fn filled<Q>(size: u32, items: u32) -> Q
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = ()>,
{
    let mut queues = Q::with_config(&Config::default().with_size(size));
    for rank in 0..items {
        let _ = queues.post(MpiPattern::new(0, rank, 0), rank);
    }
    queues
}

/// Bytes over the list under the paper's object sizes, and really.
fn array_over_list(size: u32, items: u32) -> (usize, usize) {
    let queues: Arrays = filled(size, items);
    (array_overhead(route(&queues, 0)), queues.memory().index)
}

fn cube_over_list(size: u32, items: u32) -> (usize, usize) {
    let queues: Cubes = filled(size, items);
    (cube_overhead(route(&queues, 0)), queues.memory().index)
}

#[test]
fn memory_over_the_list_is_that_of_table_5() {
    // Bytes: the paper prints kB of 1,024 and rounds; these are its formulas (14) and (15).
    let table = [
        (SIZES[0], 131_128, [184, 760, 6_216, 25_272]),
        (SIZES[1], 2_097_208, [248, 536, 3_224, 198_968]),
        (SIZES[2], 33_554_488, [376, 520, 1_864, 1_581_624]),
    ];
    println!("| size | items | array: paper | ours | 4d: paper | ours |");
    for (size, array, cubes) in table {
        for (items, cube) in [1, 100, 1_000, size].into_iter().zip(cubes) {
            let (paper_array, our_array) = array_over_list(size, items);
            let (paper_cube, our_cube) = cube_over_list(size, items);
            println!(
                "| {size} | {items} | {paper_array} | {our_array} | {paper_cube} | {our_cube} |"
            );
            assert_eq!(paper_array, array, "array of {size} with {items}");
            assert_eq!(paper_cube, cube, "4d of {size} with {items}");
        }
    }
}

#[test]
fn peaks_of_memory_over_the_list_are_those_of_table_7() {
    // Bytes: the paper prints kB of 1,024. At the peak there is an item from each rank.
    for (size, cube, tree) in [
        (256, 3_320, 14_392),
        (16_384, 49_784, 917_560),
        (131_072, 197_752, 7_340_088),
    ] {
        let trees: Trees = filled(size, size);
        assert_eq!(cube_over_list(size, size).0, cube, "4d of {size}");
        assert_eq!(tree_overhead(route(&trees, 0)), tree, "tree of {size}");
    }
}

/// Contexts of application AH of Table 10: two for each of its three communicators.
const CONTEXTS: u32 = 6;

/// The queues of application AH, with an item from the first of each `span` ranks in each context. That makes every
/// object that items from all ranks would: those of `span` ranks share a Segment.
fn application<Q>(size: u32, span: usize) -> Q
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = ()>,
{
    let mut queues = Q::with_config(&Config::default().with_size(size));
    for context in 0..CONTEXTS {
        for rank in (0..size).step_by(span) {
            let _ = queues.post(MpiPattern::new(context, rank, 0), rank);
        }
    }
    queues
}

#[test]
fn memory_of_an_application_on_whole_machines_is_that_of_table_10() {
    // The paper's own cluster, Titan and Sequoia. Bytes: the paper prints GB of 2^30 and rounds.
    for (size, span, array, cube) in [
        (704, 8, 135_504, 26_640),
        (560_640, 32, 107_643_216, 5_075_472),
        (1_572_864, 64, 301_990_224, 7_097_232),
    ] {
        let arrays: Arrays = application(size, span);
        let of_array = (0..CONTEXTS).map(|c| array_overhead(route(&arrays, c)));
        assert_eq!(of_array.sum::<usize>(), array, "array of {size}");
        let cubes: Cubes = application(size, span);
        let of_cube = (0..CONTEXTS).map(|c| cube_overhead(route(&cubes, c)));
        assert_eq!(of_cube.sum::<usize>(), cube, "4d of {size}");
    }
}
