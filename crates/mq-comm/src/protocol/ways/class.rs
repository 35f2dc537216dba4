//! Messages of about one length: how long each way took, and which one is next.

mod group;
mod look;
mod rest;

use self::group::Group;
pub(super) use self::group::Moment;
use self::look::Look;
use self::rest::{Change, Rest, Trust};

/// Bytes of the messages that are timed together, a group: twice what a ring holds, so that most of them cannot have
/// lain in it before.
const GROUP_BYTES: usize = 2 << 20;
/// The fewest messages of a group.
const GROUP_LEAST: u32 = 2;
/// The most messages of a group.
const GROUP_MOST: u32 = 128;
/// Groups by which a way is timed, of which the quickest counts. One more comes first, whose bytes are where
/// the other way has left them.
const GROUPS: u32 = 3;
/// A way replaces another if it is quicker by a sixteenth.
const MARGIN_DIVISOR: u32 = 16;
/// An eighth is needed for reading to replace the ring where messages may go ahead, which is quicker than the ring is
/// while each is asked for, and between the two ways to read, which are the same if the sender does not come.
const WIDE_MARGIN_DIVISOR: u32 = 8;
/// From one look to the next there are this many times the messages of one way's share, multiplied by how much longer
/// the slower ways together take than the quickest: so looks should cost some 3 % of the time.
const REST: u32 = 32;
/// The least of this, if all take as long.
const REST_LEAST: u32 = 8;
/// The most of this, if one takes forever.
const REST_MOST: u32 = 2048;
/// How often the rest is doubled at most: once after each look that finds the same.
const MOST_DOUBLINGS: u32 = 5;

/// How the bytes of a message come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Way {
    Ring,
    /// Copied by the receiver from where they lie: by the kernel, or out of a shared buffer. The sender is asked
    /// to copy a part, if there are enough.
    Read,
    /// The same, and the sender is not asked.
    ReadAlone,
}

const WAYS: usize = 3;

/// What is going on.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Rest(Rest),
    Look(Look),
}

/// Why a look comes, or has come: none of these, if it was due.
#[derive(Clone, Copy, Debug, Default)]
struct Reason {
    /// It comes before it was due.
    is_early: bool,
    /// Enough groups in a row were odd to be sure of a change.
    is_sure: bool,
    /// Another process has asked for it, or for it to begin anew.
    is_asked_for: bool,
}

/// How a message comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    pub(super) way: Way,
    pub(super) is_timed: bool,
    /// It is among the first of a look that this process began by itself.
    pub(super) begins_look: bool,
}

/// Messages of about one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    usual: Way,
    phase: Phase,
    /// Messages of a group.
    group: u32,
    /// Some of them may go ahead.
    may_go_ahead: bool,
    /// [`Way::ReadAlone`] is one of the ways.
    reads_alone: bool,
    /// For the next look, or the one in progress.
    reason: Reason,
    trust: Trust,
    /// Picoseconds per byte for each way, in the quickest group of the last look.
    known: [u32; WAYS],
    /// Messages from one look to the next, where nothing lengthens that.
    rest: u32,
    /// The group that is timed now.
    timed: Group,
    /// When the last timed message came.
    last: Option<Moment>,
}

impl Class {
    /// Messages of at least this many bytes, up to the next power of two, which come by this way at first.
    pub(super) fn new(bytes: usize, usual: Way) -> Self {
        let messages = u32::try_from(GROUP_BYTES / bytes.max(1)).unwrap_or(u32::MAX);
        let group = messages.clamp(GROUP_LEAST, GROUP_MOST);
        Self {
            usual,
            // Buffers that are new to both sides are no measure.
            phase: Phase::Rest(Rest::first(group)),
            group,
            may_go_ahead: false,
            reads_alone: false,
            reason: Reason::default(),
            trust: Trust::default(),
            known: [u32::MAX; WAYS],
            rest: group * (GROUPS + 1) * REST_LEAST,
            timed: Group::NONE,
            last: None,
        }
    }

    /// Some of them may go ahead.
    pub(super) const fn with_some_ahead(mut self) -> Self {
        self.may_go_ahead = true;
        self
    }

    /// They are read alone, if that is quicker.
    pub(super) const fn with_reading_alone(mut self) -> Self {
        self.reads_alone = true;
        self
    }

    /// In the order in which they are looked at.
    const fn ways(&self) -> &'static [Way] {
        let all = &[Way::Ring, Way::Read, Way::ReadAlone];
        if self.reads_alone {
            all
        } else {
            all.split_at(2).0
        }
    }

    /// Messages by which a way is looked at.
    const fn look(&self) -> u32 {
        self.group * (GROUPS + 1)
    }

    /// Whether all ways have been timed.
    #[cfg(test)]
    pub(super) fn has_looked(&self) -> bool {
        (self.ways().iter()).all(|&way| self.known[way as usize] < u32::MAX)
    }

    fn is_due(&self) -> bool {
        matches!(self.phase, Phase::Rest(rest) if rest.is_due())
    }

    /// Whether messages may come through the ring without choosing a way for each.
    pub(super) fn is_by_ring(&self) -> bool {
        let is_at_rest = matches!(self.phase, Phase::Rest(rest) if !rest.is_due());
        is_at_rest && self.usual == Way::Ring
    }

    /// A message has come through the ring unasked, and `sent` bytes of large messages have been sent so far;
    /// returns whether the next one has to be announced.
    pub(super) fn came_unasked(&mut self, bytes: usize, sent: u64) -> bool {
        if self.usual == Way::Ring && self.count_one() {
            self.on_message(Way::Ring, bytes, Moment::now(sent), 0);
        }
        !self.is_by_ring()
    }

    /// Another process begins to time the ways of what it gets from here: that is done here as well with
    /// the next message, unless it was just done, or often found nothing and nothing is unlike what it was.
    ///
    /// A look in progress begins anew, once: both processes are to look at one way at the same time.
    pub(super) fn time_soon(&mut self) {
        match &mut self.phase {
            Phase::Look(look) => {
                if !self.reason.is_asked_for && look.is_well_begun(self.group) {
                    self.reason.is_asked_for = true;
                    self.begin_look();
                }
            }
            Phase::Rest(rest) => {
                if rest.may_be_asked(self.trust, self.group) {
                    self.reason.is_asked_for = true;
                    self.reason.is_early = rest.bring_forward();
                }
            }
        }
    }

    /// How the next message comes.
    pub(super) fn next(&mut self) -> Pick {
        if self.is_due() {
            self.begin_look();
        }
        match self.phase {
            Phase::Look(Look { way, came, .. }) => Pick {
                way,
                is_timed: true,
                begins_look: way == Way::Ring && came < self.group && !self.reason.is_asked_for,
            },
            Phase::Rest(_) => Pick {
                way: self.usual,
                is_timed: self.count_one(),
                begins_look: false,
            },
        }
    }

    /// One more message; returns whether it is one of those between two looks that are timed.
    fn count_one(&mut self) -> bool {
        let Phase::Rest(rest) = &mut self.phase else {
            return false;
        };
        let before = rest.count_one(self.group);
        if before == Some(0) {
            self.forget_time();
        }
        before.is_some()
    }

    fn begin_look(&mut self) {
        self.look_at(Look::new(self.look()));
    }

    fn look_at(&mut self, look: Look) {
        self.phase = Phase::Look(look);
        self.forget_time();
    }

    /// The timed messages no longer follow each other.
    fn forget_time(&mut self) {
        self.timed = Group::NONE;
        self.last = None;
    }

    /// A timed message has come, while `on_ring` other timed ones are on their way through a ring.
    pub(super) fn on_message(&mut self, way: Way, bytes: usize, now: Moment, on_ring: u32) {
        match &mut self.phase {
            Phase::Look(look) if look.is_beside_others(way, on_ring) => {
                look.mixed += 1;
                let is_hopeless = look.mixed > look.most_mixed;
                self.forget_time();
                self.last = Some(now);
                if is_hopeless {
                    self.give_up();
                }
            }
            Phase::Look(look) if way == look.way => {
                look.came += 1;
                if look.came <= self.group {
                    self.last = Some(now);
                    return;
                }
                let look = *look;
                self.add(bytes, now);
                if self.timed.messages == self.group {
                    self.on_look_group(look, on_ring);
                }
            }
            Phase::Rest(rest) if way == self.usual && rest.since_look > rest.check => {
                let rest = *rest;
                self.add(bytes, now);
                if self.timed.messages == self.group {
                    self.on_rest_group(rest);
                }
            }
            _ => {}
        }
    }

    /// A timed message will never come.
    pub(super) fn on_lost(&mut self) {
        self.forget_time();
        if let Phase::Rest(rest) = &mut self.phase {
            rest.check = rest.since_look + 1;
        }
    }

    fn add(&mut self, bytes: usize, now: Moment) {
        if let Some(last) = self.last.replace(now) {
            self.timed.add(bytes, last, now);
        }
    }

    /// A group of a look has come.
    fn on_look_group(&mut self, mut look: Look, on_ring: u32) {
        look.note(self.timed.pace());
        self.timed = Group::NONE;
        if look.came < self.look() {
            self.phase = Phase::Look(look);
            return;
        }
        let next = match look.way {
            Way::Ring => Way::Read,
            Way::Read if self.reads_alone => Way::ReadAlone,
            Way::Read | Way::ReadAlone => return self.judge(look.least),
        };
        self.look_at(look.go_on_with(next, on_ring, self.look()));
    }

    /// Another way replaces the usual one if it is quicker by the time of the usual one divided by this.
    const fn margin_divisor(&self, usual: Way, other: Way) -> u32 {
        match (usual, other) {
            (Way::Ring, _) if self.may_go_ahead => WIDE_MARGIN_DIVISOR,
            (Way::Read, Way::ReadAlone) | (Way::ReadAlone, Way::Read) => WIDE_MARGIN_DIVISOR,
            _ => MARGIN_DIVISOR,
        }
    }

    /// A look is complete: the quicker way is taken for a while.
    fn judge(&mut self, paces: [u32; WAYS]) {
        let before = self.usual;
        let usual = paces[before as usize];
        let quickest = self.ways().iter().map(|&way| paces[way as usize]);
        let quickest = quickest.fold(usual, u32::min);
        let mut longer = 0;
        let mut least = usual;
        for &way in self.ways() {
            let pace = paces[way as usize];
            longer += u64::from(pace - quickest);
            if pace < least && pace < usual - usual / self.margin_divisor(before, way) {
                (self.usual, least) = (way, pace);
            }
        }
        let quickest = quickest.max(1);
        let rest = u64::from(REST) * longer / u64::from(quickest);
        let rest = u32::try_from(rest).unwrap_or(REST_MOST);
        if self.usual == before {
            self.trust.same = MOST_DOUBLINGS.min(self.trust.same + 1);
            let Reason {
                is_early, is_sure, ..
            } = self.reason;
            self.trust.was_in_vain(is_early, is_sure);
        } else {
            self.trust = Trust::default();
        }
        self.rest = self.look() * rest.clamp(REST_LEAST, REST_MOST);
        self.known = paces;
        self.begin_rest();
    }

    /// A look has ended without an answer: the usual way stays, and the next look waits longer.
    fn give_up(&mut self) {
        self.trust.was_in_vain(true, self.reason.is_sure);
        self.trust.same = self.trust.same.max(self.trust.in_vain);
        // How long things take now is not known, and is taken as it comes.
        self.known[self.usual as usize] = u32::MAX;
        self.begin_rest();
    }

    fn begin_rest(&mut self) {
        self.phase = Phase::Rest(Rest::after_look(self.rest, self.trust, self.group));
        self.reason = Reason::default();
        self.forget_time();
    }

    /// A group between two looks has come.
    fn on_rest_group(&mut self, mut rest: Rest) {
        let pace = self.timed.pace();
        self.forget_time();
        let known = &mut self.known[self.usual as usize];
        if *known == u32::MAX {
            *known = pace;
        }
        let change = rest.note(pace, *known, self.trust, self.group);
        if change != Change::None && !rest.is_due() {
            self.reason.is_sure = change == Change::Sure;
            self.reason.is_early = rest.bring_forward();
        }
        self.phase = Phase::Rest(rest);
    }
}

#[cfg(test)]
mod tests;
