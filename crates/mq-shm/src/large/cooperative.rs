//! Copying, by both sides, of a message that the receiver reads from the sender's memory.
//!
//! One process would copy while the other only waits, so a receiver that reads a long message asks its
//! sender for help: the sender writes pages from the back into the receiver's memory (`process_vm_writev`)
//! while the receiver reads from the front. A sender that is asked and does not come is not waited for.
//! After Chakraborty et al., *Cooperative Rendezvous Protocols for Improved Performance and Overlap* (SC
//! 2018).
//!
//! # Whose memory is written
//! Where to write never stands in the segment. The sender reads it from the receiver's own memory, in one
//! system call together with the random word that identifies that memory
//! ([`single_copy`](super::single_copy)), so a stray write into the segment leads nowhere. The receiver goes
//! on only when its sender has counted what it took as copied, or is no longer active by its own word, or
//! has ended as the kernel says; until then the receiver's number is its own. A sender begins to write
//! within 0.1 ms of having read the word, unless it is descheduled between the two. If in that time the
//! receiver is killed, tens of thousands of processes begin, and another of the same user gets its number,
//! that process is written into; so is a program that another thread of the receiver has put in its place
//! (`execve`).
//!
//! What each side has taken and copied does stand in the segment. A process that deliberately writes *there*
//! can make a receiver go on while its sender still copies: any process that shares a segment, and that its
//! processes may read and write, is as trusted as they are.
//!
//! Pages of the receiver's that were never touched are allocated where the *sender* runs, on NUMA machines
//! and if the receiver has not set a memory policy.

use crate::sync::{AtomicU64, Ordering, fence};

/// The shortest message for which help is asked, in bytes: with less, the sender would come too late.
pub(crate) const FROM: usize = 64 << 10;
/// The same for a shared buffer, where the receiver finishes that much sooner.
pub const FROM_SHARED: usize = 128 << 10;

/// A message for which the receiver offers its sender to copy a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Its number among those of the receiver.
    pub(crate) number: u32,
    /// The sender.
    pub(crate) sender: u32,
    /// Where it is in the sender's memory.
    pub(crate) source: u64,
    /// Where it goes in the receiver's.
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

/// What others read from a process's own memory: how they identify it, and what it is about to do with them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Shown {
    /// A random word; 0 when nothing is to be read here any more.
    token: AtomicU64,
    /// The process it helps, and with which offer; 0 if none.
    helping: AtomicU64,
    /// The sender of the message and the number of the offer; where the message is; where it goes; the number again
    /// and the bytes. A reader that finds two numbers has words of two offers.
    offer: [AtomicU64; 4],
}

/// The memory may be the program's again while others still know where the word was.
impl Drop for Shown {
    fn drop(&mut self) {
        self.hide();
    }
}

/// Words of [`Shown`] after the first.
pub(crate) const SHOWN: usize = 5;

impl Shown {
    pub(crate) fn new(token: u64) -> Self {
        Self {
            token: AtomicU64::new(token),
            helping: AtomicU64::new(0),
            offer: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    pub(crate) fn token(&self) -> u64 {
        self.token.load(Ordering::Relaxed)
    }

    /// From now on a read that begins is refused: the reader compares the word.
    pub(crate) fn hide(&self) {
        self.token.store(0, Ordering::Relaxed);
    }

    /// Shows an offer, before its sender is told of it.
    pub(crate) fn offer(&self, offer: Offer) {
        let [whose, source, address, bytes] = &self.offer;
        let number = u64::from(offer.number);
        // The kernel reads them, for the process that is told next, or for a latecomer: that has read the first word of
        // an earlier offer, and finds another number in the last, which therefore changes first.
        bytes.store(number << 32 | u64::from(offer.bytes), Ordering::Relaxed);
        fence(Ordering::Release);
        source.store(offer.source, Ordering::Relaxed);
        address.store(offer.address, Ordering::Relaxed);
        whose.store(
            u64::from(offer.sender + 1) << 32 | number,
            Ordering::Release,
        );
    }

    /// There is no offer any more, so that a latecomer, or a process misled to believe in one, writes
    /// nothing.
    pub(crate) fn withdraw(&self) {
        self.offer[0].store(0, Ordering::Relaxed);
    }

    /// The offer among the words that were read from another process's memory.
    pub(crate) fn offer_of(words: [u64; SHOWN]) -> Option<Offer> {
        let [_, whose, source, address, bytes] = words;
        let number = whose as u32;
        let sender = ((whose >> 32) as u32).checked_sub(1)?;
        ((bytes >> 32) as u32 == number).then_some(Offer {
            number,
            sender,
            source,
            address,
            bytes: bytes as u32,
        })
    }

    const fn helps_with(receiver: u32, number: u32) -> u64 {
        (receiver as u64 + 1) << 32 | number as u64
    }

    /// This process takes parts of an offer from now on.
    pub(crate) fn begin_to_help(&self, receiver: u32, number: u32) {
        let word = Self::helps_with(receiver, number);
        // DONE (release): a process that finds it helping another by now finds all that was copied before.
        // AT-IT, through the taken pages, comes next.
        self.helping.store(word, Ordering::Release);
    }

    /// It has copied what it has taken.
    pub(crate) fn end_help(&self) {
        // DONE (release): a process that finds this finds all that was copied.
        self.helping.store(0, Ordering::Release);
    }

    /// What the kernel would read.
    #[cfg(all(mq_loom, test))]
    pub(crate) fn read_helping(&self) -> [u64; 1] {
        [self.helping.load(Ordering::Relaxed)]
    }

    /// Whether a process is active on an offer of this receiver's, by the words read from its memory.
    pub(crate) const fn is_at(words: [u64; 1], receiver: u32, number: u32) -> bool {
        words[0] == Self::helps_with(receiver, number)
    }
}

/// Whether a process helps when asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Helps {
    /// How often in a row it did not come.
    in_vain: u8,
    /// Messages since it was last asked.
    since: u8,
}

impl Helps {
    /// A process that failed to come this often is busy with something else.
    const ENOUGH: u8 = 4;
    /// After that it is asked with one of this many messages.
    const NOW_AND_THEN: u8 = 16;

    /// Whether to ask it for help with the next message.
    pub(crate) fn decide_to_ask(&mut self) -> bool {
        if self.in_vain < Self::ENOUGH {
            return true;
        }
        self.since = (self.since + 1) % Self::NOW_AND_THEN;
        self.since == 0
    }

    /// It was asked; `came` is whether it came.
    pub(crate) fn note(&mut self, came: bool) {
        self.in_vain = if came {
            0
        } else {
            self.in_vain.saturating_add(1)
        };
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_offered() {
        let shown = Shown::new(7);
        let offer = Offer {
            number: u32::MAX,
            sender: 3,
            source: 0x7000,
            address: 0x9010,
            bytes: 100_000,
        };
        shown.offer(offer);
        shown.begin_to_help(0, 5);
        // SAFETY: six consecutive words, which nobody writes.
        #[allow(unsafe_code, reason = "reads it as another process would")]
        let words = unsafe {
            core::ptr::from_ref(&shown)
                .cast::<[u64; 1 + SHOWN]>()
                .read()
        };
        let [token, behind @ ..] = words;
        assert_eq!(token, 7);
        assert_eq!(Shown::offer_of(behind), Some(offer));
        assert!(Shown::is_at([behind[0]], 0, 5));
        assert!(!Shown::is_at([behind[0]], 0, 4) && !Shown::is_at([behind[0]], 1, 5));
        // Who was late, and has read some words of an offer and the others of the next.
        shown.offer(Offer { number: 0, ..offer });
        let next = shown
            .offer
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        for torn in 1..4 {
            let mut words = behind;
            words[1 + torn..].copy_from_slice(&next[torn..]);
            assert_eq!(Shown::offer_of(words), None);
        }
        shown.withdraw();
        let none = [0, shown.offer[0].load(Ordering::Relaxed), 1, 2, 3];
        assert_eq!(Shown::offer_of(none), None);
        shown.end_help();
        let ended = shown.helping.load(Ordering::Relaxed);
        assert!(!Shown::is_at([ended], 0, 0));
    }

    #[test]
    fn who_does_not_come_is_asked_now_and_then() {
        let mut helps = Helps::default();
        for _ in 0..Helps::ENOUGH {
            assert!(helps.decide_to_ask());
            helps.note(false);
        }
        let asked = (0..160).filter(|_| helps.decide_to_ask()).count();
        assert_eq!(asked, 10);
        helps.note(true);
        assert!(helps.decide_to_ask() && helps.decide_to_ask());
    }
}
