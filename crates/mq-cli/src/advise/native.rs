//! The matching structure of the MPI library that wrote a trace.

use mq_core::structures::Kind;
use mq_trace::Header;

use crate::input::CheckedTrace;
use crate::library::Library;

/// The structure of the library that a header names, if it is not `list`.
pub(super) fn structure_of(header: &Header) -> Option<Kind> {
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
pub(super) fn common_structure(traces: &[CheckedTrace]) -> Option<Kind> {
    let mut structures = traces.iter().map(|trace| structure_of(&trace.facts.header));
    let first = structures.next()?;
    structures.all(|other| other == first).then_some(first)?
}
