//! Traces of processes that end without closing their session.

use core::mem::zeroed;
use core::ptr::null_mut;
use std::path::Path;
use std::process::Command;

use mq::*;

use super::CARRIED;

/// Where the test's own process, started again, leaves its trace.
const FOLDER: &str = "MQ_TEST_UNCLOSED";
/// How it ends.
const END: &str = "MQ_TEST_END";

/// Queues a message in a session that records, and ends the process.
fn end_without_closing(folder: &Path) {
    let folder = std::ffi::CString::new(folder.to_str().expect("it is UTF-8")).expect("no zero");
    // SAFETY: zeroed options are those of C; the pointers are valid or null.
    unsafe {
        let mut options: mq_session_options = zeroed();
        options.trace = folder.as_ptr();
        options.size = 2;
        options.job = c"job 7".as_ptr();
        let mut session = null_mut();
        let opened = mq_session_open(&raw const options, &raw mut session);
        assert_eq!(opened, MQ_NONE);
        let mut options: mq_engine_options = zeroed();
        options.session = session;
        let mut engine = null_mut();
        assert_eq!(mq_engine_new(&raw const options, &raw mut engine), MQ_NONE);
        let context: mq_context_options = zeroed();
        assert_eq!(mq_context_create(engine, 1, &raw const context), MQ_NONE);
        let arrived = mq_arrive(engine, &CARRIED, 5, null_mut(), null_mut());
        assert_eq!(arrived, MQ_NONE);
        match std::env::var(END).expect("it is set").as_str() {
            "close" => assert_eq!(mq_session_close(session), MQ_NONE),
            "abort" => std::process::abort(),
            // A message from behind another like it: no trace can say which has gone.
            "take" => {
                let mut name = zeroed();
                let queued = mq_queue_message(engine, &CARRIED, 5, null_mut(), &raw mut name);
                assert_eq!(queued, MQ_NONE);
                assert_eq!(mq_take(engine, name, null_mut(), null_mut()), MQ_MATCHED);
            }
            _ => (),
        }
    }
    std::process::exit(0);
}

/// The trace of a process that ends so.
fn trace_of(end: &str) -> String {
    let folder = std::env::temp_dir().join(format!("mq-{end}-{}", std::process::id()));
    let test = "unclosed::a_trace_says_whether_its_process_closed_the_session";
    let ended = Command::new("sh")
        .args(["-c", "ulimit -c 0; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().expect("a test"))
        .arg(test)
        .envs([(FOLDER, folder.as_os_str()), (END, end.as_ref())])
        .output()
        .expect("sh starts");
    assert_eq!(ended.status.success(), end != "abort", "{ended:?}");
    let files = std::fs::read_dir(&folder).expect("it is there").flatten();
    let (mut traces, beside): (Vec<_>, Vec<_>) = files
        .map(|file| file.path())
        .partition(|path| path.extension().is_some_and(|end| end == "mqt"));
    let trace = std::fs::read_to_string(traces.remove(0)).expect("text");
    assert!(traces.is_empty());
    // The reason why the trace ended before its process.
    assert_eq!(beside.len(), usize::from(end == "take"), "{beside:?}");
    std::fs::remove_dir_all(&folder).expect("it is ours");
    trace
}

#[test]
fn a_trace_says_whether_its_process_closed_the_session() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        end_without_closing(folder.as_ref());
    }
    let message = "a 1 3 7\n";
    for end in ["exit", "abort"] {
        let trace = trace_of(end);
        assert!(trace.ends_with(" seconds=unfinished\n"), "{end}: {trace}");
    }
    let ended = trace_of("take");
    assert!(
        ended.contains(" seconds=unfinished\n") && ended.ends_with(message),
        "{ended}"
    );
    let whole = trace_of("close");
    assert!(whole.ends_with(message), "{whole}");
    let header = whole.lines().next().expect("a header");
    let (_, seconds) = header.split_once(" seconds=").expect("it says");
    assert!(seconds.parse::<f64>().is_ok(), "{header}");
    assert!(header.contains(" rank=0 ranks=2 job=job_7 "), "{header}");
}
