//! What is done with messages: matched, copied, fetched, answered.
//!
//! A short message is sent *eagerly*, with its bytes; if no receive has asked for it, it waits in a buffer of
//! the receiver. A long message is only announced, and the receiver, once the message is matched, reads the
//! bytes where they are; or, if the kernel refuses that, or refuses to go on, or if a ring is found to be
//! quicker, it asks for a ring. What a process sends to itself is matched at once:
//!
//! | sender | | receiver |
//! | --- | --- | --- |
//! | `Announce`: where the bytes are | → | matched; reads them |
//! | copies a part, if it has time | ← | `HelpWanted`, before it reads a long message |
//! | buffer is free | ← | `Finished` |
//! | | or | |
//! | takes a ring | ← | `RingWanted`, or `RingTimed` if the ways are being timed: from byte n on |
//! | `RingGiven`, fills buffers | → | empties them |
//! | or has no memory for one: `RingGiven` without a ring; its send fails | → | its receive fails |
//! | | or | |
//! | fills buffers | ← | the same: from byte n on, through a ring that the receiver lends; empties its buffers |
//! | | or, where such answers were foreseen | |
//! | `Ahead`: through which ring, and fills buffers | → | empties them |
//! | | or, before it is matched | |
//! | gives it up: `Withdraw`; dies: `Dying` | → | forgets it; keeps its place, for a receive that fails |
//! | buffer is free | ← | `Withdrawn` |
//! | | and, after `Ahead` | |
//! | announces the next ones | ← | `AnnounceLarge`, if nobody had asked, the ways are to be timed, or they are answers |
//! | | and, if too many messages are unexpected | |
//! | announces short ones, too | ← | `AnnounceAll` |
//! | no longer does | ← | `EagerAgain` |
//!
//! A process that is done with a communicator tells its members (`Closed`), and so does one that revokes it, or is told
//! that it is revoked (`Revoked`).
//!
//! [`State`] is all that a process knows apart from the transport. A message changes it while the message is
//! still in the transport's memory; what then has to be done with the transport is a [`Follow`], which
//! [`Core`] carries out.
//!
//! # Where things are
//!
//! | question | files |
//! | --- | --- |
//! | How is a message sent? | `blocking/send.rs`, `send.rs` where nobody waits; `eager.rs`: with its bytes or not |
//! | What waits to be sent? | `outboxes.rs`, in front of all else to the same process |
//! | How is one received? | `blocking/receive.rs`, `receive.rs` where nobody waits; `wanted.rs`: whose are looked for first |
//! | How is one shown? | `probe.rs` |
//! | What does a process do while it waits? | `progress.rs`; `roll_call.rs`: when it looks for deaths; `refusals.rs`: how long it bears a lack of memory; `hopeless.rs`: when it waits in vain; `waits.rs`: when it tells the user |
//! | What happens to a message that comes? | `arrive.rs`, then `follow.rs`; `control.rs`, if it is an answer or a notice |
//! | Which receive is it for? | `matching.rs`: the engine, behind the oldest receives (`front.rs`) |
//! | How do the bytes of an announced one come? | `large.rs`, by the way that `ways.rs` has timed; `rings.rs` |
//! | When do they come unasked? | `ahead.rs`; `turns.rs`: but not if messages go back and forth |
//! | What if too many are unexpected? | `flood.rs` |
//! | What if it is to this process itself? | `to_self.rs` |
//! | What ends early? | `ending.rs`: requests and messages; `death.rs`: other processes |
//! | How does this process leave? | `leave.rs` |
//! | Which communicators are there? | `contexts.rs`; `contexts/revoked.rs` |
//! | What is known of another process? | `peer.rs` |

mod ahead;
mod arrive;
mod blocking;
mod contexts;
mod control;
mod death;
mod eager;
mod ending;
mod flood;
mod follow;
mod front;
mod hopeless;
mod large;
mod leave;
mod matching;
mod outboxes;
mod peer;
mod probe;
mod progress;
mod receive;
mod refusals;
mod rings;
mod roll_call;
mod send;
mod to_self;
mod turns;
mod waits;
mod wanted;
mod ways;

use mq_shm::liveness::Gone;
use mq_shm::wait::Idle;
use mq_shm::{Origin, Peeked, Process};

use crate::error::Error;
use crate::messages::Messages;
use crate::options::Options;
use crate::profile::Profile;
use crate::request::{Requests, Stage};
use crate::transport::Transport;
use contexts::Contexts;
use death::Deaths;
use eager::Eager;
use flood::Flood;
use leave::Departure;
use matching::Matching;
use outboxes::Outboxes;
use peer::{Peer, Target};
use progress::Asked;
use refusals::Refusals;
use rings::Rings;
use roll_call::RollCall;
use waits::Waits;
use ways::Ways;

pub(crate) use blocking::Out;
pub(crate) use contexts::{Agreed, Number, Offer, is_of_collectives};
pub(crate) use follow::Follow;
pub(crate) use leave::Failures;
pub(crate) use receive::{Hand, peer_of};
pub(crate) use waits::Awaited;

/// A process: its transport and what it knows.
#[derive(Debug)]
pub(crate) struct Core<T: Transport> {
    pub(crate) transport: T,
    pub(crate) state: State,
    pub(crate) idle: Idle,
    /// The questions of a program that does not wait.
    pub(crate) asked: Asked,
    /// Messages of this process to itself.
    sends_to_itself: u32,
    /// Attempts to send what waits, in the course of further sends.
    attempts: u32,
    /// The process whose messages the blocking receives want, kept from one receive to the next.
    pub(crate) kept_want: Option<Process>,
    /// When deaths were last looked for, in a process that never rests.
    pub(crate) roll_call: RollCall,
    /// Refusals of memory while this process waits.
    pub(crate) refusals: Refusals,
    waits: Waits,
    /// The structure and the policy in words, if what was sent and received is to be told in the end.
    tells: Option<String>,
    /// The process itself: a child may have a copy of this.
    origin: Origin,
}

/// All that a process knows apart from the transport.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) me: Process,
    pub(crate) matching: Matching,
    pub(crate) requests: Requests,
    pub(crate) messages: Messages,
    pub(crate) peers: Vec<Peer>,
    pub(crate) outboxes: Outboxes,
    pub(crate) rings: Rings,
    pub(crate) contexts: Contexts,
    pub(crate) profile: Profile,
    eager: Eager,
    flood: Flood,
    ways: Ways,
    /// A message that a probe has shown and that may still be in the transport: the next one has to find it.
    shown: Option<Peeked>,
    /// 1 if the last probe was from any source and has shown a message there, and no receive has begun since: see
    /// [`Core::narrow_to_shown`]. A number, to be looked at together with others.
    follows_any_source_probe: usize,
    /// A failure to go on with the outboxes that has not been reported yet.
    pub(crate) failure: Option<Error>,
    pub(crate) bypass: bool,
    pub(crate) departure: Departure,
    /// There may be something in an outbox or a ring, or a failure to report: see [`State::is_busy`].
    pub(crate) attention: bool,
    /// Reasons why a blocking receive cannot go straight to the transport: processes that have ended, revoked
    /// communicators, and a user who has switched that off. See [`State::count_obstacles`].
    pub(crate) obstacles: usize,
    deaths: Deaths,
}

impl<T: Transport> Core<T> {
    pub(crate) fn new(transport: T, options: &Options) -> Self {
        let processes = transport.processes();
        let mut state = State {
            me: transport.me(),
            matching: Matching::new(&options.structure),
            requests: Requests::default(),
            messages: Messages::default(),
            peers: (0..processes).map(|_| Peer::default()).collect(),
            outboxes: Outboxes::new(processes),
            rings: Rings::default(),
            contexts: Contexts::new(processes),
            profile: Profile::default(),
            eager: Eager::new(options.eager_limit),
            flood: Flood::new(options),
            ways: Ways::new(options, transport.may_ask_for_help()),
            shown: None,
            follows_any_source_probe: 0,
            failure: None,
            bypass: options.bypass,
            departure: Departure::none_yet(),
            attention: false,
            obstacles: 0,
            deaths: Deaths::default(),
        };
        state.count_obstacles();
        state.create_contexts(Number::WORLD);
        Self {
            transport,
            state,
            idle: Idle::default(),
            asked: Asked::default(),
            sends_to_itself: 0,
            attempts: 0,
            kept_want: None,
            roll_call: RollCall::default(),
            refusals: Refusals::default(),
            waits: Waits::new(options.say_waits),
            tells: (options.statistics).then(|| {
                format!(
                    "structure {}, policy {}",
                    options.structure, options.channel
                )
            }),
            origin: Origin::here(),
        }
    }

    /// Whether a request is complete.
    pub(crate) fn is_done(&self, request: u32) -> bool {
        self.state.requests.at(request).stage == Stage::Done
    }
}

impl State {
    /// How a process has ended, if it is known to have, or is about to.
    pub(crate) fn how_ended(&self, process: Process) -> Option<Gone> {
        let peer = &self.peers[process.index()];
        peer.gone.or(peer.ends)
    }

    /// Whether a process is known to have died.
    pub(crate) fn has_died(&self, process: Process) -> bool {
        self.how_ended(process) == Some(Gone::Died)
    }

    /// Whether any process is known to have ended.
    #[inline]
    pub(crate) fn has_lost_any(&self) -> bool {
        self.deaths.ended > 0
    }

    /// Something else than the current call has failed: the next round reports it.
    #[cold]
    pub(crate) fn failed_elsewhere(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.attention = true;
    }

    /// Whether there is something to do that no message will announce.
    pub(crate) fn is_busy(&self) -> bool {
        !self.outboxes.are_empty() || self.rings.is_busy() || self.failure.is_some()
    }

    /// To be called when one of the numbers has changed: they are asked for together with every receive.
    fn count_obstacles(&mut self) {
        let refused = usize::from(!self.bypass);
        self.obstacles = refused + self.deaths.ended + self.contexts.revoked;
    }
}

#[cfg(test)]
mod tests;
