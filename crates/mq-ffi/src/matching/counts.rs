//! How many entries are queued, and whether a filling of the queues begins.

use super::Matching;

impl Matching {
    /// Receives and messages queued.
    #[inline(always)]
    pub(crate) const fn lengths(&self) -> (u32, u32) {
        (self.posted, self.unexpected)
    }

    /// A receive was queued; returns whether it is one of few.
    #[inline(always)]
    pub(crate) const fn receive_added(&mut self) -> bool {
        self.posted += 1;
        self.posted <= self.few as u32
    }

    /// A message was queued; returns whether it is the first.
    #[inline(always)]
    pub(crate) const fn message_added(&mut self) -> bool {
        self.unexpected += 1;
        self.unexpected == 1
    }

    /// A step of [`plain`](crate::plain) has taken a receive out; returns whether that was the last one.
    #[inline(always)]
    pub(crate) const fn receive_left(&mut self) -> bool {
        self.posted -= 1;
        self.posted == 0
    }

    /// A step of [`plain`](crate::plain) has taken a message out; returns whether that was the last one.
    #[inline(always)]
    pub(crate) const fn message_left(&mut self) -> bool {
        self.unexpected -= 1;
        self.unexpected == 0
    }

    /// All receives have been taken out.
    pub(crate) const fn receives_taken(&mut self) {
        self.posted = 0;
    }

    /// An entry was queued: notes how many there are if they are few, and returns whether a filling begins with it, as
    /// far as few entries can tell. Their number grows until they are no longer few, unless others have left since the
    /// last one was queued.
    pub(crate) fn note_few(&mut self) -> bool {
        let queued = self.posted.saturating_add(self.unexpected);
        let Some(few) = u8::try_from(queued).ok().filter(|&few| few <= self.few) else {
            return false;
        };
        few <= core::mem::replace(&mut self.few_then, few)
    }

    /// After a step before which there were this many entries: whether a filling begins with it, and whether
    /// any has left.
    pub(crate) fn compare(&mut self, (posted, unexpected): (u32, u32)) -> (bool, bool) {
        let has_come = self.posted > posted || self.unexpected > unexpected;
        let has_left = self.posted < posted || self.unexpected < unexpected;
        (has_come && self.note_few(), has_left)
    }
}
