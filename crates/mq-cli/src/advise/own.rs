//! The matching structure of the MPI library that wrote a trace.

use mq_core::structures::Kind;
use mq_trace::Header;

use crate::input::Good;
use crate::library::Library;

/// The structure of the library that a header names, if it is not `list`.
pub(super) fn structure(header: &Header) -> Option<Kind> {
    // A generated trace names a library only for the tags of its collective operations.
    if header.get("source") == Some("generated") {
        return None;
    }
    match Library::of(header)? {
        Library::OpenMpi => Some(Kind::Array),
        Library::Mpich => None,
    }
}

/// The structure that all traces have in common.
pub(super) fn of_all(traces: &[Good]) -> Option<Kind> {
    let mut structures = traces.iter().map(|good| structure(&good.facts.header));
    let first = structures.next()?;
    structures.all(|other| other == first).then_some(first)?
}
