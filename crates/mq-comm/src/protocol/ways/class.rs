//! Messages of about one length from one process: how long either way took, and which one is next.

/// Messages before the first look: buffers that are new to both sides are no measure.
const BEFORE: u32 = 16;
/// Bytes by which a way is timed, four times what a ring holds, and messages at least and at most.
const LOOK_BYTES: usize = 4 << 20;
const LOOK_LEAST: u32 = 12;
const LOOK_MOST: u32 = 512;
/// Messages that are timed together. The quickest of such groups counts.
const GROUP: u32 = 4;
/// So many times slower than the ring, and the kernel is not looked at longer than for one group.
const HOPELESS: u32 = 3;
/// From one look to the next there are so many times the messages of one way's share, for each time
/// that the slower way takes longer than the other: so looks cost some 3 % of the time.
const REST: u32 = 32;
/// Where both take as long, and where one takes for ever.
const REST_LEAST: u32 = 8;
const REST_MOST: u32 = 2048;
/// That is doubled after each look that finds the same, so many times.
const TRUST: u32 = 5;

/// Of so many messages between two looks the first group is timed. If so many of these groups in a
/// row take twice as long as those of the last look, or half as long, the next look comes at once,
/// unless looks would then take more than twice the time that they may.
const CHECK: u32 = 192;
const STRANGE: u32 = 2;

/// How the bytes of a message come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Way {
    Ring,
    /// By the kernel.
    Read,
}

/// What a message is timed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The first ones of a look, which find the ring as the other way has left it: for nothing but
    /// where the next ones begin.
    Begin,
    Look,
    Check,
}

/// How long one way took.
#[derive(Clone, Copy, Debug)]
struct Took {
    /// Picoseconds a byte, in the quickest group.
    least: u32,
    nanos: u64,
    bytes: u64,
    messages: u32,
}

impl Took {
    const NOTHING: Self = Self {
        least: u32::MAX,
        nanos: 0,
        bytes: 0,
        messages: 0,
    };

    fn add(&mut self, bytes: usize, nanos: u64) {
        self.nanos += nanos;
        self.bytes += bytes as u64;
        self.messages += 1;
        if self.messages == GROUP {
            let pace = self.nanos.saturating_mul(1000) / self.bytes.max(1);
            *self = Self {
                least: u32::try_from(pace).map_or(self.least, |pace| pace.min(self.least)),
                ..Self::NOTHING
            };
        }
    }
}

/// Messages of about one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    usual: Way,
    is_judged: bool,
    /// Messages of a look by one way.
    look: u32,
    /// Messages since the last look began.
    turn: u32,
    /// Messages from one look to the next, and to one that comes early.
    between: u32,
    soonest: u32,
    /// Looks in a row that have found the same.
    same: u32,
    /// By way.
    took: [Took; 2],
    /// The last messages that were timed between two looks.
    checked: Took,
    /// Groups of them in a row that were unlike those of the look.
    strange: u32,
}

impl Class {
    /// Messages from so many bytes on, and up to the next power of two.
    pub(super) fn new(bytes: usize) -> Self {
        let messages = u32::try_from(LOOK_BYTES / bytes.max(1)).unwrap_or(u32::MAX);
        Self {
            usual: Way::Ring,
            is_judged: true,
            look: messages.clamp(LOOK_LEAST, LOOK_MOST),
            turn: 0,
            between: BEFORE,
            soonest: BEFORE,
            same: 0,
            took: [Took::NOTHING; 2],
            checked: Took::NOTHING,
            strange: 0,
        }
    }

    /// It is time for a look.
    pub(super) fn is_due(&self) -> bool {
        self.is_judged && self.turn >= self.between
    }

    pub(super) fn begin_look(&mut self) {
        self.is_judged = false;
        self.turn = 0;
        self.took = [Took::NOTHING; 2];
        self.checked = Took::NOTHING;
        self.strange = 0;
    }

    /// How the next message comes, and what it is timed for if it is. Those that were timed may not
    /// all have come yet.
    pub(super) fn next(&mut self, is_timing: impl FnOnce() -> bool) -> (Way, Option<Part>) {
        let turn = self.turn;
        self.turn += 1;
        if self.is_judged {
            let is_check = self.soonest > BEFORE && turn % CHECK < GROUP;
            return (self.usual, is_check.then_some(Part::Check));
        }
        if turn < self.look / 3 {
            (Way::Ring, Some(Part::Begin))
        } else if turn < self.look {
            (Way::Ring, Some(Part::Look))
        } else if turn < 2 * self.look {
            (Way::Read, Some(Part::Look))
        } else {
            // Those through the ring may come to their end after the last one that was read.
            if turn >= 4 * self.look || !is_timing() {
                self.judge();
            }
            (self.usual, None)
        }
    }

    /// A message has taken so long.
    pub(super) fn note(&mut self, way: Way, part: Part, bytes: usize, nanos: u64) {
        match part {
            Part::Begin => {}
            Part::Look if self.is_judged => {}
            Part::Look => self.looked(way, bytes, nanos),
            Part::Check if self.is_judged && way == self.usual => self.check(bytes, nanos),
            Part::Check => {}
        }
    }

    fn looked(&mut self, way: Way, bytes: usize, nanos: u64) {
        let ring = self.took[Way::Ring as usize].least;
        let took = &mut self.took[way as usize];
        took.add(bytes, nanos);
        if way == Way::Read && took.least != u32::MAX && took.least / HOPELESS > ring {
            self.turn = self.turn.max(2 * self.look);
        }
    }

    /// A look has come to its end: the quicker way is taken for a while.
    fn judge(&mut self) {
        self.is_judged = true;
        let [ring, read] = self.took.map(|took| took.least);
        let (quicker, slower) = (ring.min(read).max(1), ring.max(read));
        let before = self.usual;
        let rest = if slower == u32::MAX {
            // One of them was interrupted all the time.
            REST
        } else {
            // A little is no reason to change.
            if read < ring - ring / 16 {
                self.usual = Way::Read;
            } else if ring < read - read / 16 {
                self.usual = Way::Ring;
            }
            let longer =
                u64::from(REST) * u64::from(slower.saturating_sub(quicker)) / u64::from(quicker);
            u32::try_from(longer).unwrap_or(REST_MOST)
        };
        self.same = if self.usual == before {
            TRUST.min(self.same + 1)
        } else {
            0
        };
        self.soonest = self.look * rest.clamp(REST_LEAST, REST_MOST);
        self.between = self.soonest << self.same;
    }

    fn check(&mut self, bytes: usize, nanos: u64) {
        self.checked.add(bytes, nanos);
        let pace = self.checked.least;
        if pace == u32::MAX {
            return;
        }
        self.checked = Took::NOTHING;
        let least = self.took[self.usual as usize].least;
        if pace / 2 < least && pace >= least / 2 {
            self.strange = 0;
            return;
        }
        self.strange += 1;
        if self.strange >= STRANGE && self.turn > self.soonest / 2 {
            self.between = self.turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1 << 20;

    fn class() -> Class {
        Class::new(BYTES)
    }

    /// So many messages, each of which takes so many nanoseconds by its way; how many came by which.
    fn run(class: &mut Class, messages: u32, nanos: [u64; 2]) -> [u32; 2] {
        let mut came = [0; 2];
        for _ in 0..messages {
            if class.is_due() {
                class.begin_look();
            }
            let (way, part) = class.next(|| false);
            came[way as usize] += 1;
            if let Some(part) = part {
                class.note(way, part, BYTES, nanos[way as usize]);
            }
        }
        came
    }

    const RING_IS_QUICKER: [u64; 2] = [30_000, 60_000];
    const KERNEL_IS_QUICKER: [u64; 2] = [60_000, 30_000];

    #[test]
    fn the_first_messages_are_no_look() {
        assert_eq!(
            run(&mut class(), BEFORE, KERNEL_IS_QUICKER),
            [BEFORE, 0],
            "all by the ring"
        );
    }

    #[test]
    fn the_quicker_way_becomes_usual_and_the_other_is_seldom_seen() {
        for (nanos, slower) in [(RING_IS_QUICKER, 1), (KERNEL_IS_QUICKER, 0)] {
            let came = run(&mut class(), 100_000, nanos);
            assert!(came[slower] >= LOOK_LEAST, "{came:?}");
            assert!(came[slower] < 100_000 / 100, "{came:?}");
        }
    }

    #[test]
    fn a_look_has_as_many_of_either_way() {
        let mut class = class();
        run(&mut class, BEFORE, RING_IS_QUICKER);
        assert_eq!(
            run(&mut class, 2 * LOOK_LEAST, RING_IS_QUICKER),
            [LOOK_LEAST; 2]
        );
    }

    #[test]
    fn what_is_hopeless_is_given_up_after_a_group() {
        let mut class = class();
        let came = run(&mut class, 4 * LOOK_LEAST, [10_000, 90_000]);
        assert_eq!(came, [4 * LOOK_LEAST - GROUP, GROUP]);
    }

    #[test]
    fn a_little_is_no_reason_to_change() {
        let mut class = class();
        run(&mut class, 1000, [30_000, 29_000]);
        assert_eq!(class.usual, Way::Ring);
        run(&mut class, 1 << 16, [30_000, 20_000]);
        assert_eq!(class.usual, Way::Read);
        run(&mut class, 1 << 16, [29_000, 30_000]);
        assert_eq!(class.usual, Way::Read);
    }

    #[test]
    fn a_change_is_seen_long_before_the_next_look_is_due() {
        let mut class = class();
        run(&mut class, 1 << 20, KERNEL_IS_QUICKER);
        assert_eq!((class.usual, class.same), (Way::Read, TRUST));
        // Just after a look.
        while class.turn != 3 * class.look {
            run(&mut class, 1, KERNEL_IS_QUICKER);
        }
        let between = class.between;
        let came = run(&mut class, between / 8, [60_000, 120_000]);
        assert_eq!(class.usual, Way::Ring);
        assert!(came[0] > came[1], "{came:?}");
    }

    #[test]
    fn interrupted_looks_decide_nothing() {
        let mut class = class();
        for _ in 0..10_000 {
            if class.is_due() {
                class.begin_look();
            }
            // Nothing that is timed is noted.
            class.next(|| true);
        }
        assert_eq!(class.usual, Way::Ring);
        assert!(class.is_judged || class.turn < 4 * class.look);
    }

    /// Those that come when all is decided, and in the longest class there can be.
    #[test]
    fn nothing_overflows() {
        for bytes in [1, 1 << 14, 1 << 40] {
            let mut class = Class::new(bytes);
            for nanos in [[1, u64::MAX / 8], [u64::MAX / 8, 1], [0, 0]] {
                for _ in 0..200_000 {
                    if class.is_due() {
                        class.begin_look();
                    }
                    let (way, part) = class.next(|| false);
                    let nanos = nanos[way as usize];
                    class.note(way, part.unwrap_or(Part::Look), bytes, nanos);
                }
            }
        }
    }
}
