//! Large messages that both sides copy, straight from one memory into the other.
#![allow(unsafe_code, reason = "has another process write into memory")]

use core::ops::Range;
use core::slice;
use core::time::Duration;

use crate::endpoint::{Endpoint, Sent};
use crate::error::ShmError;
use crate::ids::Process;
use crate::large::claims::{Claims, Help, PART_PAGES};
use crate::large::cooperative::{FROM, FROM_SHARED, Offer, SHOWN, Shown};
use crate::large::single_copy::{Copied, LookError, MemoryId, Remote};
use crate::layout::PAGE;
use crate::liveness;
use crate::segment::Memory;
use crate::steps::{Step, step};
use crate::sync::{Ordering, fence, spin_loop};

/// The longest part of a message that is divided at a time, in bytes.
const LONGEST_PART: usize = PART_PAGES as usize * PAGE;
/// Looks at what the sender has copied, without yielding: it copies half a MiB at a time at most.
const SPINS: u32 = 20_000;
/// Looks with a yield after each.
const YIELDS: u32 = 64;
/// The first sleep between two looks after that, and the longest: a process that waits this long waits for one
/// that has been descheduled.
const FIRST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);
/// Looks in a row, a nap after each, after which memory that cannot be read is taken for memory that is no more.
const UNCLEAR: u32 = 1000;
/// Looks for an offer that is about to begin.
const UNTIL_OPEN: u32 = 1000;

/// The bytes of some pages of a message of this many bytes.
fn bytes_of(pages: Range<u32>, bytes: usize) -> Range<usize> {
    let begin_of = |page: u32| bytes.min(page as usize * PAGE);
    begin_of(pages.start)..begin_of(pages.end)
}

/// A message without this many first bytes.
fn part_of_remote(remote: Remote, at: usize) -> Remote {
    let at = at as u64;
    Remote {
        address: remote.address.wrapping_add(at),
        bytes: remote.bytes - at,
        shared: remote.shared.map(|shared| shared.wrapping_add(at)),
    }
}

/// The part of a message that is offered, if the offer is for a part of it.
fn part_of(message: &[u8], offer: Offer) -> Option<&[u8]> {
    let begin = offer.source.checked_sub(message.as_ptr() as u64)?;
    let begin = usize::try_from(begin).ok()?;
    let bytes = usize::try_from(offer.bytes).ok()?;
    let part = message.get(begin..)?.get(..bytes)?;
    (1..=LONGEST_PART).contains(&bytes).then_some(part)
}

/// Ends the process rather than give back memory into which another process still writes.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl<M: Memory> Endpoint<M> {
    /// Like [`read`](Self::read), but the sender copies a part, if the message is long enough for it and the
    /// sender comes while the rest is read. The sender is asked by a message with this header and a body of
    /// eight bytes, which it passes to [`help`](Self::help). So no message to the sender may be partly sent
    /// when this is called.
    ///
    /// # Cost
    /// One message to the sender for each 4 MiB, and a system call for each piece: five eighths at first, then
    /// half of what is left each time, 512 KiB at most; without help, two of 64 KiB and three of 256 KiB. If a
    /// sender that has taken a piece is descheduled, this waits for it.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Safety
    /// As for `read`.
    pub unsafe fn read_together(
        &mut self,
        from: Process,
        remote: Remote,
        into: &mut [u8],
        header: [u64; 2],
    ) -> Result<Copied, ShmError> {
        self.check_remote(from, remote, into.len())?;
        let least = remote.shared.map_or(FROM, |_| FROM_SHARED);
        let mut done = 0;
        while into.len() - done >= least
            && let Some(sender) = self.choose_helper(from, remote)
        {
            let part = part_of_remote(remote, done);
            let rest = &mut into[done..];
            let len = rest.len().min(LONGEST_PART);
            match self.read_part(from, sender, part, &mut rest[..len], header)? {
                Copied::All => done += len,
                Copied::Refused(part) => {
                    self.peers[from.index()].memory.is_unreadable |= remote.shared.is_none();
                    return Ok(Copied::Refused(done + part));
                }
            }
        }
        if done == into.len() && done > 0 {
            return Ok(Copied::All);
        }
        // SAFETY: as required of the caller: it is a part of the same message.
        let read = unsafe { self.read(from, part_of_remote(remote, done), &mut into[done..]) }?;
        Ok(match read {
            Copied::All => Copied::All,
            Copied::Refused(part) => Copied::Refused(done + part),
        })
    }

    /// Decides whether the sender of such a message is asked to help; returns that sender. It has been identified by
    /// its word: what its own memory says later is then its own.
    fn choose_helper(&mut self, from: Process, remote: Remote) -> Option<MemoryId> {
        // A process that shares its core with others would wait for one of them.
        let is_possible =
            self.copies_together() && from != self.me && self.patience.keeps_its_core();
        let peer = &mut self.peers[from.index()];
        let is_readable = remote.shared.is_some() || !peer.memory.is_unreadable;
        if !(is_possible && is_readable && peer.memory.helps.decide_to_ask()) {
            return None;
        }
        let sender = self.memory_id(from);
        let seen = &mut self.peers[from.index()].memory.seen;
        let is_known = seen.is_some_and(|seen| seen.whom == sender);
        (is_known || sender.look::<0>(seen).is_ok()).then_some(sender)
    }

    /// Whether this process asks senders to copy a part of what it [reads](Self::read_together), now or when it has
    /// a core of its own.
    #[must_use]
    pub fn may_ask_for_help(&self) -> bool {
        let chosen = self.options.patience;
        self.copies_together() && chosen.is_none_or(|it| it.keeps_its_core())
    }

    /// Whether this process takes part in such messages.
    fn copies_together(&self) -> bool {
        self.options.single_copy && self.options.cooperative_copy
    }

    /// Reads a part while its sender may write into it.
    fn read_part(
        &mut self,
        from: Process,
        sender: MemoryId,
        remote: Remote,
        into: &mut [u8],
        header: [u64; 2],
    ) -> Result<Copied, ShmError> {
        let (bytes, pages) = (into.len(), into.len().div_ceil(PAGE) as u32);
        // One pointer for all: only the pieces that this process has taken are its own.
        let base = into.as_mut_ptr();
        self.offers = self.offers.wrapping_add(1);
        let number = self.offers;
        self.shown.offer(Offer {
            number,
            sender: from.0,
            source: remote.address,
            address: base.expose_provenance() as u64,
            bytes: bytes as u32,
        });
        let told = self.try_send(from, header, &u64::from(number).to_le_bytes(), 0);
        if !matches!(told, Ok(Sent::Whole)) {
            // The sender is not asked, and so does nothing: the offer does not begin. With so few bytes
            // nothing is sent in part; what failed is reported to the next send.
            self.shown.withdraw();
            return self.read_piece(from, sender, remote, 0, into);
        }
        step(Step::HelpAsked);
        let place = self.place;
        let claims = &place.claims.0;
        // From here until `await_help` has returned the sender may write into what it takes.
        let guard = AbortOnUnwind;
        let mut next = 0..claims.open(number, pages);
        let stopped = loop {
            let at = bytes_of(next.clone(), bytes);
            // SAFETY: they are bytes of `into` that the sender does not take, and each is read once.
            let piece = unsafe { slice::from_raw_parts_mut(base.wrapping_add(at.start), at.len()) };
            match self.read_piece(from, sender, remote, at.start, piece) {
                Ok(Copied::All) => {}
                Ok(Copied::Refused(done)) => break Some(Ok(Copied::Refused(at.start + done))),
                Err(error) => break Some(Err(error)),
            }
            match claims.take_for_receiver(number, pages) {
                Some(more) => next = more,
                None => break None,
            }
        };
        claims.take_rest(number, pages);
        let back = claims.taken_by_sender(pages);
        let help = self.await_help(from, sender, number, back);
        core::mem::forget(guard);
        self.shown.withdraw();
        self.peers[from.index()].memory.helps.note(help.copied > 0);
        if let Some(stopped) = stopped {
            return stopped;
        }
        if help.copied == back {
            return Ok(Copied::All);
        }
        // What the sender has taken and not copied.
        let missing = bytes_of(pages - back..pages - help.copied, bytes);
        let (at, rest) = (missing.start, &mut into[missing]);
        Ok(match self.read_piece(from, sender, remote, at, rest)? {
            Copied::All => Copied::All,
            Copied::Refused(done) => Copied::Refused(at + done),
        })
    }

    /// Copies a piece of a message that begins this many bytes after its beginning.
    fn read_piece(
        &mut self,
        from: Process,
        sender: MemoryId,
        remote: Remote,
        at: usize,
        into: &mut [u8],
    ) -> Result<Copied, ShmError> {
        let piece = part_of_remote(remote, at);
        if let Some(shared) = piece.shared {
            return self.read_shared(from, shared, piece.bytes, into);
        }
        step(Step::Copying);
        let read = sender.read(
            piece.address,
            into,
            &mut self.peers[from.index()].memory.seen,
        );
        step(Step::Copied);
        Ok(read)
    }

    /// Waits until the sender is done with the pages that it has taken, or has ended; after this the sender
    /// writes nowhere.
    pub(super) fn await_help(
        &mut self,
        from: Process,
        sender: MemoryId,
        number: u32,
        back: u32,
    ) -> Help {
        if back > 0 {
            step(Step::HelpAwaited);
        }
        let mut nap = FIRST_NAP;
        let mut looks = 0;
        let mut unclear = 0;
        let mut is_over = false;
        loop {
            let mut help = self.place.claims.0.help(number);
            help.copied = help.copied.min(back);
            if help.copied == back || help.gave_up || is_over {
                return help;
            }
            if looks < SPINS {
                spin_loop();
            } else if looks < SPINS + YIELDS {
                std::thread::yield_now();
            } else {
                is_over = self.check_stopped_helping(from, sender, number, &mut unclear);
                if !is_over {
                    std::thread::sleep(nap);
                    nap = (2 * nap).min(LONGEST_NAP);
                }
                continue;
            }
            looks += 1;
        }
    }

    /// Finds out whether a sender no longer helps: it says so in its own memory, which is authoritative if a stray
    /// write has hit the segment, or that memory no longer exists: the kernel has said so for a second, one look after
    /// the other, so it was not just short of memory. Only if the kernel does not permit reading its memory, as for a
    /// process that is ending, the kernel is asked about its end: by its entry, or else by the number under which it
    /// has been identified from here.
    pub(super) fn check_stopped_helping(
        &mut self,
        from: Process,
        sender: MemoryId,
        number: u32,
        unclear: &mut u32,
    ) -> bool {
        let peer = &mut self.peers[from.index()];
        let seen = sender.look(&mut peer.memory.seen);
        *unclear = match seen {
            Err(LookError::Unclear) => *unclear + 1,
            _ => 0,
        };
        match seen {
            Ok(words) => {
                // DONE (acquire): the kernel has read the word for this process.
                fence(Ordering::Acquire);
                !Shown::is_at(words, self.me.0, number)
            }
            Err(LookError::Another) => true,
            Err(LookError::Unclear) => {
                *unclear > UNCLEAR || self.deaths.watch.find_end(from, &peer.place).is_some()
            }
            Err(LookError::Refused) => {
                let is_known = peer.memory.seen.is_some_and(|seen| seen.whom == sender);
                self.deaths.watch.find_end(from, &peer.place).is_some()
                    || is_known && liveness::number_has_ended(sender.pid)
            }
        }
    }

    /// Copies a part of a message of this process's, or all that is left of it, into the memory of the
    /// receiver, which has asked for it with a message of these eight bytes and copies the rest;
    /// returns how many bytes were copied, 0 if the receiver did not wait, or does not say so in its
    /// own memory.
    ///
    /// # Cost
    /// A system call to see what is wanted, and one for each half of what is left of it, up to 512 KiB: of 4
    /// MiB, one call of this copies about half.
    ///
    /// # Errors
    /// [`ShmError::NoSuchProcess`].
    pub fn help(&mut self, to: Process, message: &[u8], asked: [u8; 8]) -> Result<usize, ShmError> {
        self.geometry().check(to)?;
        let number = u32::try_from(u64::from_le_bytes(asked)).ok();
        let offered = number.and_then(|number| self.offer_to_help(to, number, message));
        Ok(offered.map_or(0, |(receiver, offer, part)| {
            self.copy_taken(to, receiver, offer, part)
        }))
    }

    /// The memory of a receiver that has asked for help with its offer of this number, the offer, and the part of the
    /// message that it is for; `None` if this process cannot help, or is not to.
    fn offer_to_help<'a>(
        &mut self,
        to: Process,
        number: u32,
        message: &'a [u8],
    ) -> Option<(MemoryId, Offer, &'a [u8])> {
        if !self.copies_together() || self.peers[to.index()].memory.can_not_be_helped {
            return None;
        }
        if self.shown.token() == 0 {
            // Its memory is hidden, so the receiver takes it for a process that writes nothing.
            return None;
        }
        // The receiver may be any process, as far as the segment says: it counts if it knows the word, and has
        // offered this very message to this process, which the same memory says.
        let receiver = self.memory_id(to);
        let peer = &mut self.peers[to.index()];
        let words = match receiver.look::<SHOWN>(&mut peer.memory.seen) {
            Ok(words) => words,
            Err(error) => {
                peer.memory.can_not_be_helped = error == LookError::Refused;
                return None;
            }
        };
        let offer = Shown::offer_of(words);
        let offer = offer.filter(|offer| (offer.number, offer.sender) == (number, self.me.0))?;
        Some((receiver, offer, part_of(message, offer)?))
    }

    /// Takes pages of a part of a message, one range after the other, and copies each to the receiver, as its offer
    /// says; returns how many bytes were copied.
    fn copy_taken(&mut self, to: Process, receiver: MemoryId, offer: Offer, part: &[u8]) -> usize {
        let number = offer.number;
        let pages = part.len().div_ceil(PAGE) as u32;
        let claims: &Claims = &self.peers[to.index()].place.claims.0;
        let mut looks = 0;
        while claims.is_before(number) && looks < UNTIL_OPEN {
            looks += 1;
            spin_loop();
        }
        self.shown.begin_to_help(to.0, number);
        let mut helped = 0;
        let mut is_refused = false;
        let mut seen = self.peers[to.index()].memory.seen;
        while !is_refused && let Some(taken) = claims.take_for_sender(number, pages) {
            step(Step::HelpTaken);
            let bytes = bytes_of(taken.clone(), part.len());
            let at = offer.address.wrapping_add(bytes.start as u64);
            is_refused = !receiver.write(at, &part[bytes.clone()], &mut seen);
            step(Step::HelpGiven);
            if is_refused {
                claims.report_given_up(number, pages, taken.end);
            } else {
                claims.report_copied(number, pages, taken.start);
                helped += bytes.len();
            }
            step(Step::HelpCounted);
        }
        self.shown.end_help();
        let peer = &mut self.peers[to.index()];
        peer.memory.seen = seen;
        peer.memory.can_not_be_helped = is_refused;
        helped
    }
}
