//! Random sends, receives, probes and cancels between a few processes keep MPI's order for each
//! sender, lose nothing and deliver nothing twice, with every structure and by every way.

#[path = "../common/mod.rs"]
mod common;
mod refused;

use common::{is_out_of_memory, watchdog};
use mq_comm::transport::Transport;
use mq_comm::{Communicator, Error, Options, Request, Source, TagSelector, World};
use mq_core::structures::Kind;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[derive(Debug, Clone)]
enum Step {
    Send {
        from: u32,
        to: u32,
        tag: i32,
        len: usize,
    },
    Receive {
        at: u32,
        from: Option<u32>,
        tag: Option<i32>,
    },
    Take {
        at: u32,
        from: Option<u32>,
        tag: Option<i32>,
    },
    Probe {
        at: u32,
        from: Option<u32>,
        tag: Option<i32>,
    },
    Cancel {
        at: u32,
        which: usize,
    },
    Progress {
        at: u32,
    },
    /// From now on memory is refused, or no longer.
    Refuse {
        at: u32,
        refuses: bool,
    },
}

fn steps(size: u32) -> impl Strategy<Value = Vec<Step>> {
    let rank = move || 0..size;
    let tag = || 0..3_i32;
    let from = move || proptest::option::weighted(0.7, 0..size);
    let any_tag = move || proptest::option::weighted(0.7, 0..3_i32);
    let len = prop_oneof![6 => 8_usize..40, 3 => 8_usize..400, 1 => 8_usize..60_000];
    let step = prop_oneof![
        6 => (rank(), rank(), tag(), len).prop_map(|(from, to, tag, len)| Step::Send { from, to, tag, len }),
        6 => (rank(), from(), any_tag()).prop_map(|(at, from, tag)| Step::Receive { at, from, tag }),
        1 => (rank(), from(), any_tag()).prop_map(|(at, from, tag)| Step::Take { at, from, tag }),
        1 => (rank(), from(), any_tag()).prop_map(|(at, from, tag)| Step::Probe { at, from, tag }),
        1 => (rank(), 0..8_usize).prop_map(|(at, which)| Step::Cancel { at, which }),
        3 => rank().prop_map(|at| Step::Progress { at }),
    ];
    proptest::collection::vec(step, 0..80)
}

/// A receive or matched probe, in the order in which its process made them.
struct Wanted<T: Transport> {
    at: u32,
    from: Option<u32>,
    tag: Option<i32>,
    request: Option<Request<Vec<u8>, T>>,
    cancelled: bool,
    got: Option<Message>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    from: u32,
    to: u32,
    tag: i32,
    number: u32,
    len: usize,
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..self.len)
            .map(|at| (at as u32 ^ self.number) as u8)
            .collect();
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4] = self.from as u8;
        bytes
    }
}

impl<T: Transport> Wanted<T> {
    fn matches(&self, message: &Message) -> bool {
        self.at == message.to
            && self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }

    fn is_waiting(&self) -> bool {
        self.request.is_some()
    }
}

struct Run<T: Transport> {
    worlds: Vec<World<T>>,
    sent: Vec<Message>,
    sending: Vec<Request<Vec<u8>, T>>,
    wanted: Vec<Wanted<T>>,
}

fn source(from: Option<u32>) -> Source {
    from.map_or(Source::Any, Source::from)
}

fn selector(tag: Option<i32>) -> TagSelector {
    tag.map_or(TagSelector::Any, TagSelector::from)
}

/// Unless memory was refused.
fn unless_refused<X>(result: Result<X, Error>) -> Option<X> {
    match result {
        Ok(done) => Some(done),
        Err(error) => {
            assert!(is_out_of_memory(&error), "{error}");
            None
        }
    }
}

impl<T: Transport> Run<T> {
    fn new(worlds: Vec<World<T>>) -> Self {
        Self {
            worlds,
            sent: vec![],
            sending: vec![],
            wanted: vec![],
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Send { from, to, tag, len } => {
                let number = self.sent.len() as u32;
                let message = Message {
                    from,
                    to,
                    tag,
                    number,
                    len,
                };
                let begun = self.at(from).isend(message.bytes(), to, tag);
                if let Some(sending) = unless_refused(begun.map_err(Error::from)) {
                    self.sent.push(message);
                    self.sending.push(sending);
                }
            }
            Step::Receive { at, from, tag } => {
                let begun = self
                    .at(at)
                    .irecv(vec![0; 60_000], source(from), selector(tag));
                if let Some(request) = unless_refused(begun.map_err(Error::from)) {
                    self.want(at, from, tag, request);
                }
            }
            Step::Take { at, from, tag } => {
                let taken = self.at(at).improbe(source(from), selector(tag));
                if let Some(taken) = unless_refused(taken).flatten() {
                    let bytes = vec![0; taken.status().bytes() as usize];
                    let request = taken.irecv(bytes).unwrap();
                    self.want(at, from, tag, request);
                }
            }
            Step::Probe { at, from, tag } => {
                let found = self.at(at).iprobe(source(from), selector(tag));
                if let Some(status) = unless_refused(found).flatten() {
                    assert!(from.is_none_or(|from| from == status.source()));
                    assert!(tag.is_none_or(|tag| tag == status.tag()));
                    let (source, tag) = (status.source(), status.tag());
                    let is_it = |message: &&Message| {
                        (message.from, message.to, message.tag) == (source, at, tag)
                    };
                    assert!(self.sent.iter().any(|message| is_it(&message)));
                }
            }
            Step::Cancel { at, which } => {
                let waiting = self
                    .wanted
                    .iter_mut()
                    .filter(|wanted| wanted.at == at && wanted.is_waiting());
                if let Some(wanted) = waiting.into_iter().nth(which) {
                    match wanted.request.take().unwrap().cancel() {
                        Ok(_) => wanted.cancelled = true,
                        Err(request) => wanted.request = Some(request),
                    }
                }
            }
            Step::Progress { at } => {
                unless_refused(self.at(at).progress());
                self.collect();
            }
            Step::Refuse { .. } => unreachable!("a matter of transports that do"),
        }
    }

    fn at(&self, rank: u32) -> &Communicator<T> {
        &self.worlds[rank as usize]
    }

    fn want(&mut self, at: u32, from: Option<u32>, tag: Option<i32>, request: Request<Vec<u8>, T>) {
        self.wanted.push(Wanted {
            at,
            from,
            tag,
            request: Some(request),
            cancelled: false,
            got: None,
        });
    }

    fn check(&self, bytes: &[u8], at: u32, from: u32, tag: i32) -> Message {
        let number = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let message = self.sent[number as usize];
        assert_eq!((message.to, message.from, message.tag), (at, from, tag));
        assert!(
            bytes == message.bytes(),
            "message {number} came as it was sent"
        );
        message
    }

    /// Takes the results of the receives that are complete.
    fn collect(&mut self) {
        for index in 0..self.wanted.len() {
            let Some(request) = self.wanted[index].request.take() else {
                continue;
            };
            if !unless_refused(request.test()).unwrap_or(false) {
                self.wanted[index].request = Some(request);
                continue;
            }
            let (bytes, status) = request.wait().unwrap();
            let bytes = &bytes[..status.bytes() as usize];
            let got = self.check(bytes, self.wanted[index].at, status.source(), status.tag());
            assert!(self.wanted[index].matches(&got));
            self.wanted[index].got = Some(got);
        }
    }

    fn settle(&mut self) {
        for _ in 0..60 {
            for world in &self.worlds {
                unless_refused(world.progress());
            }
        }
        self.collect();
    }

    /// Receives all that is left.
    fn drain(&mut self) {
        self.settle();
        for posted in 0.. {
            let got = self
                .wanted
                .iter()
                .filter(|wanted| wanted.got.is_some())
                .count();
            if got == self.sent.len() {
                break;
            }
            assert!(posted <= self.sent.len(), "messages are lost");
            let owed = |at: u32| {
                let to = self.sent.iter().filter(|message| message.to == at).count();
                let done = self
                    .wanted
                    .iter()
                    .filter(|wanted| wanted.at == at && wanted.got.is_some());
                to > done.count()
            };
            let at = (0..self.worlds.len() as u32).find(|&at| owed(at)).unwrap();
            self.step(&Step::Receive {
                at,
                from: None,
                tag: None,
            });
            self.settle();
        }
        for sending in self.sending.drain(..) {
            assert!(sending.test().unwrap(), "what was received has been sent");
        }
    }

    fn check_order(&self) {
        for (index, wanted) in self.wanted.iter().enumerate() {
            let Some(got) = wanted.got else { continue };
            for earlier in &self.sent[..got.number as usize] {
                if earlier.from != got.from || !wanted.matches(earlier) {
                    continue;
                }
                let by = self
                    .wanted
                    .iter()
                    .position(|other| other.got == Some(*earlier));
                assert!(
                    by.is_some_and(|by| by < index),
                    "message {} overtook {}",
                    got.number,
                    earlier.number
                );
            }
            for other in &self.wanted[..index] {
                assert!(
                    !other.is_waiting() || !other.matches(&got),
                    "message {} passed a receive that was posted before its own",
                    got.number
                );
            }
        }
    }
}

/// One of sixteen sets of switches, and of three limits.
fn options(switches: u32, limit: u32) -> Options {
    let limit = limit as usize;
    Options::default().with(|o| {
        o.bypass = switches & 1 != 0;
        o.fastbox = switches & 2 != 0;
        o.single_copy = switches & 4 != 0;
        o.eager_limit = [100, 16_000, 100_000][limit];
        o.single_copy_from = Some([0, 20_000, 40_000][limit]);
        o.unexpected_limit = [1 << 30, 0, 3_000][limit];
    })
}

#[test]
fn the_order_of_each_sender_is_kept() {
    let _dog = watchdog("the_order_of_each_sender_is_kept");
    for &structure in Kind::ALL {
        let mut runner = TestRunner::new(Config {
            cases: 100,
            failure_persistence: None,
            ..Config::default()
        });
        let all = (2_u32..=4).prop_flat_map(|size| (Just(size), steps(size), 0..16_u32, 0..3_u32));
        runner
            .run(&all, |(size, steps, switches, limit)| {
                let options = options(switches, limit).with(|o| o.structure = structure.into());
                let worlds = World::seats(size, &options)
                    .unwrap()
                    .into_iter()
                    .map(|seat| seat.take().unwrap())
                    .collect();
                let mut run = Run::new(worlds);
                for step in &steps {
                    run.step(step);
                }
                run.drain();
                run.check_order();
                Ok(())
            })
            .unwrap_or_else(|failure| panic!("{structure}: {failure}"));
    }
}
