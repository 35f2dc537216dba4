//! Counters of what a process has sent and received, and how.

/// What a process has sent and received since it entered the world, collectives included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Messages sent eagerly, with their bytes. Every message of a blocking send, or a `sendrecv`, to this
    /// process itself is one, however long.
    pub eager: u64,
    /// Bytes in them.
    pub eager_bytes: u64,
    /// Messages announced (rendezvous), for the receiver to fetch.
    pub rendezvous: u64,
    /// Bytes in them.
    pub rendezvous_bytes: u64,
    /// Of the announced messages, those up to the eager limit: their receiver had more unexpected messages than its
    /// [`unexpected_limit`](crate::Options::unexpected_limit).
    pub held_back: u64,
    /// Messages sent ahead through a ring, unasked.
    pub ahead: u64,
    /// Bytes in them.
    pub ahead_bytes: u64,
    /// Messages sent, or remainders of them, that had to wait: for a cell, for room in a fastbox, or for messages
    /// before them in one of the two.
    pub deferred: u64,
    /// Messages received into a user's buffer.
    pub received: u64,
    /// Bytes in them, including those truncated.
    pub received_bytes: u64,
    /// Received messages that a waiting receive took directly from the transport, or `sendrecv` from this
    /// process itself, bypassing both queues.
    pub bypassed: u64,
    /// Messages that came before a receive was posted for them.
    pub unexpected: u64,
    /// Announced messages that were read straight from the sender's memory, and those of which nothing had to
    /// be read because the receive had no room.
    pub single_copy: u64,
    /// Parts, of at most 4 MiB, of sent messages of which this process itself copied some into the receiver's
    /// memory while the receiver read the rest.
    pub helped: u64,
    /// Announced messages that were copied straight from a [shared buffer](crate::SharedBuffer) of the
    /// sender.
    pub shared_copy: u64,
    /// Announced messages that came, wholly or in part, through a ring, and those that came ahead.
    pub ring: u64,
}

impl Profile {
    /// A message was sent eagerly.
    #[inline(always)]
    pub(crate) const fn count_eager(&mut self, bytes: u64) {
        self.eager += 1;
        self.eager_bytes += bytes;
    }

    /// A message was received into a user's buffer.
    #[inline(always)]
    pub(crate) const fn count_received(&mut self, bytes: u64) {
        self.received += 1;
        self.received_bytes += bytes;
    }

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

    /// The share of received messages that came unexpected; 0 if none were received.
    #[must_use]
    pub fn unexpected_share(&self) -> f64 {
        if self.received == 0 {
            return 0.0;
        }
        self.unexpected as f64 / self.received as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_nothing_is_nothing() {
        let mut profile = Profile::default();
        assert_eq!(profile.unexpected_share(), 0.0);
        (profile.received, profile.unexpected) = (8, 2);
        assert_eq!(profile.unexpected_share(), 0.25);
    }
}
