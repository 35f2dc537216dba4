use super::*;
use crate::writer::TraceWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write as _;

/// Reads a trace from memory to its end or its first error.
fn read(bytes: &[u8]) -> Result<Vec<Numbered>, TraceError> {
    TraceReader::new("t", bytes)?.collect()
}

/// Writes the bytes to a file of that name and reads it.
fn read_file(name: &str, bytes: &[u8]) -> Result<Vec<Numbered>, TraceError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a file");
    TraceReader::open(&path)?.collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

/// The message for a trace of these bytes.
fn message(bytes: &[u8]) -> String {
    let error = read(bytes).expect_err("the trace is malformed");
    assert!(error.is_malformed(), "{error}");
    error.to_string()
}

const TRACE: &str = "# mqtrace 1 rank=0\nc 0 4 0\np 0 * 5\na 0 3 5 =0\n";

#[test]
fn lines_come_with_their_numbers() {
    let lines = read(TRACE.as_bytes()).expect("a good trace");
    assert_eq!(
        lines
            .iter()
            .map(|numbered| numbered.number)
            .collect::<Vec<_>>(),
        [2, 3, 4]
    );
    assert_eq!(
        lines[2].line,
        Line::Arrive {
            comm: 0,
            source: 3,
            tag: 5,
            matched: Some(0)
        }
    );
    assert_eq!(
        read(TRACE.replace('\n', "\r\n").as_bytes()).expect("carriage returns"),
        lines
    );
    assert_eq!(read(b"# mqtrace 1\n").expect("only a header"), []);
}

#[test]
fn a_trace_that_was_cut_anywhere_but_behind_a_line_is_refused() {
    for end in 1..TRACE.len() {
        let cut = &TRACE.as_bytes()[..end];
        let line = cut.iter().filter(|&&byte| byte == b'\n').count() + 1;
        match read(cut) {
            Ok(_) => assert_eq!(cut.last(), Some(&b'\n'), "{end}"),
            Err(error) => {
                assert_eq!(error.line(), Some(line as u64));
                assert!(error.to_string().contains("ends within"), "{error}");
            }
        }
    }
}

#[test]
fn compression_is_told_by_content_not_by_name() {
    let lines = read(TRACE.as_bytes()).expect("a good trace");
    let (first, second) = TRACE.as_bytes().split_at(30);
    let members = [gzip(first), gzip(second)].concat();
    for bytes in [TRACE.as_bytes(), &gzip(TRACE.as_bytes()), &members] {
        assert_eq!(read_file("x.mqt", bytes).expect("by content"), lines);
        assert_eq!(read_file("x.mqt.gz", bytes).expect("by content"), lines);
    }
}

#[test]
fn a_wrong_first_line_is_refused() {
    let expected = "the first line must be `# mqtrace 1 key=value ...`";
    assert_eq!(message(b""), format!("t:1: {expected}; the trace is empty"));
    assert_eq!(message(b"\n"), format!("t:1: {expected}; found ``"));
    assert_eq!(
        message(b"a 1 2 -33\n"),
        format!("t:1: {expected}; found `a 1 2 -33`")
    );
    assert_eq!(
        message(b"# mqtrace 7\n"),
        "t:1: the trace has format version `7`; only version 1 can be read"
    );
    assert_eq!(
        message(b"# mqtrace 1 \xff\n"),
        "t:1: the line is not valid UTF-8 from byte 13 on"
    );
}

#[test]
fn malformed_lines_are_refused_with_their_number() {
    for (line, reason) in [
        ("q 1 2 3", "unknown operation `q`; expected c, p, a, b or x"),
        (
            "",
            "the line is empty; every line after the header is an operation",
        ),
        ("# a remark", "only the first line may begin with `#`"),
        ("p -3 0 0", "communicator -3 is negative"),
        (
            "c 0 5 0",
            "communicator 0 is declared again with size 5 and own rank 0; it had size 4 and own rank 0",
        ),
        ("a 0 3 5 =0", "receive 0 was already taken by message 0"),
        (
            "x 0",
            "cannot cancel: receive 0 was already taken by message 0",
        ),
    ] {
        let trace = format!("{TRACE}{line}\np 0 0 0\n");
        assert_eq!(message(trace.as_bytes()), format!("t:5: {reason}"));
    }
    let trace = [TRACE.as_bytes(), b"p 0 \xc3\x28 0\n"].concat();
    assert_eq!(
        message(&trace),
        "t:5: the line is not valid UTF-8 from byte 5 on"
    );
}

#[test]
fn a_reader_ends_at_its_first_error() {
    let mut reader =
        TraceReader::new("t", "# mqtrace 1\np 0 0 0\nq\np 0 0 0\n".as_bytes()).expect("a header");
    assert!(reader.next().expect("a line").is_ok());
    assert_eq!(
        reader.next().expect("a line").expect_err("unknown").line(),
        Some(3)
    );
    assert!(reader.next().is_none() && reader.next().is_none());
}

#[test]
fn an_endless_line_is_refused_without_being_held() {
    let endless = io::repeat(b'1').take(10_000_000);
    let mut input = BufReader::new(TRACE.as_bytes().chain(endless));
    let mut reader = TraceReader::new("t", &mut input).expect("a header");
    let error = reader
        .by_ref()
        .find_map(Result::err)
        .expect("the last line is too long");
    assert_eq!(error.to_string(), "t:5: the line is longer than 4096 bytes");
    assert!(reader.buffer.capacity() <= 2 * (MAX_LINE_BYTES + 1));
    assert_eq!(
        reader.bytes_read(),
        (TRACE.len() + MAX_LINE_BYTES + 1) as u64
    );
    assert_eq!(
        message(&vec![b'#'; 10_000]),
        "t:1: not a match trace; the first line must be `# mqtrace 1 key=value ...`"
    );
}

#[test]
fn the_longest_line_is_exactly_4096_bytes() {
    let header = "# mqtrace 1 k=";
    let fits = format!("{header}{}", "v".repeat(MAX_LINE_BYTES - header.len()));
    assert_eq!(
        read(format!("{fits}\nx 0").as_bytes())
            .expect_err("x")
            .line(),
        Some(2)
    );
    assert_eq!(
        message(format!("{fits}v\n").as_bytes()),
        "t:1: the line is longer than 4096 bytes"
    );
}

#[test]
fn a_stream_is_decompressed_as_a_file_is() {
    let mut packed = TraceWriter::gzip(Vec::new(), &Header::new()).expect("a vector");
    let line = Line::parse("p 0 1 2").expect("valid");
    packed.write(&line).expect("a vector");
    let packed = packed.finish().expect("a vector");
    for bytes in [packed, b"# mqtrace 1\np 0 1 2\n".to_vec()] {
        let reader = TraceReader::from_stream("t", io::Cursor::new(bytes)).expect("a header");
        assert_eq!(reader.file_len(), None);
        let lines: Vec<Line> = reader.map(|read| read.expect("a line").line).collect();
        assert_eq!(lines, [line]);
    }
}

#[test]
fn a_gzip_stream_cut_anywhere_is_an_error() {
    let body = (0..300)
        .map(|i| format!("p 0 {} {}\n", i % 7, i * i))
        .collect::<String>();
    let bytes = gzip(format!("# mqtrace 1\n{body}").as_bytes());
    let (mut with_header, mut most) = (0, 0);
    for cut in 0..bytes.len() {
        let error = read_file("cut.gz", &bytes[..cut]).expect_err("a part of a trace");
        if cut < 2 {
            // Too short to be known for gzip, and no header either.
            assert!(error.is_malformed(), "{cut}: {error}");
            continue;
        }
        let line = error.line().expect("a place");
        with_header += usize::from(line > 1);
        most = most.max(line);
        let end = format!(
            "cut.gz:{line}: the gzip stream ends early; the trace is incomplete, copy or record it again"
        );
        assert!(error.to_string().ends_with(&end), "{cut}: {error}");
    }
    assert!(with_header > 0);
    // All lines are there when only the trailer is cut.
    assert_eq!(most, 302);
}

#[test]
fn a_damaged_gzip_stream_is_an_error() {
    let good = gzip(TRACE.as_bytes());
    let mut checksum = good.clone();
    *checksum.iter_mut().rev().nth(7).expect("a trailer") ^= 1;
    let error = read_file("bad.gz", &checksum).expect_err("a wrong checksum");
    assert!(
        error
            .to_string()
            .contains("bad.gz:5: the gzip stream is damaged ("),
        "{error}"
    );
    assert!(!error.is_malformed());
}

#[test]
fn bytes_after_the_end_of_a_gzip_stream_are_an_error() {
    let good = gzip(TRACE.as_bytes());
    for rest in [&b"r"[..], b"rest", b"0123456789", b"\0", &[7; 100_000]] {
        let error = read_file("more.gz", &[&good, rest].concat()).expect_err("bytes after the end");
        let end = "more.gz:5: bytes follow the end of the gzip stream; cut them off, or copy or \
                   record the trace again";
        assert!(error.to_string().ends_with(end), "{error}");
        assert!(!error.is_malformed());
    }
    // The beginning of another member is no such rest.
    let error = read_file("cut.gz", &[&good, &good[..4]].concat()).expect_err("a part of a trace");
    let text = error.to_string();
    assert!(text.contains("the gzip stream ends early"), "{text}");
    // A line that makes no sense is named whatever follows.
    let wrong = gzip(b"# mqtrace 1\nq 0\n");
    let error = read_file("wrong.gz", &[&wrong, &b"rest"[..]].concat()).expect_err("a wrong line");
    assert!(error.is_malformed(), "{error}");
}

#[test]
fn what_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in [folder.path().join("none.mqt"), folder.path().to_path_buf()] {
        let error = TraceReader::open(&path).expect_err("not a file");
        assert!(
            error
                .to_string()
                .starts_with(&format!("{}: cannot open the trace: ", path.display()))
        );
        assert_eq!(
            (error.name(), error.line()),
            (&*path.display().to_string(), None)
        );
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn progress_reaches_the_file_length() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["x.mqt", "x.mqt.gz"] {
        let path = folder.path().join(name);
        let mut writer = TraceWriter::create(&path, &Header::new()).expect("a file");
        for i in 0..200_000_u32 {
            let tag = i.wrapping_mul(2_654_435_761).cast_signed();
            writer
                .write(&Line::Arrive {
                    comm: 0,
                    source: i,
                    tag,
                    matched: None,
                })
                .expect("room");
        }
        let len = writer
            .finish()
            .expect("room")
            .metadata()
            .expect("a file")
            .len();
        let mut reader = TraceReader::open(&path).expect("a trace");
        assert_eq!(reader.file_len(), Some(len));
        assert!(reader.bytes_read() < len);
        assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 200_000);
        assert_eq!(reader.bytes_read(), len);
    }
    let mut reader = TraceReader::new("t", TRACE.as_bytes()).expect("a trace");
    assert_eq!((reader.file_len(), reader.bytes_read()), (None, 19));
    assert_eq!(reader.by_ref().count(), 3);
    assert_eq!(reader.bytes_read(), TRACE.len() as u64);
}

#[test]
fn an_opened_reader_can_move_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<TraceReader<Box<dyn BufRead + Send>>>();
    assert_send::<TraceError>();
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        body in "([cpabx]( [-=*]?[0-9]{1,2}){0,4}\n){0,12}",
        flips in prop::collection::vec(any::<(u16, u8)>(), 0..4),
    ) {
        let mut bytes = format!("# mqtrace 1 k=v\n{body}").into_bytes();
        for (place, value) in flips {
            let place = usize::from(place) % bytes.len();
            bytes[place] = value;
        }
        if let Err(error) = read(&bytes) {
            prop_assert!(error.is_malformed());
        }
    }

    #[test]
    fn a_flipped_gzip_byte_never_panics(place in any::<u16>(), value in any::<u8>()) {
        let mut bytes = gzip(TRACE.as_bytes());
        let place = usize::from(place) % bytes.len();
        bytes[place] = value;
        let _ = read_file("flipped.gz", &bytes);
    }
}
