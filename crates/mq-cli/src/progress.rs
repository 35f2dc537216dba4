//! Progress on stderr, for people only: nothing is shown where stderr is not a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// A bar over `length` steps; it vanishes when it is dropped.
///
/// It redraws only when it is advanced: no thread runs beside a timed loop.
pub(crate) fn bar(length: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent}% {eta}");
    show(
        ProgressBar::with_draw_target(Some(length), target()),
        style,
        what,
    )
}

/// A sign of life for work of unknown length; it vanishes when it is dropped.
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
    bar.with_message(what.to_owned())
}

fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}
