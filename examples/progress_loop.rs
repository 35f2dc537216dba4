//! A progress loop as a runtime would write it: packets come from a network, requests from the
//! program, and the engine matches them. A packet for which the engine has no room stays in the
//! network, before all others of its sender, and is tried again; packets of other senders, for which
//! receives may be posted, do not wait for it. Nothing is lost: that is flow control.
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
    /// The packets of each rank that are on their way, in order.
    network: Vec<VecDeque<Packet>>,
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
            network: (0..RANKS).map(|_| VecDeque::new()).collect(),
            requests: Vec::new(),
            refused: 0,
        })
    }

    /// A packet of a rank begins its way.
    fn send(&mut self, source: u32, tag: i32, bytes: usize) {
        let envelope = MpiEnvelope::new(0, source, tag);
        let bytes = vec![0; bytes];
        self.network[source as usize].push_back(Packet { envelope, bytes });
    }

    /// Takes packets of each rank off the network until there are no more, or the engine has no room for
    /// the next.
    fn progress(&mut self) -> Result<(), Error> {
        for rank in 0..self.network.len() {
            while let Some(packet) = self.network[rank].pop_front() {
                match self.engine.arrive(packet.envelope, packet) {
                    Ok(Arrive::Matched {
                        receive, message, ..
                    }) => self.complete(receive, &message),
                    Ok(Arrive::Unexpected) => {}
                    // A budget is used up: the packet comes back unchanged, and those behind it wait, since
                    // packets of one rank may not overtake each other.
                    Err(Refused { error, payload, .. }) if error.is_over_budget() => {
                        self.network[rank].push_front(payload);
                        self.refused += 1;
                        break;
                    }
                    // An unknown context, or a rank out of range.
                    Err(Refused { error, .. }) => return Err(error),
                }
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
            runtime.send(source, tag, 1 + round % 16);
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
    let waiting: usize = runtime.network.iter().map(VecDeque::len).sum();
    let refused = runtime.refused;
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
    nobody_waits_for_another()
}

/// Rank 0 sends more than there is room for, and nobody receives it before what comes from rank 1.
fn nobody_waits_for_another() -> Result<(), Error> {
    let mut runtime = Runtime::new()?;
    for _ in 0..6 {
        runtime.send(0, 1, 1);
    }
    runtime.send(1, 7, 1);
    runtime.progress()?;
    assert_eq!(
        runtime.refused, 2,
        "the sixth of rank 0, and that of rank 1"
    );
    let request = runtime.receive(1.into(), 7)?;
    runtime.progress()?;
    assert_eq!(runtime.requests[request], Some(Rank(1)));
    Ok(())
}
