//! What rank 0 does: it takes the steps on the MPI library, and tells the rules and the structures
//! what the library did.

use std::collections::BTreeMap;
use std::slice::ChunksExactMut;
use std::time::Duration;

use mpi::point_to_point::{Message as Matched, Status};
use mpi::request::LocalScope;

use crate::event::{Event, Message, Wanted};
use crate::program::{COMMUNICATORS, Part, Program, Step, is_marker};
use crate::report::{Report, Whereabouts};
use crate::rules::{Rules, admits};
use crate::subject::Subjects;
use crate::wire::{Cancelled, Pending, Seen, Wire, cancel, peek, wait_for};

/// Receives that have their message and are not completed, at most.
const UNCOMPLETED: usize = 16;

/// Rank 0 of a run.
pub(crate) struct Receiver<'w> {
    pub(crate) wire: &'w Wire,
    pub(crate) subjects: Subjects,
    pub(crate) report: Report,
    pub(crate) timeout: Duration,
}

/// A receive that was posted and not completed.
struct Live<'a, 's> {
    receive: u32,
    wanted: Wanted,
    request: Pending<'a, 's>,
    /// The message that it has.
    taken: Option<Message>,
}

struct Round<'r, 'w, 'a, 's> {
    receiver: &'r mut Receiver<'w>,
    program: &'r Program,
    scope: &'s LocalScope<'a>,
    /// Contents of the messages that rank 0 sends to itself.
    contents: &'a [Vec<u8>],
    buffers: ChunksExactMut<'a, u8>,
    rules: Rules,
    live: Vec<Live<'a, 's>>,
    sends: Vec<Pending<'a, 's>>,
    /// Messages that a matched probe took out and that are to be received later.
    held: Vec<(Matched, Message)>,
    receives: u32,
    at: Whereabouts<'r>,
    events: Vec<Event>,
}

impl Receiver<'_> {
    /// One round.
    pub(crate) fn round(&mut self, program: &Program, seed: u64) {
        let own = |message: &Message| match message.sender {
            0 => message.contents(),
            _ => Vec::new(),
        };
        let contents: Vec<Vec<u8>> = program.messages.iter().map(own).collect();
        // A buffer for each receive; only the pages that a message fills are ever touched.
        let receives = program.posts() + program.messages.len();
        let mut buffers = vec![0; receives * Message::LONGEST];
        let mut scratch = vec![0; Message::LONGEST];
        mpi::request::scope(|scope| {
            let mut round = Round {
                receiver: self,
                program,
                scope,
                contents: &contents,
                buffers: buffers.chunks_exact_mut(Message::LONGEST),
                rules: Rules::default(),
                live: Vec::new(),
                sends: Vec::new(),
                held: Vec::new(),
                receives: 0,
                at: Whereabouts {
                    seed,
                    number: 0,
                    step: None,
                },
                events: Vec::new(),
            };
            for (number, step) in program.steps.iter().enumerate() {
                (round.at.number, round.at.step) = (number, Some(step));
                round.step(step, &mut scratch);
            }
            round.at.step = None;
            round.finish(&mut scratch);
        });
        self.subjects.end_round();
        self.report.rounds += 1;
    }
}

impl<'a> Round<'_, '_, 'a, '_> {
    fn step(&mut self, step: &Step, scratch: &mut [u8]) {
        self.receiver.report.steps += 1;
        match step {
            Step::Burst {
                parts,
                take_markers,
            } => self.burst(parts, *take_markers),
            Step::Post(receives) => {
                for wanted in receives {
                    self.post(wanted);
                }
                while self.taken().nth(UNCOMPLETED).is_some() {
                    self.complete(0);
                }
            }
            Step::Probe(wanted) => {
                self.probe(wanted);
            }
            Step::Take(wanted) => {
                if let Some(message) = self.probe(wanted) {
                    self.receive(&Wanted::exactly(&message));
                }
            }
            Step::Extract { wanted, hold } => self.extract(wanted, *hold, scratch),
            Step::Cancel { choice, waiting } => {
                let live = self.live.iter().enumerate();
                let places: Vec<usize> = live
                    .filter(|(_, live)| live.taken.is_none() == *waiting)
                    .map(|(place, _)| place)
                    .collect();
                if !places.is_empty() {
                    self.cancel(places[choice % places.len()]);
                }
            }
            Step::Complete(choice) => {
                let taken = self.taken().count();
                if taken > 0 {
                    self.complete(choice % taken);
                }
            }
            Step::Collective(comm) => self.collective(*comm),
        }
    }

    /// Places of the receives that have their message.
    fn taken(&self) -> impl Iterator<Item = usize> + '_ {
        let live = self.live.iter().enumerate();
        live.filter(|(_, live)| live.taken.is_some())
            .map(|(place, _)| place)
    }

    /// Tells the rules and the structures what the library did.
    fn tell(&mut self, event: Event) {
        self.events.push(event);
        let freedom = match self.rules.judge(&event) {
            Ok(freedom) => freedom,
            Err(why) => self.broken(&why),
        };
        let Receiver {
            subjects, report, ..
        } = &mut *self.receiver;
        report.told(&event, freedom, self.rules.lengths());
        for difference in subjects.tell(&event, freedom) {
            report.differs(&self.at, &self.events, &difference);
        }
    }

    /// The library itself does not do what MPI demands, or the test does not: nothing can follow.
    fn broken(&self, why: &str) -> ! {
        let Receiver {
            report,
            subjects,
            wire,
            ..
        } = &*self.receiver;
        report.broken(&self.at, &self.events, why, subjects);
        wire.abort(1)
    }

    /// The message that the library names in a status.
    fn identify(&self, comm: u32, seen: Seen) -> Message {
        let id = Message::id_of(seen.bytes);
        let found = id.and_then(|id| self.program.messages.get(id));
        let same = |m: &&Message| (m.comm, m.sender, m.tag) == (comm, seen.sender, seen.tag);
        match found.filter(same) {
            Some(message) => *message,
            None => self.broken(&format!(
                "communicator {comm}: a status names a message that nobody sent: {seen:?}"
            )),
        }
    }

    fn identify_status(&self, comm: u32, status: &Status) -> Message {
        self.identify(comm, self.receiver.wire.seen(comm, status))
    }

    fn check_contents(&self, message: &Message, contents: &[u8]) {
        if !contents.starts_with(&message.contents()) {
            self.broken(&format!("{message} came with other contents"));
        }
    }

    fn burst(&mut self, parts: &[Part], take_markers: bool) {
        let wire = self.receiver.wire;
        for Part { sender, messages } in parts {
            if *sender != wire.process {
                wire.go(*sender, self.at.number);
                continue;
            }
            for at in messages.clone() {
                let send = wire.send(self.scope, &self.program.messages[at], &self.contents[at]);
                self.sends.push(send);
            }
        }
        let sent = |part: &Part| &self.program.messages[part.messages.clone()];
        let sent: Vec<&[Message]> = parts.iter().map(sent).collect();
        let markers: Vec<Message> = sent.concat().into_iter().filter(is_marker).collect();
        for marker in &markers {
            self.wait_for_marker(marker);
        }
        let took = self.observe(&sent);
        for event in self.rules.explain(&sent, &took).0 {
            self.tell(event);
        }
        let is_sent = |id: &u32| sent.iter().any(|part| part.iter().any(|m| m.id == *id));
        if !took.keys().all(is_sent) {
            self.broken("a receive that waited took a message that had come before");
        }
        for marker in markers.iter().filter(|_| take_markers) {
            if !took.contains_key(&marker.id) {
                self.receive(&Wanted::exactly(marker));
            }
        }
    }

    /// Once the last message of a sender has been matched or queued, those before it have.
    fn wait_for_marker(&self, marker: &Message) {
        let Receiver { wire, timeout, .. } = &*self.receiver;
        let wanted = Wanted::exactly(marker);
        let live = self.live.iter().filter(|live| live.taken.is_none());
        let possible: Vec<_> = live.filter(|live| admits(&live.wanted, marker)).collect();
        let found = wait_for(*timeout, || {
            let has = |live: &&Live<'_, '_>| {
                let status = peek(&live.request);
                status.is_some_and(|status| self.identify_status(marker.comm, &status) == *marker)
            };
            (wire.probe(&wanted).is_some() || possible.iter().any(has)).then_some(())
        });
        if found.is_none() {
            self.report_live();
            self.broken(&format!(
                "{marker} was sent and is found neither in a receive nor by a probe"
            ));
        }
    }

    /// For a hang: what the waiting receives have by now.
    fn report_live(&self) {
        for live in self.live.iter().filter(|live| live.taken.is_none()) {
            if let Some(status) = peek(&live.request) {
                let message = self.identify_status(live.wanted.comm, &status);
                let Live {
                    receive, wanted, ..
                } = live;
                eprintln!("receive {receive} {wanted} has {message}");
            }
        }
    }

    /// Which messages the waiting receives have taken, once that can be explained: a long message
    /// may have met its receive and not be there yet.
    fn observe(&mut self, sent: &[&[Message]]) -> BTreeMap<u32, u32> {
        let mut took = BTreeMap::new();
        let timeout = self.receiver.timeout;
        wait_for(timeout, || {
            for place in 0..self.live.len() {
                let live = &self.live[place];
                if live.taken.is_some() {
                    continue;
                }
                if let Some(status) = peek(&live.request) {
                    let message = self.identify_status(live.wanted.comm, &status);
                    took.insert(message.id, live.receive);
                    self.live[place].taken = Some(message);
                }
            }
            self.rules.explain(sent, &took).1.then_some(())
        });
        took
    }

    /// Posts a receive and gives its place among those that live.
    fn post(&mut self, wanted: &Wanted) -> usize {
        let Receiver { wire, timeout, .. } = &*self.receiver;
        let buffer = self.buffers.next().expect("there is one for each receive");
        let request = wire.post(self.scope, wanted, buffer);
        let status = if self.rules.candidates(wanted).is_empty() {
            peek(&request)
        } else {
            wait_for(*timeout, || peek(&request))
        };
        let taken = status.map(|status| self.identify_status(wanted.comm, &status));
        let receive = self.receives;
        self.receives += 1;
        self.live.push(Live {
            receive,
            wanted: *wanted,
            request,
            taken,
        });
        self.tell(Event::Posted {
            receive,
            wanted: *wanted,
            message: taken,
        });
        self.live.len() - 1
    }

    /// Receives a message that waits.
    fn receive(&mut self, wanted: &Wanted) {
        let place = self.post(wanted);
        self.complete_at(place);
    }

    fn probe(&mut self, wanted: &Wanted) -> Option<Message> {
        let Receiver { wire, timeout, .. } = &*self.receiver;
        let seen = if self.rules.candidates(wanted).is_empty() {
            wire.probe(wanted)
        } else {
            wait_for(*timeout, || wire.probe(wanted))
        };
        let message = seen.map(|seen| self.identify(wanted.comm, seen));
        self.tell(Event::Probed {
            wanted: *wanted,
            message,
        });
        message
    }

    fn extract(&mut self, wanted: &Wanted, hold: bool, scratch: &mut [u8]) {
        let Receiver { wire, timeout, .. } = &*self.receiver;
        let found = if self.rules.candidates(wanted).is_empty() {
            wire.extract(wanted)
        } else {
            wait_for(*timeout, || wire.extract(wanted))
        };
        let found = found.map(|(matched, seen)| (matched, self.identify(wanted.comm, seen)));
        let message = found.as_ref().map(|(_, message)| *message);
        self.tell(Event::Extracted {
            wanted: *wanted,
            message,
        });
        match found {
            Some(found) if hold => self.held.push(found),
            Some((matched, message)) => self.receive_matched(matched, &message, scratch),
            None => {}
        }
    }

    fn receive_matched(&self, matched: Matched, message: &Message, scratch: &mut [u8]) {
        let status = matched.matched_receive_into(scratch);
        let received = self.identify_status(message.comm, &status);
        if received != *message {
            self.broken(&format!(
                "a matched probe took {message} and MPI_Mrecv gave {received}"
            ));
        }
        self.check_contents(message, scratch);
    }

    /// Completes one of the receives that have their message, of which there are more than that.
    fn complete(&mut self, number: usize) {
        let place = self.taken().nth(number).expect("there are more");
        self.complete_at(place);
    }

    fn complete_at(&mut self, place: usize) {
        let Live {
            receive,
            wanted,
            request,
            taken,
        } = self.live.remove(place);
        let mut request = Some(request);
        let done = wait_for(self.receiver.timeout, || {
            match request.take()?.test_with_data() {
                Ok(done) => Some(done),
                Err(back) => {
                    request = Some(back);
                    None
                }
            }
        });
        let Some((status, contents)) = done else {
            self.broken(&format!("receive {receive} is not completed by MPI_Test"));
        };
        self.check_completed(receive, &wanted, taken, &status, contents);
    }

    fn check_completed(
        &self,
        receive: u32,
        wanted: &Wanted,
        taken: Option<Message>,
        status: &Status,
        contents: &'a [u8],
    ) {
        let message = self.identify_status(wanted.comm, status);
        if taken != Some(message) {
            self.broken(&format!(
                "receive {receive} had {taken:?} and was completed with {message}"
            ));
        }
        self.check_contents(&message, contents);
    }

    fn cancel(&mut self, place: usize) {
        let Live {
            receive,
            wanted,
            request,
            taken,
        } = self.live.remove(place);
        match cancel(request, self.receiver.timeout) {
            Ok(Cancelled::Done) => self.tell(Event::Cancelled {
                receive,
                done: true,
            }),
            Ok(Cancelled::Late(status, contents)) => {
                self.tell(Event::Cancelled {
                    receive,
                    done: false,
                });
                self.check_completed(receive, &wanted, taken, &status, contents);
            }
            Err(why) => self.broken(&format!("receive {receive}: {why}")),
        }
    }

    fn collective(&mut self, comm: u32) {
        let gathered = self.receiver.wire.gather(comm);
        if !(0..).zip(&gathered).all(|(rank, came)| rank == *came) {
            self.broken(&format!(
                "MPI_Allgather on communicator {comm} gave {gathered:?}"
            ));
        }
        self.tell(Event::Collective { comm });
    }

    /// Empties both queues and completes everything.
    fn finish(&mut self, scratch: &mut [u8]) {
        while let Some(last) = self.live.len().checked_sub(1) {
            match self.live[last].taken {
                Some(_) => self.complete_at(last),
                None => self.cancel(last),
            }
        }
        while let Some(&Message { comm, .. }) = self.rules.first_message() {
            self.receive(&Wanted {
                comm,
                sender: None,
                tag: None,
            });
        }
        for (matched, message) in std::mem::take(&mut self.held) {
            self.receive_matched(matched, &message, scratch);
        }
        for comm in 0..COMMUNICATORS {
            self.probe(&Wanted {
                comm,
                sender: None,
                tag: None,
            });
        }
        self.tell(Event::Empty);
        for send in self.sends.drain(..) {
            send.wait();
        }
    }
}
