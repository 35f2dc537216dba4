//! Queues that are made anew: what they had borrowed from the system when the caller's allocator refused goes back.

use mq_core::structures::Kind;
use mq_core::{ContextId, ContextOptions, Engine};

use super::{Matching, Queues};

impl Matching {
    /// Makes the queues anew if nothing is queued in them and they owe memory; returns whether it did. Takes time for
    /// each context.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_anew(&mut self) -> bool {
        let can = self.lengths() == (0, 0) && self.debt.can_begin_anew();
        if can {
            let engine = &mut self.engine;
            self.debt.begin_anew(|| renew(engine));
        }
        can
    }
}

/// Makes the queues of all contexts anew. They number their entries as if they had gone on.
fn renew(engine: &mut Engine<Queues>) {
    let mut contexts: Vec<(ContextId, ContextOptions)> = engine
        .contexts()
        .filter_map(|context| {
            let kind: Kind = engine.queues(context)?.1.kind();
            Some((
                context,
                ContextOptions::from(engine.terms(context)?).kind(kind),
            ))
        })
        .collect();
    contexts.sort_unstable_by_key(|(context, _)| *context);
    // First all: several may share queues.
    for (context, _) in &contexts {
        let freed = engine.free_context(*context, &mut |_| ());
        debug_assert!(freed.is_ok(), "it exists");
    }
    for (context, options) in contexts {
        let made = engine.create_context(context, options);
        debug_assert!(made.is_ok(), "it had these terms before");
    }
}
