//! Long waits told to the user: what a process waits for, and what has come instead.
//!
//! A program that hangs is mostly one whose ranks wait for each other, or for a message with another tag than the one
//! that was sent. Both can be seen in what each rank says here.

use std::time::{Duration, Instant};

use mq_core::mpi::{MpiPattern, TagSelector};
use mq_shm::Process;

use super::contexts::is_of_collectives;
use super::{Core, Hand, Number, State};
use crate::header::{self, Word};
use crate::messages::{Keeper, Message};
use crate::request::{ANYONE, Stage};
use crate::say::say;
use crate::transport::Transport;

/// The most entries of a list that are told one by one.
const TOLD: usize = 4;

/// What a call waits for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited<'a> {
    /// Some requests, among which a receive in hand may be.
    Requests(&'a dyn Fn(&State) -> Vec<u32>, Option<&'a Hand>),
    /// A message for a receive or a probe that is in no queue, and from whom.
    Message(&'a MpiPattern, Process),
    /// Room for an eager message with these words.
    Room { to: Process, bits: u64, word: Word },
    /// The end of what has begun: whoever waits for that tells about it.
    Ends,
}

/// When the user is told of a wait.
#[derive(Debug)]
pub(crate) struct Waits {
    /// Whether ever, and after how long.
    after: Option<Duration>,
    /// When this process slept first, of the last wait.
    since: Instant,
    told: bool,
    asking: Asking,
}

/// Questions in a row in which nothing has happened.
#[derive(Debug)]
struct Asking {
    since: Instant,
    last: Instant,
    /// Messages that this process had sent.
    sent: u64,
    told: bool,
}

impl Waits {
    pub(super) fn new(after: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            after,
            since: now,
            told: false,
            asking: Asking {
                since: now,
                last: now,
                sent: 0,
                told: false,
            },
        }
    }

    /// Called when a wait comes to a sleep, for the `times`th time since something happened. Returns for how long
    /// nothing has, if the user is to be told now.
    fn slept(&mut self, times: u32) -> Option<Duration> {
        let after = self.after?;
        if times == 1 {
            self.since = Instant::now();
            self.told = false;
        }
        let waited = self.since.elapsed();
        if self.told || waited < after {
            return None;
        }
        self.told = true;
        Some(waited)
    }

    /// Called when many questions more were in vain, the first ones if `is_first`. Returns for how long all have been,
    /// if the user is to be told now.
    fn asked(&mut self, is_first: bool, sent: u64) -> Option<Duration> {
        let after = self.after?;
        let (now, asking) = (Instant::now(), &mut self.asking);
        if is_first || sent != asking.sent {
            (asking.since, asking.sent, asking.told) = (now, sent, false);
        } else if now - asking.last > after / 2 {
            // Whoever has something else to do meanwhile does not hang.
            asking.since = now;
        }
        asking.last = now;
        let waited = now - asking.since;
        if asking.told || waited < after {
            return None;
        }
        asking.told = true;
        Some(waited)
    }
}

impl<T: Transport> Core<T> {
    /// After a rest, before which the wait had come to `before` sleeps.
    #[inline(always)]
    pub(super) fn note_rest(&mut self, before: u32, awaited: Awaited<'_>) {
        let times = self.idle.sleeps();
        if times != before
            && let Some(waited) = self.waits.slept(times)
        {
            self.tell_of_wait("waiting", waited, awaited);
        }
    }

    /// After many questions in vain, the first ones in a row if `is_first`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_questions(&mut self, is_first: bool, awaited: Awaited<'_>) {
        let profile = &self.state.profile;
        let sent = profile.eager + profile.rendezvous + profile.ahead;
        if let Some(waited) = self.waits.asked(is_first, sent) {
            self.tell_of_wait("asking again and again", waited, awaited);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_wait(&self, how: &str, waited: Duration, awaited: Awaited<'_>) {
        let state = &self.state;
        let all = match awaited {
            Awaited::Requests(requests, hand) => {
                let each = |request| state.told_request(request, hand);
                listed(requests(state).into_iter().map(each))
            }
            Awaited::Message(pattern, from) => told_message(pattern, from),
            Awaited::Room { to, bits, word } => {
                let tag = describe_tag(word.context(), header::tag_of(bits));
                format!("room for a message to process {to}{tag}")
            }
            Awaited::Ends => return,
        };
        let (me, seconds) = (state.me, waited.as_secs_f64());
        let unasked = match state.told_unexpected() {
            Some(unasked) => format!("; no receive has asked for what has come {unasked}"),
            None => String::new(),
        };
        say(&format!(
            "rank {me}: nothing has happened for {seconds:.1} s, {how} for {all}{unasked}"
        ));
    }
}

impl State {
    /// What a request waits for.
    fn told_request(&self, request: u32, hand: Option<&Hand>) -> String {
        let slot = self.requests.at(request);
        let peer = slot.peer;
        let tag = || describe_tag(slot.context, header::tag_of(slot.bits));
        match slot.stage {
            Stage::Hand | Stage::Posted => {
                let in_hand = hand.filter(|hand| hand.request == request);
                let pattern = in_hand.map(|hand| hand.pattern);
                match pattern.or_else(|| self.matching.pattern_of(request)) {
                    Some(pattern) => told_message(&pattern, peer),
                    None => "a message".into(),
                }
            }
            Stage::Filling | Stage::Fetching | Stage::AwaitsRing | Stage::Pulling => {
                format!("the rest of a message from process {peer}{}", tag())
            }
            Stage::Waiting => format!("room for a message to process {peer}{}", tag()),
            Stage::Announced | Stage::WantsRing | Stage::Pushing => {
                let bytes = slot.total;
                format!("process {peer} to receive {bytes} bytes{}", tag())
            }
            Stage::Free | Stage::Done => "nothing".into(),
        }
    }

    /// The messages that have come and that nobody has received.
    fn told_unexpected(&self) -> Option<String> {
        let mut all: Vec<_> = (self.messages.all())
            .map(|(_, message)| message)
            .filter(|message| message.keeper == Keeper::Queue)
            .collect();
        // In the order in which they came.
        all.sort_by_key(|message| message.name);
        let each = |message: &&Message| {
            let tag = describe_tag(message.word.context(), header::tag_of(message.bits));
            let (from, bytes) = (message.from, message.total);
            format!("from process {from}{tag} ({bytes} bytes)")
        };
        (!all.is_empty()).then(|| listed(all.iter().map(each)))
    }
}

/// The message that a receive or a probe waits for.
fn told_message(pattern: &MpiPattern, from: Process) -> String {
    let from = match from {
        ANYONE => "any process".into(),
        from => format!("process {from}"),
    };
    let context = pattern.context().0;
    let tag = match pattern.tag() {
        TagSelector::Exact(tag) => describe_tag(context, tag.0),
        TagSelector::Any => format!(" with any tag{}", of_communicator(context)),
        TagSelector::Masked { wanted, ignore } => {
            let of = of_communicator(context);
            format!(" with tag {wanted} or others in the bits {ignore:#x}{of}")
        }
    };
    format!("a message from {from}{tag}")
}

/// Which of the messages between two processes is meant.
fn describe_tag(context: u32, tag: i32) -> String {
    let of = of_communicator(context);
    match is_of_collectives(context) {
        true => format!(" in a collective operation{of}"),
        false => format!(" with tag {tag}{of}"),
    }
}

/// Of which communicator, unless it is that of the world.
fn of_communicator(context: u32) -> String {
    match Number::of(context) {
        Number::WORLD => String::new(),
        Number(number) => format!(" of communicator {number}"),
    }
}

/// The first entries of a list, and how many there are besides.
fn listed(mut all: impl ExactSizeIterator<Item = String>) -> String {
    let first: Vec<String> = all.by_ref().take(TOLD).collect();
    let first = first.join(", ");
    match all.len() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
