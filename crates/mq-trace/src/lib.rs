//! Match traces: what a real MPI process posted, received, probed and cancelled, and what its MPI library
//! matched.
//!
//! - [`TraceReader`], [`TraceWriter`]: the `mqtrace 1` format, streaming, plain or gzip; every error
//!   names file and line.
//! - [`Recorder`]: records an engine's operations and their outcomes.
//! - [`Span`], [`Process`]: what a header says of the process that wrote it, and whether it came to its end.
//! - [`Trace`]: a trace in memory, as a compact array of operations.
//! - [`check()`]: replays a trace through a structure and compares every pairing.
//! - [`ListSearches`]: how many entries a list would compare, without a search.
//! - [`timed`]: replays it again for timing.
//! - [`Oracle`]: the matching rules as plain code; [`conformance`] compares any structure with it, for
//!   any sequence of operations.
//! - [`generate`]: traces of queue-depth patterns, and of applications whose queues were published.
//!
//! ```
//! use mq_core::structures::Kind;
//! use mq_trace::{Trace, TraceReader, check};
//!
//! let text = "# mqtrace 1\np 0 1 5\na 0 1 5 =0\n";
//! let trace = Trace::read(TraceReader::new("example", text.as_bytes())?)?;
//! let report = check(&trace, Kind::Indexed);
//! assert_eq!(report.mismatches, 0);
//! # Ok::<(), mq_trace::TraceError>(())
//! ```
//!
//! # Features
//! `full` (a default): everything. Without it there is what records a trace, uncompressed: [`Recorder`],
//! [`TraceWriter`], [`Header`], [`Line`], [`Process`], [`Span`]; that needs no crate but `mq-core` and `thiserror`.

#[cfg(feature = "full")]
mod check;
#[cfg(feature = "full")]
pub mod conformance;
#[cfg(feature = "full")]
mod error;
#[cfg(feature = "full")]
mod foreign;
#[cfg(feature = "full")]
pub mod generate;
#[cfg(feature = "full")]
mod gzip;
mod header;
mod line;
#[cfg(feature = "full")]
mod list_searches;
#[cfg(feature = "full")]
mod mismatch;
#[cfg(feature = "full")]
mod oracle;
mod origin;
mod parse_error;
#[cfg(feature = "full")]
mod reader;
mod recorder;
#[cfg(feature = "full")]
mod replay;
#[cfg(feature = "full")]
mod standing;
#[cfg(feature = "full")]
mod trace;
#[cfg(feature = "full")]
mod validate;
mod writer;

#[cfg(feature = "full")]
pub use check::{Report, Sample, check, check_queues, check_with, check_within};
#[cfg(feature = "full")]
pub use error::TraceError;
pub use header::Header;
pub use line::{Line, SourceField, TagField};
#[cfg(feature = "full")]
pub use list_searches::{ListSearch, ListSearches};
#[cfg(feature = "full")]
pub use mismatch::Mismatch;
#[cfg(feature = "full")]
pub use oracle::Oracle;
pub use origin::{Process, RECORDING, Span, is_of_a_recording, reason_file};
pub use parse_error::ParseError;
#[cfg(feature = "full")]
pub use reader::{Numbered, TraceReader};
pub use recorder::Recorder;
#[cfg(feature = "full")]
pub use replay::{Floor, Payload, Replay, Timed, timed};
#[cfg(feature = "full")]
pub use trace::{Communicator, Operation, Trace};
#[cfg(feature = "full")]
pub use validate::Validator;
pub use writer::TraceWriter;
