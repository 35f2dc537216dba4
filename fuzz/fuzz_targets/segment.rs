#![no_main]
//! Two endpoints keep sending and receiving while someone writes into their segment: wrong messages and
//! errors are allowed, and nothing else.

use std::fs::File;
use std::os::unix::fs::FileExt;

use libfuzzer_sys::arbitrary::{self, Unstructured};
use libfuzzer_sys::fuzz_target;
use mq_shm::wait::{Idle, Patience};
use mq_shm::{
    Arrival, Block, Endpoint, Geometry, Mapped, Options, Peeked, Policy, Process, Remote, RingId,
    Sent, Stretch, words_of,
};

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok(policy) = input.choose(Policy::ALL) else {
        return;
    };
    let mut run = Run::new(*policy);
    while !input.is_empty() {
        if run.step(&mut input).is_err() {
            return;
        }
    }
});

/// Bytes of the shared buffers of each process.
const BUFFERS: u64 = 1 << 18;
/// Bytes of the longest message.
const LONGEST: usize = 200_000;
/// Bytes of this process, of which each member is to read them from the other.
static HERE: [u8; 100] = [7; 100];
/// Processes to which something is sent: one that never joins, and one outside the segment, too.
const ADDRESSED: u32 = 4;

struct Run {
    geometry: Geometry,
    file: File,
    /// Where the words are that processes look at.
    words: Vec<u64>,
    members: Vec<Endpoint>,
    /// Of each member to each process, the length of a message of which a part has gone, and that part.
    unsent: [[Option<(usize, usize)>; ADDRESSED as usize]; 2],
    peeked: [Option<Peeked>; 2],
    idle: [Idle; 2],
    buffer: Vec<u8>,
    blocks: Vec<Block>,
}

impl Run {
    fn new(policy: Policy) -> Self {
        let geometry = Geometry::with_cells(3, 3).expect("it is a small one");
        let geometry = geometry.with_buffers(BUFFERS).expect("they are few");
        let segment = Mapped::create(geometry).expect("there is memory");
        let another = || {
            let file = segment.file().try_clone_to_owned();
            file.expect("one more descriptor")
        };
        // Nobody is waited for.
        let patience = Patience::YIELDING.with(|p| {
            (p.spins, p.yields) = (1, 1);
            p.sleep = std::time::Duration::from_micros(1);
        });
        let options = Options::default().with(|o| {
            o.policy = policy;
            o.patience = Some(patience);
        });
        let join = |me| {
            let memory = Mapped::open(another(), "a copy").expect("it is as it was made");
            Endpoint::join(memory, Process(me), options).expect("it is the first")
        };
        Self {
            geometry,
            file: File::from(another()),
            words: words_of(&geometry).into_iter().map(|(_, at)| at).collect(),
            members: (0..2).map(join).collect(),
            unsent: [[None; ADDRESSED as usize]; 2],
            peeked: [None; 2],
            idle: [Idle::default(); 2],
            buffer: vec![0; LONGEST],
            blocks: Vec::new(),
        }
    }

    fn step(&mut self, input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        let step = input.arbitrary::<u8>()?;
        let (at, step) = (usize::from(step & 1), step >> 1);
        match step {
            120.. => self.share(step, at, input),
            112.. => self.wait_for(step, at, input),
            96.. => self.look(step, at),
            _ => self.exchange(step, at, input),
        }
    }

    /// Shared buffers are allocated, freed, and read at valid and invalid places.
    fn share(
        &mut self,
        step: u8,
        at: usize,
        input: &mut Unstructured<'_>,
    ) -> arbitrary::Result<()> {
        match step % 4 {
            0 => {
                // Sizes that fit and sizes that do not.
                let fewer = if step & 4 == 0 { 16 } else { 0 };
                let bytes = usize::try_from(input.arbitrary::<u32>()? >> fewer).unwrap_or(0);
                self.blocks.extend(self.members[at].allocate(bytes).ok());
            }
            1 if !self.blocks.is_empty() => {
                let which = usize::from(input.arbitrary::<u8>()?) % self.blocks.len();
                drop(self.blocks.swap_remove(which));
            }
            // Bytes of a region of any process.
            2 => {
                let word: [u8; 8] = input.arbitrary()?;
                let into = u64::from(input.arbitrary::<u32>()?) % (BUFFERS * 3 - 8);
                let _ = self
                    .file
                    .write_all_at(&word, self.geometry.bytes() as u64 + into);
            }
            _ => {
                let from = Process(u32::from(input.arbitrary::<u8>()?) % ADDRESSED);
                let there = Remote {
                    address: 0,
                    bytes: input.arbitrary::<u64>()? >> (input.arbitrary::<u8>()? % 64),
                    shared: Some(input.arbitrary::<u64>()? >> (input.arbitrary::<u8>()? % 64)),
                };
                let room = (4 * usize::from(input.arbitrary::<u16>()?)).min(LONGEST);
                let into = &mut self.buffer[..room];
                // SAFETY: both ends are of one thread.
                let _ = unsafe { self.members[at].read_together(from, there, into, [3, 4]) };
                // Nobody has an offer at this point, whatever the segment says.
                let helped = self.members[at].help(from, &self.buffer, input.arbitrary()?);
                assert!(matches!(helped, Ok(0) | Err(_)));
            }
        }
        Ok(())
    }

    /// What an endpoint looks for is wanted, and found through the fastest paths.
    fn wait_for(
        &mut self,
        step: u8,
        at: usize,
        input: &mut Unstructured<'_>,
    ) -> arbitrary::Result<()> {
        let member = &mut self.members[at];
        let choice = input.arbitrary::<u8>()?;
        let process = Process(u32::from(choice) % ADDRESSED);
        let into = &mut self.buffer[..usize::from(choice) * 4];
        match step % 4 {
            0 => {
                let wanted = (choice & 4 == 0).then_some(process);
                if choice & 8 == 0 {
                    let _ = member.want(wanted);
                } else {
                    member.unwant(wanted);
                }
            }
            1 => {
                if let Some(message) = member.poll_wanted() {
                    let _ = (message.source(), message.header());
                    message.copy_to(into);
                }
            }
            2 => {
                if let Some(message) = member.poll_short_from(process) {
                    message.copy_to(into);
                }
            }
            _ => {
                if let Ok(Some(Arrival::Message(mut message))) = member.poll_waiting() {
                    let _ = (message.source(), message.header(), message.total());
                    let mut kept = Vec::new();
                    message.append_to(&mut kept);
                }
            }
        }
        Ok(())
    }

    /// Looks that take nothing, and waits that find nothing.
    fn look(&mut self, step: u8, at: usize) -> arbitrary::Result<()> {
        let (member, idle) = (&mut self.members[at], &mut self.idle[at]);
        match step % 8 {
            0 => self.peeked[at] = member.peek_wanted(),
            1 => {
                let _ = self.peeked[at].map(|peeked| member.is_due(peeked));
            }
            2 => {
                if let Some(message) = member.poll_wanted_by_turns() {
                    message.copy_to(&mut self.buffer);
                }
            }
            3 => {
                let _ = member.rest(idle);
            }
            4 => {
                let _ = member.rest_briefly(idle);
            }
            5 => member.give_way(idle),
            6 => {
                let _ = (member.watch_wanted(idle), member.watch_to_peek(idle));
            }
            // What the other has in its own memory, which is this process's too.
            _ => {
                let mut into = [0; 100];
                let there = self.members[1 - at].expose(&HERE);
                // SAFETY: nobody writes meanwhile.
                let _ = unsafe { self.members[at].read(Process(1 - at as u32), there, &mut into) };
            }
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        step: u8,
        at: usize,
        input: &mut Unstructured<'_>,
    ) -> arbitrary::Result<()> {
        let buffer = &mut self.buffer;
        match step % 6 {
            0 => {
                let len = usize::from(input.arbitrary::<u16>()?);
                let to = u32::from(input.arbitrary::<u8>()?) % ADDRESSED;
                // The rest of a message comes before anything else.
                let unsent = &mut self.unsent[at][to as usize];
                let (len, done) = unsent.take().unwrap_or((len, 0));
                let message = &buffer[..len];
                let sent = self.members[at].try_send(Process(to), [1, 2], message, done);
                if let Ok(Sent::Upto(done @ 1..)) = sent {
                    *unsent = Some((len, done));
                }
            }
            1 => {
                if let Ok(Some(Arrival::Message(mut message))) = self.members[at].poll() {
                    message.copy_to(buffer);
                }
            }
            // Anywhere: mostly bytes of messages.
            2 => {
                let bytes: [u8; 8] = input.arbitrary()?;
                let len = 1 + usize::from(input.arbitrary::<u8>()? % 8);
                let to = u64::from(input.arbitrary::<u32>()?) % (self.geometry.bytes() as u64 - 8);
                let _ = self.file.write_all_at(&bytes[..len], to);
            }
            // A word that somebody looks at.
            3 => {
                let bytes: [u8; 8] = input.arbitrary()?;
                let len = [1, 2, 4, 8][usize::from(input.arbitrary::<u8>()? % 4)];
                let which = usize::from(input.arbitrary::<u16>()?) % self.words.len();
                let _ = self.file.write_all_at(&bytes[..len], self.words[which]);
            }
            4 => {
                let ring = RingId(u32::from(input.arbitrary::<u8>()? % 8));
                let first = input.arbitrary()?;
                // SAFETY: both ends are of one thread.
                let stretch = unsafe { Stretch::new(Process(0), ring, first, 0) };
                let [zero, one] = &mut self.members[..] else {
                    unreachable!("there are two");
                };
                let _ = one.pull(Process(0), stretch, buffer, 0);
                // Lent, and filled by its holder.
                if at == 0 {
                    let _ = zero.take_ring(Process(1), LONGEST);
                    let _ = zero.lend_ring(Process(1), LONGEST);
                    let _ = zero.take_ring_with_room(Process(1), LONGEST);
                    let _ = one.pass(Process(0), stretch, LONGEST, usize::from(step));
                    let _ = one.push(stretch, buffer, 0);
                    let _ = zero.pull(Process(1), stretch, buffer, 0);
                    let _ = zero.free_ring(ring);
                }
            }
            _ => {
                self.members[at].check_peers();
                let _ = self.members[at].cells_out();
            }
        }
        Ok(())
    }
}
