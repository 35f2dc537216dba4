//! `mq generate depth`.

use mq_trace::Header;
use mq_trace::generate::DepthPattern;

use crate::cli::DepthOptions;
use crate::error::Error;

/// Writes the trace of a depth pattern.
pub(super) fn run(options: &DepthOptions) -> Result<(), Error> {
    let operations = 2 * u64::from(options.depth) * u64::from(options.rounds);
    super::limit(
        operations,
        "choose --depth and --rounds so that twice their product is",
    )?;
    let pattern = pattern(options);
    let header = header(options, &pattern);
    super::write(options.output.as_deref(), &header, operations, |progress| {
        pattern.try_resolved(progress)
    })
    .map(drop)
}

fn pattern(options: &DepthOptions) -> DepthPattern {
    DepthPattern::default().with(|pattern| {
        pattern.depth = options.depth;
        pattern.order = options.order;
        pattern.filled = options.queue;
        pattern.keyed_by = options.by;
        pattern.any_source = options.any_source / 100.0;
        pattern.any_tag = options.any_tag / 100.0;
        pattern.contexts = options.contexts;
        pattern.rounds = options.rounds;
        pattern.seed = options.seed;
    })
}

/// Everything needed to generate the trace again.
fn header(options: &DepthOptions, pattern: &DepthPattern) -> Header {
    Header::new()
        .with("source", "generated")
        .with("pattern", pattern)
        .with("any_source", options.any_source)
        .with("any_tag", options.any_tag)
        .with("contexts", options.contexts)
        .with("rounds", options.rounds)
        .with("seed", options.seed)
}
