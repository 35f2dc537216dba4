//! The conformance suite: any sequence of operations, on a structure and on the
//! [`Oracle`](crate::Oracle), with every answer compared.
//!
//! To test a structure of your own:
//!
//! ```
//! use mq_core::mpi::MpiPattern;
//! use mq_core::structures::List;
//! use mq_trace::conformance::{Setup, compare_all, random_steps};
//!
//! for seed in 0..100 {
//!     let steps = random_steps(seed, 200);
//!     compare_all::<List<MpiPattern, u32, u32>>(&Setup::small(), &steps)?;
//! }
//! # Ok::<(), mq_trace::conformance::Divergence>(())
//! ```
//!
//! Steps have a text form, an extension of `mqtrace 1` lines (see [`Step`]). A [`Divergence`]
//! prints the steps that lead to it, as a trace if a trace can hold them, ready to be replayed and kept.

mod bare;
mod decode;
mod divergence;
mod engined;
mod family;
mod model;
mod setup;
mod shared;
mod step;
mod subject;

use core::fmt;

use mq_core::mpi::MpiPattern;
use mq_core::shared::Divide;
use mq_core::tagged::TaggedPattern;
use mq_core::{MatchQueues, Pattern};

use self::bare::Bare;
pub use self::decode::{decode, random_steps};
pub use self::divergence::Divergence;
use self::divergence::Recorded;
use self::engined::Engined;
use self::family::{Family, Mpi, Tagged};
use self::model::Model;
pub use self::setup::Setup;
use self::shared::{Following, Shared, exact_steps, whole_steps};
pub use self::step::{Carried, Step, StepError, Wanted, parse_steps};
use self::subject::Subject;

/// Contexts that steps use are below this number.
pub const CONTEXTS: u32 = 8;

/// Ranks that steps use are below this number: enough for several planes of `4d`.
pub const RANKS: u32 = 256;

/// Compares the queues `Q`, used without an engine and with all contexts mixed, with the oracle.
///
/// # Errors
/// The first step at which they differ.
pub fn compare<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    run::<Mpi>(
        &mut Bare::<Q>::new(setup),
        &mut Model::of_queues(setup),
        steps,
    )
}

/// All comparisons of the queues `Q` for MPI's envelopes: alone, in an engine, and in a shared engine whose
/// contexts are undivided, divided from the beginning, after half of the steps, or by promise.
///
/// # Errors
/// The first step at which one differs.
pub fn compare_all<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    compare::<Q>(setup, steps)?;
    compare_engine::<Q>(setup, steps)?;
    compare_shared::<Q>(setup, steps)?;
    compare_divided::<Q>(setup, steps)?;
    compare_divided_midway::<Q>(setup, steps)?;
    compare_promised::<Q>(setup, steps)
}

/// Compares an engine over the queues `Q`, budgets included, with the oracle.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_engine<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    run::<Mpi>(
        &mut Engined::<Q>::new(setup),
        &mut Model::of_engine(setup),
        steps,
    )
}

/// Compares a shared engine over the queues `Q`, its contexts undivided and used by one thread,
/// with the oracle: it must answer as an engine does.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_shared<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    run::<Mpi>(
        &mut Shared::<Q>::new(setup, Divide::Never),
        &mut Model::of_engine(setup),
        &whole_steps(steps),
    )
}

/// Compares a shared engine over the queues `Q`, its contexts divided and used by one thread, with
/// the oracle. An operation for any source may choose the sender, as far as
/// [`SharedEngine`](mq_core::shared::SharedEngine#order) says; everything else is as in [`compare_shared`].
///
/// # Errors
/// The first step at which they differ.
pub fn compare_divided<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let mut subject = Shared::<Q>::new(setup, Divide::AtOnce);
    follow::<Mpi, Q>(&mut subject, setup, steps, None)
}

/// [`compare_divided`] with contexts divided by everything that is matched, since any source and any tag
/// are promised away: wildcard steps are taken for one source and one tag.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_promised<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let mut subject = Shared::<Q>::promised(setup);
    follow::<Mpi, Q>(&mut subject, setup, &exact_steps(steps), None)
}

/// [`compare_divided`] with contexts that are divided after half of the steps, while entries are queued
/// in them.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_divided_midway<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let half = Some(steps.len() / 2);
    follow::<Mpi, Q>(&mut Shared::<Q>::to_be_divided(setup), setup, steps, half)
}

/// Takes the steps on a shared engine, whose contexts are divided before the step with this number, and
/// on a model that follows it.
fn follow<F, Q>(
    subject: &mut Shared<Q>,
    setup: &Setup,
    steps: &[Step],
    divide: Option<usize>,
) -> Result<(), Divergence>
where
    F: Family,
    Q: MatchQueues<Pattern = F::Pattern, Receive = u32, Message = u32>,
{
    let steps = whole_steps(steps);
    let mut model = Following::new(Model::<F::Pattern>::of_engine(setup));
    let mut outcomes = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        if Some(at) == divide {
            subject.divide();
        }
        let got = subject.perform::<F>(step);
        let expected = model.perform::<F>(step, &got);
        outcomes.push(Recorded::of(step, &expected));
        same(&expected, &got, &steps, &outcomes)?;
        same(&model.lengths(), &subject.lengths(), &steps, &outcomes)?;
        same_use(model.model(), subject, &steps, &outcomes)?;
    }
    same(&model.contents(), &subject.contents(), &steps, &outcomes)
}

/// [`compare`] for envelopes with a 64-bit tag and an ignore mask.
///
/// # Errors
/// The first step at which they differ.
pub fn compare_tagged<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = TaggedPattern, Receive = u32, Message = u32>,
{
    run::<Tagged>(
        &mut Bare::<Q>::new(setup),
        &mut Model::of_queues(setup),
        steps,
    )
}

/// [`compare_tagged`] through an engine, a shared engine, and one whose contexts are divided.
///
/// # Errors
/// The first step at which one differs.
pub fn compare_tagged_engines<Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    Q: MatchQueues<Pattern = TaggedPattern, Receive = u32, Message = u32>,
{
    let mut engine = Engined::<Q>::new(setup);
    run::<Tagged>(&mut engine, &mut Model::of_engine(setup), steps)?;
    let mut shared = Shared::<Q>::new(setup, Divide::Never);
    run::<Tagged>(
        &mut shared,
        &mut Model::of_engine(setup),
        &whole_steps(steps),
    )?;
    follow::<Tagged, Q>(
        &mut Shared::<Q>::new(setup, Divide::AtOnce),
        setup,
        steps,
        None,
    )?;
    follow::<Tagged, Q>(
        &mut Shared::<Q>::promised(setup),
        setup,
        &exact_steps(steps),
        None,
    )
}

/// Takes the steps on both, and compares every answer, the lengths, how many entries came, and what is
/// left at the end.
fn run<F: Family>(
    subject: &mut impl Subject<F::Pattern>,
    model: &mut impl Subject<F::Pattern>,
    steps: &[Step],
) -> Result<(), Divergence> {
    let mut outcomes = Vec::with_capacity(steps.len());
    // A structure need not count queued entries; it then always returns 0.
    let mut counts = false;
    for step in steps {
        let expected = model.perform::<F>(step);
        let got = subject.perform::<F>(step);
        outcomes.push(Recorded::of(step, &expected));
        same(&expected, &got, steps, &outcomes)?;
        same(&model.lengths(), &subject.lengths(), steps, &outcomes)?;
        same_use(model, subject, steps, &outcomes)?;
        if let Some(wrong) = subject.misnumbered() {
            return Err(Divergence {
                steps: steps[..outcomes.len()].to_vec(),
                outcomes,
                expected: "numbers that rise from where they are to begin".into(),
                got: wrong.into(),
            });
        }
        counts |= subject.queued_total().is_some_and(|come| come > 0);
        if counts {
            same(
                &model.queued_total(),
                &subject.queued_total(),
                steps,
                &outcomes,
            )?;
        }
    }
    same(&model.contents(), &subject.contents(), steps, &outcomes)
}

/// Compares what is counted against budgets and marks after the last step that has an outcome.
fn same_use<P: Pattern>(
    model: &impl Subject<P>,
    subject: &impl Subject<P>,
    steps: &[Step],
    outcomes: &[Recorded],
) -> Result<(), Divergence> {
    let expected = model.used();
    if expected.is_some() {
        same(&expected, &subject.used(), steps, outcomes)?;
    }
    same(&model.crossings(), &subject.crossings(), steps, outcomes)
}

/// Compares two answers to the last step that has an outcome.
fn same<T: PartialEq + fmt::Debug>(
    expected: &T,
    got: &T,
    steps: &[Step],
    outcomes: &[Recorded],
) -> Result<(), Divergence> {
    if expected == got {
        return Ok(());
    }
    Err(Divergence {
        steps: steps[..outcomes.len()].to_vec(),
        outcomes: outcomes.to_vec(),
        expected: format!("{expected:?}"),
        got: format!("{got:?}"),
    })
}

#[cfg(test)]
mod tests;
