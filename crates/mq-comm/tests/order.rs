//! Random sends, receives, probes and cancels between a few processes keep MPI's order for each
//! sender, lose nothing and deliver nothing twice, with every structure and by every way.

mod common;

use common::watchdog;
use mq_comm::{Communicator, Options, Request, Source, TagSelector, World};
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
struct Wanted {
    at: u32,
    from: Option<u32>,
    tag: Option<i32>,
    request: Option<Request<Vec<u8>>>,
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

impl Wanted {
    fn matches(&self, message: &Message) -> bool {
        self.at == message.to
            && self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }

    fn is_waiting(&self) -> bool {
        self.request.is_some()
    }
}

struct Run {
    worlds: Vec<World>,
    sent: Vec<Message>,
    sending: Vec<Request<Vec<u8>>>,
    wanted: Vec<Wanted>,
}

fn source(from: Option<u32>) -> Source {
    from.map_or(Source::Any, Source::from)
}

fn selector(tag: Option<i32>) -> TagSelector {
    tag.map_or(TagSelector::Any, TagSelector::from)
}

impl Run {
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
                self.sent.push(message);
                let sending = self.at(from).isend(message.bytes(), to, tag).unwrap();
                self.sending.push(sending);
            }
            Step::Receive { at, from, tag } => {
                let request = self
                    .at(at)
                    .irecv(vec![0; 60_000], source(from), selector(tag))
                    .unwrap();
                self.want(at, from, tag, request);
            }
            Step::Take { at, from, tag } => {
                if let Some(taken) = self.at(at).improbe(source(from), selector(tag)).unwrap() {
                    let bytes = vec![0; taken.status().bytes() as usize];
                    let request = taken.irecv(bytes).unwrap();
                    self.want(at, from, tag, request);
                }
            }
            Step::Probe { at, from, tag } => {
                let found = self.at(at).iprobe(source(from), selector(tag)).unwrap();
                if let Some(status) = found {
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
                self.at(at).progress().unwrap();
                self.collect();
            }
        }
    }

    fn at(&self, rank: u32) -> &Communicator {
        &self.worlds[rank as usize]
    }

    fn want(&mut self, at: u32, from: Option<u32>, tag: Option<i32>, request: Request<Vec<u8>>) {
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
            if !request.test().unwrap() {
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
                world.progress().unwrap();
            }
        }
        self.collect();
    }

    /// Receives all that is left.
    fn drain(&mut self) {
        self.settle();
        loop {
            let got = self
                .wanted
                .iter()
                .filter(|wanted| wanted.got.is_some())
                .count();
            if got == self.sent.len() {
                break;
            }
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
                let options = Options::default().with(|o| {
                    o.structure = structure.into();
                    o.bypass = switches & 1 != 0;
                    o.fastbox = switches & 2 != 0;
                    o.single_copy = switches & 4 != 0;
                    o.eager_limit = [100, 16_000, 100_000][limit as usize];
                    o.single_copy_from = Some([0, 20_000, 40_000][limit as usize]);
                    o.unexpected_limit = [1 << 30, 0, 3_000][limit as usize];
                });
                let worlds = World::seats(size, &options)
                    .unwrap()
                    .into_iter()
                    .map(|seat| seat.take().unwrap())
                    .collect();
                let mut run = Run {
                    worlds,
                    sent: vec![],
                    sending: vec![],
                    wanted: vec![],
                };
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
