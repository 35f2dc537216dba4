//! Every structure, on random operations, against the oracle.
//!
//! A failure prints the shrunk steps; save them under `tests/regressions/` to keep them.

use std::path::Path;

use mq_core::MatchQueues;
use mq_core::mpi::MpiPattern;
use mq_core::structures::*;
use mq_core::tagged::TaggedPattern;
use mq_trace::conformance::{
    Counted, Divergence, EnvelopeFamily, Setup, Step, compare, compare_divided,
    compare_divided_midway, compare_engine, compare_promised, compare_shared, decode, parse_steps,
    random_steps,
};
use proptest::prelude::*;

/// Up to 400 steps, four bytes each.
fn steps() -> impl Strategy<Value = Vec<u8>> {
    let step = any::<[u8; 4]>();
    prop::collection::vec(step, 0..400).prop_map(|steps| steps.concat())
}

/// Shrunk failures are printed as steps and kept as such, not as seeds.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    }
}

fn fail(divergence: &Divergence) -> TestCaseError {
    TestCaseError::fail(divergence.to_string())
}

fn setups() -> [Setup; 4] {
    [
        Setup::small(),
        Setup::small_and_told_too_little(),
        Setup::small_in_windows(),
        Setup::published(),
    ]
}

/// Limits and marks, some or none of each, and how a shared engine is divided.
fn limited() -> impl Strategy<Value = Setup> {
    let entries = prop::option::of(0_usize..30);
    let bytes = prop::option::of(0_u64..90);
    let source_entries = prop::option::of(0_usize..6);
    let source_bytes = prop::option::of(0_u64..20);
    let marks = (1_usize..20).prop_flat_map(|high| (Just(high), 0..high));
    let marks = prop::option::of(marks);
    let shards = prop::sample::select(vec![2, 4, 64]);
    let limits = (entries, bytes, source_entries, source_bytes, marks, shards);
    (limits, 1_u32..).prop_map(|(limits, seed)| {
        let (entry_budget, byte_budget, source_entry_budget, source_byte_budget, marks, shards) =
            limits;
        Setup::small().hashed_from(seed).with(|setup| {
            setup.entry_budget = entry_budget;
            setup.byte_budget = byte_budget;
            setup.source_entry_budget = source_entry_budget;
            setup.source_byte_budget = source_byte_budget;
            setup.marks = marks;
            setup.shards = shards;
        })
    })
}

/// What an engine over some queues has to agree with the oracle in.
type Compare = fn(&Setup, &[Step]) -> Result<(), Divergence>;

/// An engine, a shared one, and one that is divided from the beginning, after half of the steps, and where wildcards
/// are promised away.
const fn engines<Q>() -> [Compare; 5]
where
    Q: MatchQueues<Receive = Counted, Message = Counted>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    [
        compare_engine::<Q>,
        compare_shared::<Q>,
        compare_divided::<Q>,
        compare_divided_midway::<Q>,
        compare_promised::<Q>,
    ]
}

/// Engines in which the structure is chosen at run time: each has to be compiled only once.
type Chosen = AnyQueues<MpiPattern, Counted, Counted>;
type ChosenTagged = AnyQueues<TaggedPattern, Counted, Counted>;

/// The engines for 64-bit tags. Being divided midway is tried for MPI's envelopes: it does not depend on tags.
const TAGGED: [Compare; 4] = [
    compare_engine::<ChosenTagged>,
    compare_shared::<ChosenTagged>,
    compare_divided::<ChosenTagged>,
    compare_promised::<ChosenTagged>,
];

/// The suite of one structure: alone, and in engines.
macro_rules! conformance {
    ($($name:ident: $type:ident, $kind:expr;)*) => {
        $(mod $name {
            use super::*;

            type Mpi = $type<MpiPattern, Counted, Counted>;
            type Tagged = $type<TaggedPattern, Counted, Counted>;

            const KIND: Option<Kind> = $kind;

            proptest! {
                #![proptest_config(config())]

                #[test]
                fn queues_agree_with_the_oracle(
                    bytes in steps(),
                    setup in 0_usize..4,
                    seed in 1_u32..,
                ) {
                    let setup = setups()[setup].clone().hashed_from(seed);
                    compare::<Mpi>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                }

                #[test]
                fn queues_of_unknown_size_agree_with_the_oracle(bytes in steps()) {
                    let setup = Setup::small().with(|setup| setup.size = None);
                    compare::<Mpi>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                }

                #[test]
                fn sixty_four_bit_tags_agree_with_the_oracle(bytes in steps(), seed in 1_u32..) {
                    let steps = decode(&bytes);
                    for setup in [Setup::small(), Setup::small_in_windows()] {
                        let setup = setup.hashed_from(seed).of_kind(KIND);
                        compare::<Tagged>(&setup, &steps).map_err(|d| fail(&d))?;
                        all_agree(&TAGGED, &[setup], &steps)?;
                    }
                }

                #[test]
                fn engines_agree_with_the_oracle(
                    bytes in steps(),
                    limited in limited(),
                    seed in 1_u32..,
                ) {
                    let setups = [Setup::small().hashed_from(seed), limited];
                    let setups = setups.map(|setup| setup.of_kind(KIND));
                    all_agree(&engines::<Chosen>(), &setups, &decode(&bytes))?;
                }
            }

            #[test]
            fn long_runs_agree_with_the_oracle() {
                for seed in 0..4 {
                    let steps = random_steps(seed, 10_000);
                    for setup in setups() {
                        compare::<Mpi>(&setup, &steps).unwrap_or_else(|d| panic!("{d}"));
                    }
                }
            }

            #[test]
            fn saved_regressions_agree_with_the_oracle() {
                for (name, text) in saved("tests/regressions") {
                    let text = String::from_utf8(text).unwrap_or_else(|e| panic!("{name}: {e}"));
                    let steps = parse_steps(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
                    for setup in setups() {
                        compare::<Mpi>(&setup, &steps).unwrap_or_else(|d| panic!("{name}: {d}"));
                    }
                    let small = Setup::small().of_kind(KIND);
                    let limited = small.clone().with_budgets(18, 49).with_marks(8, 3);
                    all_agree(&engines::<Chosen>(), &[small, limited], &steps)
                        .unwrap_or_else(|d| panic!("{name}: {d}"));
                    compare::<Tagged>(&Setup::small(), &steps)
                        .unwrap_or_else(|d| panic!("{name}: {d}"));
                }
            }

            #[test]
            fn the_fuzzers_corpus_agrees_with_the_oracle() {
                for (name, bytes) in saved("../../fuzz/corpus/operations") {
                    let Some((&choice, bytes)) = bytes.split_first() else { continue };
                    let steps = decode(bytes);
                    let (setup, has_engine) = Setup::chosen(choice);
                    let setup = setup.of_kind(KIND);
                    let compared = match has_engine {
                        true => compare_engine::<Chosen>(&setup, &steps),
                        false => compare::<Mpi>(&setup, &steps),
                    };
                    compared.unwrap_or_else(|d| panic!("{name}: {d}"));
                    compare_divided_midway::<Chosen>(&setup.of_all_ranks(), &steps)
                        .unwrap_or_else(|d| panic!("{name}: {d}"));
                }
            }
        })*

        /// The table of structures and this suite name the same ones.
        #[test]
        fn every_structure_is_covered() {
            let kinds: Vec<Kind> = [$($kind),*].into_iter().flatten().collect();
            assert_eq!(kinds, Kind::ALL);
        }
    };
}

conformance! {
    list: List, Some(Kind::List);
    array: Array, Some(Kind::Array);
    four_d: FourD, Some(Kind::FourD);
    threshold: Threshold, Some(Kind::Threshold);
    rbtree: RbTree, Some(Kind::RbTree);
    bins: Bins, Some(Kind::Bins);
    adaptive: Adaptive, Some(Kind::Adaptive);
    pnp: Pnp, Some(Kind::Pnp);
    col: Col, Some(Kind::Col);
    col_pnp: ColPnp, Some(Kind::ColPnp);
    clusters: ClusteredLists, Some(Kind::Clusters);
    indexed: Indexed, Some(Kind::Indexed);
    chosen_at_run_time: AnyQueues, None;
}

proptest! {
    #![proptest_config(config())]

    /// As most programs use it: the structure is known when it is compiled.
    #[test]
    fn engines_over_the_default_structure_agree_with_the_oracle(
        bytes in steps(),
        limited in limited(),
        seed in 1_u32..,
    ) {
        let setups = [Setup::small().hashed_from(seed), limited];
        all_agree(&engines::<Indexed<MpiPattern, Counted, Counted>>(), &setups, &decode(&bytes))?;
    }
}

fn all_agree(engines: &[Compare], setups: &[Setup], steps: &[Step]) -> Result<(), TestCaseError> {
    for setup in setups {
        for compare in engines {
            compare(setup, steps).map_err(|divergence| fail(&divergence))?;
        }
    }
    Ok(())
}

/// Files of a directory, which must hold some.
fn saved(directory: &str) -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("a readable directory").path();
            let bytes = std::fs::read(&path).expect("a readable file");
            (path.display().to_string(), bytes)
        })
        .collect();
    assert!(!files.is_empty(), "{} is empty", directory.display());
    files
}
