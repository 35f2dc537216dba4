//! The [logs](super::super::log) of both queues: what is not indexed because it may never have to be.

use super::super::super::hash::Seed;
use super::super::super::key::Key;
use super::super::log::{Kind, Log, MessageKind, ReceiveKind};
use super::Index;
use crate::arrangement::Slabs;
use crate::envelope::{Envelope, MatchBits};
use crate::pattern::{BitsOf, Pattern};
use crate::slab::{Leaving, Slab};

/// Entries that an operation indexes of a log that ends, and slots that it looks at for them.
const GIVEN: u32 = 32;
const LOOKS: u32 = 8 * GIVEN;

/// A log begins if its queue has more than half of the entries that short queues may have, and the other queue at most
/// this part of them, or a log too.
const BESIDE: u32 = 8;

/// The logs that there are; each is made when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Logs {
    receives: Option<Box<Log>>,
    messages: Option<Box<Log>>,
}

/// A log that is on.
#[inline(always)]
fn on(log: &mut Option<Box<Log>>) -> Option<&mut Log> {
    log.as_deref_mut().filter(|log| log.is_on())
}

fn is_on(log: &Option<Box<Log>>) -> bool {
    log.as_ref().is_some_and(|log| log.is_on())
}

fn is_ending(log: &Option<Box<Log>>) -> bool {
    log.as_ref().is_some_and(|log| log.is_ending())
}

impl Logs {
    pub(super) fn have_receives(&self) -> bool {
        is_on(&self.receives)
    }

    pub(super) fn have_messages(&self) -> bool {
        is_on(&self.messages)
    }

    /// Whether one of them is being indexed.
    pub(super) fn are_ending(&self) -> bool {
        is_ending(&self.receives) || is_ending(&self.messages)
    }

    /// With this many entries left, one of them has too many buckets.
    pub(super) fn few(&self) -> u32 {
        let few = |log: &Option<Box<Log>>| match log {
            Some(log) if log.is_on() => log.few(),
            _ => 0,
        };
        few(&self.receives).max(few(&self.messages))
    }

    fn end(&mut self) {
        for log in [&mut self.receives, &mut self.messages] {
            if let Some(log) = on(log) {
                log.end();
            }
        }
    }

    pub(super) fn rest(&mut self) {
        let logs = [&mut self.receives, &mut self.messages];
        logs.into_iter().flatten().for_each(|log| log.rest());
    }

    pub(super) fn bytes(&self) -> usize {
        let bytes = |log: &Option<Box<Log>>| log.as_ref().map_or(0, |log| log.bytes());
        bytes(&self.receives) + bytes(&self.messages)
    }
}

/// The log of a queue, which may be off.
fn made(log: &mut Option<Box<Log>>, seed: Seed) -> &mut Log {
    log.get_or_insert_with(|| Box::new(Log::new(seed)))
}

/// Whether some of the receives that a window has released have a wildcard.
fn has_wildcards<P: Pattern, R>(receives: &Leaving, posted: &Slab<P, R>) -> bool {
    let mut all = receives.sample(posted, 1);
    all.any(|pattern| pattern.care() != BitsOf::<P>::ALL)
}

impl<B: MatchBits> Index<B> {
    /// Begins logs with what two windows have released, where the queues are being filled and no receive has a
    /// wildcard. Returns what is to be indexed.
    pub(super) fn begin_logs<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        receives: Leaving,
        messages: Leaving,
    ) -> (Leaving, Leaving)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (posted, unexpected) = (slabs.posted.len(), slabs.unexpected.len());
        let (long, few) = (self.short_limit / 2, self.short_limit / BESIDE);
        let (many_posted, many_unexpected) = (posted > long, unexpected > long);
        if has_wildcards(&receives, &slabs.posted) {
            return (receives, messages);
        }
        let (mut receives, mut messages) = (receives, messages);
        if many_posted && (many_unexpected || unexpected <= few) {
            let log = made(&mut self.logs.receives, self.seed);
            log.begin::<ReceiveKind<P>, R>(&mut slabs.posted, receives);
            receives = Leaving::NONE;
        }
        if many_unexpected && (many_posted || posted <= few) {
            let log = made(&mut self.logs.messages, self.seed);
            log.begin::<MessageKind<P::Envelope>, M>(&mut slabs.unexpected, messages);
            messages = Leaving::NONE;
        }
        (receives, messages)
    }

    /// There are wildcards now, or views, for which the steps of logs do nothing, or hardly any entries: what is in
    /// logs is to be indexed. [`update_deviations`](Self::update_deviations) is to follow.
    #[inline]
    pub(super) fn end_logs(&mut self) {
        if self.has_logs() {
            self.logs.end();
        }
    }

    /// Whether newcomers among the receives are logged.
    #[inline(always)]
    pub(in super::super) fn logs_receives(&self) -> bool {
        self.logs.have_receives()
    }

    /// Whether newcomers among the messages are logged.
    #[inline(always)]
    pub(in super::super) fn logs_messages(&self) -> bool {
        self.logs.have_messages()
    }

    /// Whether a receive is left to its log, as those without a wildcard are if there is one.
    pub(super) fn stays_in_log<P, R, M>(&self, slabs: &Slabs<P, R, M>, slot: u32) -> bool
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        self.logs.have_receives() && slabs.posted.key(slot).care() == B::ALL
    }

    /// The message that a fully specified receive takes, unlinked, from a [log of all](Self::has_log_of_messages).
    #[inline(always)]
    pub(in super::super) fn take_logged_message<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let log = self.logs.messages.as_deref_mut()?;
        log.take::<MessageKind<P::Envelope>, M>(&mut slabs.unexpected, key)
    }

    /// The receive that takes a message, unlinked, from a [log of all](Self::has_log_of_receives).
    #[inline(always)]
    pub(in super::super) fn take_logged_receive<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let log = self.logs.receives.as_deref_mut()?;
        log.take::<ReceiveKind<P>, R>(&mut slabs.posted, key)
    }

    /// Makes sure that there is a slot for a receive in its log; false if it has none.
    pub(in super::super) fn make_room_in_log_of_receives<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        pattern: P,
    ) -> bool
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (log, posted) = (&mut self.logs.receives, &mut slabs.posted);
        let is_on = make_room::<ReceiveKind<P>, R>(log, posted, pattern, self.short_limit);
        self.after_making_room(is_on)
    }

    /// Makes sure that there is a slot for a message in its log; false if it has none.
    pub(in super::super) fn make_room_in_log_of_messages<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        envelope: P::Envelope,
    ) -> bool
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (log, messages) = (&mut self.logs.messages, &mut slabs.unexpected);
        let is_on =
            make_room::<MessageKind<P::Envelope>, M>(log, messages, envelope, self.short_limit);
        self.after_making_room(is_on)
    }

    /// After a log that is on has got room, with which it may end; returns whether it is.
    fn after_making_room(&mut self, is_on: bool) -> bool {
        if is_on {
            self.set_low();
            self.update_deviations();
        }
        is_on
    }

    /// Indexes some entries of logs that end.
    #[inline(never)]
    pub(super) fn index_some_of_logs<P, R, M>(&mut self, slabs: &mut Slabs<P, R, M>)
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let (mut given, mut looks) = (GIVEN, LOOKS);
        // Once for all of them: each time some buckets are added, if many are needed.
        self.serve(slabs);
        while given > 0
            && let Some(slot) =
                oldest::<ReceiveKind<P>, R>(&mut self.logs.receives, &mut slabs.posted, &mut looks)
        {
            self.move_receive(slabs, slot);
            given -= 1;
        }
        while given > 0
            && let Some(slot) = oldest::<MessageKind<P::Envelope>, M>(
                &mut self.logs.messages,
                &mut slabs.unexpected,
                &mut looks,
            )
        {
            // Views have it already.
            self.put_message(slabs, slot);
            given -= 1;
        }
        // One of them may be off now.
        self.set_low();
        self.update_deviations();
    }

    /// The first receive in its log that takes a message.
    pub(super) fn find_logged_receive<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let log = on(&mut self.logs.receives)?;
        log.find::<ReceiveKind<P>, R>(&mut slabs.posted, key)
    }

    /// The first message in its log with a key; none with a wildcard is looked for there.
    pub(super) fn find_logged_message<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        key: Key<B>,
    ) -> Option<u32>
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let log = on(&mut self.logs.messages)?;
        if key.care != B::ALL {
            return None;
        }
        log.find::<MessageKind<P::Envelope>, M>(&mut slabs.unexpected, key)
    }

    /// Unlinks a receive if it is in its log; false if it is not.
    pub(super) fn unlink_logged_receive<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) -> bool
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        unlink::<ReceiveKind<P>, R>(&mut self.logs.receives, &mut slabs.posted, slot)
    }

    /// Unlinks a message if it is in its log; false if it is not.
    pub(super) fn unlink_logged_message<P, R, M>(
        &mut self,
        slabs: &mut Slabs<P, R, M>,
        slot: u32,
    ) -> bool
    where
        P: Pattern,
        P::Envelope: Envelope<Bits = B>,
    {
        let messages = &mut slabs.unexpected;
        unlink::<MessageKind<P::Envelope>, M>(&mut self.logs.messages, messages, slot)
    }

    /// How many keys the table has at most: entries without wildcards that are indexed.
    #[inline(always)]
    pub(super) fn keys<P: Pattern, R, M>(&self, slabs: &Slabs<P, R, M>) -> u32 {
        if !self.has_logs() {
            return slabs.posted.len() + slabs.unexpected.len() - self.classes.posted();
        }
        self.keys_beside_logs(slabs)
    }

    #[cold]
    #[inline(never)]
    fn keys_beside_logs<P: Pattern, R, M>(&self, slabs: &Slabs<P, R, M>) -> u32 {
        let receives = match &self.logs.receives {
            Some(log) if log.is_on() => log.moved(),
            _ => slabs.posted.len() - self.classes.posted(),
        };
        let messages = match &self.logs.messages {
            Some(log) if log.is_on() => log.moved(),
            _ => slabs.unexpected.len(),
        };
        receives + messages
    }

    /// A removal has left few entries: a log may end.
    pub(super) fn shrink_logs<P: Pattern, R, M>(&mut self, slabs: &Slabs<P, R, M>) {
        let queues = [
            (&mut self.logs.receives, slabs.posted.len()),
            (&mut self.logs.messages, slabs.unexpected.len()),
        ];
        for (log, len) in queues {
            if let Some(log) = on(log)
                && len <= log.few()
            {
                log.shrink();
            }
        }
        self.update_deviations();
    }
}

/// Makes sure that there is a slot in the log of a queue; false if that is off.
fn make_room<K: Kind, T>(
    log: &mut Option<Box<Log>>,
    slab: &mut Slab<K::Stored, T>,
    stored: K::Stored,
    slack: u32,
) -> bool {
    let Some(log) = on(log) else {
        return false;
    };
    log.make_room::<K, T>(slab, stored, slack);
    true
}

/// Takes the oldest entry out of a log that ends, after a look at some slots; or turns off one that has come to its
/// end.
fn oldest<K: Kind, T>(
    log: &mut Option<Box<Log>>,
    slab: &mut Slab<K::Stored, T>,
    looks: &mut u32,
) -> Option<u32> {
    let log = log.as_deref_mut().filter(|log| log.is_ending())?;
    let slot = log.take_oldest::<K, T>(slab, looks);
    if slot.is_none() {
        log.finish(slab);
    }
    slot
}

/// Unlinks an entry if it is in the log of its queue; false if it is not.
fn unlink<K: Kind, T>(
    log: &mut Option<Box<Log>>,
    slab: &mut Slab<K::Stored, T>,
    slot: u32,
) -> bool {
    match on(log) {
        Some(log) if log.holds::<K, T>(slab, slot) => {
            log.unlink::<K, T>(slab, slot);
            true
        }
        _ => false,
    }
}
