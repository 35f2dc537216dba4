//! One engine for many threads: each sender's messages come from its own thread, and two other threads
//! receive, one of them from any source.
//!
//! Run it: `cargo run -p mq-examples --example threads`

use std::sync::mpsc;
use std::thread;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::shared::SharedEngine;
use mq_core::structures::Indexed;
use mq_core::{Arrive, ContextOptions, Error, Post, Refused, Source};

const SENDERS: u32 = 4;
const MESSAGES: u32 = 1000;

/// Tags of the two receiving threads.
const ORDERED: i32 = 1;
const ANY: i32 = 2;

/// A receive carries the channel to the thread that waits for it.
type Answer = mpsc::Sender<(u32, u32)>;

fn main() -> Result<(), Error> {
    let engine: SharedEngine<Indexed<MpiPattern, Answer, u32>> = SharedEngine::new();
    // A library keeps the handle in its communicator object, which saves looking the context up.
    let context = engine.create_context(0, ContextOptions::new().size(SENDERS))?;

    // Waits for one message; returns its sender and its number.
    let receive = |from: Source, tag: i32| {
        let (answer, answered) = mpsc::channel();
        let posted = context.post(MpiPattern::new(0, from, tag), answer);
        match posted.map_err(Refused::into_error)? {
            Post::Matched {
                envelope, message, ..
            } => Ok::<_, Error>((envelope.source().0, message)),
            Post::Queued(_) => Ok(answered.recv().expect("its message comes")),
        }
    };
    let send = |from: u32, tag: i32, number: u32| {
        let arrived = context.arrive(MpiEnvelope::new(0, from, tag), number);
        if let Arrive::Matched {
            receive, message, ..
        } = arrived.map_err(Refused::into_error)?
        {
            receive.send((from, message)).expect("it is waited for");
        }
        Ok::<(), Error>(())
    };

    thread::scope(|scope| {
        for from in 0..SENDERS {
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    send(from, ORDERED, number)?;
                    send(from, ANY, number)?;
                }
                Ok::<(), Error>(())
            });
        }
        let ordered = scope.spawn(|| {
            for number in 0..MESSAGES {
                for from in 0..SENDERS {
                    assert_eq!(receive(from.into(), ORDERED)?, (from, number));
                }
            }
            Ok::<(), Error>(())
        });
        // Senders may come in any order, but each sender's messages come in order.
        let mut next = [0; SENDERS as usize];
        for _ in 0..SENDERS * MESSAGES {
            let (from, number) = receive(Source::Any, ANY)?;
            assert_eq!(number, next[from as usize], "of sender {from}");
            next[from as usize] += 1;
        }
        ordered.join().expect("no panic")
    })?;

    assert_eq!((context.posted_len()?, context.unexpected_len()?), (0, 0));
    let shards = context
        .shards()?
        .map_or("one lock".into(), |shards| format!("{shards} shards"));
    println!(
        "{} messages received by two threads, in order for each sender; {shards}",
        2 * SENDERS * MESSAGES
    );
    Ok(())
}
