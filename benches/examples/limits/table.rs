//! A Markdown table, printed row by row, and its progress.

use indicatif::{ProgressBar, ProgressStyle};
use mq_benches::say;
use mq_core::structures::Kind;

/// A table on standard output, and its progress on standard error.
pub(crate) struct Table {
    bar: ProgressBar,
}

impl Table {
    /// Prints the heading; the first `words` columns are words, the others figures. `rows` rows follow.
    pub(crate) fn new(columns: &[String], words: usize, rows: usize) -> Self {
        say!("| {} |", columns.join(" | "));
        let rule = |i| if i < words { "---" } else { "---:" };
        let rules: Vec<&str> = (0..columns.len()).map(rule).collect();
        say!("| {} |", rules.join(" | "));
        let bar = ProgressBar::new(rows as u64);
        let style = "{wide_bar} {pos} of {len} rows, {eta} left: {msg}";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
        Self { bar }
    }

    /// What is measured now.
    pub(crate) fn begin(&self, name: &str) {
        self.bar.set_message(name.to_owned());
        self.bar.tick();
    }

    pub(crate) fn row(&self, cells: &[String]) {
        self.bar.suspend(|| say!("| {} |", cells.join(" | ")));
        self.bar.inc(1);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Headings: words, the structures, words again.
pub(crate) fn columns(before: &[&str], kinds: &[Kind], after: &[&str]) -> Vec<String> {
    let kinds = kinds.iter().map(|kind| kind.name());
    let all = (before.iter().copied()).chain(kinds);
    all.chain(after.iter().copied())
        .map(str::to_owned)
        .collect()
}
