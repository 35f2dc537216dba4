//! Models of the shared engine: every interleaving of two or three threads at one race each, on the engine's own
//! code. The names in brackets are those of `docs/memory-model.md`; `ci/loom.sh` runs these.
#![cfg(mq_loom)]

mod budget;
mod division;
mod gate;
mod lives;
mod probing;
mod removal;

use std::sync::{Arc, Mutex};

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::List;
use mq_core::{Arrive, ContextOptions, EngineOptions, Handle, Post, Source};

type Queues = List<MpiPattern, &'static str, u32>;
type Context = SharedContext<Queues>;

const CONTEXT: u32 = 0;
const TAG: i32 = 7;

/// An engine of one context over two shards. Sender 0 and sender 1 are in different ones.
fn engine(divide: Divide) -> (SharedEngine<Queues>, Context) {
    let sharding = Sharding::new().shards(2).divide(divide);
    let engine = SharedEngine::with_options(EngineOptions::new(), sharding);
    let context = engine.create_context(CONTEXT, ContextOptions::new());
    let context = context.expect("it is the first");
    (engine, context)
}

fn divided() -> Context {
    let (_, context) = engine(Divide::AtOnce);
    assert_eq!(context.shards(), Ok(Some(2)));
    context
}

/// What a thread's operation gave: the receive that a message got, or the message of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Got {
    Receive(&'static str),
    Message(u32),
    Queued,
    Unknown,
}

fn post(context: &Context, source: impl Into<Source>, receive: &'static str) -> Got {
    match context.post(MpiPattern::new(CONTEXT, source, TAG), receive) {
        Ok(Post::Matched { message, .. }) => Got::Message(message),
        Ok(Post::Queued(_)) => Got::Queued,
        Err(refused) => {
            assert_eq!(refused.payload, receive);
            Got::Unknown
        }
    }
}

fn arrive(context: &Context, source: u32, message: u32) -> Got {
    match context.arrive(MpiEnvelope::new(CONTEXT, source, TAG), message) {
        Ok(Arrive::Matched { receive, .. }) => Got::Receive(receive),
        Ok(Arrive::Unexpected) => Got::Queued,
        Err(refused) => {
            assert_eq!(refused.payload, message);
            Got::Unknown
        }
    }
}

/// Posts a receive from any source, for which nothing has come.
fn post_any(context: &Context) -> Handle {
    match context.post(MpiPattern::new(CONTEXT, Source::Any, TAG), "any") {
        Ok(Post::Queued(handle)) => handle,
        other => panic!("nothing has come: {other:?}"),
    }
}

/// Frees a context; how many entries came back.
fn free(engine: &SharedEngine<Queues>, context: u32) -> usize {
    let mut back = 0;
    assert_eq!(engine.free_context(context, &mut |_| back += 1), Ok(()));
    back
}

fn lengths(context: &Context) -> (usize, usize) {
    let posted = context.posted_len().expect("it exists");
    (posted, context.unexpected_len().expect("it exists"))
}

/// Tries everything, up to the preemptions that `LOOM_MAX_PREEMPTIONS` allows; exactly the expected
/// outcomes must occur.
fn outcomes<T: Ord + Clone + Send + std::fmt::Debug + 'static>(
    expected: &[T],
    model: impl Fn() -> T + Send + Sync + 'static,
) {
    let seen = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
    let of_model = Arc::clone(&seen);
    loom::model(move || {
        let outcome = model();
        of_model.lock().expect("no panic").insert(outcome);
    });
    let seen: Vec<T> = seen.lock().expect("no panic").iter().cloned().collect();
    assert_eq!(seen, expected);
}

impl PartialOrd for Got {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Got {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        format!("{self:?}").cmp(&format!("{other:?}"))
    }
}
