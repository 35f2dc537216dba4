use super::read::SPACING;
use super::*;
use proptest::prelude::*;

fn reason(text: &str) -> String {
    let refused = Line::parse(text).expect_err("the line is malformed");
    assert_eq!(text.parse::<Line>().as_ref(), Err(&refused));
    refused.to_string()
}

#[test]
fn every_operation_is_read() {
    let (rank, any_source) = (SourceField::Rank(3), SourceField::Any);
    let (tag, any_tag) = (TagField::Tag(-16), TagField::Any);
    for (text, line) in [
        (
            "c 1 32 0",
            Line::Communicator {
                comm: 1,
                size: 32,
                my_rank: 0,
            },
        ),
        (
            "p 1 3 -16",
            Line::Post {
                comm: 1,
                source: rank,
                tag,
                matched: None,
            },
        ),
        (
            "p 1 * * =7",
            Line::Post {
                comm: 1,
                source: any_source,
                tag: any_tag,
                matched: Some(7),
            },
        ),
        (
            "a 0 0 2147483647",
            Line::Arrive {
                comm: 0,
                source: 0,
                tag: i32::MAX,
                matched: None,
            },
        ),
        (
            "a 0 3 -2147483648 =4294967295",
            Line::Arrive {
                comm: 0,
                source: 3,
                tag: i32::MIN,
                matched: Some(u32::MAX),
            },
        ),
        (
            "b 4294967295 * -16",
            Line::Probe {
                comm: u32::MAX,
                source: any_source,
                tag,
                matched: None,
            },
        ),
        (
            "b 1 3 * =0",
            Line::Probe {
                comm: 1,
                source: rank,
                tag: any_tag,
                matched: Some(0),
            },
        ),
        ("x 12", Line::Cancel { receive: 12 }),
    ] {
        assert_eq!(Line::parse(text), Ok(line));
        assert_eq!(line.to_string(), text);
        assert_eq!(Line::parse(&format!("{text}\r")), Ok(line));
    }
}

#[test]
fn unknown_lines_are_named() {
    assert_eq!(
        reason("q 1 2 3"),
        "unknown operation `q`; expected c, p, a, b or x"
    );
    assert_eq!(
        reason("post"),
        "unknown operation `post`; expected c, p, a, b or x"
    );
    assert_eq!(
        reason("p\t1 2 3"),
        "unknown operation `p\\t1`; expected c, p, a, b or x"
    );
    assert_eq!(
        reason(""),
        "the line is empty; every line after the header is an operation"
    );
    assert_eq!(
        reason("\r"),
        "the line is empty; every line after the header is an operation"
    );
    assert_eq!(
        reason("# mqtrace 1"),
        "only the first line may begin with `#`"
    );
}

#[test]
fn spacing_is_single() {
    for text in [
        " p 1 2 3",
        "p  1 2 3",
        "p 1 2  3",
        "p 1 2 3 ",
        "p 1 2 3  =4",
        "p 1 2 3 =4 ",
        "x 1 ",
        " ",
    ] {
        assert_eq!(reason(text), SPACING, "{text:?}");
    }
}

#[test]
fn missing_and_surplus_fields_are_named() {
    assert_eq!(
        reason("c 1 2"),
        "MYRANK is missing; expected `c COMM SIZE MYRANK`"
    );
    assert_eq!(
        reason("p"),
        "COMM is missing; expected `p COMM SRC TAG [=n]`"
    );
    assert_eq!(
        reason("a 1"),
        "SRC is missing; expected `a COMM SRC TAG [=n]`"
    );
    assert_eq!(
        reason("b 1 2"),
        "TAG is missing; expected `b COMM SRC TAG [=n]`"
    );
    assert_eq!(reason("x"), "n is missing; expected `x n`");
    assert_eq!(
        reason("p 1 2 3 4"),
        "`4` follows the tag; expected `p COMM SRC TAG [=n]`"
    );
    assert_eq!(
        reason("p 1 2 3 =4 5"),
        "`5` is one field too many; expected `p COMM SRC TAG [=n]`"
    );
    assert_eq!(
        reason("x 1 =2"),
        "`=2` is one field too many; expected `x n`"
    );
    assert_eq!(reason("p 1 2 3\r\r"), "tag `3\\r` is not a decimal number");
}

#[test]
fn numbers_are_decimal_and_in_range() {
    assert_eq!(reason("p -3 0 0"), "communicator -3 is negative");
    assert_eq!(reason("a 1 -1 0"), "source -1 is negative");
    assert_eq!(reason("c 1 -2 0"), "size -2 is negative");
    assert_eq!(reason("c 1 2 -1"), "own rank -1 is negative");
    assert_eq!(reason("x -5"), "receive number -5 is negative");
    assert_eq!(reason("p 1 2 3 =-1"), "message number -1 is negative");
    assert_eq!(
        reason("p +1 0 0"),
        "communicator `+1` is not a decimal number"
    );
    assert_eq!(
        reason("p 0x1 0 0"),
        "communicator `0x1` is not a decimal number"
    );
    assert_eq!(
        reason("p - 0 0"),
        "communicator `-` is not a decimal number"
    );
    assert_eq!(
        reason("p 4294967296 0 0"),
        "communicator `4294967296` does not fit in 32 bits"
    );
    assert_eq!(reason("p 0 ** 0"), "source `**` is not a decimal number");
    assert_eq!(reason("p 0 0 1.5"), "tag `1.5` is not a decimal number");
    assert_eq!(reason("p 0 0 +5"), "tag `+5` is not a decimal number");
    assert_eq!(reason("p 0 0 --5"), "tag `--5` is not a decimal number");
    assert_eq!(
        reason("p 0 0 2147483648"),
        "tag `2147483648` does not fit in a signed 32-bit integer"
    );
    assert_eq!(
        reason("a 0 0 -2147483649"),
        "tag `-2147483649` does not fit in a signed 32-bit integer"
    );
    assert_eq!(
        reason("a 0 0 0 ="),
        "receive number `` is not a decimal number"
    );
    assert_eq!(
        reason("a 0 0 0 =4294967296"),
        "receive number `4294967296` does not fit in 32 bits"
    );
}

#[test]
fn a_message_that_arrived_has_no_wildcards() {
    assert_eq!(
        reason("a 0 * 0"),
        "a message that arrived has one source; `*` is for receives and probes"
    );
    assert_eq!(
        reason("a 0 0 *"),
        "a message that arrived has one tag; `*` is for receives and probes"
    );
}

#[test]
fn a_communicator_holds_its_own_rank() {
    assert_eq!(
        reason("c 3 0 0"),
        "communicator 3 has size 0; the least is 1"
    );
    assert_eq!(
        reason("c 3 4 4"),
        "own rank 4 is not below the size of communicator 3, 4"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[cpabx#q] ?[-=*0-9 ]{0,24}|.{0,60}") {
        if let Ok(line) = Line::parse(&text) {
            prop_assert_eq!(Line::parse(&line.to_string()), Ok(line));
        }
    }
}

#[test]
fn a_rank_that_no_mpi_process_can_have_is_refused() {
    assert!(Line::parse("a 0 2147483647 1").is_ok());
    assert_eq!(
        reason("p 0 2147483648 1"),
        "source 2147483648 is above 2147483647, the largest rank"
    );
}
