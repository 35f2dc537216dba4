//! A payload that panics when an engine is cleared: another call drops what is left, in every structure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{Kind, KindVisitor};
use mq_core::{
    Arrive, Budget, ContextOptions, Engine, EngineOptions, Footprint, MatchQueues, Memory, Post,
    Used,
};

const RANKS: u32 = 64;
const CONTEXTS: [u32; 2] = [0, 1];
/// Messages that look for a receive before they are queued: all would take long.
const SEARCHED: u32 = 300;

/// Known by its number; holds on to a common count as long as it is anywhere.
struct Payload {
    number: u32,
    panics: bool,
    _alive: Rc<()>,
}

impl Drop for Payload {
    fn drop(&mut self) {
        assert!(!self.panics, "as planned");
    }
}

/// An entry of one context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Receive(u32, u32),
    Message(u32, u32),
}

/// Clears an engine of some entries, one of which may panic, and says what memory it keeps.
struct Clearing {
    /// In each context, receives, and as many messages with other tags.
    entries: u32,
    panics: Option<At>,
}

const fn key(number: u32) -> (u32, i32) {
    (number % RANKS, (number / RANKS).cast_signed())
}

fn receive(context: u32, number: u32) -> MpiPattern {
    let (source, tag) = key(number);
    MpiPattern::new(context, source, tag)
}

fn message(context: u32, number: u32) -> MpiEnvelope {
    let (source, tag) = key(number);
    MpiEnvelope::new(context, source, tag + 100_000)
}

impl Clearing {
    fn fill<Q>(&self, engine: &mut Engine<Q>, panics: Option<At>, alive: &Rc<()>)
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = Payload, Message = Payload>,
    {
        let payload = |number, at| Payload {
            number,
            panics: panics == Some(at),
            _alive: Rc::clone(alive),
        };
        for context in CONTEXTS {
            for i in 0..self.entries {
                let payload = payload(i, At::Receive(context, i));
                let post = engine.post(receive(context, i), payload);
                assert!(matches!(post, Ok(Post::Queued(_))));
            }
        }
        for context in CONTEXTS {
            for i in 0..self.entries {
                let (envelope, payload) =
                    (message(context, i), payload(i, At::Message(context, i)));
                if i < SEARCHED {
                    let arrival = engine.arrive(envelope, payload);
                    assert!(matches!(arrival, Ok(Arrive::Unexpected)));
                } else {
                    assert!(engine.queue_message(envelope, payload).is_ok());
                }
            }
        }
    }
}

impl KindVisitor<MpiPattern, Payload, Payload> for Clearing {
    type Output = Memory;

    fn visit<Q>(self) -> Memory
    where
        Q: MatchQueues<Pattern = MpiPattern, Receive = Payload, Message = Payload>
            + Footprint
            + 'static,
    {
        let alive = Rc::new(());
        let budget = Budget::UNLIMITED.entries_per_source(1_000_000);
        let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new().budget(budget));
        for context in CONTEXTS {
            let options = ContextOptions::new().size(RANKS);
            engine.create_context(context, options).expect("a new one");
        }
        self.fill(&mut engine, self.panics, &alive);
        let first = catch_unwind(AssertUnwindSafe(|| engine.clear()));
        assert_eq!(first.is_err(), self.panics.is_some());
        if first.is_err() {
            engine.clear();
        }
        let memory = engine.memory();
        assert_eq!(Rc::strong_count(&alive), 1, "all are dropped");
        assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
        assert_eq!(engine.used(), Used::default());
        engine.visit(&mut |_| panic!("there is nothing to show"));

        self.fill(&mut engine, None, &alive);
        for context in CONTEXTS {
            for i in 0..self.entries {
                let payload = || Payload {
                    number: i,
                    panics: false,
                    _alive: Rc::clone(&alive),
                };
                let (source, tag) = key(i);
                let arrival = engine.arrive(MpiEnvelope::new(context, source, tag), payload());
                assert!(
                    matches!(arrival, Ok(Arrive::Matched { receive, .. }) if receive.number == i)
                );
                let pattern = MpiPattern::new(context, source, tag + 100_000);
                let post = engine.post(pattern, payload());
                assert!(matches!(post, Ok(Post::Matched { message, .. }) if message.number == i));
            }
        }
        assert_eq!(Rc::strong_count(&alive), 1, "all have matched");
        memory
    }
}

#[test]
fn another_call_drops_what_a_panic_has_left() {
    for &kind in Kind::ALL {
        for entries in [5, 60, 700, 5000] {
            let clear = |panics| kind.accept(Clearing { entries, panics });
            let memory = clear(None);
            for at in [
                At::Receive(0, 0),
                At::Receive(1, entries / 2),
                At::Message(0, entries - 1),
                At::Message(1, 1),
            ] {
                assert_eq!(clear(Some(at)), memory, "{kind}: {at:?} of {entries}");
            }
        }
    }
}
