//! Progress on stderr, for people only: nothing is shown if stderr is not a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::report::escaped;

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// A bar over `length` steps; it disappears when dropped.
///
/// It redraws only when advanced: no thread runs during a timed loop.
pub(crate) fn bar(length: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent}% {eta}");
    show(
        ProgressBar::with_draw_target(Some(length), target()),
        style,
        what,
    )
}

/// A bar that advances by lines of output, except the first ones, which are a heading.
#[derive(Debug)]
pub(crate) struct ByLines {
    bar: ProgressBar,
    head: u64,
}

impl ByLines {
    /// A bar over this many lines after the heading, shown immediately.
    pub(crate) fn new(head: u64, lines: u64, what: &str) -> Self {
        let bar = bar(lines, what);
        bar.tick();
        Self { bar, head }
    }

    /// Counts the lines of some output.
    pub(crate) fn advance(&mut self, output: &[u8]) {
        let lines = output.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let of_head = lines.min(self.head);
        self.head -= of_head;
        if lines > of_head {
            self.bar.inc(lines - of_head);
        }
    }

    /// Writes something else in the bar's place.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

/// A spinner for work of unknown length; it disappears when dropped.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    let spinner = show(ProgressBar::with_draw_target(None, target()), style, what);
    if !spinner.is_hidden() {
        spinner.enable_steady_tick(TURN);
    }
    spinner
}

fn show<E>(bar: ProgressBar, style: Result<ProgressStyle, E>, what: &str) -> ProgressBar {
    let bar = bar.with_finish(ProgressFinish::AndClear);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.with_message(escaped(what))
}

fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_no_progress() {
        let mut lines = ByLines::new(2, 3, "t");
        let position = |lines: &ByLines| lines.bar.position();
        lines.advance(b"one\n");
        assert_eq!(position(&lines), 0);
        lines.advance(b"two\nfirst\n");
        assert_eq!(position(&lines), 1);
        lines.advance(b"second\nthird\n");
        assert_eq!(position(&lines), 3);
    }
}
