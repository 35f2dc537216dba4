//! A view that is made while messages wait: some are linked with each search.
//!
//! To link 65,536 messages takes a millisecond, and to find their order three more where they have come and gone at
//! random. A search without a view looks at all of them in less than a tenth of that. So it takes about as long again
//! for a part: the linked messages are the earliest, and a search that finds none among them looks at all.

use crate::memory::vec_bytes;
use crate::slab::Slab;

/// To collect this many messages takes as long as to link one.
const COLLECTING: usize = 8;

/// To part this many messages into earlier and later ones takes as long as to link one.
const PARTING: usize = 10;

/// The parts of a long queue.
const PARTS: u32 = 16;

/// How many messages a search may link, of those in `slots` slots: a part, and at least `least`, so that one or two
/// searches link those of a queue of that length.
pub(super) const fn part_of(slots: u32, least: u32) -> usize {
    let part = slots / PARTS;
    match if part > least { part } else { least } {
        0 => 1,
        part => part as usize,
    }
}

/// Number and slot of a message.
type Numbered = (u64, u32);

/// What a view has not linked yet. Newcomers are not linked either, until all before them are.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// All messages with a smaller number are linked.
    next: u64,
    /// Messages that were there when they were collected.
    collected: Vec<Numbered>,
    /// All that have come since have this number or a greater one.
    collected_at: u64,
    /// How many of these are linked, or have left.
    done: usize,
    /// Up to here they are in order.
    in_order: usize,
    /// Where parts end: no message of a part is later than one of a part behind it. The first to come is the last.
    ends: Vec<usize>,
}

impl Filling {
    /// Whether a message that is queued is linked.
    pub(super) fn has_linked<K: Copy, T>(&self, messages: &Slab<K, T>, slot: u32) -> bool {
        messages.sequence(slot) < self.next
    }

    /// Has some messages linked, the earliest of those that are not: `part` of them if nothing else is to be done, and
    /// fewer if one took the time of several, which `link` returns. Whether all are linked now.
    pub(super) fn go_on<K: Copy, T>(
        &mut self,
        messages: &Slab<K, T>,
        part: usize,
        mut link: impl FnMut(u32) -> usize,
    ) -> bool {
        let mut left = part;
        if self.done == self.collected.len() {
            self.collect(messages);
            // Some are linked in any case: where some come between any two searches, those are few enough at last to
            // be collected and linked by one.
            let cost = messages.slots() as usize / COLLECTING;
            left = left.saturating_sub(cost).max(part / 2).max(1);
        }
        while left > 0 && self.done < self.collected.len() {
            if self.done == self.in_order {
                let cost = self.arrange(part);
                left = left.saturating_sub(cost);
            }
            while left > 0 && self.done < self.in_order {
                let (number, slot) = self.collected[self.done];
                let cost = match messages.holds(slot, number) {
                    true => link(slot),
                    false => 1,
                };
                left = left.saturating_sub(cost);
                self.next = number + 1;
                self.done += 1;
            }
        }
        let has_newcomers = messages.next_sequence() > self.collected_at;
        self.done == self.collected.len() && !has_newcomers
    }

    /// Collects the messages that are not linked.
    fn collect<K: Copy, T>(&mut self, messages: &Slab<K, T>) {
        let Self {
            next, collected, ..
        } = self;
        collected.clear();
        collected.reserve(messages.len() as usize);
        // From within, an iterator over slots of two kinds is quicker.
        messages.numbered().for_each(|message| {
            if message.0 >= *next {
                collected.push(message);
            }
        });
        let all = self.collected.len();
        self.collected_at = messages.next_sequence();
        self.done = 0;
        self.in_order = if self.collected.is_sorted() { all } else { 0 };
        self.ends.clear();
        self.ends.push(all);
    }

    /// Brings the earliest of those that are not in order into order, or parts them into earlier and later ones;
    /// returns how many could have been linked instead.
    fn arrange(&mut self, part: usize) -> usize {
        while self.ends.last() == Some(&self.done) {
            self.ends.pop();
        }
        let Some(&end) = self.ends.last() else {
            return 0;
        };
        let piece = &mut self.collected[self.done..end];
        if piece.len() <= part.div_ceil(2).max(3) {
            piece.sort_unstable();
            self.in_order = end;
            return piece.len();
        }
        let cost = piece.len() / PARTING;
        self.ends.push(self.done + parted(piece));
        cost
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + vec_bytes(&self.collected) + vec_bytes(&self.ends)
    }
}

/// Brings the messages before one of them, which is somewhere in the middle, to the front; returns how many these
/// are: at least one, and not all. For four or more.
fn parted(piece: &mut [Numbered]) -> usize {
    const SAMPLE: usize = 9;
    let mut sample: [u64; SAMPLE] = core::array::from_fn(|i| piece[i * piece.len() / SAMPLE].0);
    sample.sort_unstable();
    let middle = sample[SAMPLE / 2];
    let mut earlier = 0;
    for i in 0..piece.len() {
        // Which of them are earlier cannot be predicted, so there is no branch.
        let is_earlier = piece[i].0 < middle;
        piece.swap(i, earlier);
        earlier += usize::from(is_earlier);
    }
    earlier
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::random;
    use super::*;
    use crate::slab::NIL;

    fn linking(linked: &mut Vec<u32>) -> impl FnMut(u32) -> usize {
        |slot| {
            linked.push(slot);
            1
        }
    }

    /// Calls until all are linked, and what was linked by them.
    fn fill(messages: &Slab<u32, u32>, filling: &mut Filling, part: usize) -> (usize, Vec<u32>) {
        let (mut calls, mut linked) = (1, Vec::new());
        while !filling.go_on(messages, part, linking(&mut linked)) {
            calls += 1;
            assert!(calls < 1000, "it ends");
        }
        (calls, linked)
    }

    #[test]
    fn as_many_as_a_part_are_linked_in_one_go_and_more_in_few() {
        for (count, calls) in [(0, 1), (4096, 2), (65_536, 20)] {
            let mut messages = Slab::new(0);
            for key in 0..count {
                messages.insert(key, key, NIL);
            }
            let part = part_of(messages.slots(), 4096);
            let (took, linked) = fill(&messages, &mut Filling::default(), part);
            assert!(took <= calls, "{took} for {count}");
            assert_eq!(linked, messages.slots_in_order());
        }
    }

    #[test]
    fn messages_that_come_meanwhile_do_not_keep_a_view_from_filling() {
        for at_once in [1, 100, 900] {
            let mut messages = Slab::new(0);
            for key in 0..70_000 {
                messages.insert(key, key, NIL);
            }
            let (mut filling, mut linked) = (Filling::default(), Vec::new());
            let mut calls = 0;
            loop {
                for key in 0..at_once {
                    messages.insert(key, key, NIL);
                }
                let part = part_of(messages.slots(), 4096);
                if filling.go_on(&messages, part, linking(&mut linked)) {
                    break;
                }
                calls += 1;
                assert!(calls < 40, "{at_once} at a time");
            }
            assert_eq!(linked, messages.slots_in_order());
        }
    }

    #[test]
    fn order_is_found_piece_by_piece() {
        let mut messages = Slab::new(0);
        let slots: Vec<u32> = (0..40_000)
            .map(|key| messages.insert(key, key, NIL))
            .collect();
        for i in 0..40_000 {
            let slot = slots[i * 7_919 % 40_000];
            let (key, _) = messages.remove(slot);
            messages.insert(key, key, NIL);
        }
        let part = part_of(messages.slots(), 4096);
        let (took, linked) = fill(&messages, &mut Filling::default(), part);
        assert!((10..60).contains(&took), "{took}");
        assert_eq!(linked, messages.slots_in_order());
    }

    /// Messages come and go in any order, also while a view is being filled: what is linked is always the earliest
    /// part of what is queued.
    #[test]
    fn the_linked_are_the_earliest() {
        let mut random = random(7);
        for _ in 0..500 {
            let mut messages: Slab<u32, u32> = Slab::new(0);
            let mut filling = Filling::default();
            let (mut linked, mut queued): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
            let part = 1 + random(8) as usize;
            for _ in 0..random(300) {
                let mut are_all = false;
                match random(8) {
                    0..4 => queued.push(messages.insert(0, 0, NIL)),
                    4..6 if !queued.is_empty() => {
                        let which = random(u32::MAX) as usize % queued.len();
                        let slot = queued.remove(which);
                        let was_linked = linked.contains(&slot);
                        assert_eq!(was_linked, filling.has_linked(&messages, slot));
                        linked.retain(|&other| other != slot);
                        messages.remove(slot);
                    }
                    _ => are_all = filling.go_on(&messages, part, linking(&mut linked)),
                }
                assert_eq!(linked, messages.slots_in_order()[..linked.len()]);
                assert!(!are_all || linked.len() == queued.len());
            }
            linked.extend(fill(&messages, &mut filling, part).1);
            assert_eq!(linked, messages.slots_in_order());
        }
    }
}
