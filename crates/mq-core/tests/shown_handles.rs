//! The handles that a visitor sees take out what it was shown, and nothing afterwards.

use std::collections::BTreeMap;

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{
    Budget, ContextOptions, Engine, EngineOptions, Entry, EntryOf, Handle, MessageHandle, Source,
    Used,
};

type Queues = AnyQueues<MpiPattern, u32, u32>;

const RANKS: u32 = 32;

/// What was shown under each handle.
#[derive(Default)]
struct Handles {
    receives: BTreeMap<Handle, (MpiPattern, u32)>,
    messages: BTreeMap<MessageHandle, (MpiEnvelope, u32)>,
}

impl Handles {
    fn note(&mut self, entry: EntryOf<'_, Queues>) {
        let context = entry.context();
        let earlier = match entry {
            Entry::Posted(handle, pattern, &receive) => {
                assert_eq!((handle.context(), context), (context, pattern.context()));
                self.receives.insert(handle, (pattern, receive)).is_some()
            }
            Entry::Unexpected(handle, envelope, &message) => {
                assert_eq!((handle.context(), context), (context, envelope.context()));
                self.messages.insert(handle, (envelope, message)).is_some()
            }
        };
        assert!(!earlier, "a handle was given twice");
    }

    /// The handles of every second entry, for the others to stay.
    fn half(self, half: usize) -> Self {
        let chosen = |at: usize| at % 2 == half;
        let receives = self.receives.into_iter().enumerate();
        let messages = self.messages.into_iter().enumerate();
        Self {
            receives: receives
                .filter(|&(at, _)| chosen(at))
                .map(|(_, e)| e)
                .collect(),
            messages: messages
                .filter(|&(at, _)| chosen(at))
                .map(|(_, e)| e)
                .collect(),
        }
    }
}

fn pattern(number: u32) -> MpiPattern {
    let source = match number % 5 {
        0 => Source::Any,
        _ => Source::from(number % RANKS),
    };
    let tag = match number % 7 {
        0 => TagSelector::Any,
        _ => TagSelector::from(i32::try_from(number % 900).expect("small")),
    };
    MpiPattern::new(number % 3, source, tag)
}

/// Tags below 0 are taken by no receive of [`pattern`].
fn envelope(number: u32) -> MpiEnvelope {
    let tag = -1 - i32::try_from(number % 900).expect("small");
    MpiEnvelope::new(number % 3, number % RANKS, tag)
}

fn options(kind: Kind) -> EngineOptions<u32> {
    let budget = Budget::UNLIMITED.entries(1 << 20);
    EngineOptions::new().kind(kind).budget(budget)
}

#[test]
fn what_an_engine_shows_is_taken_out_by_its_handle() {
    for &kind in Kind::ALL {
        for entries in [1, 10, 300, 6_000] {
            let mut engine: Engine<Queues> = Engine::with_options(options(kind));
            for context in 0..3 {
                let size = ContextOptions::new().size(RANKS);
                engine.create_context(context, size).unwrap();
            }
            for number in 0..entries {
                let _ = engine.post(pattern(number), number).unwrap();
                let _ = engine.arrive(envelope(number), number).unwrap();
            }
            // In the second round there are holes, and the queues may have another form.
            for half in [1, 0, 0] {
                let mut handles = Handles::default();
                engine.visit(&mut |entry| handles.note(entry));
                let handles = handles.half(half);
                for (&handle, &(_, receive)) in &handles.receives {
                    assert_eq!(engine.cancel(handle), Some(receive), "{kind}");
                    assert_eq!(engine.cancel(handle), None, "{kind}");
                }
                for (&handle, &shown) in &handles.messages {
                    assert_eq!(engine.take(handle), Some(shown), "{kind}");
                    assert_eq!(engine.take(handle), None, "{kind}");
                }
                assert_eq!(engine.used().entries, engine.unexpected_len());
            }
            let left = engine.posted_len() + engine.unexpected_len();
            assert!(
                left <= entries as usize / 4 + 2,
                "{kind}: {left} of {entries}"
            );
        }
    }
}

#[cfg(all(feature = "shared", not(mq_loom)))]
#[test]
fn what_threads_share_is_taken_out_by_its_handle_before_and_after_it_is_divided() {
    use mq_core::shared::{Divide, Sharding, SharedEngine};

    for &kind in Kind::ALL {
        let sharding = Sharding::new().shards(4).divide(Divide::Never);
        let engine: SharedEngine<Queues> = SharedEngine::with_options(options(kind), sharding);
        let contexts = [0, 1, 2].map(|context| {
            let size = ContextOptions::new().size(RANKS);
            engine.create_context(context, size).unwrap()
        });
        let fill = |from: u32| {
            for number in from..from + 300 {
                let _ = engine.post(pattern(number), number).unwrap();
                let _ = engine.arrive(envelope(number), number).unwrap();
            }
        };
        fill(0);
        contexts[0].divide().unwrap();
        contexts[1].divide().unwrap();
        fill(300);
        for half in [1, 0, 0] {
            let mut handles = Handles::default();
            engine.visit(&mut |entry| handles.note(entry));
            let handles = handles.half(half);
            for (&handle, &(_, receive)) in &handles.receives {
                assert_eq!(engine.cancel(handle), Some(receive), "{kind}");
                assert_eq!(engine.cancel(handle), None, "{kind}");
            }
            for (&handle, &shown) in &handles.messages {
                let at = shown.0.context().0 as usize;
                assert_eq!(contexts[(at + 1) % 3].take(handle), None, "{kind}");
                let taken = match half {
                    0 => engine.take(handle),
                    _ => contexts[at].take(handle),
                };
                assert_eq!(taken, Some(shown), "{kind}");
                assert_eq!(engine.take(handle), None, "{kind}");
            }
            assert_eq!(engine.used().entries, engine.unexpected_len());
        }
        // Nobody waits for a message from before the division that has been taken by handle.
        for context in 0..3 {
            for source in 0..RANKS {
                for tag in -900..0 {
                    let exact = MpiPattern::new(context, source, tag);
                    while engine.extract(&exact).unwrap().is_some() {}
                }
            }
            let any = &mut |_: EntryOf<'_, Queues>| true;
            engine.purge_context(context, any, &mut |_| ()).unwrap();
            assert_eq!(engine.context_lengths(context), Ok((0, 0)), "{kind}");
        }
        assert_eq!(engine.used(), Used::default());
    }
}
