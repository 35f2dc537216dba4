//! Messages of about one length from one process: how long either way took, and which one is next.

use std::time::Instant;

/// Messages that are timed together: so many bytes, twice what a ring holds, so that most of them can
/// not have lain in it before; and messages at least and at most.
const GROUP_BYTES: usize = 2 << 20;
const GROUP_LEAST: u32 = 4;
const GROUP_MOST: u32 = 128;
/// Groups by which a way is timed, of which the quickest counts. One more goes before them, whose
/// bytes are where the other way has left them.
const GROUPS: u32 = 3;
/// So many times slower than the ring, and the kernel is not looked at longer than for one group.
const HOPELESS: u32 = 2;
/// From one look to the next there are so many times the messages of one way's share, for each time
/// that the slower way takes longer than the other: so looks cost some 3 % of the time.
const REST: u32 = 32;
/// Where both take as long, and where one takes for ever.
const REST_LEAST: u32 = 8;
const REST_MOST: u32 = 2048;
/// That is doubled after each look that finds the same, so many times.
const TRUST: u32 = 5;

/// Of so many groups between two looks the first is timed, and behind one that has taken much longer
/// than those of the last look, or much less long, the next one too. If so many are like that in a row,
/// the next look comes at once, unless looks would then take more than twice the time that they may;
/// and if they take [`UNLIKE`] times as long, or as short, after so many looks' messages. Each look that
/// came early and has changed nothing doubles that.
const CHECK: u32 = 8;
const STRANGE: u32 = 2;
const UNLIKE: u32 = 2;
const AFTER: u32 = 2;

/// How the bytes of a message come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Way {
    Ring,
    /// By the kernel.
    Read,
}

/// What is going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// All come by the usual way.
    Rest,
    /// All come by this way, which is timed.
    Look(Way),
}

/// A group of messages that is timed.
#[derive(Clone, Copy, Debug)]
struct Group {
    nanos: u64,
    bytes: u64,
    messages: u32,
}

impl Group {
    const NONE: Self = Self {
        nanos: 0,
        bytes: 0,
        messages: 0,
    };

    /// Picoseconds a byte.
    fn pace(&self) -> u32 {
        let pace = self.nanos.saturating_mul(1000) / self.bytes.max(1);
        u32::try_from(pace).unwrap_or(u32::MAX)
    }
}

/// Messages of about one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    usual: Way,
    phase: Phase,
    /// Messages of a group.
    group: u32,
    /// Messages since the last look.
    turn: u32,
    /// Messages from one look to the next, and to one that comes early.
    between: u32,
    soonest: u32,
    /// Looks in a row that have found the same, and those of them that came early.
    same: u32,
    in_vain: u32,
    /// Messages that have come since a way is looked at.
    came: u32,
    /// Picoseconds a byte by each way, in the quickest group of the last look.
    least: [u32; 2],
    /// The group that is timed now.
    timed: Group,
    /// When the last message came of those that are timed.
    last: Option<Instant>,
    /// The turn with which the next group begins that is timed between two looks.
    check: u32,
    /// Groups of these, in a row, that were unlike those of the look.
    strange: u32,
}

impl Class {
    /// Messages from so many bytes on, and up to the next power of two.
    pub(super) fn new(bytes: usize) -> Self {
        let messages = u32::try_from(GROUP_BYTES / bytes.max(1)).unwrap_or(u32::MAX);
        let group = messages.clamp(GROUP_LEAST, GROUP_MOST);
        Self {
            usual: Way::Ring,
            phase: Phase::Rest,
            group,
            turn: 0,
            // Buffers that are new to both sides are no measure.
            between: group,
            soonest: group,
            same: 0,
            in_vain: 0,
            came: 0,
            least: [u32::MAX; 2],
            timed: Group::NONE,
            last: None,
            check: u32::MAX,
            strange: 0,
        }
    }

    /// Messages by which a way is looked at.
    const fn look(&self) -> u32 {
        self.group * (GROUPS + 1)
    }

    fn is_due(&self) -> bool {
        self.phase == Phase::Rest && self.turn >= self.between
    }

    /// Whether messages may come through the ring as long as nobody chooses a way for each.
    pub(super) fn is_by_ring(&self) -> bool {
        self.phase == Phase::Rest && self.usual == Way::Ring && !self.is_due()
    }

    /// A message has come through the ring, and nobody was asked; whether the next one has to be.
    pub(super) fn came_unasked(&mut self) -> bool {
        if self.phase != Phase::Rest {
            return false;
        }
        self.turn = self.turn.saturating_add(1);
        self.forget_time();
        self.check = self.turn.saturating_add(1);
        self.is_due()
    }

    /// The next look comes with the next message, unless the last one was just now.
    pub(super) fn time_soon(&mut self) {
        if self.phase == Phase::Rest && self.turn >= AFTER * self.look() {
            self.between = self.between.min(self.turn);
        }
    }

    /// Begins a look if it is time for one; whether it was.
    pub(super) fn begin_if_due(&mut self) -> bool {
        let is_due = self.is_due();
        if is_due {
            self.look_at(Way::Ring);
            self.least = [u32::MAX; 2];
        }
        is_due
    }

    /// How the next message comes, and whether it is timed.
    pub(super) fn next(&mut self) -> (Way, bool) {
        match self.phase {
            Phase::Look(way) => (way, true),
            Phase::Rest => {
                let turn = self.turn;
                self.turn = self.turn.saturating_add(1);
                if turn == self.check {
                    self.forget_time();
                }
                // One more, from whose end on the first is timed.
                let is_check = turn >= self.check && turn - self.check <= self.group;
                (self.usual, is_check)
            }
        }
    }

    fn look_at(&mut self, way: Way) {
        self.phase = Phase::Look(way);
        self.came = 0;
        self.forget_time();
    }

    /// Messages are not timed one after the other.
    fn forget_time(&mut self) {
        self.timed = Group::NONE;
        self.last = None;
    }

    /// A message that is timed has come; `ring_is_empty` if no other that is timed is on its way
    /// through the ring.
    pub(super) fn came(&mut self, way: Way, bytes: usize, now: Instant, ring_is_empty: bool) {
        match self.phase {
            Phase::Look(looked_at) => {
                // What was asked for before the ring was left comes beside what is read.
                let is_mixed = way != looked_at || (way == Way::Read && !ring_is_empty);
                if !is_mixed {
                    self.came += 1;
                }
                if is_mixed || self.came <= self.group {
                    self.timed = Group::NONE;
                    self.last = Some(now);
                    return;
                }
                self.add(bytes, now);
                if self.timed.messages == self.group {
                    self.looked(looked_at);
                }
            }
            Phase::Rest if way == self.usual => {
                self.add(bytes, now);
                if self.timed.messages == self.group {
                    self.checked();
                }
            }
            Phase::Rest => {}
        }
    }

    /// One that is timed will never come.
    pub(super) fn lost(&mut self) {
        self.forget_time();
    }

    fn add(&mut self, bytes: usize, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.timed.nanos += (now - last).as_nanos() as u64;
            self.timed.bytes += bytes as u64;
            self.timed.messages += 1;
        }
    }

    /// A group of a look has come.
    fn looked(&mut self, way: Way) {
        let pace = self.timed.pace();
        self.timed = Group::NONE;
        let least = &mut self.least[way as usize];
        *least = pace.min(*least);
        let is_hopeless = way == Way::Read && pace / HOPELESS > self.least[Way::Ring as usize];
        if self.came < self.look() && !is_hopeless {
            return;
        }
        match way {
            Way::Ring => self.look_at(Way::Read),
            Way::Read => self.judge(),
        }
    }

    /// A look has come to its end: the quicker way is taken for a while.
    fn judge(&mut self) {
        self.phase = Phase::Rest;
        self.turn = 0;
        self.forget_time();
        let [ring, read] = self.least;
        let (quicker, slower) = (ring.min(read).max(1), ring.max(read));
        let before = self.usual;
        // A little is no reason to change.
        if read < ring - ring / 16 {
            self.usual = Way::Read;
        } else if ring < read - read / 16 {
            self.usual = Way::Ring;
        }
        let rest = u64::from(REST) * u64::from(slower.saturating_sub(quicker)) / u64::from(quicker);
        let rest = u32::try_from(rest).unwrap_or(REST_MOST);
        let was_early = self.strange >= STRANGE;
        self.strange = 0;
        if self.usual == before {
            self.same = TRUST.min(self.same + 1);
            self.in_vain = TRUST.min(self.in_vain + u32::from(was_early));
        } else {
            (self.same, self.in_vain) = (0, 0);
        }
        let rest = self.look() * rest.clamp(REST_LEAST, REST_MOST);
        self.soonest = rest << self.in_vain;
        self.between = rest << self.same;
        self.check = CHECK * self.group;
    }

    /// A group between two looks has come.
    fn checked(&mut self) {
        let pace = self.timed.pace();
        self.forget_time();
        let least = self.least[self.usual as usize];
        if pace - pace / 4 < least && pace > least - least / 4 {
            self.strange = 0;
            self.check = self.turn + CHECK * self.group;
            return;
        }
        self.strange += 1;
        self.check = self.turn;
        let is_unlike = pace / UNLIKE >= least || pace <= least / UNLIKE;
        let soonest = if is_unlike {
            (AFTER * self.look()) << self.in_vain
        } else {
            self.soonest / 2
        };
        if self.strange >= STRANGE && self.turn > soonest {
            self.between = self.turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const BYTES: usize = 1 << 20;

    fn class() -> Class {
        Class::new(BYTES)
    }

    /// One message after the other, each of which takes so many nanoseconds by its way.
    struct Run {
        class: Class,
        now: Instant,
    }

    impl Run {
        fn new(class: Class) -> Self {
            let now = Instant::now();
            Self { class, now }
        }

        fn one(&mut self, nanos: [u64; 2]) -> Way {
            let (way, is_timed) = {
                self.class.begin_if_due();
                self.class.next()
            };
            self.now += Duration::from_nanos(nanos[way as usize]);
            if is_timed {
                self.class.came(way, BYTES, self.now, true);
            }
            way
        }

        /// How many of so many came by which way.
        fn many(&mut self, messages: u32, nanos: [u64; 2]) -> [u32; 2] {
            let mut came = [0; 2];
            for _ in 0..messages {
                came[self.one(nanos) as usize] += 1;
            }
            came
        }
    }

    const RING_IS_QUICKER: [u64; 2] = [30_000, 60_000];
    const KERNEL_IS_QUICKER: [u64; 2] = [60_000, 30_000];
    const LOOK: u32 = GROUP_LEAST * (GROUPS + 1);

    #[test]
    fn the_first_messages_are_no_look_and_a_look_has_as_many_of_either_way() {
        let mut run = Run::new(class());
        assert_eq!(run.many(GROUP_LEAST, KERNEL_IS_QUICKER), [GROUP_LEAST, 0]);
        assert_eq!(run.many(2 * LOOK, KERNEL_IS_QUICKER), [LOOK, LOOK]);
        assert_eq!(run.class.phase, Phase::Rest);
        assert_eq!(run.class.usual, Way::Read);
    }

    #[test]
    fn the_quicker_way_becomes_usual_and_the_other_is_seldom_seen() {
        for (nanos, slower) in [(RING_IS_QUICKER, 1), (KERNEL_IS_QUICKER, 0)] {
            let came = Run::new(class()).many(100_000, nanos);
            assert!(came[slower] >= LOOK, "{came:?}");
            assert!(came[slower] < 100_000 / 100, "{came:?}");
        }
    }

    #[test]
    fn what_is_hopeless_is_given_up_after_a_group() {
        let mut run = Run::new(class());
        let came = run.many(4 * LOOK, [10_000, 90_000]);
        // One group before it, whose bytes are elsewhere.
        assert_eq!(came[1], 2 * GROUP_LEAST);
    }

    #[test]
    fn a_little_is_no_reason_to_change() {
        let mut run = Run::new(class());
        run.many(1000, [30_000, 29_000]);
        assert_eq!(run.class.usual, Way::Ring);
        run.many(1 << 16, [30_000, 20_000]);
        assert_eq!(run.class.usual, Way::Read);
        run.many(1 << 16, [29_000, 30_000]);
        assert_eq!(run.class.usual, Way::Read);
    }

    #[test]
    fn a_change_is_seen_long_before_the_next_look_is_due() {
        let mut run = Run::new(class());
        run.many(1 << 20, KERNEL_IS_QUICKER);
        assert_eq!((run.class.usual, run.class.same), (Way::Read, TRUST));
        // Just after a look.
        while run.class.turn != 3 * GROUP_LEAST {
            run.one(KERNEL_IS_QUICKER);
        }
        let between = run.class.between;
        let came = run.many(between / 8, [60_000, 120_000]);
        assert_eq!(run.class.usual, Way::Ring);
        assert!(came[0] > came[1], "{came:?}");
    }

    /// Several are under way at a time: what was asked for through the ring comes while others are read.
    #[test]
    fn what_comes_beside_the_others_is_not_counted() {
        let mut run = Run::new(class());
        run.many(GROUP_LEAST + LOOK, KERNEL_IS_QUICKER);
        assert_eq!(run.class.phase, Phase::Look(Way::Read));
        // Still on its way, and so quick that it would be the best.
        for _ in 0..2 * LOOK {
            run.now += Duration::from_nanos(1);
            let (way, is_timed) = {
                run.class.begin_if_due();
                run.class.next()
            };
            assert!(is_timed);
            run.class.came(way, BYTES, run.now, false);
            run.class.came(Way::Ring, BYTES, run.now, false);
        }
        assert_eq!(run.class.least[Way::Read as usize], u32::MAX);
        run.many(LOOK, [60_000, 90_000]);
        assert_eq!(run.class.usual, Way::Ring);
    }

    #[test]
    fn messages_that_nobody_asked_for_are_announced_when_it_is_time_for_a_look() {
        let mut run = Run::new(class());
        run.many(GROUP_LEAST + 2 * LOOK, RING_IS_QUICKER);
        assert!(run.class.is_by_ring());
        let mut unasked = 0;
        while !run.class.came_unasked() {
            unasked += 1;
            assert!(run.class.is_by_ring());
        }
        assert_eq!(unasked + 1, run.class.between);
        assert!(!run.class.is_by_ring());
        // Those that were on their way already change nothing.
        run.one(RING_IS_QUICKER);
        assert_eq!(run.class.phase, Phase::Look(Way::Ring));
        assert!(!run.class.came_unasked() && !run.class.is_by_ring());
        // What is read is announced.
        let mut run = Run::new(class());
        run.many(GROUP_LEAST + 2 * LOOK, KERNEL_IS_QUICKER);
        assert!(!run.class.is_by_ring());
    }

    /// A look waits for its messages, however long that takes.
    #[test]
    fn messages_that_never_come_decide_nothing() {
        let mut class = class();
        for _ in 0..10_000 {
            let (way, is_timed) = {
                class.begin_if_due();
                class.next()
            };
            assert_eq!(way, Way::Ring);
            if is_timed {
                class.lost();
            }
        }
    }

    /// Those that come when all is decided, and in the longest class there can be.
    #[test]
    fn nothing_overflows() {
        for bytes in [1, 1 << 14, 1 << 40] {
            let mut run = Run::new(Class::new(bytes));
            for nanos in [[1, u64::MAX >> 32], [u64::MAX >> 32, 1], [0, 0]] {
                for _ in 0..50_000 {
                    let (way, _) = {
                        run.class.begin_if_due();
                        run.class.next()
                    };
                    run.now += Duration::from_nanos(nanos[way as usize]);
                    run.class.came(way, bytes, run.now, true);
                }
            }
        }
    }
}
