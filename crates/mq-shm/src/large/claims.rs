//! How a receiver and the sender of a message divide its pages while both copy.
//!
//! A message that the kernel lets a receiver read from the sender's memory may equally be written by the
//! sender into the receiver's: two cores share the work of one. The receiver takes pages from the front, the
//! sender, if it comes, from the back, each half of what is left until that is little, so that neither waits
//! for a late or slow partner longer than a piece takes.
//!
//! A receiver has one such message at a time, its *offer*, and each offer has a number. Both words here
//! begin with it: a latecomer finds another number and takes nothing. The receiver goes on when all pages
//! are taken and the sender has counted those that it took as copied, or has given up, or is known to be no
//! longer active; so nobody writes into its memory afterwards.

use core::ops::Range;

use crate::sync::{AtomicU64, Ordering};

/// The most pages of a message that are divided at a time: 4 MiB. A process that calls to see whether
/// something has come must not copy for others for milliseconds.
pub(crate) const PART_PAGES: u32 = 1024;
/// The fewest pages that are taken at a time, unless only these are left: with fewer, the system call takes
/// a significant part of the time.
const SHORTEST_PIECE: u32 = if cfg!(mq_loom) { 1 } else { 8 };
/// The most: nobody is waited for longer than they take, unless descheduled.
const LONGEST_PIECE: u32 = 128;
/// The bits of a page count.
const PAGES: u64 = u16::MAX as u64;

/// The pages of an offer that each side has taken, and those that the sender has copied.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Claims {
    /// The number of the offer, pages taken from the front, and from the back.
    taken: AtomicU64,
    /// The number of the offer, whether the sender has given up, and pages from the back that it has copied.
    copied: AtomicU64,
}

/// What the sender has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Help {
    /// Pages from the back that it has copied.
    pub(crate) copied: u32,
    /// It copies no more, including what it has taken.
    pub(crate) gave_up: bool,
}

const GAVE_UP: u64 = 1 << 16;

#[derive(Clone, Copy)]
struct Taken {
    number: u32,
    front: u32,
    back: u32,
}

impl Taken {
    const fn of(word: u64) -> Self {
        Self {
            number: (word >> 32) as u32,
            front: (word >> 16 & PAGES) as u32,
            back: (word & PAGES) as u32,
        }
    }

    const fn word(self) -> u64 {
        (self.number as u64) << 32 | (self.front as u64) << 16 | self.back as u64
    }

    /// Of this many pages, those that neither has taken.
    const fn left(self, pages: u32) -> u32 {
        pages.saturating_sub(self.front + self.back)
    }
}

/// How many of the remaining pages are taken next.
fn piece(left: u32) -> u32 {
    let half = (left / 2).clamp(SHORTEST_PIECE, LONGEST_PIECE);
    // A remainder too small for another piece is taken along.
    if left < half + SHORTEST_PIECE {
        left
    } else {
        half
    }
}

impl Claims {
    /// Where its second word is.
    #[cfg(not(mq_loom))]
    pub(crate) const COPIED: usize = core::mem::offset_of!(Self, copied);

    /// Opens an offer, of which the receiver takes the first piece; returns how many pages that has.
    pub(crate) fn open(&self, number: u32, pages: u32) -> u32 {
        debug_assert!(pages <= PART_PAGES, "the words have room for as many");
        // More than half: the sender comes later.
        let front = (pages - pages * 3 / 8).min(LONGEST_PIECE);
        let nothing = u64::from(number) << 32;
        // Relaxed: the sender of this offer writes here only once it has seen the other word.
        self.copied.store(nothing, Ordering::Relaxed);
        let taken = Taken {
            number,
            front,
            back: 0,
        };
        // OFFER (release): what the receiver did with the memory comes before what the sender copies there.
        self.taken.store(taken.word(), Ordering::Release);
        front
    }

    /// Whether an offer has not begun yet, as far as can be seen.
    pub(crate) fn is_before(&self, number: u32) -> bool {
        let current = Taken::of(self.taken.load(Ordering::Relaxed)).number;
        number.wrapping_sub(current).cast_signed() > 0
    }

    /// Takes pages of an offer, if any are left: `of` says how many of those. Returns what was taken before,
    /// and what is now.
    fn take(
        &self,
        number: u32,
        pages: u32,
        of: impl Fn(Taken, u32) -> Taken,
    ) -> Option<(Taken, Taken)> {
        let mut word = self.taken.load(Ordering::Relaxed);
        loop {
            let before = Taken::of(word);
            let left = before.left(pages);
            if before.number != number || left == 0 {
                return None;
            }
            let after = of(before, left);
            // OFFER (acquire), for the sender, and AT-IT (release): it has written before that it is active.
            match self.taken.compare_exchange_weak(
                word,
                after.word(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some((before, after)),
                Err(now) => word = now,
            }
        }
    }

    /// The next piece for the receiver.
    pub(crate) fn take_for_receiver(&self, number: u32, pages: u32) -> Option<Range<u32>> {
        let (before, after) = self.take(number, pages, |taken, left| Taken {
            front: taken.front + piece(left),
            ..taken
        })?;
        Some(before.front..after.front)
    }

    /// All that is left, so that the sender finds nothing more.
    pub(crate) fn take_rest(&self, number: u32, pages: u32) {
        let _ = self.take(number, pages, |taken, left| Taken {
            front: taken.front + left,
            ..taken
        });
    }

    /// The next piece for the sender.
    pub(crate) fn take_for_sender(&self, number: u32, pages: u32) -> Option<Range<u32>> {
        let (before, after) = self.take(number, pages, |taken, left| Taken {
            back: taken.back + piece(left),
            ..taken
        })?;
        Some(pages - after.back..pages - before.back)
    }

    /// Of this many pages, those that the sender has taken, once none are left.
    pub(crate) fn taken_by_sender(&self, pages: u32) -> u32 {
        // AT-IT (acquire): a process that finds pages taken finds that the sender is active, or was.
        let taken = Taken::of(self.taken.load(Ordering::Acquire));
        taken.back.min(pages)
    }

    /// The sender has copied all pages from this one on.
    pub(crate) fn report_copied(&self, number: u32, pages: u32, from: u32) {
        self.report(number, u64::from(pages - from));
    }

    /// The same, and the sender has given up: it copies no more.
    pub(crate) fn report_given_up(&self, number: u32, pages: u32, from: u32) {
        self.report(number, GAVE_UP | u64::from(pages - from));
    }

    fn report(&self, number: u32, done: u64) {
        // COPIED (release): the copy comes before the receiver goes on.
        self.copied
            .store(u64::from(number) << 32 | done, Ordering::Release);
    }

    /// What the sender has done. Nothing, if a stray write has hit these words: then the sender's own word
    /// decides.
    pub(crate) fn help(&self, number: u32) -> Help {
        // COPIED (acquire).
        let word = self.copied.load(Ordering::Acquire);
        if (word >> 32) as u32 != number {
            return Help {
                copied: 0,
                gave_up: false,
            };
        }
        Help {
            copied: (word & PAGES) as u32,
            gave_up: word & GAVE_UP != 0,
        }
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_takes_half_of_what_is_left_and_leaves_no_scraps() {
        let sizes: Vec<u32> = [1, 8, 15, 16, 17, 64, 256, 10_000].map(piece).into();
        assert_eq!(sizes, [1, 8, 15, 8, 8, 32, 128, 128]);
    }

    #[test]
    fn all_pages_are_taken_once() {
        for pages in [1, 16, 31, 64, 1000, PART_PAGES] {
            let claims = Claims::default();
            let mut taken = vec![0; pages as usize];
            let front = claims.open(7, pages);
            let mut front_and_back: Vec<_> = core::iter::once(0..front).collect();
            loop {
                let back = claims.take_for_sender(7, pages);
                let next = claims.take_for_receiver(7, pages);
                if back.is_none() && next.is_none() {
                    break;
                }
                front_and_back.extend(back.into_iter().chain(next));
            }
            for page in front_and_back.into_iter().flatten() {
                taken[page as usize] += 1;
            }
            assert!(taken.iter().all(|&times| times == 1), "{pages}");
        }
    }

    #[test]
    fn nobody_takes_of_another_offer() {
        let claims = Claims::default();
        claims.open(1, 64);
        claims.open(2, 64);
        assert_eq!(claims.take_for_sender(1, 64), None);
        assert_eq!(claims.take_for_sender(3, 64), None);
        assert!(claims.is_before(3) && !claims.is_before(2) && !claims.is_before(1));
        claims.open(u32::MAX, 64);
        assert!(claims.is_before(0) && !claims.is_before(u32::MAX));
        claims.take_rest(u32::MAX, 64);
        assert_eq!(claims.take_for_sender(u32::MAX, 64), None);
        assert_eq!(claims.taken_by_sender(64), 0);
    }

    #[test]
    fn what_is_copied_is_of_one_offer() {
        let claims = Claims::default();
        claims.open(1, 64);
        let back = claims.take_for_sender(1, 64).unwrap();
        assert_eq!(back, 52..64);
        claims.report_copied(1, 64, back.start);
        let help = Help {
            copied: 12,
            gave_up: false,
        };
        assert_eq!(claims.help(1), help);
        assert_eq!(claims.help(2).copied, 0);
        claims.report_given_up(1, 64, back.start);
        assert!(claims.help(1).gave_up);
        claims.open(2, 64);
        assert_eq!(
            claims.help(2),
            Help {
                copied: 0,
                gave_up: false
            }
        );
    }
}
