use mq_core::structures::List;

use super::*;

#[test]
fn clusters_are_made_by_what_was_queued() {
    let lines = ["p 0 1 5", "a 0 1 5 =0", "a 0 2 5", "a 0 2 6", "a 0 3 5"];
    let parsed: Vec<Line> = lines
        .iter()
        .map(|line| Line::parse(line).expect("valid"))
        .collect();
    let clusters = Trace::from_lines("t", &parsed).clusters();
    let members: Vec<_> = clusters
        .members()
        .map(|(_, rank, group)| (rank.0, group))
        .collect();
    // Each queued as many as the receive of the first, or one more.
    let of = |rank| {
        members
            .iter()
            .find(|member| member.0 == rank)
            .map(|member| member.1)
    };
    assert_eq!(members.len(), 3);
    assert_eq!(of(1), of(3));
    assert_ne!(of(1), of(2));
}

#[test]
fn an_undeclared_or_late_communicator_is_as_large_as_its_ranks_say() {
    let lines = [
        "a 1 6 0", "c 2 3 0", "a 2 1 0", "p 2 7 0", "c 1 4 2", "a 3 1 0",
    ];
    let lines = lines.map(|line| Line::parse(line).expect("valid"));
    let trace = Trace::from_lines("test", &lines);
    let sizes: Vec<_> = trace
        .communicators()
        .map(|c| (c.comm, c.size, c.declared_size, c.my_rank))
        .collect();
    let expected = [
        (1, 7, Some(4), Some(2)),
        (2, 8, Some(3), Some(0)),
        (3, 2, None, None),
    ];
    assert_eq!(sizes, expected);
}

#[test]
fn communicators_that_are_there_already_are_refused() {
    let line = Line::parse("a 3 1 0").expect("valid");
    let trace = Trace::from_lines("test", &[line]);
    let mut engine: Engine<List<MpiPattern, u32, u32>> = Engine::default();
    assert_eq!(trace.create_contexts(&mut engine), Ok(()));
    let again = trace.create_contexts(&mut engine);
    assert_eq!(again, Err(Error::ContextExists(ContextId(3))));
}

#[test]
fn operations_are_compact() {
    assert!(size_of::<Operation>() <= 40);
}
