//! What a process tells whoever started it.

use std::io::Write;

/// Prints a line to stderr, which may have no reader.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "mq: {text}");
}
