//! The ways in which queues take the steps beside the oracle.

use core::fmt;

use mq_core::shared::Divide;
use mq_core::{MatchQueues, Pattern};

use super::Setup;
use super::bare::Bare;
use super::divergence::{Divergence, Recorded};
use super::engined::Engined;
use super::family::EnvelopeFamily;
use super::model::Model;
use super::payload::Payload;
use super::shared::{Following, Shared, exact_steps, whole_steps};
use super::step::Step;
use super::subject::{Numbers, Subject};

/// Without an engine, all contexts mixed.
pub(super) fn alone<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    let mut model = Model::of_queues(setup);
    run::<F>(Bare::<Q>::new(setup), &mut model, steps)
}

/// In an engine.
pub(super) fn in_engine<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    let mut model = Model::of_engine(setup);
    run::<F>(Engined::<Q>::new(setup), &mut model, steps)
}

/// In a shared engine, its contexts undivided.
pub(super) fn undivided<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    let shared = Shared::<Q>::new(setup, Divide::Never);
    let mut model = Model::of_engine(setup);
    run::<F>(shared, &mut model, &whole_steps(steps))
}

/// In a shared engine, its contexts divided from the beginning.
pub(super) fn divided<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    let shared = Shared::<Q>::new(setup, Divide::AtOnce);
    follow::<F, Q>(shared, setup, steps, None)
}

/// In a shared engine whose contexts are divided by everything that is matched, on steps without wildcards.
pub(super) fn promised<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    let shared = Shared::<Q>::promised(setup);
    follow::<F, Q>(shared, setup, &exact_steps(steps), None)
}

/// In a shared engine whose contexts are divided after half of the steps.
pub(super) fn divided_midway<F, Q>(setup: &Setup, steps: &[Step]) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
{
    let shared = Shared::<Q>::to_be_divided(setup);
    follow::<F, Q>(shared, setup, steps, Some(steps.len() / 2))
}

/// Takes the steps on a shared engine, whose contexts are divided before the step with this number, and
/// on a model that follows it.
fn follow<F, Q>(
    mut subject: Shared<Q>,
    setup: &Setup,
    steps: &[Step],
    divide: Option<usize>,
) -> Result<(), Divergence>
where
    F: EnvelopeFamily,
    Q: MatchQueues<Pattern = F::Pattern, Receive: Payload, Message: Payload>,
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
        let lengths = subject.lengths();
        same(&model.lengths(), &lengths, &steps, &outcomes)?;
        same_use(model.model(), &subject, &steps, &outcomes)?;
        none_lost(subject.numbers(), lengths, &steps, &outcomes)?;
    }
    same(&model.contents(), &subject.contents(), &steps, &outcomes)?;
    none_lost(&subject.into_numbers(), (0, 0), &steps, &outcomes)
}

/// Takes the steps on both, and compares every answer, the lengths, how many entries came, and what is
/// left at the end.
fn run<F: EnvelopeFamily>(
    mut subject: impl Subject<F::Pattern>,
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
        let lengths = subject.lengths();
        same(&model.lengths(), &lengths, steps, &outcomes)?;
        same_use(model, &subject, steps, &outcomes)?;
        none_lost(subject.numbers(), lengths, steps, &outcomes)?;
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
    same(&model.contents(), &subject.contents(), steps, &outcomes)?;
    none_lost(&subject.into_numbers(), (0, 0), steps, &outcomes)
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

/// Compares how many payloads there are, where they are counted, with how many are queued.
fn none_lost(
    numbers: &Numbers,
    (receives, messages): (usize, usize),
    steps: &[Step],
    outcomes: &[Recorded],
) -> Result<(), Divergence> {
    let show = |count: usize, what: &str| format!("{count} {what} that are not dropped");
    for (queued, made, what) in [
        (receives, &numbers.made_receives, "receives"),
        (messages, &numbers.made_messages, "messages"),
    ] {
        if let Some(alive) = made.alive().filter(|&alive| alive != queued) {
            return Err(Divergence {
                steps: steps[..outcomes.len()].to_vec(),
                outcomes: outcomes.to_vec(),
                expected: show(queued, what),
                got: show(alive, what),
            });
        }
    }
    Ok(())
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
