use mq_core::structures::List;

use super::*;
use crate::line::Line;

fn trace(lines: &[&str]) -> Trace {
    let parsed: Vec<Line> = lines
        .iter()
        .map(|line| Line::parse(line).expect("valid"))
        .collect();
    Trace::from_lines("test", &parsed)
}

#[test]
fn a_wrong_pairing_is_found_and_named() {
    // The second receive is recorded as matched although the first was posted earlier.
    let wrong = trace(&["p 0 * 5", "p 0 1 5", "a 0 1 5 =1"]);
    for &kind in Kind::ALL {
        let report = check(&wrong, kind);
        assert_eq!(report.mismatches, 1, "{kind}");
        let text = report.first_mismatch.map(|m| m.to_string());
        let expected = "line 4: recorded receive 1, replayed receive 0";
        assert_eq!(text.as_deref(), Some(expected), "{kind}");
    }
}

#[test]
fn the_report_counts_what_the_list_visits() {
    let depth = 10;
    let mut lines: Vec<String> = (0..depth).map(|tag| format!("a 0 1 {tag}")).collect();
    lines.extend((0..depth).rev().map(|tag| format!("p 0 1 {tag} ={tag}")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let report = check(&trace(&lines), Kind::List);
    assert_eq!(report.mismatches, 0);
    assert_eq!(report.visits.unexpected, 55);
    assert!((report.mean_unexpected_visited() - 5.5).abs() < 1e-9);
    assert_eq!((report.max_posted, report.max_unexpected), (0, 10));
    assert!(report.peak_bytes > 0);
}

#[test]
fn a_check_that_compares_more_than_it_may_has_no_report() {
    let lines = ["p 0 1 5", "p 0 1 6", "a 0 1 6 =1", "a 0 1 5 =0"];
    let trace = trace(&lines);
    let whole = check(&trace, Kind::List);
    assert_eq!(whole.visits.posted, 3);
    assert_eq!(check_within(&trace, Kind::List, 3), Some(whole));
    assert_eq!(check_within(&trace, Kind::List, 2), None);
}

#[test]
fn probes_are_searches_as_receives_are() {
    let lines = [
        "p 0 1 4",
        "p 0 1 5",
        "b 0 1 6",
        "a 0 1 6",
        "b 0 1 6 =0",
        "p 0 1 6 =0",
        "a 0 1 4 =0",
        "a 0 1 5 =1",
    ];
    let report = check(&trace(&lines), Kind::List);
    assert_eq!(report.mismatches, 0);
    assert_eq!((report.posted_searches, report.visits.posted), (3, 4));
    assert_eq!(
        (report.unexpected_searches, report.visits.unexpected),
        (5, 2)
    );
    assert!((report.mean_posted_visited() - 4.0 / 3.0).abs() < 1e-9);
    assert!((report.mean_unexpected_visited() - 0.4).abs() < 1e-9);
}

#[test]
fn the_bytes_at_the_end_are_those_of_what_is_still_queued() {
    let nothing_queued = trace(&["b 0 1 6"]);
    let mut empty: Engine<List<MpiPattern, u32, u32>> = Engine::default();
    let created = nothing_queued.create_contexts(&mut empty);
    created.expect("a new engine has no contexts");
    let report = check(&nothing_queued, Kind::List);
    assert_eq!(report.final_bytes, empty.memory().total());

    let mut lines: Vec<String> = (0..20_000).map(|tag| format!("p 0 1 {tag}")).collect();
    let replayed = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        check(&trace(&lines), Kind::List)
    };
    let queued = replayed(&lines);
    assert_eq!(queued.final_bytes, queued.peak_bytes);
    lines.extend((0..20_000).map(|receive| format!("x {receive}")));
    let cancelled = replayed(&lines);
    assert_eq!(cancelled.peak_bytes, queued.peak_bytes);
    assert!(cancelled.final_bytes < queued.final_bytes / 100);
}

#[test]
fn no_structure_compares_more_than_a_list_for_receives_from_any_source() {
    let depth = 256;
    let source = |tag| if tag % 4 == 0 { "*" } else { "1" };
    let mut lines: Vec<String> = (0..depth)
        .map(|tag| format!("p 0 {} {tag}", source(tag)))
        .collect();
    lines.extend((0..depth).map(|number| {
        let tag = number * 97 % depth;
        format!("a 0 1 {tag} ={tag}")
    }));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let trace = trace(&lines);
    let visited = |kind| {
        let report = check(&trace, kind);
        assert_eq!(report.mismatches, 0, "{kind}");
        report.visits.posted
    };
    let list = visited(Kind::List);
    for &kind in Kind::ALL {
        assert!(visited(kind) <= list, "{kind}");
    }
}

#[test]
fn what_was_cancelled_weighs_nothing_beside_what_comes() {
    let receives = |comm: u32| (0..20_000).map(move |tag| format!("p {comm} 1 {tag}"));
    let mut lines: Vec<String> = receives(0).collect();
    lines.extend((0..20_000).map(|receive| format!("x {receive}")));
    let peak = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let report = check(&trace(&lines), Kind::RbTree);
        assert_eq!(report.mismatches, 0);
        report.peak_bytes
    };
    let one = peak(&lines);
    lines.extend(receives(1));
    let one_after_the_other = peak(&lines);
    assert!(
        one_after_the_other < one + one / 8,
        "{one_after_the_other} and {one} bytes"
    );
}
