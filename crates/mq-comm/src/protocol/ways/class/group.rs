//! Messages that are timed together.

use std::time::Instant;

/// A message came after a pause if it came this many times as long after the previous one as all others of
/// its group together took; that interval says nothing.
const PAUSE: u64 = 2;

/// When a message comes, and how many bytes of large messages this process has sent by then.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Moment {
    pub(super) at: Instant,
    pub(super) sent: u64,
}

impl Moment {
    pub(in super::super) fn now(sent: u64) -> Self {
        let at = Instant::now();
        Self { at, sent }
    }
}

/// A group of messages that is timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    nanos: u64,
    /// Those of the group, and those that were sent meanwhile.
    bytes: u64,
    pub(super) messages: u32,
    /// The message that came longest after the previous one: how long, and the bytes that came or were sent
    /// in that time.
    longest: (u64, u64),
}

impl Group {
    pub(super) const NONE: Self = Self {
        nanos: 0,
        bytes: 0,
        messages: 0,
        longest: (0, 0),
    };

    /// A message of this many bytes came now, and the previous one at `last`.
    pub(super) fn add(&mut self, bytes: usize, last: Moment, now: Moment) {
        let nanos = (now.at - last.at).as_nanos() as u64;
        let bytes = bytes as u64 + (now.sent - last.sent);
        self.nanos += nanos;
        self.bytes += bytes;
        self.messages += 1;
        self.longest = self.longest.max((nanos, bytes));
    }

    /// Picoseconds per byte.
    pub(super) fn pace(&self) -> u32 {
        let (longest, its) = self.longest;
        let others = self.nanos - longest;
        let (nanos, bytes) = if longest > others.saturating_mul(PAUSE) && self.bytes > its {
            (others, self.bytes - its)
        } else {
            (self.nanos, self.bytes)
        };
        u32::try_from(nanos.saturating_mul(1000) / bytes.max(1)).unwrap_or(u32::MAX)
    }
}
