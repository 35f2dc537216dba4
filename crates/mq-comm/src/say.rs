//! What a process tells whoever started it.

use std::io::Write;

/// Prints a line to stderr, which may have no reader.
pub(crate) fn say(text: &str) {
    // In one piece: other processes write there too.
    let _ = std::io::stderr().write_all(format!("mq: {text}\n").as_bytes());
}
