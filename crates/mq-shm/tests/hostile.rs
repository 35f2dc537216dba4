//! Segments that are not what they should be, before they are opened and while they are used.
#![allow(unsafe_code, reason = "vouches for what the other end says")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use mq_shm::channel::Tuning;
use mq_shm::fastbox::BOX_PAYLOAD;
use mq_shm::wait::{Idle, Patience};
use mq_shm::{
    Arrival, CELL_PAYLOAD, Copied, Endpoint, Geometry, Mapped, Options, Policy, Process, Remote,
    RingId, ShmError, Stretch, words_of,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Reads what another endpoint of this thread has, or seems to.
fn read(
    reader: &mut Endpoint,
    from: Process,
    there: Remote,
    into: &mut [u8],
) -> Result<Copied, ShmError> {
    // SAFETY: nobody writes meanwhile.
    unsafe { reader.read(from, there, into) }
}

fn opened(file: &File) -> Result<Mapped, ShmError> {
    Mapped::open(OwnedFd::from(file.try_clone().unwrap()), "the file")
}

#[test]
fn what_is_not_a_segment_is_refused() {
    let mut file = tempfile::tempfile().unwrap();
    assert!(matches!(opened(&file), Err(ShmError::Foreign { .. })));
    file.write_all(&[b'x'; 8192]).unwrap();
    let error = opened(&file).unwrap_err().to_string();
    assert_eq!(
        error,
        "the file is not a segment of mq: it begins with 0x7878787878787878"
    );
    let directory = File::open("/").unwrap();
    assert!(opened(&directory).is_err());
}

#[test]
fn a_segment_of_another_version_or_length_is_refused() {
    let whole = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let mut head = [0; 256];
    let original = File::from(whole.file().try_clone_to_owned().unwrap());
    original.read_exact_at(&mut head, 0).unwrap();

    let mut short = tempfile::tempfile().unwrap();
    short.write_all(&head).unwrap();
    let error = opened(&short).unwrap_err().to_string();
    assert!(
        error.starts_with("the file is damaged: its length is 256"),
        "{error}"
    );

    let version = head[8];
    head[8] += 1;
    short.rewind().unwrap();
    short.write_all(&head).unwrap();
    let error = opened(&short).unwrap_err().to_string();
    let (theirs, ours) = (version + 1, version);
    let said = format!("the file has layout version {theirs}, this program has {ours}");
    assert!(error.starts_with(&said), "{error}");
}

#[test]
fn nobody_shortens_a_segment_that_others_use() {
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = File::from(segment.file().try_clone_to_owned().unwrap());
    assert!(file.set_len(4096).is_err());
}

#[test]
fn memory_that_can_not_be_read_is_an_answer() {
    let segment = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let other = Mapped::open(segment.file().try_clone_to_owned().unwrap(), "a copy").unwrap();
    let bytes = *b"in this very process";
    let alice = Endpoint::join(segment, Process(0), Options::default()).unwrap();
    let mut bob = Endpoint::join(other, Process(1), Options::default()).unwrap();
    let mut into = [0; 20];
    let there = alice.expose(&bytes);
    if read(&mut bob, Process(0), there, &mut into).unwrap() != Copied::All {
        common::untried("reading memory", common::NOT_READ);
        return;
    }
    assert_eq!(into, bytes);
    // What lies behind it in memory is no part of it.
    let shorter = alice.expose(&bytes[..19]);
    into.fill(0);
    let error = read(&mut bob, Process(0), shorter, &mut into).unwrap_err();
    assert!(matches!(
        error,
        ShmError::Corrupt {
            process: Process(0),
            ..
        }
    ));
    assert_eq!(into, [0; 20]);
    let nowhere = Remote {
        address: 16,
        bytes: 20,
        shared: None,
    };
    assert_eq!(
        read(&mut bob, Process(0), nowhere, &mut into).unwrap(),
        Copied::Refused(0)
    );
    // From then on the pair uses the ring.
    assert_eq!(
        read(&mut bob, Process(0), there, &mut into).unwrap(),
        Copied::Refused(0)
    );
    assert!(read(&mut bob, Process(9), there, &mut into).is_err());
}

/// Somebody who writes into a segment what nobody should.
struct Foreign {
    file: File,
    /// Where the words of each kind are.
    words: Vec<(&'static str, Vec<u64>)>,
    /// How often one of each kind was written.
    written: Mutex<BTreeMap<&'static str, u64>>,
}

impl Foreign {
    fn of(segment: &Mapped, geometry: &Geometry) -> Self {
        let mut words: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
        for (kind, at) in words_of(geometry) {
            words.entry(kind).or_default().push(at);
        }
        Self {
            file: File::from(segment.file().try_clone_to_owned().unwrap()),
            words: words.into_iter().collect(),
            written: Mutex::default(),
        }
    }

    /// Writes one word: a small number, or anything, or almost what is there.
    fn write(&self, random: &mut StdRng) {
        let (kind, places) = &self.words[random.random_range(0..self.words.len())];
        let at = places[random.random_range(0..places.len())];
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, at).unwrap();
        let word = match random.random_range(0..8_u32) {
            0 => random.random(),
            1 => u64::MAX,
            2..4 => random.random_range(0..20),
            _ => {
                let by = random.random_range(1..4);
                let word = u64::from_le_bytes(word);
                if random.random() {
                    word.wrapping_add(by)
                } else {
                    word.wrapping_sub(by)
                }
            }
        };
        // Many words are of four bytes only.
        let bytes = if random.random() { 4 } else { 8 };
        self.file
            .write_all_at(&word.to_le_bytes()[..bytes], at)
            .unwrap();
        *self.written.lock().unwrap().entry(*kind).or_default() += 1;
    }

    fn has_written(&self) -> bool {
        !self.written.lock().unwrap().is_empty()
    }
}

/// Two endpoints that send, receive and whatever else there is to do, over a segment into which
/// somebody writes. They may get wrong messages and errors; nothing else.
struct Run<'a> {
    foreign: &'a Foreign,
    members: [Endpoint; 2],
    random: StdRng,
    content: Vec<u8>,
    into: Vec<u8>,
    /// A message that both sides may copy, and where it goes.
    large: Vec<u8>,
    large_into: Vec<u8>,
    /// So many rounds more.
    left: u32,
    /// Messages that came after something was written.
    heard: u64,
}

impl<'a> Run<'a> {
    fn over(segment: &Mapped, foreign: &'a Foreign, seed: u64) -> Self {
        let tuning = Tuning::default().with(|o| o.box_after = 2);
        let patience = Patience::YIELDING.with(|p| {
            // No fewer, or nobody would be asked to help.
            p.spins = 3;
            p.yields = 0;
            p.sleep = Duration::from_micros(20);
        });
        let options = Options::default().with(|o| {
            o.policy = Policy::ALL[seed as usize % 4];
            o.tuning = tuning;
            o.patience = Some(patience);
        });
        let members = [0, 1].map(|me| {
            let copy = segment.file().try_clone_to_owned().unwrap();
            let memory = Mapped::open(copy, "a copy").unwrap();
            Endpoint::join(memory, Process(me), options).unwrap()
        });
        Self {
            foreign,
            members,
            random: StdRng::seed_from_u64(seed),
            content: vec![7; 30_000],
            into: vec![0; 40_000],
            large: vec![7; 150_000],
            large_into: vec![0; 150_000],
            left: 100,
            heard: 0,
        }
    }

    /// Goes on until the queue of one is damaged, behind which all others are lost, or a little longer
    /// than until one is taken for dead. What is written is written between two rounds, or meanwhile
    /// by somebody else.
    fn go_on(&mut self, writes: bool) {
        while self.left > 0 {
            self.left -= 1;
            if writes && self.random.random_ratio(1, 4) {
                for _ in 0..self.random.random_range(1..4_u32) {
                    self.foreign.write(&mut self.random);
                }
            }
            let from = self.random.random_range(0..2_usize);
            self.talk(from);
            self.use_rings(from);
            self.read(from);
            self.read_together(from);
            let receiver = &mut self.members[1 - from];
            receiver.check_peers();
            let _ = receiver.cells_out();
            let _ = self.members[from].cells_out();
            if self.random.random_ratio(1, 8) {
                let _ = self.members[from].rest(&mut Idle::default());
            }
        }
    }

    /// Not always is all received at once, so that there is something to be damaged.
    fn talk(&mut self, from: usize) {
        let longest = [BOX_PAYLOAD, CELL_PAYLOAD, self.content.len()];
        let longest = longest[self.random.random_range(0..longest.len())];
        let message = &self.content[..self.random.random_range(0..=longest)];
        let to = if self.random.random_ratio(1, 16) {
            Process(self.random.random_range(0..3))
        } else {
            Process(1 - from as u32)
        };
        let _ = self.members[from].try_send(to, [1, 2], message, 0);
        for _ in 0..self.random.random_range(0..4_u32) {
            match self.members[1 - from].poll() {
                Ok(Some(Arrival::Message(mut message))) => {
                    message.copy_to(&mut self.into);
                    self.heard += u64::from(self.foreign.has_written());
                }
                Ok(Some(Arrival::Gone(..))) => self.left = self.left.min(10),
                Ok(None) => break,
                Err(_) => self.left = 0,
            }
        }
    }

    /// A message through a ring, and now and then whatever else there is to do with one: what is
    /// promised and never filled is in the way of all later messages.
    fn use_rings(&mut self, from: usize) {
        let random = &mut self.random;
        let other = 1 - from;
        let [sender, receiver] = [from, other].map(|number| Process(number as u32));
        let message = &self.content[..random.random_range(0..20_000)];
        let into = &mut self.into[..message.len()];
        if let Ok(Some((ring, first))) = self.members[from].take_ring(receiver, message.len()) {
            // SAFETY: both ends are of one thread.
            let stretch = unsafe { Stretch::new(sender, ring, first, 0) };
            let _ = self.members[from].push(stretch, message, 0);
            let _ = self.members[other].pull(sender, stretch, into, 0);
            self.members[from].free_ring(ring);
        }
        if !random.random_ratio(1, 16) {
            return;
        }
        let ring = RingId(random.random_range(0..6));
        let first = random.random::<u64>() >> random.random_range(0..64);
        let owner = Process(random.random_range(0..3));
        // SAFETY: as above.
        let stretch = unsafe { Stretch::new(owner, ring, first, 0) };
        let at = &mut self.members[other];
        let _ = at.pull(sender, stretch, into, 0);
        let _ = at.push(stretch, message, 0);
        let _ = at.lend_ring(sender, 20_000);
        let _ = at.take_ring(Process(random.random_range(0..2)), 20_000);
        let _ = at.take_ring_with_room(Process(random.random_range(0..5)), 20_000);
        let _ = at.pass(sender, stretch, 40_000, random.random_range(0..50_000));
        at.free_ring(ring);
    }

    /// Bytes of the other's memory, and of its shared buffers, where they are and where they are not.
    fn read(&mut self, from: usize) {
        let random = &mut self.random;
        let sender = Process(from as u32);
        let exposed = &self.content[..random.random_range(0..5_000)];
        let there = self.members[from].expose(exposed);
        let receiver = &mut self.members[1 - from];
        let _ = read(receiver, sender, there, &mut self.into[..exposed.len()]);
        let there = Remote {
            address: 0,
            bytes: random.random_range(0..80_000),
            shared: Some(random.random::<u64>() >> random.random_range(0..64)),
        };
        let room = random.random_range(0..self.into.len());
        let _ = read(receiver, sender, there, &mut self.into[..room]);
    }

    /// A message that both sides may copy: what the sender does comes too late, whatever the segment says.
    /// (Both are of one thread here, so that none is at work while the other waits.)
    fn read_together(&mut self, from: usize) {
        if !self.random.random_ratio(1, 8) {
            return;
        }
        let [sender, receiver] = [from, 1 - from].map(|number| Process(number as u32));
        let room = self.random.random_range(60_000..self.large_into.len());
        let into = &mut self.large_into[..room];
        let there = self.members[from].expose(&self.large);
        // SAFETY: both ends are of one thread.
        let _ = unsafe { self.members[1 - from].read_together(sender, there, into, [3, 4]) };
        self.large_into.fill(1);
        for number in 0..20_u64 {
            let helped = self.members[from].help(receiver, &self.large, number.to_le_bytes());
            assert_eq!(helped.unwrap(), 0);
        }
        assert!(self.large_into.iter().all(|&byte| byte == 1));
    }
}

/// As long as this is going on, somebody writes one word after the other from another thread.
fn beside(foreign: &Foreign, seed: u64, going_on: impl FnOnce()) {
    const PAUSE: Duration = Duration::from_micros(30);
    let (goes_on, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut random = StdRng::seed_from_u64(!seed);
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                foreign.write(&mut random);
            }
        });
        going_on();
        drop(goes_on);
    });
}

#[test]
fn bytes_that_nobody_should_have_written_do_no_harm() {
    const RUNS: u64 = 240;
    /// Fewer runs are enough where each takes long, once all is so that is asserted in the end.
    const ENOUGH: Duration = Duration::from_secs(6);
    const LEAST_HEARD: u64 = 100;
    let _dog = common::watchdog(300);
    let geometry = Geometry::with_cells(2, 8).unwrap();
    let words = words_of(&geometry).into_iter();
    let kinds: BTreeSet<&str> = words.map(|(kind, _)| kind).collect();
    let begun = Instant::now();
    let mut written: BTreeMap<&str, u64> = BTreeMap::new();
    // Between the calls, and while they run.
    let mut heard = [0; 2];
    for seed in 0..RUNS {
        let has_all = kinds.iter().all(|kind| written.contains_key(kind))
            && heard.iter().all(|&heard| heard > LEAST_HEARD);
        if has_all && begun.elapsed() >= ENOUGH {
            break;
        }
        let segment = Mapped::create(geometry).unwrap();
        let foreign = Foreign::of(&segment, &geometry);
        let mut run = Run::over(&segment, &foreign, seed);
        let is_beside = seed % 2 == 1;
        if is_beside {
            beside(&foreign, seed, || run.go_on(false));
        } else {
            run.go_on(true);
        }
        heard[usize::from(is_beside)] += run.heard;
        drop(run);
        for (kind, times) in foreign.written.into_inner().unwrap() {
            *written.entry(kind).or_default() += times;
        }
    }
    println!("written: {written:?}; messages received after that: {heard:?}");
    for kind in kinds {
        assert!(written.contains_key(kind), "{kind} were not written");
    }
    let is_heard = heard.iter().all(|&heard| heard > LEAST_HEARD);
    assert!(is_heard, "{heard:?}");
}
