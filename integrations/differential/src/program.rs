//! [`Program`]: what all ranks do in a round, worked out by each of them from the seed.

use core::ops::Range;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::event::{Message, Wanted};

/// Communicators that programs use.
pub(crate) const COMMUNICATORS: u32 = 2;

/// The tag of the first marker; MPI guarantees tags up to 32,767.
const FIRST_MARKER: i32 = 16_000;

/// One step of a program. The numbers in [`Cancel`](Self::Cancel) and [`Complete`](Self::Complete)
/// choose among whatever there is then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Processes send, all at once if they are several.
    Burst {
        parts: Vec<Part>,
        /// Whether markers are received at once.
        take_markers: bool,
    },
    /// Receives are posted (`MPI_Irecv`).
    Post(Vec<Wanted>),
    /// `MPI_Iprobe`.
    Probe(Wanted),
    /// `MPI_Iprobe`, and a receive for what it shows.
    Take(Wanted),
    /// `MPI_Improbe`; what it takes is received (`MPI_Mrecv`) at once or at the end of the round.
    Extract { wanted: Wanted, hold: bool },
    /// `MPI_Cancel` of a receive that waits, or of one that has its message and is not completed.
    Cancel { choice: usize, waiting: bool },
    /// `MPI_Test` of a receive that has its message.
    Complete(usize),
    /// A collective call of all processes.
    Collective(u32),
}

/// What one process sends in a burst. The last message on each communicator is a marker, whose tag
/// is unique.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) sender: u32,
    /// Numbers of the messages.
    pub(crate) messages: Range<usize>,
}

/// A round's messages and steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// All messages; a message's number is its place.
    pub(crate) messages: Vec<Message>,
    pub(crate) steps: Vec<Step>,
}

/// How often which step is taken for a while.
#[derive(Clone, Copy)]
struct Mood {
    post: u32,
    burst: u32,
    probe: u32,
    take: u32,
    extract: u32,
    cancel: u32,
    complete: u32,
    collective: u32,
}

const MOODS: [Mood; 4] = [
    // Receives pile up.
    Mood {
        post: 60,
        burst: 8,
        probe: 6,
        take: 3,
        extract: 3,
        cancel: 10,
        complete: 4,
        collective: 2,
    },
    // Messages pile up.
    Mood {
        post: 12,
        burst: 45,
        probe: 15,
        take: 4,
        extract: 4,
        cancel: 6,
        complete: 6,
        collective: 2,
    },
    // A little of all.
    Mood {
        post: 35,
        burst: 22,
        probe: 10,
        take: 6,
        extract: 8,
        cancel: 10,
        complete: 8,
        collective: 2,
    },
    // Both queues become shorter.
    Mood {
        post: 15,
        burst: 6,
        probe: 6,
        take: 20,
        extract: 20,
        cancel: 24,
        complete: 4,
        collective: 2,
    },
];

/// Draws the parts of one program.
struct Author {
    random: StdRng,
    processes: u32,
    tags: i32,
    any_source: f64,
    any_tag: f64,
    /// Messages or receives of a step.
    most: usize,
    messages: Vec<Message>,
    markers: i32,
}

impl Program {
    /// The program of a seed for so many processes. Every fourth one fills the queues more.
    pub(crate) fn random(seed: u64, processes: u32, steps: usize) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let deep = seed % 4 == 3;
        let mut author = Author {
            processes,
            tags: random.random_range(1..=4),
            any_source: [0.1, 0.3, 0.6][random.random_range(0..3)],
            any_tag: [0.05, 0.2, 0.5][random.random_range(0..3)],
            most: if deep { 32 } else { 6 },
            messages: Vec::new(),
            markers: 0,
            random,
        };
        let count = if deep { 2 * steps } else { steps };
        let mut written = Vec::with_capacity(count);
        while written.len() < count {
            let mood = MOODS[author.random.random_range(0..MOODS.len())];
            let end = count.min(written.len() + author.random.random_range(10..40));
            while written.len() < end {
                written.push(author.step(&mood));
            }
        }
        Self {
            messages: author.messages,
            steps: written,
        }
    }

    /// Receives that the steps post, apart from those for messages that wait already.
    pub(crate) fn posts(&self) -> usize {
        let posts = |step: &Step| match step {
            Step::Post(receives) => receives.len(),
            _ => 0,
        };
        self.steps.iter().map(posts).sum()
    }
}

/// Whether a message marks the end of a burst on its communicator.
pub(crate) const fn is_marker(message: &Message) -> bool {
    message.tag >= FIRST_MARKER
}

impl Author {
    fn step(&mut self, mood: &Mood) -> Step {
        let burst = self.processes as usize * (self.most + COMMUNICATORS as usize);
        let full = self.messages.len() + burst > Message::LIMIT;
        let weights = [
            mood.post,
            if full { 0 } else { mood.burst },
            mood.probe,
            mood.take,
            mood.extract,
            mood.cancel,
            mood.complete,
            mood.collective,
        ];
        let mut drawn = self.random.random_range(0..weights.iter().sum());
        let falls_here = |weight: &u32| match drawn.checked_sub(*weight) {
            Some(rest) => {
                drawn = rest;
                false
            }
            None => true,
        };
        match weights.iter().position(falls_here) {
            Some(0) => Step::Post(self.receives()),
            Some(1) => self.burst(),
            Some(2) => Step::Probe(self.wanted()),
            Some(3) => Step::Take(self.wanted()),
            Some(4) => Step::Extract {
                wanted: self.wanted(),
                hold: self.random.random_bool(0.3),
            },
            Some(5) => Step::Cancel {
                choice: self.random.random_range(0..4096),
                waiting: self.random.random_bool(0.75),
            },
            Some(6) => Step::Complete(self.random.random_range(0..4096)),
            _ => Step::Collective(self.comm()),
        }
    }

    fn comm(&mut self) -> u32 {
        self.random.random_range(0..COMMUNICATORS)
    }

    fn wanted(&mut self) -> Wanted {
        let any_source = self.random.random_bool(self.any_source);
        let any_tag = self.random.random_bool(self.any_tag);
        Wanted {
            comm: self.comm(),
            sender: (!any_source).then(|| self.random.random_range(0..self.processes)),
            tag: (!any_tag).then(|| self.random.random_range(0..self.tags)),
        }
    }

    fn receives(&mut self) -> Vec<Wanted> {
        let count = self.random.random_range(1..=self.most);
        (0..count).map(|_| self.wanted()).collect()
    }

    fn burst(&mut self) -> Step {
        let mut senders: Vec<u32> = (0..self.processes).collect();
        let others = if self.random.random_bool(0.3) {
            self.random.random_range(0..self.processes)
        } else {
            0
        };
        let parts = (0..=others).map(|_| {
            let sender = senders.swap_remove(self.random.random_range(0..senders.len()));
            self.part(sender)
        });
        Step::Burst {
            parts: parts.collect(),
            take_markers: self.random.random_bool(0.8),
        }
    }

    fn part(&mut self, sender: u32) -> Part {
        let first = self.messages.len();
        let mut used = [false; COMMUNICATORS as usize];
        for _ in 0..self.random.random_range(1..=self.most) {
            let (comm, tag) = (self.comm(), self.random.random_range(0..self.tags));
            used[comm as usize] = true;
            let long = self.random.random_bool(0.05);
            self.send(comm, sender, tag, long);
        }
        for comm in 0..COMMUNICATORS {
            if used[comm as usize] {
                self.markers += 1;
                self.send(comm, sender, FIRST_MARKER + self.markers - 1, false);
            }
        }
        Part {
            sender,
            messages: first..self.messages.len(),
        }
    }

    fn send(&mut self, comm: u32, sender: u32, tag: i32, long: bool) {
        let id = u32::try_from(self.messages.len()).expect("fewer than Message::LIMIT");
        self.messages.push(Message {
            id,
            comm,
            sender,
            tag,
            long,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ranks_work_out_the_same_program() {
        let program = Program::random(7, 4, 200);
        assert_eq!(program, Program::random(7, 4, 200));
        assert_ne!(program, Program::random(8, 4, 200));
    }

    #[test]
    fn every_burst_ends_with_a_marker_on_each_communicator_it_uses() {
        for seed in 0..8 {
            let program = Program::random(seed, 3, 400);
            let mut tags = Vec::new();
            for step in &program.steps {
                let Step::Burst { parts, .. } = step else {
                    continue;
                };
                for Part { sender, messages } in parts {
                    let sent = &program.messages[messages.clone()];
                    assert!(sent.iter().all(|message| message.sender == *sender));
                    for comm in 0..COMMUNICATORS {
                        let last = sent.iter().rfind(|message| message.comm == comm);
                        assert!(last.is_none_or(is_marker));
                    }
                    tags.extend(sent.iter().filter(|m| is_marker(m)).map(|m| m.tag));
                }
                let mut senders: Vec<u32> = parts.iter().map(|part| part.sender).collect();
                senders.sort_unstable();
                senders.dedup();
                assert_eq!(senders.len(), parts.len(), "a part for each sender");
            }
            let markers = tags.len();
            tags.sort_unstable();
            tags.dedup();
            assert_eq!(tags.len(), markers, "tags of markers are unique");
            assert!(tags.iter().all(|tag| *tag <= 32_767));
        }
    }

    #[test]
    fn a_long_program_keeps_within_its_limits() {
        let program = Program::random(3, 4, 20_000);
        assert!(program.messages.len() <= Message::LIMIT);
        assert!(program.messages.iter().all(|message| message.tag <= 32_767));
    }
}
