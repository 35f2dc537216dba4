//! The trace reader on the fuzzer's corpus: read or refused with a position, and read back the
//! same.

use std::path::Path;

use mq_trace::{Header, Line, TraceError, TraceReader, TraceWriter};

fn read(name: &str, bytes: &[u8]) -> Result<(Header, Vec<Line>), TraceError> {
    let mut reader = TraceReader::new(name, bytes)?;
    let lines: Result<_, TraceError> = reader.by_ref().map(|line| Ok(line?.line)).collect();
    Ok((reader.header().clone(), lines?))
}

#[test]
fn every_saved_input_is_read_or_refused() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/trace_reader");
    let mut inputs = 0;
    for entry in std::fs::read_dir(&directory).expect("the corpus is there") {
        let path = entry.expect("a readable directory").path();
        let bytes = std::fs::read(&path).expect("a readable file");
        let name = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        inputs += 1;
        match read(&name, &bytes) {
            Ok((header, lines)) => {
                let mut writer = TraceWriter::new(Vec::new(), &header).expect("a vector");
                lines
                    .iter()
                    .for_each(|line| writer.write(line).expect("a vector"));
                let text = writer.finish().expect("a vector");
                let again = read("again", &text).expect("as written");
                assert_eq!(again, (header, lines), "{name}");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with(&format!("{name}:")), "{text}");
                assert!(error.line().is_some(), "{text}");
            }
        }
    }
    assert!(inputs > 0, "{} is empty", directory.display());
}
