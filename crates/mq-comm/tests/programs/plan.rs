//! What the ranks of a program have in common: its communicators, and its messages and collective operations in an
//! order in which every rank does its part of each.

use std::ops::Range;

use crate::draw::Draw;

/// Tags that are each of one [handover](Item::Handover).
pub(crate) const OWN_TAGS: Range<i32> = 10_000..20_000;

/// Tags that are each of one [loose](Fate::Loose) message.
const LOOSE_TAGS: Range<i32> = 20_000..30_000;

/// Lengths at which something changes: what fits into a slot, a fastbox, a cell, a ring's buffer.
const EDGES: [usize; 18] = [
    1, 8, 40, 104, 224, 256, 344, 464, 584, 1024, 4096, 8192, 20_416, 32_768, 40_832, 65_536,
    131_072, 524_288,
];

pub(crate) struct Plan {
    pub(crate) ranks: u32,
    pub(crate) communicators: Vec<Planned>,
    pub(crate) messages: Vec<Message>,
    pub(crate) items: Vec<Item>,
}

/// A communicator; the first one is the world's.
pub(crate) struct Planned {
    pub(crate) parent: usize,
    /// The color and the key of each rank of the world, if it is split and not duplicated.
    pub(crate) split: Option<Vec<(Option<u32>, i32)>>,
    /// For each rank of the world, the members of the one that it is in, or none.
    pub(crate) groups: Vec<Vec<u32>>,
}

/// Whether a message is received.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fate {
    /// It is.
    Needed,
    /// It need not be: its communicator is about to be dropped.
    Left,
    /// Nor need this one be, which is alone with its tag, so that its sender may withdraw it, and it may be lost with a
    /// receive that is dropped.
    Loose,
}

/// From one rank of the world to another.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) communicator: usize,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) tag: i32,
    pub(crate) bytes: usize,
    /// Its item.
    pub(crate) at: usize,
    pub(crate) fate: Fate,
}

/// What is done, with the number of a message or a communicator.
pub(crate) enum Item {
    Send(usize),
    /// Messages that are sent and received at the same time: each rank has at most one to send and one to receive.
    Handover(Vec<usize>),
    Barrier(usize),
    /// From a root, of this many bytes.
    Broadcast(usize, u32, usize),
    Create(usize),
    /// All that has been sent so far is received.
    Drain,
    Drop(usize),
}

impl Plan {
    /// The rank that one of the world has in the communicator of another one.
    pub(crate) fn rank(&self, communicator: usize, seen_by: u32, rank: u32) -> u32 {
        let group = &self.communicators[communicator].groups[seen_by as usize];
        let at = group.iter().position(|&member| member == rank);
        at.expect("it is a member") as u32
    }
}

/// A plan in the making.
struct Planner<'a> {
    draw: &'a mut Draw,
    plan: Plan,
    alive: Vec<usize>,
    /// The one in which each rank is alone, if there is one: it is duplicated without a message.
    alone: Option<usize>,
    /// One of several ranks has been dropped, and its number not been given again.
    has_free_number: bool,
    tags: Vec<i32>,
    longest: usize,
    /// Bytes for the long messages that are left.
    budget: usize,
    own_tags: Range<i32>,
    loose_tags: Range<i32>,
}

pub(crate) fn plan(draw: &mut Draw, ranks: u32) -> Plan {
    let world = Planned {
        parent: 0,
        split: None,
        groups: vec![(0..ranks).collect(); ranks as usize],
    };
    let mut planner = Planner {
        plan: Plan {
            ranks,
            communicators: vec![world],
            messages: Vec::new(),
            items: Vec::new(),
        },
        alive: vec![0],
        alone: None,
        has_free_number: false,
        tags: [0, 1, 2, i32::MAX, 4096][..1 + draw.below(5)].to_vec(),
        longest: draw.pick(&[64, 600, 9000, 21_000, 70_000, 600_000]),
        budget: draw.pick(&[0, 60_000, 1 << 20, 4 << 20]),
        own_tags: OWN_TAGS,
        loose_tags: LOOSE_TAGS,
        draw,
    };
    if planner.draw.chance(60) {
        let alone = (0..ranks).map(|rank| (Some(rank), 0)).collect();
        planner.alone = Some(planner.create(0, Some(alone)));
    }
    for _ in 0..planner.draw.below(3) {
        planner.create_any();
    }
    for _ in 0..2 + planner.draw.below(8) {
        planner.phase();
    }
    planner.plan
}

impl Planner<'_> {
    fn phase(&mut self) {
        // Others have messages on them while one is made, and while it is dropped.
        for _ in 0..self.draw.below(5) {
            self.send_on_any();
        }
        let temporary = self.draw.chance(60).then(|| self.create_temporary());
        for _ in 0..self.draw.below(8) {
            self.send(temporary.unwrap_or(0), 0, Fate::Needed);
        }
        for _ in 0..1 + self.draw.below(30) {
            let communicator = self.draw.pick(&self.alive);
            match (self.draw.below(100), temporary) {
                (0..4, _) => self.plan.items.push(Item::Barrier(communicator)),
                (4..6, _) => {
                    let (root, bytes) = (self.draw.below(16) as u32, self.length());
                    (self.plan.items).push(Item::Broadcast(communicator, root, bytes));
                }
                (6..10, _) => self.handover(communicator),
                (10..16, _) => self.send(communicator, 3, Fate::Needed),
                (16..40, Some(temporary)) => self.send(temporary, 0, Fate::Loose),
                _ => self.send(communicator, 0, Fate::Needed),
            }
        }
        self.plan.items.push(Item::Drain);
        if let Some(temporary) = temporary {
            let loose = self.draw.pick(&[0, 30, 100]);
            for _ in 0..self.draw.below(12) {
                match self.draw.chance(loose) {
                    true => self.send(temporary, 0, Fate::Loose),
                    false => self.send(temporary, 0, Fate::Left),
                }
            }
            self.alive.pop();
            for _ in 0..self.draw.below(5) {
                self.send_on_any();
            }
            self.plan.items.push(Item::Drop(temporary));
        }
    }

    fn create_temporary(&mut self) -> usize {
        let has_free_number = std::mem::take(&mut self.has_free_number);
        let alone = (self.alone).filter(|_| has_free_number && self.draw.chance(80));
        if let Some(alone) = alone {
            return self.create(alone, None);
        }
        self.has_free_number = true;
        self.create_any()
    }

    fn length(&mut self) -> usize {
        let length = match self.draw.below(10) {
            0..4 => self.draw.below(64),
            4..8 => (self.draw.pick(&EDGES) + self.draw.below(3)).saturating_sub(1),
            _ => {
                let bits = self.draw.below(20);
                self.draw.below(1 << bits)
            }
        };
        if length > self.longest || length > self.budget {
            return self.draw.below(64);
        }
        self.budget -= length;
        length
    }

    fn send_on_any(&mut self) {
        let communicator = self.draw.pick(&self.alive);
        self.send(communicator, 0, Fate::Needed);
    }

    /// Plans a message, or ten times as many as this number that match the same receives.
    fn send(&mut self, communicator: usize, tens: usize, fate: Fate) {
        let groups = &self.plan.communicators[communicator].groups;
        let from = self.draw.below(groups.len());
        if groups[from].is_empty() {
            return;
        }
        let itself = self.draw.chance(15).then_some(from as u32);
        let to = itself.unwrap_or_else(|| self.draw.pick(&groups[from]));
        let from = from as u32;
        let tag = match fate {
            Fate::Loose => self.loose_tags.next().expect("there are enough"),
            Fate::Needed | Fate::Left => self.draw.pick(&self.tags),
        };
        let longest = self.longest;
        for _ in 0..1 + self.draw.below(1 + 10 * tens) {
            let mut bytes = self.length();
            if fate == Fate::Loose && self.draw.chance(40) {
                // It is announced, and may be withdrawn.
                bytes = bytes.max(21_000);
            }
            let number = self.add((communicator, from, to), tag, bytes, fate);
            self.plan.items.push(Item::Send(number));
            self.longest = longest.min(700);
        }
        self.longest = longest;
    }

    fn add(
        &mut self,
        (communicator, from, to): (usize, u32, u32),
        tag: i32,
        bytes: usize,
        fate: Fate,
    ) -> usize {
        self.plan.messages.push(Message {
            communicator,
            from,
            to,
            tag,
            bytes,
            at: self.plan.items.len(),
            fate,
        });
        self.plan.messages.len() - 1
    }

    /// From all members, or some, each to the one this many places further on.
    fn handover(&mut self, communicator: usize) {
        let (shift, bytes, all) = (self.draw.below(16), self.length(), self.draw.chance(60));
        let tag = self.own_tags.next().expect("there are enough");
        let mut messages = Vec::new();
        for from in 0..self.plan.ranks {
            let group = &self.plan.communicators[communicator].groups[from as usize];
            if let Some(at) = group.iter().position(|&member| member == from)
                && (all || self.draw.chance(50))
            {
                let to = group[(at + shift) % group.len()];
                messages.push(self.add((communicator, from, to), tag, bytes, Fate::Needed));
            }
        }
        self.plan.items.push(Item::Handover(messages));
    }

    fn create_any(&mut self) -> usize {
        let (draw, ranks) = (&mut *self.draw, self.plan.ranks);
        let parent = draw.pick(&self.alive);
        let colors = 1 + draw.below(2);
        let ask = |draw: &mut Draw| {
            let color = (!draw.chance(12)).then(|| 7 * draw.below(colors) as u32);
            (color, draw.below(3) as i32 - 1)
        };
        let splits = draw.chance(40);
        let split = splits.then(|| (0..ranks).map(|_| ask(draw)).collect());
        self.create(parent, split)
    }

    fn create(&mut self, parent: usize, split: Option<Vec<(Option<u32>, i32)>>) -> usize {
        let groups = &self.plan.communicators[parent].groups;
        let groups = match &split {
            None => groups.clone(),
            Some(asks) => (groups.iter().enumerate())
                .map(|(rank, group)| part(group, asks, rank))
                .collect(),
        };
        let number = self.plan.communicators.len();
        self.plan.communicators.push(Planned {
            parent,
            split,
            groups,
        });
        self.plan.items.push(Item::Create(number));
        self.alive.push(number);
        number
    }
}

/// The part of a group that a rank is in, in the order of keys.
fn part(group: &[u32], asks: &[(Option<u32>, i32)], rank: usize) -> Vec<u32> {
    let (color, _) = asks[rank];
    let same = |&member: &u32| color.is_some() && asks[member as usize].0 == color;
    let mut members: Vec<u32> = group.iter().copied().filter(same).collect();
    members.sort_by_key(|&member| asks[member as usize].1);
    members
}
