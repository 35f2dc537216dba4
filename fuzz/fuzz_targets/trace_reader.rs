//! Any bytes as a trace: read or refused, never a panic; what is read is written back the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mq_trace::{Line, TraceReader, TraceWriter};

fuzz_target!(|data: &[u8]| {
    let Ok(mut reader) = TraceReader::new("fuzz", data) else {
        return;
    };
    let header = reader.header().clone();
    let lines: Vec<Line> = reader
        .by_ref()
        .map_while(Result::ok)
        .map(|numbered| numbered.line)
        .collect();
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
