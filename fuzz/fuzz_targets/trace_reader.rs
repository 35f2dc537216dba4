//! Arbitrary bytes as a trace, plain or compressed: read or refused, never a panic; what was read is written back
//! unchanged, and replayed.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use mq_core::structures::Kind;
use mq_trace::{Line, Trace, TraceReader, TraceWriter, check};

fuzz_target!(|data: &[u8]| {
    // As a file of these bytes.
    let open = || TraceReader::from_stream("fuzz", Cursor::new(data.to_vec()));
    let Ok(mut reader) = open() else {
        return;
    };
    let header = reader.header().clone();
    let mut lines: Vec<Line> = Vec::new();
    let mut is_whole = true;
    for numbered in reader.by_ref() {
        match numbered {
            Ok(numbered) => lines.push(numbered.line),
            Err(error) => {
                assert!(error.line().is_some(), "{error} is nowhere");
                is_whole = false;
                break;
            }
        }
    }
    if is_whole {
        let reader = open().expect("as before");
        let trace = Trace::read(reader).expect("as before");
        // Its pairings need not be right, but all engines find the same ones.
        let found = [Kind::List, Kind::Indexed].map(|kind| check(&trace, kind).mismatches);
        assert_eq!(found[0], found[1]);
    }
    let mut writer = TraceWriter::new(Vec::new(), &header).expect("a vector takes all");
    for line in &lines {
        writer.write(line).expect("a vector takes all");
    }
    let text = writer.finish().expect("a vector takes all");
    let again = TraceReader::new("again", &text[..]).expect("a written header is valid");
    assert_eq!(&header, again.header());
    let again: Vec<Line> = again
        .map(|numbered| numbered.expect("a written line is valid").line)
        .collect();
    assert_eq!(lines, again);
});
