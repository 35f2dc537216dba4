use std::time::{Duration, Instant};

use super::look::MIXED;
use super::rest::{
    CERTAIN_GROUPS, CERTAIN_UNLIKE_GROUPS, EARLY_WAIT_LOOKS, GROUPS_PER_CHECK, ODD_GROUPS,
};
use super::*;

const BYTES: usize = 1 << 20;

fn class() -> Class {
    Class::new(BYTES, Way::Ring)
}

impl Class {
    /// The way that is looked at.
    fn looked_at(&self) -> Option<Way> {
        match self.phase {
            Phase::Rest(_) => None,
            Phase::Look(look) => Some(look.way),
        }
    }

    fn look_in_progress(&self) -> Look {
        match self.phase {
            Phase::Rest(_) => panic!("between two looks"),
            Phase::Look(look) => look,
        }
    }

    fn rest(&mut self) -> &mut Rest {
        match &mut self.phase {
            Phase::Rest(rest) => rest,
            Phase::Look(_) => panic!("in a look"),
        }
    }

    fn since_look(&self) -> Option<u32> {
        match self.phase {
            Phase::Rest(rest) => Some(rest.since_look),
            Phase::Look(_) => None,
        }
    }
}

/// For a process that sends nothing.
fn at(now: Instant) -> Moment {
    Moment { at: now, sent: 0 }
}

/// One message after the other, each of which takes as many nanoseconds as its way does.
struct Run {
    class: Class,
    now: Instant,
}

impl Run {
    fn new(class: Class) -> Self {
        let now = Instant::now();
        Self { class, now }
    }

    fn one<const WAYS: usize>(&mut self, nanos: [u64; WAYS]) -> Way {
        let Pick { way, is_timed, .. } = self.class.next();
        self.now += Duration::from_nanos(nanos[way as usize]);
        if is_timed {
            self.class.on_message(way, BYTES, at(self.now), 0);
        }
        way
    }

    /// How many of `messages` came by which way.
    fn many<const WAYS: usize>(&mut self, messages: u32, nanos: [u64; WAYS]) -> [u32; WAYS] {
        let mut came = [0; WAYS];
        for _ in 0..messages {
            came[self.one(nanos) as usize] += 1;
        }
        came
    }
}

const RING_IS_QUICKER: [u64; 2] = [30_000, 60_000];
const KERNEL_IS_QUICKER: [u64; 2] = [60_000, 30_000];
const SLOW: [u64; 2] = [60_000, 120_000];
const LOOK: u32 = GROUP_LEAST * (GROUPS + 1);
const MANY: u32 = 1 << 16;

#[test]
fn the_first_messages_are_no_look_and_a_look_has_as_many_of_either_way() {
    let mut run = Run::new(class());
    assert_eq!(run.many(GROUP_LEAST, KERNEL_IS_QUICKER), [GROUP_LEAST, 0]);
    assert_eq!(run.many(2 * LOOK, KERNEL_IS_QUICKER), [LOOK, LOOK]);
    assert_eq!(run.class.looked_at(), None);
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
fn of_three_ways_the_quickest_becomes_usual() {
    let class = || class().with_reading_alone();
    let mut run = Run::new(class());
    run.many(GROUP_LEAST, [20_000, 30_000, 40_000]);
    let look = run.many(3 * LOOK, [20_000, 30_000, 40_000]);
    assert_eq!((look, run.class.looked_at()), ([LOOK; 3], None));

    for (way, nanos) in [
        (Way::Ring, [20_000, 30_000, 40_000]),
        (Way::Read, [40_000, 20_000, 30_000]),
        (Way::ReadAlone, [40_000, 30_000, 20_000]),
        // Of two that are quicker, the quicker one.
        (Way::ReadAlone, [40_000, 25_000, 20_000]),
    ] {
        run.many(1 << 17, nanos);
        assert_eq!(run.class.usual, way, "{nanos:?}");
        let came = Run::new(class()).many(100_000, nanos);
        assert!(came[way as usize] > 98_000, "{came:?}");
    }
    // A little is no reason to change, and of the two ways to read somewhat more is little.
    run.many(1 << 17, [19_000, 18_000, 20_000]);
    assert_eq!(run.class.usual, Way::ReadAlone);
    run.many(1 << 17, [40_000, 17_000, 20_000]);
    assert_eq!(run.class.usual, Way::Read);
}

/// Bursts with pauses between them, of which one is in each group.
#[test]
fn a_pause_is_no_message() {
    for burst in 1..40 {
        let mut run = Run::new(class());
        for _ in 0..2000 / burst {
            run.many(burst, KERNEL_IS_QUICKER);
            run.now += Duration::from_millis(1);
        }
        let is_found = run.class.usual == Way::Read;
        assert_eq!(is_found, burst > 1, "bursts of {burst}");
    }
}

/// The ring brings messages sooner, and keeps the process from sending as many as it otherwise does.
#[test]
fn what_is_sent_meanwhile_counts() {
    let mut class = class();
    let mut now = at(Instant::now());
    for _ in 0..1000 {
        let pick = class.next();
        let (nanos, sent) = match pick.way {
            Way::Ring => (80_000, BYTES / 4),
            _ => (100_000, BYTES),
        };
        now.at += Duration::from_nanos(nanos);
        now.sent += sent as u64;
        if pick.is_timed {
            class.on_message(pick.way, BYTES, now, 0);
        }
    }
    assert_eq!(class.usual, Way::Read);
    let one_way = Run::new(self::class()).many(1000, [80_000, 100_000]);
    assert!(one_way[0] > one_way[1], "{one_way:?}");
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
fn the_ring_may_be_slower_where_messages_may_go_ahead() {
    let quicker = |ring: u64| {
        let mut run = Run::new(Class::new(BYTES, Way::Ring).with_some_ahead());
        run.many(1 << 16, [ring, 30_000]);
        let from_ring = run.class.usual;
        run.many(1 << 16, [90_000, 30_000]);
        assert_eq!(run.class.usual, Way::Read);
        run.many(1 << 16, [ring, 30_000]);
        (from_ring, run.class.usual)
    };
    assert_eq!(quicker(27_000), (Way::Ring, Way::Ring));
    assert_eq!(quicker(33_000), (Way::Ring, Way::Read));
    assert_eq!(quicker(36_000), (Way::Read, Way::Read));
}

#[test]
fn a_change_is_seen_long_before_the_next_look_is_due() {
    let mut run = Run::new(class());
    run.many(1 << 20, KERNEL_IS_QUICKER);
    assert_eq!(
        (run.class.usual, run.class.trust.same),
        (Way::Read, MOST_DOUBLINGS)
    );
    // Just after a look.
    while run.class.since_look() != Some(3 * GROUP_LEAST) {
        run.one(KERNEL_IS_QUICKER);
    }
    let between = run.class.rest().between;
    let came = run.many(between / 8, SLOW);
    assert_eq!(run.class.usual, Way::Ring);
    assert!(came[0] > came[1], "{came:?}");
}

/// After looks that found nothing the next one waits, but not if messages take twice as long for some
/// time, or somewhat longer for a longer time.
#[test]
fn what_stays_unlike_is_looked_at_whatever_was_in_vain() {
    let is_looked_at = |groups: u32, nanos: [u64; 2], another_asks: bool| {
        let mut run = Run::new(class());
        run.many(1 << 20, KERNEL_IS_QUICKER);
        while run.class.since_look() != Some(1) {
            run.one(KERNEL_IS_QUICKER);
        }
        run.class.trust.in_vain = MOST_DOUBLINGS;
        run.class.rest().soonest = run.class.rest << MOST_DOUBLINGS;
        // Up to the first group that is timed; and each has one message more.
        run.many(GROUPS_PER_CHECK * GROUP_LEAST - 1, nanos);
        run.many(groups * (GROUP_LEAST + 1), nanos);
        if another_asks {
            run.class.time_soon();
        }
        run.class.is_due()
    };
    let slower = KERNEL_IS_QUICKER.map(|nanos| nanos + nanos * 2 / 5);
    assert!(is_looked_at(CERTAIN_UNLIKE_GROUPS, SLOW, false));
    assert!(!is_looked_at(CERTAIN_UNLIKE_GROUPS - 1, SLOW, false));
    assert!(is_looked_at(CERTAIN_GROUPS, slower, false));
    assert!(!is_looked_at(CERTAIN_GROUPS - 1, slower, false));
    assert!(is_looked_at(ODD_GROUPS, SLOW, true));
    assert!(!is_looked_at(ODD_GROUPS - 1, SLOW, true));
}

/// Messages that alternately take longer and less long, by either way, are not looked at forever.
#[test]
fn what_seems_sure_again_and_again_is_looked_at_less_and_less() {
    for slower in [2, 3, 10] {
        for phase in [32, 48, 64, 100, 200] {
            let mut run = Run::new(class());
            let mut in_looks = 0;
            for i in 0..MANY {
                let factor = if i / phase % 2 == 0 { 1 } else { slower };
                run.one(KERNEL_IS_QUICKER.map(|nanos| nanos * factor));
                in_looks += u32::from(run.class.looked_at().is_some());
            }
            assert!(
                in_looks < MANY / 10,
                "{in_looks} in looks, by turns of {phase}"
            );
        }
    }
}

/// Nor is a process heard that asks again and again, where that was for nothing.
#[test]
fn who_asks_is_heard_less_where_what_seemed_sure_was_not() {
    let mut run = Run::new(class());
    run.many(GROUP_LEAST + 2 * LOOK, RING_IS_QUICKER);
    let rest = run.class.rest();
    (rest.since_look, rest.unlike) = (EARLY_WAIT_LOOKS * LOOK, ODD_GROUPS);
    for (sure_in_vain, is_heard) in [(0, true), (1, false)] {
        let mut class = run.class;
        class.trust.sure_in_vain = sure_in_vain;
        class.time_soon();
        assert_eq!(class.reason.is_asked_for, is_heard);
    }
}

/// One that is asked for in the middle of another begins all ways anew, and once.
#[test]
fn a_look_that_another_asks_for_begins_with_the_ring_at_the_same_time() {
    let mut run = Run::new(class());
    run.many(GROUP_LEAST + 1, RING_IS_QUICKER);
    run.class.time_soon();
    assert!(!run.class.reason.is_asked_for, "both have just begun");
    run.many(LOOK - 2, RING_IS_QUICKER);
    assert_eq!(run.class.looked_at(), Some(Way::Ring));
    run.class.time_soon();
    let is_asked_for = run.class.reason.is_asked_for;
    assert_eq!((is_asked_for, run.class.look_in_progress().came), (true, 0));

    let mut run = Run::new(class());
    run.many(GROUP_LEAST + LOOK, RING_IS_QUICKER);
    run.class.on_message(Way::Ring, BYTES, at(run.now), 1);
    run.class.time_soon();
    assert!(
        !run.class.reason.is_asked_for,
        "some are on their way through the ring"
    );
    run.many(1, RING_IS_QUICKER);
    assert_eq!(run.class.looked_at(), Some(Way::Read));
    run.class.time_soon();
    assert_eq!(run.class.looked_at(), Some(Way::Ring));
    assert!(!run.class.next().begins_look, "who is asked asks nobody");
    let came = run.many(LOOK + 1, KERNEL_IS_QUICKER);
    run.class.time_soon();
    let after = run.many(LOOK - 1, KERNEL_IS_QUICKER);
    assert_eq!((came[0], came[1] + after[1]), (LOOK, LOOK));
    assert_eq!(run.class.usual, Way::Read);
}

/// Several are under way at a time: what was asked for through the ring comes while others are read.
#[test]
fn what_comes_beside_the_others_is_not_counted() {
    let mut run = Run::new(class());
    run.many(GROUP_LEAST + LOOK, KERNEL_IS_QUICKER);
    assert_eq!(run.class.looked_at(), Some(Way::Read));
    // Still on its way, and so quick that it would be the best.
    for _ in 0..2 * LOOK {
        run.now += Duration::from_nanos(1);
        let Pick { way, is_timed, .. } = run.class.next();
        assert!(is_timed);
        run.class.on_message(way, BYTES, at(run.now), 1);
        run.class.on_message(Way::Ring, BYTES, at(run.now), 1);
    }
    assert_eq!(
        run.class.look_in_progress().least[Way::Read as usize],
        u32::MAX
    );
    run.many(LOOK, [60_000, 90_000]);
    assert_eq!(run.class.usual, Way::Ring);
}

#[test]
fn messages_that_nobody_asked_for_are_announced_when_it_is_time_for_a_look() {
    let mut run = Run::new(class());
    run.many(GROUP_LEAST + 2 * LOOK, RING_IS_QUICKER);
    assert!(run.class.is_by_ring());
    let mut unasked = 0;
    while !run.class.came_unasked(BYTES, 0) {
        unasked += 1;
        assert!(run.class.is_by_ring());
    }
    assert_eq!(unasked + 1, run.class.rest().between);
    assert!(!run.class.is_by_ring());
    // Those that were on their way already change nothing.
    run.one(RING_IS_QUICKER);
    assert_eq!(run.class.looked_at(), Some(Way::Ring));
    assert!(run.class.came_unasked(BYTES, 0));
    assert_eq!(run.class.look_in_progress().came, 1);
    // What is read is announced.
    let mut run = Run::new(class());
    run.many(GROUP_LEAST + 2 * LOOK, KERNEL_IS_QUICKER);
    assert!(!run.class.is_by_ring());
}

/// Something that was asked for through the ring does not come.
#[test]
fn a_look_beside_which_the_ring_never_empties_is_given_up() {
    let mut run = Run::new(class());
    run.many(GROUP_LEAST + LOOK, KERNEL_IS_QUICKER);
    while run.class.looked_at().is_some() {
        assert!(run.class.look_in_progress().mixed <= MIXED * LOOK);
        let way = run.class.next().way;
        run.class.on_message(way, BYTES, at(run.now), 1);
    }
    assert_eq!(run.class.usual, Way::Ring);
    assert!(run.class.rest().between > LOOK * REST_LEAST);
    // Nor do others follow each other, whatever messages take by now.
    let mut in_looks = 0;
    for i in 0..MANY {
        let Pick { way, is_timed, .. } = run.class.next();
        in_looks += u32::from(run.class.looked_at().is_some());
        run.now += Duration::from_micros(if i < MANY / 2 { 30 } else { 90 });
        if is_timed {
            run.class.on_message(way, BYTES, at(run.now), 1);
        }
    }
    assert!(in_looks < MANY / 32, "{in_looks}");
}

/// More are asked for at a time than a look has.
#[test]
fn a_wide_window_comes_to_an_end_of_its_look() {
    const WINDOW: u32 = 64;
    let mut run = Run::new(class());
    for _ in 0..4 {
        // The window is asked for, in part by the ring, and what is read is there immediately.
        let mut on_ring = 0;
        for _ in 0..WINDOW {
            let Pick { way, is_timed, .. } = run.class.next();
            run.now += Duration::from_micros(30);
            if way == Way::Ring {
                on_ring += u32::from(is_timed);
            } else if is_timed {
                run.class.on_message(way, BYTES, at(run.now), on_ring);
            }
        }
        while on_ring > 0 {
            on_ring -= 1;
            run.now += Duration::from_micros(60);
            run.class.on_message(Way::Ring, BYTES, at(run.now), on_ring);
        }
    }
    assert_eq!(run.class.usual, Way::Read);
}

/// Two processes that send to each other alternately, in bursts: the one that begins a look has the
/// other begin one, which does not come back.
#[test]
fn looks_have_no_echo() {
    let mut both = [Run::new(class()), Run::new(class())];
    let mut timed = 0;
    for _ in 0..100 {
        for from in 0..2 {
            for _ in 0..100 {
                let pick = both[from].class.next();
                timed += u32::from(pick.is_timed);
                both[from].now +=
                    Duration::from_micros(if pick.way == Way::Ring { 30 } else { 60 });
                let now = both[from].now;
                if pick.is_timed {
                    both[from].class.on_message(pick.way, BYTES, at(now), 0);
                }
                if pick.begins_look {
                    both[1 - from].class.time_soon();
                }
            }
            let now = both[0].now.max(both[1].now);
            both[0].now = now;
            both[1].now = now;
        }
    }
    // Of 20,000, also one in nine groups between looks.
    assert!(timed < 20_000 / 5, "{timed}");
    assert!(both.iter().any(|run| run.class.trust.in_vain > 0));
}

/// A look waits for its messages, however long that takes.
#[test]
fn messages_that_never_come_decide_nothing() {
    let mut class = class();
    for _ in 0..10_000 {
        let Pick { way, is_timed, .. } = class.next();
        assert_eq!(way, Way::Ring);
        if is_timed {
            class.on_lost();
        }
    }
}

/// Those that come when all is decided, and in the longest class there can be.
#[test]
fn nothing_overflows() {
    for bytes in [1, 1 << 14, 1 << 40] {
        let mut run = Run::new(Class::new(bytes, Way::Ring));
        for nanos in [[1, u64::MAX >> 32], [u64::MAX >> 32, 1], [0, 0]] {
            for _ in 0..50_000 {
                let way = run.class.next().way;
                run.now += Duration::from_nanos(nanos[way as usize]);
                run.class.on_message(way, bytes, at(run.now), 0);
            }
        }
    }
}
