//! A runtime's own header: envelopes and patterns that are not MPI's.
//!
//! A dataflow runtime sends parcels between the stages of a job. A parcel's header has the job, the
//! worker that sent it, the stage it is for, and a key. A task asks for one key of a stage, or for all
//! keys with a common prefix (a shard), from one worker or any. Worker, stage and key are packed into
//! a `u64`, and a mask covers what a task leaves open, so the engine matches parcels as fast as MPI
//! messages, as long as few different masks are in use: long queues are indexed for at most seven, besides
//! the one that leaves nothing open, and receives with others are compared with every message.
//!
//! Run it: `cargo run -p mq-examples --example custom_envelope`

use mq_core::structures::Indexed;
use mq_core::{
    Arrive, ContextId, ContextOptions, Engine, Envelope, Error, Pattern, Post, Rank, Source,
    matches,
};

/// Bit positions of the fields: 16 bits of worker, 16 of stage, 32 of key.
const WORKER_SHIFT: u32 = 48;
const STAGE_SHIFT: u32 = 32;

/// What a parcel carries besides its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    job: u32,
    worker: u16,
    stage: u16,
    key: u32,
}

impl Envelope for Header {
    type Bits = u64;

    /// Jobs never see each other's parcels: the job is the context.
    fn context(&self) -> ContextId {
        ContextId(self.job)
    }

    fn source(&self) -> Rank {
        Rank(u32::from(self.worker))
    }

    fn bits(&self) -> u64 {
        u64::from(self.worker) << WORKER_SHIFT
            | u64::from(self.stage) << STAGE_SHIFT
            | u64::from(self.key)
    }
}

/// What a task asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wanted {
    job: u32,
    /// The sender, or any.
    worker: Option<u16>,
    stage: u16,
    /// A key, of which the lowest `open` bits may differ.
    key: u32,
    open: u32,
}

impl Wanted {
    /// The bits of the key that are compared.
    fn key_care(&self) -> u32 {
        u32::MAX.checked_shl(self.open).unwrap_or(0)
    }
}

impl Pattern for Wanted {
    type Envelope = Header;

    fn context(&self) -> ContextId {
        ContextId(self.job)
    }

    fn source(&self) -> Source {
        self.worker
            .map_or(Source::Any, |worker| Source::from(u32::from(worker)))
    }

    /// Packed as in [`Header`]; what is left open is 0.
    fn bits(&self) -> u64 {
        let header = Header {
            job: self.job,
            worker: self.worker.unwrap_or(0),
            stage: self.stage,
            key: self.key & self.key_care(),
        };
        header.bits()
    }

    /// The stage always, the worker if one is named, the key down to its open bits.
    fn care(&self) -> u64 {
        let worker = self.worker.map_or(0, |_| u64::from(u16::MAX));
        worker << WORKER_SHIFT | u64::from(u16::MAX) << STAGE_SHIFT | u64::from(self.key_care())
    }

    fn any_tag(&self) -> bool {
        self.open > 0
    }
}

/// A task's number and a parcel's contents are the payloads.
type Parcels = Engine<Indexed<Wanted, u32, &'static str>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut parcels = Parcels::new();
    parcels.create_context(1, ContextOptions::new().size(64))?;
    shard_takes_any_key_with_its_prefix(&mut parcels)?;
    named_worker_is_waited_for(&mut parcels)?;
    promise_is_kept(&mut parcels)?;
    Ok(())
}

/// A shard takes parcels of its keys, from any worker, in order of arrival.
fn shard_takes_any_key_with_its_prefix(
    parcels: &mut Parcels,
) -> Result<(), Box<dyn std::error::Error>> {
    let shard = Wanted {
        job: 1,
        worker: None,
        stage: 2,
        key: 0xab00,
        open: 8,
    };
    let header = Header {
        job: 1,
        worker: 9,
        stage: 2,
        key: 0xab17,
    };
    assert!(matches(&shard, &header));
    assert!(
        !matches(
            &shard,
            &Header {
                key: 0xac17,
                ..header
            }
        ),
        "another shard"
    );
    assert!(
        !matches(&shard, &Header { stage: 3, ..header }),
        "another stage"
    );

    let first = parcels.arrive(header, "first")?;
    let second = parcels.arrive(
        Header {
            worker: 4,
            ..header
        },
        "second",
    )?;
    assert_eq!((first, second), (Arrive::Unexpected, Arrive::Unexpected));
    for (task, expected) in [(1, "first"), (2, "second")] {
        match parcels.post(shard, task)? {
            Post::Matched {
                envelope,
                message,
                receive,
            } => {
                println!(
                    "task {receive} of shard ab: `{message}` of worker {}",
                    envelope.worker
                );
                assert_eq!((receive, message), (task, expected));
            }
            Post::Queued(_) => unreachable!("two parcels were waiting"),
        }
    }
    Ok(())
}

/// A task that names its worker is not served by another, and can be cancelled.
fn named_worker_is_waited_for(parcels: &mut Parcels) -> Result<(), Box<dyn std::error::Error>> {
    let wanted = Wanted {
        job: 1,
        worker: Some(4),
        stage: 2,
        key: 5,
        open: 0,
    };
    let Post::Queued(handle) = parcels.post(wanted, 3)? else {
        unreachable!("nothing was waiting");
    };
    let of_another = Header {
        job: 1,
        worker: 9,
        stage: 2,
        key: 5,
    };
    assert_eq!(
        parcels.arrive(of_another, "of another worker")?,
        Arrive::Unexpected
    );
    assert_eq!(parcels.cancel(handle), Some(3));
    assert_eq!(parcels.cancel(handle), None, "a stale handle is harmless");
    println!("task 3 waited for worker 4 and was called off");
    Ok(())
}

/// A job that promised to name every key is held to the promise; the task comes back with the refusal.
fn promise_is_kept(parcels: &mut Parcels) -> Result<(), Box<dyn std::error::Error>> {
    parcels.create_context(2, ContextOptions::new().no_any_tag())?;
    let open = Wanted {
        job: 2,
        worker: None,
        stage: 1,
        key: 0,
        open: 32,
    };
    let refused = parcels
        .post(open, 4)
        .expect_err("the job promised exact keys");
    println!("task {} was refused: {refused}", refused.payload);
    assert_eq!(refused.error, Error::AnyTagForbidden(ContextId(2)));
    Ok(())
}
