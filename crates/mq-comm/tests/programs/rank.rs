//! One rank's part of a program: the items of the plan, and between them whatever chance says (`acts.rs`).

use std::ops::RangeInclusive;
use std::time::Duration;

use mq_comm::{Communicator, Error, Matched, Process, Status, World};

use crate::draw::{Draw, bytes_of};
use crate::incoming::Expected;
use crate::pattern::{ANY, Envelope, Pattern};
use crate::plan::{Fate, Item, Message, Plan};
use crate::receives::untouched;
use crate::record::Record;
use crate::requests::{Pending, Requests, shared};
use crate::rules;
use crate::sums::Sums;

pub(crate) struct Rank<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) world: &'a World,
    pub(crate) me: u32,
    pub(crate) draw: Draw,
    /// Blocking sends of this many bytes wait for no receive.
    pub(crate) eager: Option<usize>,
    pub(crate) communicators: Vec<Option<Communicator>>,
    pub(crate) requests: Requests,
    pub(crate) posted: Vec<Posted>,
    /// Where no receive waits and every message is received in its turn, a probe shows messages where they lie.
    pub(crate) takes_what_comes: bool,
    /// What a probe has shown, after how many looks and where, if it is to be received after the next item.
    pub(crate) put_off: Option<(u32, usize, Pattern, Status)>,
    pub(crate) sending: Vec<(usize, Pending)>,
    /// What matched probes have taken out, with the number of the receive.
    pub(crate) held: Vec<(usize, Matched)>,
    /// The memory of scopes that are over.
    pub(crate) returned: Vec<Vec<u8>>,
    /// Messages that were dropped in the hand of a matched probe, and their bytes.
    pub(crate) lost: [u64; 2],
    pub(crate) expected: Expected<'a>,
    pub(crate) record: Record,
    /// The item.
    pub(crate) now: usize,
}

/// A receive that waits.
pub(crate) struct Posted {
    pub(crate) receive: usize,
    pub(crate) communicator: usize,
    pub(crate) pattern: Pattern,
    pub(crate) pending: Pending,
    /// It has a message.
    pub(crate) has_matched: bool,
    /// Its message is sent by a call that waits for it.
    pub(crate) is_awaited: bool,
}

impl<'a> Rank<'a> {
    pub(crate) fn new(plan: &'a Plan, world: &'a World, seed: u64, eager: Option<usize>) -> Self {
        let me = world.rank();
        let mut communicators = vec![Some(world.communicator().clone())];
        communicators.resize(plan.communicators.len(), None);
        let mut draw = Draw::new(seed, 1 + me);
        Self {
            plan,
            world,
            me,
            takes_what_comes: draw.chance(60),
            draw,
            eager,
            communicators,
            requests: Requests::new(world),
            posted: Vec::new(),
            put_off: None,
            sending: Vec::new(),
            held: Vec::new(),
            returned: Vec::new(),
            lost: [0; 2],
            expected: Expected::new(plan, me),
            record: Record::default(),
            now: 0,
        }
    }

    /// Does its part, and checks what it has seen. Returns how many messages to it nobody has received.
    pub(crate) fn run(mut self) -> Sums {
        let plan = self.plan;
        let mut now = 0;
        while now < plan.items.len() {
            if self.draw.chance(3) {
                now = self.scope(now);
                continue;
            }
            if self.begin_item(now) {
                if self.draw.chance(70) {
                    for _ in 0..self.draw.below(5) {
                        self.act();
                    }
                }
                self.carry_out(&plan.items[now]);
                self.receive_put_off();
            }
            now += 1;
        }
        self.now = plan.items.len();
        self.drain();
        for number in 0..self.communicators.len() {
            self.leave(number);
        }
        self.end_all(0..=usize::MAX);
        while !self.sending.is_empty() {
            self.end_send(0);
        }
        self.requests.assert_empty();
        self.check_returned();
        rules::check(&self.expected.0, &self.record, self.eager);
        self.sums()
    }

    /// Whether this rank has a part in an item.
    pub(crate) fn begin_item(&mut self, now: usize) -> bool {
        self.now = now;
        let messages = &self.plan.messages;
        !matches!(self.plan.items[now], Item::Send(number) if messages[number].from != self.me)
    }

    pub(crate) fn carry_out(&mut self, item: &Item) {
        match *item {
            Item::Send(number) => self.send(number),
            Item::Handover(ref messages) => self.hand_over(messages),
            Item::Create(number) => self.create(number),
            Item::Drain => self.drain(),
            Item::Drop(number) => self.leave(number),
            Item::Barrier(number) => {
                if let Some(communicator) = &self.communicators[number] {
                    self.record.look();
                    communicator.barrier().unwrap();
                }
            }
            Item::Broadcast(number, root, bytes) => {
                if let Some(communicator) = &self.communicators[number] {
                    let root = root % communicator.size();
                    let sent = bytes_of(self.now, bytes);
                    let is_root = communicator.rank() == root;
                    let mut got = if is_root {
                        sent.clone()
                    } else {
                        vec![0; bytes]
                    };
                    self.record.look();
                    communicator.broadcast(&mut got, root).unwrap();
                    assert!(got == sent, "broadcast at item {}", self.now);
                }
            }
        }
    }

    /// Those of its communicators that this rank is in and has not dropped.
    pub(crate) fn communicator(&self, number: usize) -> Communicator {
        self.communicators[number].clone().expect("it is a member")
    }

    fn create(&mut self, number: usize) {
        let planned = &self.plan.communicators[number];
        let Some(parent) = &self.communicators[planned.parent] else {
            return;
        };
        self.record.look();
        let made = match &planned.split {
            None => Some(parent.dup().unwrap()),
            Some(asks) => {
                let (color, key) = asks[self.me as usize];
                parent.split(color, key).unwrap()
            }
        };
        let members = made.iter().flat_map(|made| {
            (0..made.size()).map(|rank| made.process_of(rank).map(|Process(number)| number))
        });
        let planned = planned.groups[self.me as usize].iter().copied().map(Some);
        assert!(members.eq(planned), "the members of {number}");
        self.communicators[number] = made;
    }

    /// Ends what is under way on some communicators.
    fn end_all(&mut self, on: RangeInclusive<usize>) {
        let is_its =
            |rank: &Self, receive: usize| on.contains(&rank.record.receives[receive].communicator);
        while let Some(at) = (self.held.iter()).position(|held| is_its(self, held.0)) {
            self.receive_held(at);
        }
        while let Some(at) = (self.posted.iter()).position(|its| on.contains(&its.communicator)) {
            self.end_posted(at);
        }
    }

    /// Drops a communicator, mostly after what is under way on it: that keeps it otherwise.
    fn leave(&mut self, number: usize) {
        if self.communicators[number].is_none() {
            return;
        }
        if self.draw.chance(70) {
            self.end_all(number..=number);
        }
        if self.draw.chance(50) {
            // A probe shows something that nobody will receive, once it has had time to come.
            std::thread::sleep(Duration::from_micros(100));
            let ignored = self.draw.pick(&[0, ANY]);
            let pattern = Pattern::new(None, self.draw.below(2) as i32, ignored);
            let communicator = self.communicator(number);
            let shown = communicator.iprobe(pattern.source(), pattern.selector());
            self.probed(number, pattern, shown.unwrap());
        }
        self.communicators[number] = None;
        if self.draw.chance(60) {
            // It hears that others have dropped it too, and the number is free.
            for _ in 0..20 {
                self.world.progress().unwrap();
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    }

    /// What it takes to send a message: where, to which rank, and the bytes.
    pub(crate) fn outgoing(&self, number: usize) -> (Communicator, u32, Vec<u8>) {
        let message = &self.plan.messages[number];
        let to = self.plan.rank(message.communicator, self.me, message.to);
        (
            self.communicator(message.communicator),
            to,
            bytes_of(number, message.bytes),
        )
    }

    pub(crate) fn is_eager(&self, message: &Message) -> bool {
        self.eager.is_some_and(|most| message.bytes <= most)
    }

    pub(crate) fn send(&mut self, number: usize) {
        let message = &self.plan.messages[number];
        let waits_for_nobody = message.to == self.me || self.is_eager(message);
        if !waits_for_nobody || self.draw.chance(40) {
            return self.begin_send(number);
        }
        let (communicator, to, bytes) = self.outgoing(number);
        communicator.send(&bytes, to, message.tag).unwrap();
    }

    fn begin_send(&mut self, number: usize) {
        let message = &self.plan.messages[number];
        let (communicator, to, bytes) = self.outgoing(number);
        // A request keeps its communicator: two ranks that wait for the other to drop it would wait for ever.
        let is_dropped = match message.fate {
            Fate::Needed => self.draw.chance(8),
            Fate::Left | Fate::Loose => message.from >= message.to,
        };
        let is_shared = message.bytes > 0 && !is_dropped && self.draw.chance(25);
        let shared = is_shared.then(|| shared(&communicator, message.bytes));
        let pending = if let Some(Some(mut shared)) = shared {
            shared.copy_from_slice(&bytes);
            let request = communicator.isend(shared, to, message.tag);
            self.requests.keep_shared(request.unwrap())
        } else {
            let request = communicator.isend(bytes, to, message.tag).unwrap();
            if is_dropped {
                return;
            }
            self.requests.keep(request, &mut self.draw)
        };
        self.sending.push((number, pending));
    }

    /// Asks whether one of the sends is over.
    pub(crate) fn ask_for_send(&mut self) {
        if !self.sending.is_empty() {
            let at = self.draw.below(self.sending.len());
            if self.requests.is_done(&self.sending[at].1, &mut self.draw) {
                self.end_send(at);
            }
        }
    }

    fn end_send(&mut self, at: usize) {
        let (number, pending) = self.sending.swap_remove(at);
        let (bytes, result) = self.requests.finish(pending, &mut self.draw);
        self.sent(number, &bytes, &result);
    }

    /// A send has come to its end.
    pub(crate) fn sent(&mut self, number: usize, bytes: &[u8], result: &Result<Status, Error>) {
        let message = &self.plan.messages[number];
        let from = self.plan.rank(message.communicator, self.me, self.me);
        let (tag, length) = (message.tag, message.bytes as u64);
        let status = result
            .as_ref()
            .unwrap_or_else(|error| panic!("{message:?}: {error}"));
        let says = Envelope::from(*status);
        assert_eq!(
            (says.from, says.tag, says.bytes),
            (from, tag, length),
            "{message:?}"
        );
        assert!(bytes == bytes_of(number, message.bytes), "{message:?}");
    }

    /// Sends and receives at the same time, or what there is of both.
    fn hand_over(&mut self, messages: &[usize]) {
        let plan = self.plan;
        let find = |is: &dyn Fn(&Message) -> bool| {
            let mut all = messages.iter().copied();
            all.find(|&number| is(&plan.messages[number]))
        };
        let out = find(&|message| message.from == self.me);
        let Some(coming) = find(&|message| message.to == self.me) else {
            if let Some(number) = out {
                let (communicator, to, bytes) = self.outgoing(number);
                communicator
                    .send(&bytes, to, plan.messages[number].tag)
                    .unwrap();
            }
            return;
        };
        let message = &plan.messages[coming];
        let number = message.communicator;
        let from = plan.rank(number, self.me, message.from);
        let mut pattern = Pattern::new(Some(from), message.tag, 0);
        if !self.is_safe(number, &pattern, self.now + 1) {
            // A receive that waits may take the message.
            self.post(number, pattern, true);
            return out.into_iter().for_each(|out| self.begin_send(out));
        }
        let from = self.draw.pick(&[None, pattern.from]);
        let wild = Pattern::new(from, message.tag, self.draw.pick(&[0, ANY]));
        if self.is_eager(message) && self.is_safe(number, &wild, self.now + 1) {
            pattern = wild;
        }
        let mut into = untouched(self.expected.longest(number, &pattern));
        let receive = self.record.begin(number, pattern);
        let (source, selector) = (pattern.source(), pattern.selector());
        let result = match out.map(|out| self.outgoing(out)) {
            Some((communicator, to, bytes)) => {
                communicator.sendrecv(&bytes, to, message.tag, &mut into, source, selector)
            }
            None => self.communicator(number).recv(&mut into, source, selector),
        };
        self.received(receive, (into, result));
    }
}
