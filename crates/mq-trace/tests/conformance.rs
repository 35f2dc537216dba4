//! Every structure, on random operations, against the oracle.
//!
//! A failure prints the shrunk steps; save them under `tests/regressions/` to keep them.

use std::path::Path;

use mq_core::mpi::MpiPattern;
use mq_core::structures::*;
use mq_core::tagged::TaggedPattern;
use mq_trace::conformance::{
    Divergence, Setup, compare, compare_divided, compare_divided_midway, compare_engine,
    compare_promised, compare_shared, compare_tagged, compare_tagged_engines, decode, parse_steps,
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

/// The suite of one structure.
macro_rules! conformance {
    ($($name:ident: $type:ident;)*) => {
        $(mod $name {
            use super::*;

            type Mpi = $type<MpiPattern, u32, u32>;
            type Tagged = $type<TaggedPattern, u32, u32>;

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
                    let setup = Setup { size: None, ..Setup::small() };
                    compare::<Mpi>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                }

                #[test]
                fn sixty_four_bit_tags_agree_with_the_oracle(bytes in steps(), seed in 1_u32..) {
                    for setup in [Setup::small(), Setup::small_in_windows()] {
                        let setup = setup.hashed_from(seed);
                        compare_tagged::<Tagged>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                    }
                    compare_tagged_engines::<Tagged>(&Setup::small().hashed_from(seed), &decode(&bytes))
                        .map_err(|d| fail(&d))?;
                }

                #[test]
                fn an_engine_agrees_with_the_oracle(bytes in steps(), seed in 1_u32..) {
                    compare_engine::<Mpi>(&Setup::small().hashed_from(seed), &decode(&bytes))
                        .map_err(|d| fail(&d))?;
                }

                #[test]
                fn budgets_agree_with_the_oracle(
                    bytes in steps(),
                    entries in 0_usize..20,
                    weight in 0_u64..60,
                ) {
                    let setup = Setup::small().with_budgets(entries, weight);
                    compare_engine::<Mpi>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                }

                #[test]
                fn budgets_of_sources_and_marks_agree_with_the_oracle(
                    bytes in steps(),
                    (entries, weight) in (0_usize..40, 0_u64..120),
                    (source_entries, source_weight) in (0_usize..6, 0_u64..20),
                    (high, low) in (1_usize..10).prop_flat_map(|high| (Just(high), 0..high)),
                ) {
                    let setup = Setup::small()
                        .with_budgets(entries, weight)
                        .with_source_budgets(source_entries, source_weight)
                        .with_marks(high, low);
                    compare_engine::<Mpi>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                }

                #[test]
                fn marks_without_budgets_agree_with_the_oracle(
                    bytes in steps(),
                    (high, low) in (1_usize..20).prop_flat_map(|high| (Just(high), 0..high)),
                ) {
                    let setup = Setup::small().with_marks(high, low);
                    compare_engine::<Mpi>(&setup, &decode(&bytes)).map_err(|d| fail(&d))?;
                }
            }

            proptest! {
                #![proptest_config(config())]

                #[test]
                fn a_shared_engine_agrees_with_the_oracle(
                    bytes in steps(),
                    entries in 0_usize..20,
                    weight in 0_u64..60,
                ) {
                    let steps = decode(&bytes);
                    compare_shared::<Mpi>(&Setup::small(), &steps).map_err(|d| fail(&d))?;
                    let limited = Setup::small().with_budgets(entries, weight);
                    compare_shared::<Mpi>(&limited, &steps).map_err(|d| fail(&d))?;
                }

                #[test]
                fn a_divided_engine_agrees_with_the_oracle(
                    bytes in steps(),
                    entries in 0_usize..20,
                    weight in 0_u64..60,
                    seed in 1_u32..,
                ) {
                    let steps = decode(&bytes);
                    let small = Setup::small().hashed_from(seed);
                    let limited = small.clone().with_budgets(entries, weight);
                    for setup in [small, limited] {
                        compare_divided::<Mpi>(&setup, &steps).map_err(|d| fail(&d))?;
                        compare_divided_midway::<Mpi>(&setup, &steps).map_err(|d| fail(&d))?;
                        compare_promised::<Mpi>(&setup, &steps).map_err(|d| fail(&d))?;
                    }
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
                    let limited = Setup::small().with_budgets(18, 49).with_marks(8, 3);
                    for setup in [Setup::small(), limited] {
                        for compare in [
                            compare_engine::<Mpi>,
                            compare_shared::<Mpi>,
                            compare_divided::<Mpi>,
                            compare_divided_midway::<Mpi>,
                            compare_promised::<Mpi>,
                        ] {
                            compare(&setup, &steps).unwrap_or_else(|d| panic!("{name}: {d}"));
                        }
                    }
                    compare_tagged::<Tagged>(&Setup::small(), &steps)
                        .unwrap_or_else(|d| panic!("{name}: {d}"));
                }
            }

            #[test]
            fn the_fuzzers_corpus_agrees_with_the_oracle() {
                for (name, bytes) in saved("../../fuzz/corpus/operations") {
                    let Some((&choice, bytes)) = bytes.split_first() else { continue };
                    let steps = decode(bytes);
                    let compared = match Setup::chosen(choice) {
                        (setup, true) => compare_engine::<Mpi>(&setup, &steps),
                        (setup, false) => compare::<Mpi>(&setup, &steps),
                    };
                    compared.unwrap_or_else(|d| panic!("{name}: {d}"));
                    let setup = Setup::chosen(choice).0.of_all_ranks();
                    compare_divided_midway::<Mpi>(&setup, &steps)
                        .unwrap_or_else(|d| panic!("{name}: {d}"));
                }
            }
        })*

        /// The table of structures and this suite name the same ones.
        #[test]
        fn every_structure_is_covered() {
            assert_eq!(Kind::ALL.len(), [$(stringify!($name)),*].len() - 1);
        }
    };
}

conformance! {
    list: List;
    array: Array;
    four_d: FourD;
    threshold: Threshold;
    rbtree: RbTree;
    bins: Bins;
    adaptive: Adaptive;
    pnp: Pnp;
    col: Col;
    col_pnp: ColPnp;
    clusters: ClusteredLists;
    indexed: Indexed;
    chosen_at_run_time: AnyQueues;
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
