//! Reading the traces that a command was given.

use std::path::{Path, PathBuf};

use mq_trace::Trace;

use crate::error::Error;
use crate::progress;

/// Reads all traces, so that a malformed one is refused before any work is done.
///
/// # Cost
/// 48 bytes of memory an operation, over all traces.
pub(crate) fn traces(paths: &[PathBuf]) -> Result<Vec<Trace>, Error> {
    let mut traces = Vec::with_capacity(paths.len());
    for path in paths {
        let _spinner = progress::spinner(&format!("reading {}", path.display()));
        traces.push(Trace::open(path)?);
    }
    Ok(traces)
}

/// A trace's file name without its endings, for labels.
pub(crate) fn label(name: &str) -> String {
    let file = Path::new(name).file_name();
    let label = file.map_or_else(|| name.into(), |file| file.to_string_lossy());
    let label = label.strip_suffix(".gz").unwrap_or(&label);
    label.strip_suffix(".mqt").unwrap_or(label).to_owned()
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_is_the_bare_file_name() {
        assert_eq!(label("a/b/hpcc32-r0.mqt.gz"), "hpcc32-r0");
        assert_eq!(label("x.mqt"), "x");
        assert_eq!(label("/dev/stdin"), "stdin");
        assert_eq!(label(".."), "..");
    }
}
