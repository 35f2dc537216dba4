//! Compressed traces that were damaged afterwards are reported as damaged, wherever the damage shows.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use mq_trace::Trace;

#[test]
fn a_damaged_file_is_not_taken_for_a_malformed_trace() {
    let mut text = String::from("# mqtrace 1\nc 0 64 0\n");
    for i in 0..4000 {
        text += &format!("p 0 {} {}\n", i % 64, i * 7919 % 10_007);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.mqt.gz");
    std::fs::write(&path, &whole).unwrap();
    assert!(Trace::open(&path).is_ok());
    let step = whole.len() / 60;
    // Every bit where the first line and the code of the first block are, and some of the rest.
    let begin = (20..120).flat_map(|at| (0..8).map(move |bit| (at, bit)));
    let rest = (120..whole.len() - 8).step_by(step).map(|at| (at, at % 8));
    for (at, bit) in begin.chain(rest) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << bit;
        std::fs::write(&path, &damaged).unwrap();
        let error = Trace::open(&path).unwrap_err().to_string();
        assert!(
            error.contains("damaged") || error.contains("ends early"),
            "{at}: {error}"
        );
    }
    // What was compressed as it is, is malformed.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"# mqtrace 1\nq 1\np 0 1 2\n").unwrap();
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
    let error = Trace::open(&path).unwrap_err().to_string();
    assert!(error.contains(":2: "), "{error}");
}
