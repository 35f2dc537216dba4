//! Bytes an entry and a context, before and after a burst.

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::{AnyQueues, Indexed, Kind, List};
use mq_core::{ContextOptions, Engine, EngineOptions, Footprint, MatchQueues};

type Queues = AnyQueues<MpiPattern, u64, u64>;

const ENTRIES: [u32; 3] = [1, 1000, 1_000_000];

pub(crate) fn print() {
    entries();
    println!();
    contexts();
}

fn entries() {
    println!("Heap bytes an entry, every entry with a key of its own, 64-bit payloads.\n");
    println!("| structure | queue | 1 | 10^3 | 10^6 | idle after 10^6 |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for kind in [Kind::List, Kind::Indexed] {
        for (queue, posted) in [("posted", true), ("unexpected", false)] {
            print!("| {kind} | {queue} |");
            for entries in ENTRIES {
                let queues = filled(kind, posted, entries);
                print!(
                    " {:.1} |",
                    queues.memory().total() as f64 / f64::from(entries)
                );
            }
            let mut queues = filled(kind, posted, ENTRIES[2]);
            drain(&mut queues, posted, ENTRIES[2]);
            println!(" {} |", queues.memory().total());
        }
    }
}

fn filled(kind: Kind, posted: bool, entries: u32) -> Queues {
    let mut queues = Queues::with_config(&mq_core::Config::of_kind(kind));
    for i in 0..entries {
        if posted {
            let _ = queues.post(MpiPattern::new(0, i, 7), 0);
        } else {
            let _ = queues.arrive(MpiEnvelope::new(0, i, 7), 0);
        }
    }
    queues
}

fn drain(queues: &mut Queues, posted: bool, entries: u32) {
    for i in 0..entries {
        if posted {
            let _ = queues.arrive(MpiEnvelope::new(0, i, 7), 0);
        } else {
            let _ = queues.post(MpiPattern::new(0, i, 7), 0);
        }
    }
    assert_eq!(queues.posted_len() + queues.unexpected_len(), 0);
}

fn contexts() {
    println!(
        "Bytes of an idle context, whatever the size of its communicator: never used, and after a pair.\n"
    );
    println!("| structure | object | 1 context | 10^3 contexts | 10^3, used |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let objects = [
        (Kind::List, size_of::<List<MpiPattern, u64, u64>>()),
        (Kind::Indexed, size_of::<Indexed<MpiPattern, u64, u64>>()),
    ];
    for (kind, object) in objects {
        print!("| {kind} | {object} |");
        for (contexts, used) in [(1, false), (1000, false), (1000, true)] {
            let bytes = match kind {
                Kind::List => idle::<List<MpiPattern, u64, u64>>(contexts, used),
                _ => idle::<Indexed<MpiPattern, u64, u64>>(contexts, used),
            };
            print!(" {:.0} |", bytes as f64 / f64::from(contexts));
        }
        println!();
    }
}

fn idle<Q>(contexts: u32, used: bool) -> usize
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u64, Message = u64> + Footprint,
{
    let mut engine: Engine<Q> = Engine::with_options(EngineOptions::new());
    for context in 0..contexts {
        let created = engine.create_context(context, ContextOptions::new().size(1 << 20));
        assert!(created.is_ok(), "a new context");
        if used {
            let _ = engine.post(MpiPattern::new(context, 1, 7), 0);
            let _ = engine.arrive(MpiEnvelope::new(context, 1, 7), 0);
        }
    }
    engine.memory().total()
}
