use super::*;
use crate::line::{SourceField, TagField};
use crate::reader::TraceReader;
use flate2::bufread::MultiGzDecoder;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::io::{BufReader, Read as _};
use std::rc::Rc;

/// One random step: which operation, and numbers from which its fields are drawn.
type Step = (u8, u8, u32, i32);

/// The queues as a trace's own numbers see them, enough to make only lines that can follow one
/// another.
#[derive(Default)]
struct Model {
    receives: u32,
    messages: u32,
    queued: Vec<(u32, u32)>,
    unexpected: Vec<(u32, u32)>,
}

impl Model {
    fn line(&mut self, (operation, kind, number, tag): Step) -> Line {
        let (comm, pick) = (number % 3, number as usize / 3);
        let rank = number & i32::MAX.cast_unsigned();
        let source = if kind.is_multiple_of(4) {
            SourceField::Any
        } else {
            SourceField::Rank(rank)
        };
        let tag_field = if kind.is_multiple_of(3) {
            TagField::Any
        } else {
            TagField::Tag(tag)
        };
        match operation % 6 {
            0 => Line::Communicator {
                comm: 3 + comm,
                size: comm + 1,
                my_rank: 0,
            },
            1 => Line::Probe {
                comm,
                source,
                tag: tag_field,
                matched: Self::find(&self.unexpected, comm, pick),
            },
            2 if !self.queued.is_empty() => Line::Cancel {
                receive: self.queued.swap_remove(pick % self.queued.len()).1,
            },
            3 | 4 => {
                let matched = Self::find(&self.unexpected, comm, pick);
                Self::settle(
                    &mut self.unexpected,
                    &mut self.queued,
                    (comm, self.receives),
                    matched,
                );
                self.receives += 1;
                Line::Post {
                    comm,
                    source,
                    tag: tag_field,
                    matched,
                }
            }
            _ => {
                let matched = Self::find(&self.queued, comm, pick);
                Self::settle(
                    &mut self.queued,
                    &mut self.unexpected,
                    (comm, self.messages),
                    matched,
                );
                self.messages += 1;
                Line::Arrive {
                    comm,
                    source: rank,
                    tag,
                    matched,
                }
            }
        }
    }

    /// Some entry of that communicator; every third time none, though there may be one.
    fn find(queue: &[(u32, u32)], comm: u32, pick: usize) -> Option<u32> {
        let mut fitting = queue.iter().filter(|entry| entry.0 == comm).cycle();
        if pick.is_multiple_of(3) {
            None
        } else {
            fitting.nth(pick % queue.len().max(1)).map(|entry| entry.1)
        }
    }

    /// Removes the matched entry from one queue, or adds the newcomer to the other.
    fn settle(
        from: &mut Vec<(u32, u32)>,
        to: &mut Vec<(u32, u32)>,
        new: (u32, u32),
        matched: Option<u32>,
    ) {
        match matched {
            Some(number) => from.retain(|entry| entry.1 != number),
            None => to.push(new),
        }
    }
}

/// What is left of a stream after its writer is gone; it fails where it is set to.
#[derive(Clone, Default)]
struct Shared {
    bytes: Rc<RefCell<Vec<u8>>>,
    fails: Rc<Cell<bool>>,
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.fails.get() {
            return Err(io::Error::other("no room"));
        }
        self.bytes.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LINE: Line = Line::Cancel { receive: 7 };

fn inflate(bytes: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    MultiGzDecoder::new(bytes).read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_file_is_compressed_if_its_name_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let header = Header::new().with("rank", 3);
    for (name, compressed) in [
        ("a.mqt", false),
        ("a.mqt.gz", true),
        ("a.GZ", true),
        ("gz", false),
    ] {
        let path = folder.path().join(name);
        let mut writer = TraceWriter::create(&path, &header).expect("a file");
        writer.write(&LINE).expect("room");
        writer.finish().expect("room");
        let bytes = std::fs::read(&path).expect("the file");
        let text = if compressed {
            inflate(&bytes).expect("gzip")
        } else {
            String::from_utf8(bytes).expect("text")
        };
        assert_eq!(text, "# mqtrace 1 rank=3\nx 7\n");
    }
}

#[test]
fn a_header_no_reader_would_take_is_refused_and_harms_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("old.mqt");
    std::fs::write(&path, "old").expect("a file");
    let header = Header::new().with("k", "v".repeat(MAX_LINE_BYTES));
    let error = TraceWriter::create(&path, &header).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "the header has 4110 bytes; the most is 4096, shorten its values"
    );
    assert_eq!(std::fs::read(&path).expect("the file"), b"old");
}

#[test]
fn dropping_a_writer_loses_no_line() {
    let (plain, compressed) = (Shared::default(), Shared::default());
    let mut writers = [
        TraceWriter::new(plain.clone(), &Header::new()).expect("memory"),
        TraceWriter::gzip(compressed.clone(), &Header::new()).expect("memory"),
    ];
    for writer in &mut writers {
        writer.write(&LINE).expect("memory");
    }
    drop(writers);
    assert_eq!(*plain.bytes.borrow(), b"# mqtrace 1\nx 7\n");
    assert_eq!(
        inflate(&compressed.bytes.borrow()).expect("whole"),
        "# mqtrace 1\nx 7\n"
    );
}

#[test]
fn after_a_failure_the_stream_is_left_recognisably_incomplete() {
    for compressed in [false, true] {
        let stream = Shared::default();
        let open = if compressed {
            TraceWriter::gzip
        } else {
            TraceWriter::new
        };
        let mut writer = open(stream.clone(), &Header::new()).expect("memory");
        stream.fails.set(true);
        let failed =
            (0..1_000_000).find_map(|receive| writer.write(&Line::Cancel { receive }).err());
        assert_eq!(failed.expect("a full stream").to_string(), "no room");
        stream.fails.set(false);
        let later = writer
            .write(&LINE)
            .and_then(|()| writer.finish().map(drop))
            .expect_err("it stays failed");
        assert_eq!(
            later.to_string(),
            "an earlier write failed, and the trace is incomplete"
        );
        assert_eq!(
            *stream.bytes.borrow(),
            b"",
            "no trailer seals what is missing"
        );
    }
}

#[test]
fn finish_reports_what_was_still_buffered() {
    for open in [TraceWriter::gzip, TraceWriter::new] {
        let stream = Shared::default();
        let mut writer = open(stream.clone(), &Header::new()).expect("memory");
        writer.write(&LINE).expect("the buffer has room");
        stream.fails.set(true);
        assert_eq!(
            writer
                .finish()
                .map(drop)
                .expect_err("a full stream")
                .to_string(),
            "no room"
        );
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(steps in prop::collection::vec(any::<Step>(), 0..400)) {
        let mut model = Model::default();
        let lines: Vec<Line> = steps.into_iter().map(|step| model.line(step)).collect();
        let header = Header::new().with("source", "a test");

        let mut plain = TraceWriter::new(Vec::new(), &header).expect("memory");
        let mut compressed = TraceWriter::gzip(Vec::new(), &header).expect("memory");
        for line in &lines {
            plain.write(line).expect("memory");
            compressed.write(line).expect("memory");
        }
        let plain = plain.finish().expect("memory");
        let compressed = compressed.finish().expect("memory");

        let reader = TraceReader::new("plain", &plain[..]).expect("the header");
        prop_assert_eq!(reader.header(), &header);
        let read = reader.map(|numbered| numbered.map(|numbered| numbered.line)).collect::<Result<Vec<_>, _>>();
        prop_assert_eq!(read.expect("a good trace"), lines.clone());

        let input = BufReader::new(MultiGzDecoder::new(&compressed[..]));
        let reader = TraceReader::new("compressed", input).expect("the header");
        let read = reader.map(|numbered| numbered.map(|numbered| numbered.line)).collect::<Result<Vec<_>, _>>();
        prop_assert_eq!(read.expect("a good trace"), lines);
    }
}
