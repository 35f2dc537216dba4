//! A program for several processes that talk to each other by every way there is, and check what
//! they hear.
#![allow(dead_code, reason = "each test uses a part")]

#[path = "../../src/untried.rs"]
mod untried;

use std::env;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use mq_shm::channel::Tuning;
use mq_shm::liveness::Gone;
use mq_shm::wait::{Idle, Patience};
use mq_shm::{
    Arrival, Block, Copied, Endpoint, Mapped, Options, Policy, Process, Pulled, Pushed, Remote,
    RingId, Sent, Stretch,
};
#[allow(unused_imports, reason = "each test uses a part")]
pub(crate) use untried::{NOT_READ, dev_shm_is_there, untried};

/// Ends the whole program if the test that holds it takes too long.
#[must_use]
pub(crate) struct Watchdog(#[expect(dead_code, reason = "only dropped")] Sender<()>);

/// Begins to watch a test.
pub(crate) fn watchdog(seconds: u64) -> Watchdog {
    let time = at_most(seconds);
    let (held, dropped) = channel();
    std::thread::spawn(move || {
        // Nothing is ever sent.
        let ended = dropped.recv_timeout(time);
        if ended == Err(RecvTimeoutError::Timeout) {
            let test = env::args().collect::<Vec<_>>().join(" ");
            eprintln!("{test} hangs (on a slow machine: MQ_SLOWER=5)");
            std::process::abort();
        }
    });
    Watchdog(held)
}

/// How many times slower than usual this machine is (`MQ_SLOWER`), such as one that is emulated: what hangs elsewhere
/// may be under way there.
pub(crate) fn slower() -> u64 {
    let said = env::var("MQ_SLOWER").ok();
    said.map_or(1, |times| times.parse().expect("MQ_SLOWER is a number"))
}

/// So many seconds, or as many times that as this machine is slower than usual.
pub(crate) fn at_most(seconds: u64) -> Duration {
    Duration::from_secs(seconds * slower())
}

/// Starts this program again as process `me` of a segment, to run the test `test`.
pub(crate) fn spawn(segment: &Mapped, test: &str, me: u32, settings: &[(&str, &str)]) -> Child {
    let file = segment.inheritable().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env("MQ_TEST_FILE", file.as_raw_fd().to_string())
        .env("MQ_TEST_PROCESS", me.to_string())
        .env_remove("MQ_DIE")
        .envs(settings.iter().copied())
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

/// The endpoint of a process that was started by [`spawn`]; nothing in the test itself.
pub(crate) fn spawned(options: Options) -> Option<Endpoint> {
    let number = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
    let (file, me) = (number("MQ_TEST_FILE")?, number("MQ_TEST_PROCESS")?);
    let memory = Mapped::inherited(file, "the test's segment").unwrap();
    Some(Endpoint::join(memory, Process(me), options).unwrap())
}

/// Fastboxes after three messages, and sleep at the first occasion.
pub(crate) fn options(policy: Policy, single_copy: bool) -> Options {
    let tuning = Tuning::default().with(|o| o.box_after = 3);
    let patience = Patience::YIELDING.with(|p| (p.spins, p.yields) = (3, 1));
    Options::default().with(|o| {
        o.policy = policy;
        o.tuning = tuning;
        o.single_copy = single_copy;
        o.patience = Some(patience);
    })
}

/// Kinds of messages, in the second word of the header.
const PLAIN: u64 = 0;
const LARGE: u64 = 1;
const NO_COPY: u64 = 2;
const RING: u64 = 3;
const FINISHED: u64 = 4;
/// A process has said and heard everything, for tests in which all wait until the others have too. It
/// may come while the other is still talking.
pub(crate) const THROUGH: u64 = 5;

/// A large message is being read: its sender may copy a part.
const HELP: u64 = 6;

const LARGE_BYTES: usize = 700_000;
/// No place among the shared buffers.
const NOWHERE: u64 = u64::MAX;

fn bytes(number: u64) -> Vec<u8> {
    let len = match number % 7 {
        0 => 0,
        1 => 8,
        2 => 33,
        3 => 200,
        4 => 5_000,
        5 => 40_000,
        _ => return vec![number as u8; LARGE_BYTES],
    };
    vec![number as u8; len]
}

/// What is under way with another process.
#[derive(Default)]
struct Peer {
    gone: Option<Gone>,
    /// Answers that are due to it, before anything else.
    answers: Vec<([u64; 2], Vec<u8>)>,
    sent: u64,
    /// What is being sent, as far as it has been.
    message: Option<(Vec<u8>, usize)>,
    /// What it is to read, until it has.
    large: Option<Large>,
    /// The stretch, once there is one, and the bytes that are through.
    pushing: Option<(Option<Stretch>, usize)>,
    received: u64,
    part: Vec<u8>,
    pulling: Option<Pull>,
    bulk: Vec<u8>,
    refused: bool,
    through: bool,
}

/// A large message that another is to read.
enum Large {
    Own(Vec<u8>),
    /// In a shared buffer.
    Shared(Block),
}

impl Large {
    /// Every other one is in a shared buffer, of neighbours in turn, so that one finds its ring
    /// empty when the other asks.
    fn new(endpoint: &mut Endpoint, number: u64, message: Vec<u8>) -> Self {
        if (number + u64::from(endpoint.me().0)).is_multiple_of(2) {
            return Self::Own(message);
        }
        let block = endpoint.allocate(message.len()).unwrap();
        // SAFETY: the block has so many bytes, and nobody knows of them yet.
        #[allow(unsafe_code)]
        unsafe {
            block.address().copy_from_nonoverlapping(
                core::ptr::NonNull::from(&message[..]).cast(),
                message.len(),
            );
        }
        Self::Shared(block)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(message) => message,
            // SAFETY: the block has so many bytes, and its endpoint is still there.
            #[allow(unsafe_code)]
            Self::Shared(block) => unsafe {
                core::slice::from_raw_parts(block.address().as_ptr(), block.len())
            },
        }
    }
}

/// A large message that comes through a ring, but for its first bytes.
struct Pull {
    /// Where, once that is known.
    stretch: Option<Stretch>,
    skipped: usize,
    done: usize,
}

/// What a process has heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) messages: u64,
    pub(crate) gone: Option<Gone>,
    /// The kernel did not let this process read the other's memory.
    pub(crate) refused: bool,
    /// The other has said that it is through.
    pub(crate) through: bool,
}

/// Sleeps until something comes, or for a short time, whatever there is to do: the patience of
/// [`options`] has an end at the fifth look.
fn nap(endpoint: &mut Endpoint) {
    let mut idle = Idle::default();
    for _ in 0..5 {
        endpoint.rest(&mut idle).unwrap();
    }
}

/// Sends `count` messages to each other process and receives as many, as long as they live.
pub(crate) fn talk(endpoint: &mut Endpoint, count: u64) -> Vec<Heard> {
    let processes = endpoint.geometry().processes();
    let me = endpoint.me();
    let mut peers: Vec<Peer> = (0..processes).map(|_| Peer::default()).collect();
    endpoint.want(None).unwrap();
    let mut idle = Idle::default();
    let mut looked = Instant::now();
    let mut moves = 0_u32;
    loop {
        let mut moved = hear(endpoint, &mut peers);
        let mut done = true;
        for number in (0..processes).filter(|&number| number != me.0) {
            let peer = &mut peers[number as usize];
            if peer.gone.is_none() {
                moved |= go_on(endpoint, Process(number), peer, count);
            }
            let spoken = peer.sent == count && peer.message.is_none() && peer.answers.is_empty();
            let settled = peer.large.is_none() && peer.pushing.is_none();
            done &= peer.gone.is_some() || (spoken && settled && peer.received == count);
        }
        if done {
            return peers
                .into_iter()
                .map(|peer| Heard {
                    messages: peer.received,
                    gone: peer.gone,
                    refused: peer.refused,
                    through: peer.through,
                })
                .collect();
        }
        if moved {
            idle.reset();
            // On a busy machine there is always something to do.
            moves += 1;
            if moves.is_multiple_of(8) {
                nap(endpoint);
            }
        } else {
            endpoint.rest(&mut idle).unwrap();
        }
        if looked.elapsed() > Duration::from_millis(5) {
            endpoint.check_peers();
            looked = Instant::now();
        }
    }
}

fn stretch_of(owner: Process, (ring, first): (RingId, u64), skipped: usize) -> Stretch {
    // SAFETY: it is what the other end has said of this message, once.
    #[allow(unsafe_code, reason = "vouches for the talk below")]
    unsafe {
        Stretch::new(owner, ring, first, skipped)
    }
}

fn hear(endpoint: &mut Endpoint, peers: &mut [Peer]) -> bool {
    let (from, kind) = match endpoint.poll().unwrap() {
        None => return false,
        Some(Arrival::Gone(process, how)) => {
            let peer = &mut peers[process.index()];
            *peer = Peer {
                received: peer.received,
                gone: Some(how),
                refused: peer.refused,
                ..Peer::default()
            };
            return true;
        }
        Some(Arrival::Message(mut message)) => {
            let peer = &mut peers[message.source().index()];
            assert_eq!(message.offset(), peer.part.len() as u64);
            message.append_to(&mut peer.part);
            if (peer.part.len() as u64) < message.total() {
                return true;
            }
            (message.source(), message.header())
        }
    };
    let peer = &mut peers[from.index()];
    let content = std::mem::take(&mut peer.part);
    let word = |at: usize| u64::from_ne_bytes(content[at * 8..at * 8 + 8].try_into().unwrap());
    match kind[1] {
        PLAIN => {
            assert_eq!(kind[0], peer.received, "from {from}");
            assert_eq!(content, bytes(peer.received), "from {from}");
            peer.received += 1;
        }
        LARGE => {
            assert_eq!(kind[0], peer.received, "from {from}");
            peer.bulk = vec![0; word(1) as usize];
            let remote = Remote {
                address: word(0),
                bytes: word(1),
                shared: (word(2) != NOWHERE).then_some(word(2)),
            };
            let is_between = peer.message.as_ref().is_none_or(|(_, done)| *done == 0);
            let into = &mut peer.bulk;
            #[allow(unsafe_code, reason = "vouches for the talk below")]
            let read = if is_between {
                // SAFETY: it stays as it is until it is answered.
                unsafe { endpoint.read_together(from, remote, into, [0, HELP]) }
            } else {
                // SAFETY: as above.
                unsafe { endpoint.read(from, remote, into) }
            };
            match read.unwrap() {
                Copied::All => received_large(peer),
                Copied::Refused(done) => {
                    peer.refused = true;
                    let lent = endpoint.lend_ring(from, peer.bulk.len() - done);
                    let stretch = lent.map(|given| stretch_of(endpoint.me(), given, done));
                    let content = lent.map(named).unwrap_or_default();
                    peer.answers.push(([done as u64, NO_COPY], content));
                    peer.pulling = Some(Pull {
                        stretch,
                        skipped: done,
                        done,
                    });
                }
            }
        }
        NO_COPY => {
            let skipped = kind[0] as usize;
            let lent = (!content.is_empty())
                .then(|| stretch_of(from, (RingId(word(0) as u32), word(1)), skipped));
            peer.pushing = Some((lent, skipped));
        }
        RING => {
            let pull = peer.pulling.as_mut().expect("it was asked for");
            let given = (RingId(word(0) as u32), word(1));
            pull.stretch = Some(stretch_of(from, given, pull.skipped));
        }
        HELP => {
            if let Some(large) = &peer.large {
                let asked = content.try_into().expect("eight bytes");
                endpoint.help(from, large.bytes(), asked).unwrap();
            }
        }
        FINISHED => {
            peer.large = None;
            if let Some((Some(stretch), _)) = peer.pushing.take()
                && stretch.owner() == endpoint.me()
            {
                // Unless it is lent by now.
                endpoint.free_ring(stretch.ring());
            }
        }
        THROUGH => peer.through = true,
        other => panic!("a message of kind {other}"),
    }
    true
}

/// A ring and a number, as they are told to another.
fn named((ring, first): (RingId, u64)) -> Vec<u8> {
    [u64::from(ring.0), first].map(u64::to_ne_bytes).concat()
}

fn received_large(peer: &mut Peer) {
    assert_eq!(peer.bulk, bytes(peer.received));
    peer.received += 1;
    peer.bulk.clear();
    peer.answers.push(([0, FINISHED], Vec::new()));
}

/// Does what can be done with a process at present.
fn go_on(endpoint: &mut Endpoint, to: Process, peer: &mut Peer, count: u64) -> bool {
    move_large(endpoint, to, peer);
    if peer.message.is_none() && !peer.answers.is_empty() {
        let (header, content) = peer.answers[0].clone();
        // An answer fits a cell.
        if send(endpoint, to, header, &content, 0) == Some(content.len()) {
            peer.answers.remove(0);
            return true;
        }
        return false;
    }
    if peer.large.is_some() || peer.sent == count {
        return false;
    }
    let (message, done) = peer.message.get_or_insert_with(|| (bytes(peer.sent), 0));
    if message.len() == LARGE_BYTES {
        let large = Large::new(endpoint, peer.sent, std::mem::take(message));
        let remote = endpoint.expose(large.bytes());
        let place = remote.shared.unwrap_or(NOWHERE);
        let content = [remote.address, remote.bytes, place]
            .map(u64::to_ne_bytes)
            .concat();
        peer.message = None;
        if send(endpoint, to, [peer.sent, LARGE], &content, 0) != Some(content.len()) {
            return false;
        }
        peer.large = Some(large);
        peer.sent += 1;
        return true;
    }
    let before = *done;
    match send(endpoint, to, [peer.sent, PLAIN], message, *done) {
        Some(now) if now == message.len() => {
            peer.message = None;
            peer.sent += 1;
            true
        }
        Some(now) => {
            *done = now;
            now > before
        }
        None => false,
    }
}

fn move_large(endpoint: &mut Endpoint, to: Process, peer: &mut Peer) {
    if let Some((stretch, done)) = peer.pushing {
        let message = peer.large.as_ref().expect("it is not finished").bytes();
        if let Some(stretch) = stretch {
            peer.pushing = match endpoint.push(stretch, message, done) {
                Ok(Pushed::Upto(done)) => Some((Some(stretch), done)),
                Ok(Pushed::All) => Some((Some(stretch), message.len())),
                Err(_) => None,
            };
        } else if let Ok(Some((ring, first))) = endpoint.take_ring(to, message.len() - done) {
            peer.answers.push(([0, RING], named((ring, first))));
            let stretch = stretch_of(endpoint.me(), (ring, first), done);
            peer.pushing = Some((Some(stretch), done));
        }
    }
    if let Some(pull) = &mut peer.pulling
        && let Some(stretch) = pull.stretch
    {
        let into = &mut peer.bulk;
        match endpoint.pull(to, stretch, into, pull.done).unwrap() {
            Pulled::All => {
                peer.pulling = None;
                if stretch.owner() == endpoint.me() {
                    endpoint.free_ring(stretch.ring());
                }
                received_large(peer);
            }
            Pulled::Upto(done) => pull.done = done,
        }
    }
}

/// How much of a message has been sent; nothing to one that has ended, which will be heard of.
fn send(
    endpoint: &mut Endpoint,
    to: Process,
    header: [u64; 2],
    content: &[u8],
    done: usize,
) -> Option<usize> {
    match endpoint.try_send(to, header, content, done) {
        Ok(Sent::Whole) => Some(content.len()),
        Ok(Sent::Upto(sent)) if content.is_empty() => (sent > 0).then_some(0),
        Ok(Sent::Upto(sent)) => Some(sent),
        Err(mq_shm::ShmError::Gone { .. }) => None,
        Err(error) => panic!("to {to}: {error}"),
    }
}
