use super::*;
use crate::line::{SourceField, TagField};

/// Checks the lines, all good but the last, and returns the reason why the last is refused.
/// Refusing twice shows that a refused line changes nothing.
fn reason(lines: &[&str]) -> String {
    let mut validator = Validator::new();
    let (last, good) = lines.split_last().expect("a line to refuse");
    for text in good {
        assert_eq!(check(&mut validator, text), Ok(()), "{text}");
    }
    let reason = check(&mut validator, last).expect_err("the last line cannot stand here");
    assert_eq!(check(&mut validator, last), Err(reason.clone()));
    reason
}

fn check(validator: &mut Validator, text: &str) -> Result<(), String> {
    let line = Line::parse(text).expect("the line alone is good");
    validator.check(&line).map_err(ParseError::into_reason)
}

#[test]
fn what_a_reader_would_not_read_is_refused() {
    let rank = 1 << 31;
    for line in [
        Line::Communicator {
            comm: 0,
            size: 0,
            my_rank: 0,
        },
        Line::Communicator {
            comm: 0,
            size: 2,
            my_rank: 2,
        },
        Line::Arrive {
            comm: 0,
            source: rank,
            tag: 0,
            matched: None,
        },
        Line::Post {
            comm: 0,
            source: SourceField::Rank(rank),
            tag: TagField::Any,
            matched: None,
        },
    ] {
        let refused = Line::parse(&line.to_string());
        assert!(refused.is_err(), "{line}");
        assert_eq!(Validator::new().check(&line).err(), refused.err(), "{line}");
    }
}

#[test]
fn numbers_must_exist() {
    assert_eq!(
        reason(&["p 0 0 0 =0"]),
        "message 0 does not exist yet; messages so far: 0"
    );
    assert_eq!(
        reason(&["a 0 0 0", "b 0 0 0 =1"]),
        "message 1 does not exist yet; messages so far: 1"
    );
    assert_eq!(
        reason(&["p 0 0 0", "a 0 0 0 =1"]),
        "receive 1 does not exist yet; receives so far: 1"
    );
    assert_eq!(
        reason(&["x 3"]),
        "cannot cancel: receive 3 does not exist yet; receives so far: 0"
    );
}

#[test]
fn a_receive_ends_once() {
    let taken = ["p 0 0 0", "a 0 0 0 =0"];
    assert_eq!(
        reason(&[taken[0], taken[1], "x 0"]),
        "cannot cancel: receive 0 was already taken by message 0"
    );
    assert_eq!(
        reason(&[taken[0], taken[1], "a 0 0 0 =0"]),
        "receive 0 was already taken by message 0"
    );

    let at_once = ["a 0 0 0", "p 0 0 0 =0"];
    let never = "receive 0 was never queued, it took message 0 immediately";
    assert_eq!(
        reason(&[at_once[0], at_once[1], "x 0"]),
        format!("cannot cancel: {never}")
    );
    assert_eq!(reason(&[at_once[0], at_once[1], "a 0 0 0 =0"]), never);

    assert_eq!(
        reason(&["p 0 0 0", "x 0", "x 0"]),
        "cannot cancel: receive 0 was already cancelled"
    );
    assert_eq!(
        reason(&["p 0 0 0", "x 0", "a 0 0 0 =0"]),
        "receive 0 was already cancelled"
    );
}

#[test]
fn a_message_ends_once() {
    let taken = "message 0 was already taken by receive 0";
    assert_eq!(reason(&["a 0 0 0", "p 0 0 0 =0", "p 0 0 0 =0"]), taken);
    assert_eq!(reason(&["a 0 0 0", "p 0 0 0 =0", "b 0 0 0 =0"]), taken);
    let never = "message 0 was never unexpected, it took receive 0 immediately";
    assert_eq!(reason(&["p 0 0 0", "a 0 0 0 =0", "p 0 0 0 =0"]), never);
    assert_eq!(reason(&["p 0 0 0", "a 0 0 0 =0", "b 0 0 0 =0"]), never);
}

#[test]
fn communicators_do_not_mix() {
    assert_eq!(
        reason(&["a 1 0 0", "p 2 0 0 =0"]),
        "message 0 belongs to communicator 1, not 2"
    );
    assert_eq!(
        reason(&["a 1 0 0", "b 2 0 0 =0"]),
        "message 0 belongs to communicator 1, not 2"
    );
    assert_eq!(
        reason(&["p 1 0 0", "a 2 0 0 =0"]),
        "receive 0 belongs to communicator 1, not 2"
    );
}

#[test]
fn a_declaration_holds() {
    assert_eq!(
        reason(&["c 1 4 0", "c 1 4 0", "c 1 5 0"]),
        "communicator 1 is declared again with size 5 and own rank 0; it had size 4 and own rank 0"
    );
    assert_eq!(
        reason(&["c 1 4 0", "c 1 4 2"]),
        "communicator 1 is declared again with size 4 and own rank 2; it had size 4 and own rank 0"
    );
}

#[test]
fn a_probe_takes_nothing() {
    let mut validator = Validator::new();
    for text in [
        "a 0 9 0",
        "b 0 9 0 =0",
        "b 0 * * =0",
        "p 0 9 0 =0",
        "p 0 * 0",
        "x 1",
    ] {
        assert_eq!(check(&mut validator, text), Ok(()), "{text}");
    }
}

#[test]
fn an_intercommunicator_has_sources_above_its_local_size() {
    let mut validator = Validator::new();
    for text in ["c 7 1 0", "p 7 1 -16", "a 7 1 -16 =0", "b 7 1 0"] {
        assert_eq!(check(&mut validator, text), Ok(()), "{text}");
    }
}

#[test]
fn counts_fit_the_numbers() {
    let mut validator = Validator {
        limit: 1,
        ..Validator::new()
    };
    assert_eq!(check(&mut validator, "p 0 0 0"), Ok(()));
    assert_eq!(check(&mut validator, "a 0 0 0"), Ok(()));
    assert_eq!(
        check(&mut validator, "p 0 0 0 =0"),
        Err("a trace may have at most 1 receives".into())
    );
    assert_eq!(
        check(&mut validator, "a 0 0 0 =0"),
        Err("a trace may have at most 1 messages".into())
    );
    assert_eq!(
        check(&mut validator, "p 0 0 0 =0"),
        Err("a trace may have at most 1 receives".into())
    );
    assert_eq!(next_number(LIMIT - 1, LIMIT, "receives"), Ok(u32::MAX - 1));
    assert!(next_number(LIMIT, LIMIT, "receives").is_err());
}

#[test]
fn an_operation_costs_twelve_bytes() {
    assert_eq!(size_of::<Entry<Receive>>(), 12);
    assert_eq!(size_of::<Entry<Message>>(), 12);
}
