use super::*;
use mq_core::mpi::MpiEnvelope;
use std::time::SystemTime;

/// A folder that does not exist yet. By the process's number alone it could be one that an earlier process of
/// the same number has left.
fn fresh(name: &str) -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let (process, now) = (std::process::id(), now.unwrap().as_nanos());
    std::env::temp_dir().join(format!("mq-{name}-{process}-{now}"))
}

/// A trace in a folder of its own, and the folder.
fn begun(name: &str) -> (TraceFile, PathBuf) {
    let folder = fresh(name);
    let header = Header::new().with("rank", 3);
    (TraceFile::create(&folder, "mq", &header).unwrap(), folder)
}

#[test]
fn a_trace_says_whether_it_is_whole() {
    let (trace, folder) = begun("header");
    let begun = std::fs::read_to_string(trace.path()).unwrap();
    let process = Process::this();
    let expected = format!("# mqtrace 1 rank=3 process={process} seconds=unfinished\n");
    assert_eq!(begun, expected);
    let recorded = trace.finish(true).unwrap();
    let whole = std::fs::read_to_string(&recorded.path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let seconds = Span::Of(recorded.of).to_string();
    assert_eq!(whole, begun.replace("unfinished", &seconds));
}

#[test]
fn a_folder_that_only_a_recording_makes_is_not_made() {
    let folder = fresh("not-shared");
    for name in ["recording-12", "recording-12-3"] {
        let there = folder.join(name);
        let refused = TraceFile::create(&there, "mq", &Header::new()).unwrap_err();
        assert_eq!(refused.to_string(), NOT_SHARED);
        assert!(!folder.exists());
    }
    for name in [
        "recording-",
        "recording-x",
        "recording-1-2-3",
        "my-recording-1",
    ] {
        assert!(!is_of_a_recording(Path::new(name)), "{name}");
    }
    let made = folder.join("recording-12");
    std::fs::create_dir_all(&made).unwrap();
    assert!(TraceFile::create(&made, "mq", &Header::new()).is_ok());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn lines_are_counted_as_the_file_has_them() {
    let (mut trace, folder) = begun("lines");
    for number in 0..3 {
        // The file contains nothing about these.
        let group = None;
        let created = trace.record(|recorder| recorder.context_created(number, group));
        created.unwrap();
        let message = MpiEnvelope::new(number, 1, 5);
        trace
            .record(|recorder| recorder.arrived(&message, None))
            .unwrap();
    }
    let recorded = trace.finish(true).unwrap();
    let text = std::fs::read_to_string(&recorded.path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(recorded.lines, text.lines().count() as u64);
    assert_eq!((recorded.lines, recorded.bytes), (4, text.len() as u64));
}

const FOLDER: &str = "MQ_TEST_FULL";

/// The test of this name once more, in a process whose files may have so many blocks, of 512 bytes or of 1,024.
fn with_files_of(blocks: u32, test: &str, folder: &Path) {
    let limited = format!("ulimit -f {blocks}; exec \"$0\" --exact \"$1\"");
    let wrote = std::process::Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .arg(format!("session::trace_file::tests::{test}"))
        .env(FOLDER, folder)
        .output()
        .unwrap();
    assert!(wrote.status.success(), "{wrote:?}");
}

/// A disc that is full, or a limit, takes part of a line. The limit is that of a process of its own: this test
/// again, which writes until it cannot.
#[test]
fn a_write_that_fails_leaves_whole_lines() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let mut trace = TraceFile::create(folder.as_ref(), "mq", &Header::new()).unwrap();
        let message = MpiEnvelope::new(0, 1, 5);
        while trace
            .record(|recorder| {
                recorder.arrived(&message, None)?;
                recorder.flush()
            })
            .is_ok()
        {}
        return;
    }
    let folder = fresh("full");
    with_files_of(8, "a_write_that_fails_leaves_whole_lines", &folder);
    let file = std::fs::read_dir(&folder).unwrap().flatten().next();
    let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!((4_000..8_192).contains(&text.len()), "{} bytes", text.len());
    assert!(text.ends_with("a 1 1 5\n"), "{text}");
}

#[test]
fn where_no_header_can_be_written_no_file_is_left() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        assert!(TraceFile::create(folder.as_ref(), "mq", &Header::new()).is_err());
        return;
    }
    let folder = fresh("no-header");
    with_files_of(0, "where_no_header_can_be_written_no_file_is_left", &folder);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir(folder).unwrap();
}

#[test]
fn lines_are_written_page_by_page() {
    let lines: Vec<u8> = (0..900)
        .flat_map(|line| format!("p 0 {line} 5\n").into_bytes())
        .collect();
    let (mut at, mut crossing) = (0, 0);
    while at < lines.len() {
        let piece = &lines[at..][..piece_of(&lines[at..], at as u64)];
        assert_eq!(piece.last(), Some(&b'\n'));
        let pages = [at, at + piece.len() - 1].map(|byte| byte as u64 / PAGE);
        if pages[0] != pages[1] {
            crossing += 1;
            assert_eq!(piece.iter().filter(|&&byte| byte == b'\n').count(), 1);
        }
        at += piece.len();
    }
    assert_eq!(at, lines.len());
    assert!((1..=lines.len() as u64 / PAGE).contains(&crossing));
}

#[test]
fn a_later_session_keeps_the_traces_of_those_before() {
    let folder = fresh("sessions");
    std::fs::create_dir(&folder).unwrap();
    let names = ["first", "second", "third"].map(|session| {
        let (path, mut file) = new_file(&folder, "mq-7").unwrap();
        file.write_all(session.as_bytes()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), session);
        path.file_name().unwrap().to_owned()
    });
    assert_eq!(names[0], "mq-7.mqt");
    let numbers = names.map(|name| {
        let name = name.to_str().unwrap().trim_end_matches(".mqt");
        name.rsplit_once('-').unwrap().1.parse::<u64>().unwrap()
    });
    assert!(1 < numbers[1] && numbers[1] < numbers[2], "{numbers:?}");
    let first = std::fs::read_to_string(folder.join("mq-7.mqt")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(first, "first");
}
