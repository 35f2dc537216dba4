//! Short messages from where they are expected: the first thing looked for, and most of what arrives.

use crate::endpoint::Endpoint;
use crate::endpoint::peer::Peer;
use crate::endpoint::receive::{InTurn, is_turn_of_others};
use crate::fastbox::{BOX_PAYLOAD, Inlet, LINE_PAYLOAD, Outlet};
use crate::ids::Process;
use crate::segment::Memory;
use crate::steps::{Step, step};
use crate::wait::Idle;

/// A message of up to [`BOX_PAYLOAD`] bytes in a fastbox, whole. Dropping it gives the slots back to the
/// sender; a forgotten one is found again.
#[derive(Debug)]
pub struct Short<'a> {
    inlet: &'a mut Inlet,
    outlet: &'a Option<Outlet>,
    /// The number of the next message from there.
    due: &'a mut u64,
    from: Process,
    len: u32,
}

/// A message that was looked at and left where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peeked {
    /// The sender.
    pub from: Process,
    /// Its number among those of its sender.
    number: u64,
    /// The header that the sender passed.
    pub header: [u64; 2],
    /// Its length.
    pub bytes: usize,
}

/// Whether a message in a fastbox, of this many bytes and with this number, is for [`poll`](Endpoint::poll): it
/// is longer than the box takes, or other sources have their turn before it.
#[inline(always)]
const fn is_for_poll(len: u32, due: u64) -> bool {
    len as usize > BOX_PAYLOAD || is_turn_of_others(due)
}

impl<M: Memory> Endpoint<M> {
    /// The first part of [`poll`](Self::poll): a message of up to [`BOX_PAYLOAD`] bytes in the fastbox of a
    /// wanted process. It cannot fail, and its result fits into registers; a process that waits for a short
    /// message asks here first. One message in many is not found here: it is left for `poll`, which also sees
    /// to what has arrived elsewhere.
    #[inline(always)]
    pub fn poll_wanted(&mut self) -> Option<Short<'_>> {
        let (from, len) = self.in_wanted_boxes()?;
        self.peers[from.index()].short(from, len)
    }

    /// A message in the fastbox of a wanted process, or in a cell that is named there, if no others have their turn
    /// before it: the one that [`poll_wanted`](Self::poll_wanted) would take, or if that leaves it to `poll`, one of
    /// each box in turn. It stays where it is.
    #[inline(always)]
    pub fn peek_wanted(&mut self) -> Option<Peeked> {
        let (first, len) = self.in_wanted_boxes()?;
        let (from, len) = if len as usize > BOX_PAYLOAD {
            self.in_boxes_to_peek()?
        } else {
            (first, len)
        };
        let peer = &self.peers[from.index()];
        if is_turn_of_others(peer.due) {
            return None;
        }
        Some(Peeked {
            from,
            number: peer.due,
            header: peer.inlet.as_ref()?.header(),
            bytes: len as usize,
        })
    }

    /// The message in the box that was last peeked into for a long one, or, if that one has been taken, in the boxes
    /// after it.
    fn in_boxes_to_peek(&mut self) -> Option<(Process, u32)> {
        let boxes = self.inlets.in_view();
        let (last, number) = self.peeked;
        let at = boxes.iter().position(|&from| from == last).unwrap_or(0);
        let at = at + usize::from(self.peers[last.index()].due != number);
        let (before, after) = boxes.split_at(at.min(boxes.len()));
        let mut in_turn = after.iter().chain(before);
        let (from, len) = in_turn.find_map(|&from| Some((from, self.in_box(from)?)))?;
        self.peeked = (from, self.peers[from.index()].due);
        Some((from, len))
    }

    /// Whether a message that was peeked at is still the next one of its sender.
    #[inline(always)]
    #[must_use]
    pub fn is_due(&self, peeked: Peeked) -> bool {
        let sender = self.peers.get(peeked.from.index());
        sender.is_some_and(|sender| sender.due == peeked.number)
    }

    /// [`poll_wanted`](Self::poll_wanted) from the wanted processes in rotation, for a process that wants
    /// messages from several. A late visit to a box finds more in it, with nothing being written there at that moment.
    /// While the end of a process is still to be reported, `poll` first delivers what that process has sent.
    #[inline(always)]
    pub fn poll_wanted_by_turns(&mut self) -> Option<Short<'_>> {
        if !self.deaths.ending.is_empty() {
            return None;
        }
        let InTurn { from, len, next } = self.in_wanted_boxes_by_turns()?;
        if is_for_poll(len, self.peers[from.index()].due) {
            // `poll` begins with the same box.
            return None;
        }
        self.turns_to(next);
        let short = self.peers[from.index()].short(from, len)?;
        // Others have their turn before that one is looked at.
        short.inlet.fetch_next(len);
        Some(short)
    }

    /// After a [`poll_wanted`](Self::poll_wanted) that found nothing: looks there a few more times, sooner than
    /// by going through everything, until a message has come; whether `poll_wanted` will find one now. A longer
    /// one is for [`poll`](Self::poll).
    #[inline(always)]
    pub fn watch_wanted(&self, idle: &mut Idle) -> bool {
        self.watch(idle, |len, due| !is_for_poll(len, due))
    }

    /// [`watch_wanted`](Self::watch_wanted) for [`peek_wanted`](Self::peek_wanted).
    #[inline(always)]
    pub fn watch_to_peek(&self, idle: &mut Idle) -> bool {
        self.watch(idle, |_, due| !is_turn_of_others(due))
    }

    /// Looks until a message has come; whether its length and its number are those that are looked for.
    #[inline(always)]
    fn watch(&self, idle: &mut Idle, is_it: impl Fn(u32, u64) -> bool) -> bool {
        if self.inlets.in_view().is_empty() {
            return false;
        }
        let mut is_found = false;
        idle.watch(&self.patience, || {
            let found = self.in_wanted_boxes();
            is_found = found.is_some_and(|(from, len)| is_it(len, self.peers[from.index()].due));
            found.is_some()
        });
        is_found
    }

    /// [`poll_wanted`](Self::poll_wanted) of one process, wanted or not: useful if messages come one after the
    /// other and the caller has just had one from there.
    #[inline(always)]
    pub fn poll_short_from(&mut self, from: Process) -> Option<Short<'_>> {
        let peer = self.peers.get_mut(from.index())?;
        let len = peer.inlet.as_ref()?.holds(peer.due)?;
        peer.short(from, len)
    }
}

impl Peer {
    /// The message in the fastbox of this process, unless it is for `poll`.
    #[inline(always)]
    fn short(&mut self, from: Process, len: u32) -> Option<Short<'_>> {
        if is_for_poll(len, self.due) {
            // No value is made that is then dropped: that would take the message.
            return None;
        }
        Some(Short {
            inlet: self.inlet.as_mut()?,
            outlet: &self.outlet,
            due: &mut self.due,
            from,
            len,
        })
    }
}

impl Short<'_> {
    /// The sender.
    #[inline(always)]
    #[must_use]
    pub fn source(&self) -> Process {
        self.from
    }

    /// The header that the sender passed.
    #[inline(always)]
    #[must_use]
    pub fn header(&self) -> [u64; 2] {
        self.inlet.header()
    }

    /// Its bytes.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an empty message is a message")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Copies as many bytes into a buffer as it has room for; returns how many.
    #[inline(always)]
    pub fn copy_to(&self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.len());
        step(Step::SlotHeld);
        if count > LINE_PAYLOAD {
            copy_lines(self.inlet, self.outlet.as_ref(), &mut into[..count]);
        } else {
            self.inlet.copy_to(&mut into[..count]);
        }
        count
    }
}

/// Copies a message of several lines, and meanwhile takes the lines of an equally long answer.
#[inline(never)]
fn copy_lines(inlet: &Inlet, outlet: Option<&Outlet>, into: &mut [u8]) {
    inlet.fetch_lines(into.len());
    if let Some(outlet) = outlet {
        outlet.take_lines(into.len());
    }
    inlet.copy_to(into);
}

impl Drop for Short<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.due += 1;
        self.inlet.emptied(self.len);
        step(Step::SlotEmptied);
    }
}
