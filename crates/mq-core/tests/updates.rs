//! What queues are told when their context is updated.

use std::cell::RefCell;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{
    Config, ContextId, ContextOptions, Engine, EntryOf, FoundMessageOf, FoundReceiveOf, Handle,
    MatchQueues, MessageHandle, Meter, RemovedOf, Scope, TakenMessageOf,
};

thread_local! {
    /// The size and the permission that queues were told by updates.
    static TOLD: RefCell<Vec<(Option<u32>, bool)>> = const { RefCell::new(Vec::new()) };
}

/// Queues that are always empty.
struct Listener;

impl MatchQueues for Listener {
    type Pattern = MpiPattern;
    type Receive = ();
    type Message = ();

    fn with_config(_: &Config) -> Self {
        Self
    }

    fn scope(_: &Config) -> Scope {
        Scope::Context
    }

    fn update_context(&mut self, _: ContextId, config: &Config) {
        TOLD.with_borrow_mut(|told| told.push((config.size, config.allow_overtaking)));
    }

    fn find_metered(
        &mut self,
        _: &MpiPattern,
        _: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>> {
        None
    }

    fn find_receive_metered(
        &mut self,
        _: &MpiEnvelope,
        _: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>> {
        None
    }

    fn take(&mut self, _: MessageHandle) -> Option<TakenMessageOf<Self>> {
        None
    }

    fn cancel(&mut self, _: Handle) -> Option<()> {
        None
    }

    fn queue_receive(&mut self, _: MpiPattern, (): ()) -> Handle {
        unreachable!("nothing is posted")
    }

    fn queue_message(&mut self, _: MpiEnvelope, (): ()) -> MessageHandle {
        unreachable!("nothing arrives")
    }

    fn posted_len(&self) -> usize {
        0
    }

    fn unexpected_len(&self) -> usize {
        0
    }

    fn visit(&self, _: &mut dyn FnMut(EntryOf<'_, Self>)) {}

    fn purge(
        &mut self,
        _: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        _: &mut dyn FnMut(RemovedOf<Self>),
    ) {
    }

    fn clear(&mut self) {}

    fn next_sequence(&self) -> u64 {
        0
    }

    fn raise_sequence(&mut self, _: u64) {}

    fn add_context(&mut self, _: &Config) {}
}

/// Updates a context by `update`, whose queues in `places` places are all told.
fn every_place_is_told(places: usize, mut update: impl FnMut(ContextOptions)) {
    let options = ContextOptions::new;
    for (options, told) in [
        (options().size(4), (Some(4), false)),
        (options().allow_overtaking(), (None, true)),
        (options(), (None, false)),
    ] {
        update(options);
        assert_eq!(TOLD.take(), vec![told; places]);
    }
}

#[test]
fn the_queues_of_an_engine_are_told_the_new_size_and_permission() {
    let mut engine: Engine<Listener> = Engine::new();
    engine.create_context(0, ContextOptions::new()).unwrap();
    every_place_is_told(1, |options| {
        engine.update_context(0, options).unwrap();
    });
}

#[cfg(all(feature = "shared", not(mq_loom)))]
#[test]
fn the_queues_of_every_place_of_a_shared_engine_are_told_them() {
    use mq_core::EngineOptions;
    use mq_core::shared::{Divide, Sharding, SharedEngine};

    for (divide, places) in [(Divide::Never, 1), (Divide::AtOnce, 3)] {
        let sharding = Sharding::new().shards(2).divide(divide);
        let engine: SharedEngine<Listener> =
            SharedEngine::with_options(EngineOptions::new(), sharding);
        let context = engine.create_context(0, ContextOptions::new()).unwrap();
        every_place_is_told(places, |options| context.update(options).unwrap());
    }
}
