//! The conformance suite: any sequence of operations, on a structure and on the
//! [`Oracle`](crate::Oracle), with every answer compared.
//!
//! To test a structure of your own:
//!
//! ```
//! use mq_core::mpi::MpiPattern;
//! use mq_core::structures::List;
//! use mq_trace::conformance::{Counted, Setup, compare_all, random_steps};
//!
//! for seed in 0..100 {
//!     let steps = random_steps(seed, 200);
//!     compare_all::<List<MpiPattern, Counted, Counted>>(&Setup::small(), &steps)?;
//! }
//! # Ok::<(), mq_trace::conformance::Divergence>(())
//! ```
//! Receives and messages may also be plain `u32` ([`Payload`]); only counted ones show that one is forgotten. For
//! envelopes other than MPI's and those with 64-bit tags, see [`EnvelopeFamily`].
//!
//! Steps have a text form, an extension of `mqtrace 1` lines (see [`Step`]). A [`Divergence`]
//! prints the steps that lead to it, as a trace if a trace can hold them, ready to be replayed and kept.

mod bare;
mod decode;
mod divergence;
mod engined;
mod family;
mod model;
mod payload;
mod runs;
mod setup;
mod shared;
mod step;
mod subject;

use mq_core::MatchQueues;

pub use self::decode::{decode, random_steps};
pub use self::divergence::Divergence;
pub use self::family::EnvelopeFamily;
pub use self::payload::{Counted, Payload, Tally};
pub use self::setup::Setup;
pub use self::step::{Carried, Step, StepError, Wanted, parse_steps};

/// Contexts that steps use are below this number.
pub const CONTEXTS: u32 = 8;

/// Ranks that steps use are below this number: enough for several planes of `4d`.
pub const RANKS: u32 = 256;

/// All comparisons of the queues `Q`: alone, in an engine, and in a shared engine whose contexts are undivided,
/// divided from the beginning, after half of the steps, or by promise.
///
/// The pattern of `Q` is [`MpiPattern`](mq_core::mpi::MpiPattern), [`TaggedPattern`](mq_core::tagged::TaggedPattern),
/// or one for which [`EnvelopeFamily`] is implemented. Where it cannot be, [`compare_all_of`] takes the family apart
/// from it.
///
/// # Errors
/// The first step at which one differs.
pub fn compare_all<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    compare_all_of::<Q::Pattern, Q>(setup, steps)
}

/// [`compare_all`] for steps that are expressed in the patterns and envelopes of the family `F`.
///
/// # Errors
/// The first step at which one differs.
pub fn compare_all_of<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    runs::alone::<F, Q>(setup, steps)?;
    runs::in_engine::<F, Q>(setup, steps)?;
    runs::undivided::<F, Q>(setup, steps)?;
    runs::divided::<F, Q>(setup, steps)?;
    runs::divided_midway::<F, Q>(setup, steps)?;
    runs::promised::<F, Q>(setup, steps)
}

/// Compares the queues `Q`, used without an engine and with all contexts mixed, with the oracle.
///
/// # Errors
/// The first step at which they differ.
pub fn compare<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    runs::alone::<Q::Pattern, Q>(setup, steps)
}

/// Compares an engine over the queues `Q`, budgets included, with the oracle.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_engine<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    runs::in_engine::<Q::Pattern, Q>(setup, steps)
}

/// Compares a shared engine over the queues `Q`, its contexts undivided and used by one thread,
/// with the oracle: it must answer as an engine does.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_shared<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    runs::undivided::<Q::Pattern, Q>(setup, steps)
}

/// Compares a shared engine over the queues `Q`, its contexts divided and used by one thread, with
/// the oracle. An operation for any source may choose the sender, as far as
/// [`SharedEngine`](mq_core::shared::SharedEngine#order) says; everything else is as in [`compare_shared`].
///
/// # Errors
/// The first step at which they differ.
pub fn compare_divided<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    runs::divided::<Q::Pattern, Q>(setup, steps)
}

/// [`compare_divided`] with contexts divided by everything that is matched, since any source and any tag
/// are promised away: wildcard steps are taken for one source and one tag.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_promised<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    runs::promised::<Q::Pattern, Q>(setup, steps)
}

/// [`compare_divided`] with contexts that are divided after half of the steps, while entries are queued
/// in them.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_divided_midway<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Receive: Payload, Message: Payload>,
    Q::Pattern: EnvelopeFamily<Pattern = Q::Pattern>,
{
    runs::divided_midway::<Q::Pattern, Q>(setup, steps)
}

#[cfg(test)]
mod tests;
