//! The matching structure of the MPI library that wrote a trace.

use mq_core::structures::Kind;
use mq_trace::{Header, Trace};

/// The header fields that may name the library, in traces from other tools and in those that a
/// patched library wrote.
const FIELDS: [&str; 2] = ["mpi", "source"];
/// Prefix of the names of Open MPI versions.
const OPEN_MPI: &str = "openmpi-";

/// The structure of the library that a header names, if it is not `list`.
pub(super) fn structure(header: &Header) -> Option<Kind> {
    let mut names = FIELDS.iter().filter_map(|field| header.get(field));
    names
        .any(|name| name.starts_with(OPEN_MPI))
        .then_some(Kind::Array)
}

/// The structure that all traces have in common.
pub(super) fn of_all(traces: &[Trace]) -> Option<Kind> {
    let mut structures = traces.iter().map(|trace| structure(trace.header()));
    let first = structures.next()?;
    structures.all(|other| other == first).then_some(first)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_mpi_is_known_by_either_field() {
        let header = |key, name: &str| Header::new().with(key, name);
        for (header, expected) in [
            (header("mpi", "openmpi-5.0.7-ob1"), Some(Kind::Array)),
            (header("source", "openmpi-5.0.7-ob1"), Some(Kind::Array)),
            (header("mpi", "mpich-4.3.0-ch3"), None),
            (header("app", "openmpi-5.0.7-ob1"), None),
            (Header::new(), None),
        ] {
            assert_eq!(structure(&header), expected, "{header:?}");
        }
    }
}
