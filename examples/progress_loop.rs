//! A progress loop as a runtime would write it: packets come from a network, requests from the
//! program, and the engine matches them. A packet for which the engine has no room stays in the
//! network, in order, and is tried again. Nothing is lost: that is flow control.
//!
//! Run it: `cargo run -p mq-examples --example progress_loop`

use std::collections::VecDeque;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::Indexed;
use mq_core::{
    Arrive, Budget, ContextOptions, Engine, EngineOptions, Error, Post, Rank, Refused, Source,
};

const RANKS: u32 = 8;
const ROUNDS: usize = 200;

/// The number of a request, which receives carry.
type Request = usize;

struct Packet {
    envelope: MpiEnvelope,
    bytes: Vec<u8>,
}

struct Runtime {
    engine: Engine<Indexed<MpiPattern, Request, Packet>>,
    network: VecDeque<Packet>,
    /// For each request, the rank that answered it.
    requests: Vec<Option<Rank>>,
    refused: usize,
}

impl Runtime {
    fn new() -> Result<Self, Error> {
        // At most five unexpected packets, with 64 bytes in total.
        let budget = Budget::UNLIMITED
            .entries(5)
            .bytes(64, |packet: &Packet| packet.bytes.len() as u64);
        let mut engine = Engine::with_options(EngineOptions::new().budget(budget));
        engine.create_context(0, ContextOptions::new().size(RANKS))?;
        Ok(Self {
            engine,
            network: VecDeque::new(),
            requests: Vec::new(),
            refused: 0,
        })
    }

    /// Takes packets off the network until it is empty, or the engine has no room.
    fn progress(&mut self) -> Result<(), Error> {
        while let Some(packet) = self.network.pop_front() {
            match self.engine.arrive(packet.envelope, packet) {
                Ok(Arrive::Matched {
                    receive, message, ..
                }) => self.complete(receive, &message),
                Ok(Arrive::Unexpected) => {}
                // A budget is used up: the packet comes back unchanged and waits before the others.
                Err(Refused {
                    error: Error::EntryBudget { .. } | Error::ByteBudget { .. },
                    payload,
                    ..
                }) => {
                    self.network.push_front(payload);
                    self.refused += 1;
                    return Ok(());
                }
                // An unknown context, or a rank out of range.
                Err(Refused { error, .. }) => return Err(error),
            }
        }
        Ok(())
    }

    /// Starts a receive.
    fn receive(&mut self, from: Source, tag: i32) -> Result<Request, Error> {
        let request = self.requests.len();
        self.requests.push(None);
        let posted = self.engine.post(MpiPattern::new(0, from, tag), request);
        match posted.map_err(Refused::into_error)? {
            Post::Matched { message, .. } => self.complete(request, &message),
            // The handle is for `Engine::cancel`.
            Post::Queued(_handle) => {}
        }
        Ok(request)
    }

    fn complete(&mut self, request: Request, packet: &Packet) {
        self.requests[request] = Some(packet.envelope.source());
    }
}

fn main() -> Result<(), Error> {
    let mut runtime = Runtime::new()?;
    for round in 0..ROUNDS {
        let tag = i32::try_from(round % 3).unwrap_or(0);
        for source in 0..RANKS {
            let envelope = MpiEnvelope::new(0, source, tag);
            let bytes = vec![0; 1 + round % 16];
            runtime.network.push_back(Packet { envelope, bytes });
        }
        runtime.progress()?;
        for rank in 0..RANKS {
            let from = if rank % 4 == 0 {
                Source::Any
            } else {
                rank.into()
            };
            runtime.receive(from, tag)?;
        }
        runtime.progress()?;
    }

    let complete = runtime.requests.iter().flatten().count();
    let (posted, unexpected) = (runtime.engine.posted_len(), runtime.engine.unexpected_len());
    let (waiting, refused) = (runtime.network.len(), runtime.refused);
    println!(
        "{complete} of {} requests complete, {posted} posted",
        runtime.requests.len()
    );
    println!("{unexpected} packets unexpected, {waiting} in the network, refused {refused} times");
    assert_eq!(
        complete + posted,
        runtime.requests.len(),
        "no request is lost"
    );
    assert_eq!(
        complete + unexpected + waiting,
        ROUNDS * RANKS as usize,
        "nor a packet"
    );
    assert!(refused > 0 && unexpected <= 5);
    Ok(())
}
