//! What a process says to whoever has started it.

use std::io::Write;

/// Says something on stderr, which nobody may read.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "mq: {text}");
}
