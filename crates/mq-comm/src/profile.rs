//! Counters of what a process has sent and received, and how.

/// What a process has sent and received since it entered the world, collectives included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Messages sent with their bytes.
    pub eager: u64,
    /// Bytes in them.
    pub eager_bytes: u64,
    /// Messages announced, for the receiver to fetch.
    pub rendezvous: u64,
    /// Bytes in them.
    pub rendezvous_bytes: u64,
    /// Messages that went ahead through a ring, without being asked for.
    pub ahead: u64,
    /// Bytes in them.
    pub ahead_bytes: u64,
    /// Messages, or rests of them, sent that had to wait for a cell.
    pub deferred: u64,
    /// Messages received into a user's buffer.
    pub received: u64,
    /// Bytes in them, those cut off included.
    pub received_bytes: u64,
    /// Of the messages received, those that a receive took out of the transport with itself in
    /// hand, past both queues.
    pub bypassed: u64,
    /// Messages that came before a receive was posted for them.
    pub unexpected: u64,
    /// Announced messages that were read straight from the sender's memory, and those of which
    /// nothing had to be, as the receive had no room.
    pub single_copy: u64,
    /// Parts, of 4 MiB at most, of sent messages of which this process itself copied some into the receiver's
    /// memory, while that read the rest.
    pub helped: u64,
    /// Announced messages that were copied straight from a [shared buffer](crate::SharedBuffer) of
    /// the sender's.
    pub shared_copy: u64,
    /// Announced messages that came through a ring, or whose rest did, and those that came ahead.
    pub ring: u64,
}

impl Profile {
    /// Messages sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.eager + self.rendezvous + self.ahead
    }

    /// Bytes sent.
    #[must_use]
    pub const fn sent_bytes(&self) -> u64 {
        self.eager_bytes + self.rendezvous_bytes + self.ahead_bytes
    }

    /// The share of messages received that came unexpected; 0 if there were none.
    #[must_use]
    pub fn unexpected_share(&self) -> f64 {
        if self.received == 0 {
            return 0.0;
        }
        self.unexpected as f64 / self.received as f64
    }
}
