//! Messages of about one length: how long each way took, and which one is next.

mod group;

use self::group::Group;
pub(super) use self::group::Moment;

/// Messages that are timed together: so many bytes, twice what a ring holds, so that most of them cannot have
/// lain in it before; and messages at least and at most.
const GROUP_BYTES: usize = 2 << 20;
const GROUP_LEAST: u32 = 2;
const GROUP_MOST: u32 = 128;
/// Groups by which a way is timed, of which the quickest counts. One more comes first, whose bytes are where
/// the other way has left them.
const GROUPS: u32 = 3;
/// The part, one in so many, by which a way has to be quicker to replace the other. The second is for reading to
/// replace the ring where messages may go ahead, which is quicker than the ring is while each is asked for, and between
/// the two ways to read, which are the same if the sender does not come.
const LITTLE: u32 = 16;
const LESS_LITTLE: u32 = 8;
/// From one look to the next there are so many times the messages of one way's share, multiplied by how much
/// longer the slower ways take than the quickest, together: so looks should cost some 3 % of the time.
const REST: u32 = 32;
/// The least, if all take as long, and the most, if one takes forever.
const REST_LEAST: u32 = 8;
const REST_MOST: u32 = 2048;
/// That is doubled after each look that finds the same, up to so many times.
const TRUST: u32 = 5;

/// Between two looks, a group is timed after so many, and after one that has taken a quarter longer than
/// those of the last look, or a quarter less, the next one too. If so many such groups come in a row, the
/// next look comes immediately, unless looks would then take more than twice the time that they may; if they
/// take [`UNLIKE`] times as long, or as short, it comes after the messages of so many looks. Each early look
/// that changed nothing doubles that, too.
const CHECK: u32 = 8;
const STRANGE: u32 = 2;
const UNLIKE: u32 = 2;
const AFTER: u32 = 2;

/// So many of these in a row are a change, however many looks found nothing and whenever the last one was:
/// `SURE_UNLIKE` of [`UNLIKE`] times, or `SURE` of a quarter. Each look that came for this and changed
/// nothing doubles the number.
const SURE_UNLIKE: u32 = 8;
const SURE: u32 = 32;

/// So many messages may have been asked for before one comes; more are taken for lost.
const UNDER_WAY: u32 = 256;

/// A look ends without an answer if so many looks' messages were read while others were still on their way
/// through a ring, plus twice as many as were on their way when the ring was left.
const MIXED: u32 = 4;

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// All come by the usual way.
    Rest,
    /// All come by this way, which is timed.
    Look(Way),
}

/// A message that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
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
    /// Messages since the last look.
    turn: u32,
    /// Messages from one look to the next, and to one that comes early.
    between: u32,
    soonest: u32,
    /// The next look, or the one in progress, comes early; it comes because so many groups in a row are a
    /// change; another process has asked for it, or for it to begin anew.
    is_early: bool,
    is_sure: bool,
    is_asked_for: bool,
    /// Looks in a row that have found the same, those of them that came early, and those that came for what
    /// seemed sure.
    same: u32,
    in_vain: u32,
    sure_in_vain: u32,
    /// Messages that have come since a way is looked at, and those that came beside others.
    came: u32,
    mixed: u32,
    most_mixed: u32,
    /// Picoseconds per byte for each way, in the quickest group of this look, and of the last one.
    least: [u32; WAYS],
    known: [u32; WAYS],
    /// Messages from one look to the next, where nothing lengthens that.
    rest: u32,
    /// The group that is timed now.
    timed: Group,
    /// When the last timed message came.
    last: Option<Moment>,
    /// The turn at which the next timed group between two looks begins.
    check: u32,
    /// Such groups, in a row, that took longer than those of the look, or less long; and that took [`UNLIKE`]
    /// times as long, or as short.
    strange: u32,
    unlike: u32,
}

impl Class {
    /// Messages of at least so many bytes, up to the next power of two, which come by this way at first.
    pub(super) fn new(bytes: usize, usual: Way) -> Self {
        let messages = u32::try_from(GROUP_BYTES / bytes.max(1)).unwrap_or(u32::MAX);
        let group = messages.clamp(GROUP_LEAST, GROUP_MOST);
        Self {
            usual,
            phase: Phase::Rest,
            group,
            may_go_ahead: false,
            reads_alone: false,
            turn: 0,
            // Buffers that are new to both sides are no measure.
            between: group,
            soonest: group,
            is_early: false,
            is_sure: false,
            is_asked_for: false,
            same: 0,
            in_vain: 0,
            sure_in_vain: 0,
            came: 0,
            mixed: 0,
            most_mixed: 0,
            least: [u32::MAX; WAYS],
            known: [u32::MAX; WAYS],
            rest: group * (GROUPS + 1) * REST_LEAST,
            timed: Group::NONE,
            last: None,
            check: u32::MAX,
            strange: 0,
            unlike: 0,
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
        self.phase == Phase::Rest && self.turn >= self.between
    }

    /// Whether messages may come through the ring without choosing a way for each.
    pub(super) fn is_by_ring(&self) -> bool {
        self.phase == Phase::Rest && self.usual == Way::Ring && !self.is_due()
    }

    /// A message has come through the ring unasked, and so many bytes of large messages have been sent so far;
    /// returns whether the next one has to be announced.
    pub(super) fn came_unasked(&mut self, bytes: usize, sent: u64) -> bool {
        if self.phase == Phase::Rest && self.usual == Way::Ring && self.take_turn() {
            self.came(Way::Ring, bytes, Moment::now(sent), 0);
        }
        !self.is_by_ring()
    }

    /// Another process begins to time the ways of what it gets from here: that is done here as well with
    /// the next message, unless it was just done, or often found nothing and nothing is unlike what it was.
    ///
    /// A look in progress begins anew, once: both processes are to look at one way at the same time.
    pub(super) fn time_soon(&mut self) {
        if self.phase != Phase::Rest {
            if !self.is_asked_for && self.is_well_begun() {
                self.is_asked_for = true;
                self.begin_look();
            }
            return;
        }
        let in_vain = if self.unlike < STRANGE {
            self.in_vain
        } else {
            self.sure_in_vain
        };
        let soonest = (AFTER * self.look()) << in_vain;
        if !self.is_due() && self.turn >= soonest {
            self.is_asked_for = true;
            self.bring_forward();
        }
    }

    /// The next look comes with the next message.
    fn bring_forward(&mut self) {
        // A look that is about to come anyway is not early.
        self.is_early = self.turn < self.between - self.between / 4;
        self.between = self.between.min(self.turn);
    }

    /// How the next message comes.
    pub(super) fn next(&mut self) -> Turn {
        if self.is_due() {
            self.begin_look();
        }
        match self.phase {
            Phase::Look(way) => Turn {
                way,
                is_timed: true,
                begins_look: way == Way::Ring && self.came < self.group && !self.is_asked_for,
            },
            Phase::Rest => Turn {
                way: self.usual,
                is_timed: self.take_turn(),
                begins_look: false,
            },
        }
    }

    /// One more message between two looks; returns whether it is timed.
    fn take_turn(&mut self) -> bool {
        let turn = self.turn;
        self.turn = turn.saturating_add(1);
        if turn > self.check.saturating_add(self.group + UNDER_WAY) {
            // Some of the timed messages have not come.
            self.check = turn;
        }
        if turn == self.check {
            self.forget_time();
        }
        // One more than the group: timing begins when the first has come.
        turn >= self.check && turn - self.check <= self.group
    }

    /// Whether a look is beyond its first messages, which are not timed, and waits for none that is on its
    /// way through a ring.
    fn is_well_begun(&self) -> bool {
        match self.phase {
            Phase::Rest => false,
            Phase::Look(Way::Ring) => self.came >= self.group,
            Phase::Look(Way::Read | Way::ReadAlone) => self.came > 0,
        }
    }

    fn begin_look(&mut self) {
        self.look_at(Way::Ring, 0);
        self.least = [u32::MAX; WAYS];
    }

    fn look_at(&mut self, way: Way, on_ring: u32) {
        self.phase = Phase::Look(way);
        (self.came, self.mixed) = (0, 0);
        self.most_mixed = 2 * on_ring + MIXED * self.look();
        self.forget_time();
    }

    /// The timed messages no longer follow each other.
    fn forget_time(&mut self) {
        self.timed = Group::NONE;
        self.last = None;
    }

    /// A timed message has come, while so many other timed ones are on their way through a ring.
    pub(super) fn came(&mut self, way: Way, bytes: usize, now: Moment, on_ring: u32) {
        match self.phase {
            // What was asked for before the ring was left comes next to what is read.
            Phase::Look(Way::Read | Way::ReadAlone) if way == Way::Ring || on_ring > 0 => {
                self.forget_time();
                self.last = Some(now);
                self.mixed += 1;
                if self.mixed > self.most_mixed {
                    self.give_up();
                }
            }
            Phase::Look(looked_at) if way == looked_at => {
                self.came += 1;
                if self.came <= self.group {
                    self.last = Some(now);
                    return;
                }
                self.add(bytes, now);
                if self.timed.messages == self.group {
                    self.looked(looked_at, on_ring);
                }
            }
            Phase::Rest if way == self.usual && self.turn > self.check => {
                self.add(bytes, now);
                if self.timed.messages == self.group {
                    self.checked();
                }
            }
            _ => {}
        }
    }

    /// A timed message will never come.
    pub(super) fn lost(&mut self) {
        self.forget_time();
        if self.phase == Phase::Rest {
            self.check = self.turn + 1;
        }
    }

    fn add(&mut self, bytes: usize, now: Moment) {
        if let Some(last) = self.last.replace(now) {
            self.timed.add(bytes, last, now);
        }
    }

    /// A group of a look has come.
    fn looked(&mut self, way: Way, on_ring: u32) {
        let pace = self.timed.pace();
        self.timed = Group::NONE;
        let least = &mut self.least[way as usize];
        *least = pace.min(*least);
        if self.came < self.look() {
            return;
        }
        match way {
            Way::Ring => self.look_at(Way::Read, on_ring),
            Way::Read if self.reads_alone => self.look_at(Way::ReadAlone, on_ring),
            Way::Read | Way::ReadAlone => self.judge(),
        }
    }

    /// The part, one in so many, by which one way has to be quicker to replace another.
    const fn little(&self, usual: Way, other: Way) -> u32 {
        match (usual, other) {
            (Way::Ring, _) if self.may_go_ahead => LESS_LITTLE,
            (Way::Read, Way::ReadAlone) | (Way::ReadAlone, Way::Read) => LESS_LITTLE,
            _ => LITTLE,
        }
    }

    /// A look is complete: the quicker way is taken for a while.
    fn judge(&mut self) {
        let before = self.usual;
        let usual = self.least[before as usize];
        let quickest = self.ways().iter().map(|&way| self.least[way as usize]);
        let quickest = quickest.fold(usual, u32::min);
        let mut longer = 0;
        let mut least = usual;
        for &way in self.ways() {
            let pace = self.least[way as usize];
            longer += u64::from(pace - quickest);
            if pace < least && pace < usual - usual / self.little(before, way) {
                (self.usual, least) = (way, pace);
            }
        }
        let quickest = quickest.max(1);
        let rest = u64::from(REST) * longer / u64::from(quickest);
        let rest = u32::try_from(rest).unwrap_or(REST_MOST);
        if self.usual == before {
            self.same = TRUST.min(self.same + 1);
            self.was_in_vain(self.is_early);
        } else {
            (self.same, self.in_vain, self.sure_in_vain) = (0, 0, 0);
        }
        self.rest = self.look() * rest.clamp(REST_LEAST, REST_MOST);
        self.known = self.least;
        self.begin_rest();
    }

    /// A look has ended without an answer: the usual way stays, and the next look waits longer.
    fn give_up(&mut self) {
        self.was_in_vain(true);
        self.same = self.same.max(self.in_vain);
        // How long things take now is not known, and is taken as it comes.
        self.known[self.usual as usize] = u32::MAX;
        self.begin_rest();
    }

    fn was_in_vain(&mut self, is_early: bool) {
        self.in_vain = TRUST.min(self.in_vain + u32::from(is_early));
        self.sure_in_vain = TRUST.min(self.sure_in_vain + u32::from(self.is_sure));
    }

    fn begin_rest(&mut self) {
        self.phase = Phase::Rest;
        self.turn = 0;
        self.soonest = self.rest << self.in_vain;
        self.between = self.rest << self.same;
        (self.is_early, self.is_sure, self.is_asked_for) = (false, false, false);
        (self.strange, self.unlike) = (0, 0);
        self.check = CHECK * self.group;
        self.forget_time();
    }

    /// A group between two looks has come.
    fn checked(&mut self) {
        let pace = self.timed.pace();
        self.forget_time();
        let known = &mut self.known[self.usual as usize];
        if *known == u32::MAX {
            *known = pace;
        }
        let least = *known;
        if pace - pace / 5 <= least && pace >= least - least / 4 {
            (self.strange, self.unlike) = (0, 0);
            self.check = self.turn + CHECK * self.group;
            return;
        }
        self.strange += 1;
        self.check = self.turn;
        let is_unlike = pace / UNLIKE >= least || pace <= least / UNLIKE;
        self.unlike = if is_unlike { self.unlike + 1 } else { 0 };
        let is_sure = self.unlike >= SURE_UNLIKE << self.sure_in_vain
            || self.strange >= SURE << self.sure_in_vain;
        let soonest = if is_unlike {
            (AFTER * self.look()) << self.in_vain
        } else {
            self.soonest / 2
        };
        let may_be = self.strange >= STRANGE && self.turn > soonest;
        if (is_sure || may_be) && !self.is_due() {
            self.is_sure = is_sure && !may_be;
            self.bring_forward();
        }
    }
}

#[cfg(test)]
mod tests;
