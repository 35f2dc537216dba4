//! The MPI library that wrote a trace.

use mq_trace::Header;

/// The header fields that may name the library, in traces from other tools and in those that a
/// patched library wrote.
const FIELDS: [&str; 2] = ["mpi", "source"];

/// Libraries that differ in what a trace tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// It matches in a list for each rank, and its collective operations have tags below 0.
    OpenMpi,
    /// It matches in one list, and its collective operations have tags from 0 on.
    Mpich,
}

impl Library {
    /// The library that a header names, if it is one of these.
    pub(crate) fn of(header: &Header) -> Option<Self> {
        let names = FIELDS.iter().filter_map(|field| header.get(field));
        let known = |name: &str| match name {
            _ if name.starts_with("openmpi-") => Some(Self::OpenMpi),
            _ if name.starts_with("mpich-") => Some(Self::Mpich),
            _ => None,
        };
        names.filter_map(known).next()
    }

    /// Whether a communicator has two contexts, which match apart and are what a trace counts.
    pub(crate) fn splits_communicators(library: Option<Self>) -> bool {
        library == Some(Self::Mpich)
    }

    /// What a trace counts.
    pub(crate) fn context_noun(library: Option<Self>) -> &'static str {
        match Self::splits_communicators(library) {
            true => "context",
            false => "communicator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_either_field() {
        let header = |key, name: &str| Header::new().with(key, name);
        for (header, expected) in [
            (header("mpi", "openmpi-5.0.7-ob1"), Some(Library::OpenMpi)),
            (
                header("source", "openmpi-5.0.7-ob1"),
                Some(Library::OpenMpi),
            ),
            (header("mpi", "mpich-4.3.0-ch3"), Some(Library::Mpich)),
            (
                header("source", "lammps").with("mpi", "mpich-4.0.2-ch4"),
                Some(Library::Mpich),
            ),
            (header("app", "openmpi-5.0.7-ob1"), None),
            (Header::new(), None),
        ] {
            assert_eq!(Library::of(&header), expected, "{header:?}");
        }
    }
}
