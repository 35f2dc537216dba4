//! Which fastboxes to this process there are, and into which of them it looks.

use crate::ids::Process;

/// The peers with a fastbox to this process. `wanted` are exactly those of `open` from which a message is wanted by
/// name, as their `wanted` in [`Peer`](super::peer::Peer) says, and each is there once: so none is overlooked if both
/// have the same length.
#[derive(Debug, Default)]
pub(super) struct Inlets {
    open: Vec<Process>,
    wanted: Vec<Process>,
    /// How many times a message from anyone is wanted.
    from_any: u32,
}

impl Inlets {
    /// A process has opened its box, perhaps one from which a message is wanted.
    pub(super) fn opened(&mut self, process: Process, is_wanted: bool) {
        self.open.push(process);
        if is_wanted {
            self.wanted.push(process);
        }
    }

    /// The box of a process is given up.
    pub(super) fn closed(&mut self, process: Process) {
        self.open.retain(|&open| open != process);
        self.wanted.retain(|&wanted| wanted != process);
    }

    /// A message is wanted from a process whose box is open, and none was.
    #[inline]
    pub(super) fn want(&mut self, process: Process) {
        self.wanted.push(process);
    }

    /// No message is wanted from a process any more.
    #[inline]
    pub(super) fn unwant(&mut self, process: Process) {
        if let Some(at) = self.wanted.iter().position(|&wanted| wanted == process) {
            self.wanted.swap_remove(at);
        }
    }

    /// A message from anyone is wanted once more.
    #[inline]
    pub(super) const fn want_any(&mut self) {
        self.from_any += 1;
    }

    /// A message from anyone is wanted once less.
    #[inline]
    pub(super) const fn unwant_any(&mut self) {
        self.from_any = self.from_any.saturating_sub(1);
    }

    /// Whether a message from anyone is wanted.
    pub(super) const fn is_any_wanted(&self) -> bool {
        self.from_any > 0
    }

    /// All boxes.
    pub(super) fn open(&self) -> &[Process] {
        &self.open
    }

    /// The boxes that are looked into at every poll.
    #[inline(always)]
    pub(super) fn in_view(&self) -> &[Process] {
        if self.from_any > 0 {
            &self.open
        } else {
            &self.wanted
        }
    }

    /// Whether a message is wanted by name from each process that has a box.
    #[inline(always)]
    pub(super) fn all_are_wanted(&self) -> bool {
        self.open.len() == self.wanted.len()
    }
}
