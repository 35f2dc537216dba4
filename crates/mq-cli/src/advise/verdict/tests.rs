//! Verdicts on made-up costs.

use super::*;

/// Repetitions asked for, where it does not matter.
const WANTED: usize = 15;

fn verdict(list: f64, default: f64, bins: f64, mean_search: f64) -> Verdict {
    let costs = [
        (Kind::List, list),
        (Kind::Indexed, default),
        (Kind::Bins, bins),
    ];
    Verdict::on(
        &Costs::measured(&costs),
        &Evidence::searched(mean_search),
        "t",
        None,
        WANTED,
    )
}

#[test]
fn a_gain_is_told_in_times_and_nanoseconds() {
    let verdict = verdict(1520.0, 37.0, 40.0, 588.0);
    assert_eq!(verdict.recommended, "indexed");
    let expected = "indexed: 41 times faster in matching than list on t (1,520 ns -> 37.0 ns per \
                    operation). That is the default, and no structure is faster by more than \
                    noise.";
    assert_eq!(verdict.verdict, expected);
}

#[test]
fn the_default_is_not_left_for_little() {
    let verdict = verdict(1000.0, 10.0, 8.5, 400.0);
    assert_eq!(verdict.recommended, "indexed");
    let remark = "That is the default; bins takes 8.50 ns, 1.50 ns less: too little to leave it.";
    assert!(verdict.verdict.ends_with(remark), "{}", verdict.verdict);
}

#[test]
fn a_slow_list_does_not_hide_what_the_fast_ones_differ_by() {
    let verdict = verdict(10_000.0, 60.0, 20.0, 2000.0);
    assert_eq!(verdict.recommended, "bins");
    let end = "(10,000 ns -> 20.0 ns per operation). indexed, the default, takes 60.0 ns.";
    assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
}

#[test]
fn the_default_is_left_for_much() {
    let verdict = verdict(100.0, 90.0, 40.0, 40.0);
    assert_eq!(verdict.recommended, "bins");
    let expected = "bins: 2.5 times faster in matching than list on t (100 ns -> 40.0 ns per \
                    operation). indexed, the default, takes 90.0 ns.";
    assert_eq!(verdict.verdict, expected);
}

#[test]
fn short_searches_gain_nothing() {
    let verdict = verdict(6.69, 6.5, 28.9, 1.3);
    assert_eq!(verdict.recommended, "indexed");
    let expected = "short searches (mean length 1.30): what any structure gains over list on t is \
                    less than noise (5%); stay with indexed, the default.";
    assert_eq!(verdict.verdict, expected);
}

#[test]
fn a_default_that_costs_more_is_not_recommended() {
    let verdict = verdict(100.0, 112.0, 97.0, 6.0);
    assert_eq!(verdict.recommended, "list");
    let end = "indexed, the default, takes 12% more: list serves it best.";
    assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
}

#[test]
fn a_nanosecond_changes_nothing() {
    let one = verdict(6.0, 7.3, 6.1, 0.6);
    assert_eq!(one.recommended, "indexed");
    let end =
        "noise (5%); indexed, the default, takes 1.30 ns more than list, too little to leave it.";
    assert!(one.verdict.ends_with(end), "{}", one.verdict);
    let one = verdict(6.0, 6.4, 5.0, 0.6);
    assert_eq!(one.recommended, "indexed");
    let end = ": bins gains only 1.00 ns an operation over list on t; indexed, the default, takes \
               0.40 ns more than list, too little to leave it.";
    assert!(one.verdict.ends_with(end), "{}", one.verdict);
    let one = verdict(6.0, 6.2, 5.0, 0.6);
    assert_eq!(one.recommended, "indexed");
    let end =
        ": bins gains only 1.00 ns an operation over list on t; stay with indexed, the default.";
    assert!(one.verdict.ends_with(end), "{}", one.verdict);
}

#[test]
fn a_gain_that_is_not_one_over_the_default_changes_nothing() {
    let verdict = verdict(100.0, 98.0, 94.0, 40.0);
    assert_eq!(verdict.recommended, "indexed");
    let end = ": bins gains 6.00 ns an operation over list on t, and over indexed no more than noise \
               (5%); stay with indexed, the default.";
    assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
}

/// No library has the profile that it is timed with.
#[test]
fn clusters_are_never_recommended() {
    let costs = [
        (Kind::List, 100.0),
        (Kind::Indexed, 60.0),
        (Kind::Clusters, 10.0),
    ];
    let verdict = Verdict::on(
        &Costs::measured(&costs),
        &Evidence::searched(40.0),
        "t",
        None,
        WANTED,
    );
    assert_eq!(verdict.recommended, "indexed");
    let end = " (clusters was given the trace's own profile, which a library would not have.)";
    assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
}

#[test]
fn what_open_mpi_has_is_compared_first() {
    let text_of = |default, array| {
        let costs = [
            (Kind::List, 1000.0),
            (Kind::Indexed, default),
            (Kind::Array, array),
        ];
        let (costs, evidence) = (Costs::measured(&costs), Evidence::searched(400.0));
        let verdict = Verdict::on(&costs, &evidence, "t", Some(Kind::Array), WANTED);
        assert_eq!(verdict.own, Some("array"));
        verdict.verdict
    };
    for (default, array, compared) in [
        (40.0, 120.0, "3.0 times faster in matching than"),
        (40.0, 41.0, "as fast in matching as"),
        (11.0, 9.5, "slower in matching than"),
    ] {
        let text = text_of(default, array);
        let first = format!("indexed: {compared} array, Open MPI's own structure");
        let then = text.strip_prefix(&first).expect(&text);
        let (array, default) = (decimal(array), decimal(default));
        let times = format!(" ({array} ns -> {default} ns per operation). ");
        assert!(then.contains(&times), "{then}");
        assert!(then.contains(" in matching than list on t ("), "{then}");
    }
    let mut costs = Costs::measured(&[
        (Kind::List, 1000.0),
        (Kind::Indexed, 2.7),
        (Kind::Array, 11.0),
    ]);
    let array = costs
        .structures
        .iter_mut()
        .find(|cost| cost.structure == "array");
    array.expect("it was timed").spread_ns_per_op = Some(9.0);
    let evidence = Evidence::searched(400.0);
    let text = Verdict::on(&costs, &evidence, "t", Some(Kind::Array), WANTED).verdict;
    assert!(
        text.starts_with(
            "indexed: not told apart in matching from array, Open MPI's own structure, since half of the repetitions \
             of array are spread over 18.0 ns (11.0 ns -> 2.70 ns per operation). "
        ),
        "{text}"
    );
    let text = text_of(400.0, 100.0);
    assert!(text.starts_with("array is Open MPI's own structure: nothing needs to change. "));
}

/// Four thousand unexpected messages, 1 % of the receives with `ANY_TAG`: docs/measured/engine-intel.md.
const DEEP: [(Kind, f64); 3] = [
    (Kind::List, 12_434.0),
    (Kind::Array, 23.0),
    (Kind::Indexed, 67.0),
];

/// The verdict for a user of Open MPI.
fn for_open_mpi(costs: &Costs) -> Verdict {
    let evidence = Evidence::searched(2000.0);
    Verdict::on(costs, &evidence, "t", Some(Kind::Array), WANTED)
}

#[test]
fn nobody_is_to_leave_open_mpi_s_structure_for_a_slower_one() {
    let verdict = for_open_mpi(&Costs::measured(&DEEP));
    assert_eq!(verdict.recommended, "array");
    let expected = "array is Open MPI's own structure: nothing needs to change. array: 541 times faster in \
                    matching than list on t (12,434 ns -> 23.0 ns per operation). indexed, the default, \
                    takes 67.0 ns.";
    assert_eq!(verdict.verdict, expected);
}

#[test]
fn the_cheapest_does_not_hide_another_that_is_certain() {
    let mut costs = Costs::measured(&[
        (Kind::List, 12_434.0),
        (Kind::Indexed, 67.0),
        (Kind::Bins, 20.0),
        (Kind::Array, 23.0),
    ]);
    let bins = costs
        .structures
        .iter_mut()
        .find(|cost| cost.structure == "bins");
    bins.expect("it was timed").spread_ns_per_op = Some(60.0);
    let verdict = Verdict::on(&costs, &Evidence::searched(2000.0), "t", None, WANTED);
    assert_eq!(verdict.recommended, "array");
    // What is recommended has no spread.
    assert_eq!(verdict.noise, Some(LEAST_NOISE));
}

#[test]
fn noise_elsewhere_is_no_reason_to_leave_open_mpi_s_structure() {
    let mut costs = Costs::measured(&[&DEEP[..], &[(Kind::Bins, 20.0)]].concat());
    let mut spreads = |structure: &str, spread: f64| {
        let mut structures = costs.structures.iter_mut();
        let cost = structures.find(|cost| cost.structure == structure);
        cost.expect("it was timed").spread_ns_per_op = Some(spread);
        for_open_mpi(&costs)
    };
    // It is not known whether the cheapest is faster than the default.
    assert_eq!(spreads("bins", 60.0).recommended, "array");
    // Nor what any of them gains over `list`.
    let verdict = spreads("list", 12_420.0);
    assert_eq!(verdict.recommended, "array");
    let end = ": what array gains over list on t is less than noise (100%); indexed, the default, takes \
               191% more: array serves it best.";
    assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
}

#[test]
fn spread_is_noise() {
    let mut costs = Costs::measured(&[(Kind::List, 100.0), (Kind::Indexed, 80.0)]);
    let evidence = Evidence::searched(20.0);
    assert!(
        Verdict::on(&costs, &evidence, "t", None, WANTED)
            .verdict
            .contains("20% less time")
    );
    costs.structures[0].spread_ns_per_op = Some(25.0);
    let verdict = Verdict::on(&costs, &evidence, "t", None, WANTED);
    assert!(verdict.verdict.contains("less than noise (25%)"));
    assert_eq!(verdict.noise, Some(0.25));
    costs.structures[0].spread_ns_per_op = Some(940.0);
    let verdict = Verdict::on(&costs, &evidence, "t", None, WANTED);
    let said = "too noisy to tell on t: repetitions differ by 940% of the time of list";
    assert!(verdict.verdict.starts_with(said), "{}", verdict.verdict);
    assert_eq!(verdict.recommended, "indexed");
}

#[test]
fn what_cannot_be_compared_changes_nothing() {
    for costs in [
        Costs::measured(&[(Kind::List, 0.5), (Kind::Indexed, 0.0)]),
        {
            let mut costs = Costs::measured(&[(Kind::List, 100.0), (Kind::Indexed, 1.0)]);
            costs.structures[0].mismatches = 1;
            costs
        },
    ] {
        let verdict = Verdict::on(&costs, &Evidence::default(), "t", None, WANTED);
        assert_eq!(verdict.recommended, "indexed");
        let end = "; stay with indexed, the default.";
        assert!(verdict.verdict.ends_with(end), "{}", verdict.verdict);
    }
}

#[test]
fn no_time_at_all_is_a_multiple_without_end() {
    assert_eq!(less(0.0, 5.0), "more than 10,000 times faster");
    assert_eq!(less(4.0, 5.0), "20% less time");
}

/// Costs of three structures with these numbers of repetitions.
fn timed(repetitions: [usize; 3]) -> Costs {
    let costs = [
        (Kind::List, 100.0),
        (Kind::Indexed, 90.0),
        (Kind::Bins, 40.0),
    ];
    let mut costs = Costs::measured(&costs);
    for cost in &mut costs.structures {
        // The cheapest is first.
        let at = ["list", "indexed", "bins"].map(|name| name == cost.structure);
        let at = at.iter().position(|same| *same).expect("one of them");
        cost.repetitions = repetitions[at];
        cost.spread_ns_per_op = (repetitions[at] >= FEWEST).then_some(0.0);
    }
    costs
}

#[test]
fn few_repetitions_advise_nothing_but_the_default() {
    let evidence = Evidence::searched(40.0);
    let verdict =
        |repetitions, wanted| Verdict::on(&timed(repetitions), &evidence, "t", None, wanted);
    let known = verdict([4; 3], 4);
    assert_eq!((&*known.recommended, known.noise), ("bins", Some(0.05)));
    let few = verdict([1; 3], 1);
    assert_eq!((&*few.recommended, few.noise), ("indexed", None));
    let expected = "only 1 repetition to tell gains from noise on t, and at least 4 are needed (--repeat): an \
                    operation takes 100 ns in list, 90.0 ns in indexed, 40.0 ns in bins; stay with \
                    indexed, the default.";
    assert_eq!(few.verdict, expected);
    // Whatever was asked for, a structure that is slow enough gets one.
    let slow = verdict([1; 3], 15);
    assert_eq!((&*slow.recommended, slow.noise), ("indexed", None));
    let said = "only 1 repetition to tell gains from noise on t, and at least 4 are needed, which a structure \
                that takes more than 30 s for the trace does not get: an operation takes 100 ns in list";
    assert!(slow.verdict.starts_with(said), "{}", slow.verdict);
}

#[test]
fn a_list_far_behind_needs_no_more_than_one_repetition() {
    let evidence = Evidence::searched(40.0);
    let verdict = |repetitions| Verdict::on(&timed(repetitions), &evidence, "t", None, WANTED);
    let slow = verdict([1, 15, 15]);
    assert_eq!((&*slow.recommended, slow.noise), ("bins", None));
    let near = verdict([15, 1, 15]);
    assert_eq!((&*near.recommended, near.noise), ("indexed", None));
    let mut costs = timed([1, 15, 15]);
    costs.structures.retain(|cost| cost.structure != "bins");
    let near = Verdict::on(&costs, &evidence, "t", None, WANTED);
    let few = "only 1 repetition to tell ";
    assert!(near.verdict.starts_with(few), "{}", near.verdict);
}

#[test]
fn what_open_mpi_has_is_not_compared_if_it_was_timed_too_seldom() {
    let costs = [
        (Kind::List, 1000.0),
        (Kind::Indexed, 40.0),
        (Kind::Array, 120.0),
    ];
    let mut costs = Costs::measured(&costs);
    let array = costs.structures.iter_mut();
    let array = array.filter(|cost| cost.structure == "array");
    array.for_each(|cost| cost.spread_ns_per_op = None);
    let evidence = Evidence::searched(400.0);
    let verdict = Verdict::on(&costs, &evidence, "t", Some(Kind::Array), WANTED);
    let first =
        "array, Open MPI's own structure, was timed too seldom to compare with it. indexed: ";
    assert!(verdict.verdict.starts_with(first), "{}", verdict.verdict);
}
