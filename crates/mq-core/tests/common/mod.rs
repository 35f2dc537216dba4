//! What the tests with threads share.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Does some work. Fails if it takes more than this many seconds, or as many times that as this machine is slower than
/// usual (`MQ_SLOWER`), instead of waiting forever.
pub(crate) fn watched(seconds: u64, work: impl FnOnce() + Send + 'static) {
    let slower = std::env::var("MQ_SLOWER").ok();
    let slower: u64 = slower.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"));
    let (done, wait) = channel();
    let worker = std::thread::spawn(move || {
        work();
        done.send(()).expect("the test waits");
    });
    match wait.recv_timeout(Duration::from_secs(seconds * slower)) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => {
            panic!("the threads are stuck (on a slow machine: MQ_SLOWER=5)")
        }
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(worker.join().expect_err("it panicked"))
        }
    }
}
