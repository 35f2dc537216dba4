//! [`ParseError`]: why a piece of a trace is refused.

use core::fmt;

/// Characters of refused input that a message quotes; more would obscure the reason.
const QUOTED_CHARS: usize = 40;

/// Why a text, or a line at its place in a trace, is not valid.
///
/// `Display` gives one sentence without a full stop and without a place, which only the caller knows.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

/// The sentence: a `main` that returns the error prints that.
impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ParseError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    #[cfg(feature = "full")]
    pub(crate) fn into_reason(self) -> String {
        self.0
    }
}

/// Refused input as a message shows it: in back quotes, control characters escaped, cut at 40
/// characters.
pub(crate) fn quoted(text: &str) -> String {
    let shown = text.chars().take(QUOTED_CHARS).flat_map(char::escape_debug);
    // Quotes need no escape between back quotes, and `\'` would only puzzle the reader.
    let shown = shown
        .collect::<String>()
        .replace("\\'", "'")
        .replace("\\\"", "\"");
    let more = if text.chars().nth(QUOTED_CHARS).is_some() {
        "..."
    } else {
        ""
    };
    format!("`{shown}{more}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_input_is_escaped_and_cut() {
        assert_eq!(quoted("it's \"q\""), "`it's \"q\"`");
        assert_eq!(quoted("a\tb\0"), "`a\\tb\\0`");
        assert_eq!(quoted(&"x".repeat(40)), format!("`{}`", "x".repeat(40)));
        assert_eq!(quoted(&"é".repeat(41)), format!("`{}...`", "é".repeat(40)));
    }
}
