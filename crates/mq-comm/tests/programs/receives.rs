//! Blocking receives, and what is checked of whatever a receive has taken.

use mq_comm::{Error, Matched};

use crate::draw::{bytes_of, number_in};
use crate::pattern::{Envelope, Pattern};
use crate::plan::OWN_TAGS;
use crate::rank::Rank;
use crate::record::Outcome;
use crate::requests::Ended;

/// What is in a buffer before anything is received into it.
pub(crate) const UNTOUCHED: u8 = 0xa5;

pub(crate) fn untouched(room: usize) -> Vec<u8> {
    vec![UNTOUCHED; room]
}

impl Rank<'_> {
    /// A blocking receive for which there will be a message.
    pub(crate) fn receive(&mut self, number: usize, pattern: Pattern) {
        let communicator = self.communicator(number);
        let (source, selector) = (pattern.source(), pattern.selector());
        match self.draw.below(5) {
            0..3 => {
                let room = self.room(number, &pattern);
                let mut buffer = untouched(room);
                let receive = self.record.begin(number, pattern);
                let result = communicator.recv(&mut buffer, source, selector);
                self.received(receive, (buffer, result));
            }
            3 => {
                let receive = self.record.begin(number, pattern);
                let received = communicator.recv_vec(source, selector);
                let (bytes, result) = received.map_or_else(
                    |error| (Vec::new(), Err(error)),
                    |(bytes, status)| (bytes, Ok(status)),
                );
                self.received(receive, (bytes, result));
            }
            _ => {
                let receive = self.record.begin(number, pattern);
                let matched = communicator.mprobe(source, selector).unwrap();
                self.hold(receive, matched);
            }
        }
    }

    /// A receive has come to its end.
    pub(crate) fn received(&mut self, receive: usize, (buffer, result): Ended) {
        match result {
            Ok(status) => self.filled(receive, status.into(), &buffer),
            Err(Error::Truncated {
                from,
                tag,
                sent: bytes,
                room,
            }) => {
                assert!(
                    room == buffer.len() as u64 && bytes > room,
                    "{bytes}, {room}"
                );
                self.took(receive, Envelope { from, tag, bytes }, &buffer);
            }
            Err(Error::Withdrawn { from, tag }) => {
                let its = &self.record.receives[receive];
                assert!(its.pattern.takes(from, tag), "{its:?}: {from}, {tag}");
                self.record.end(receive, Outcome::Withdrawn(from, tag));
            }
            Err(error) => panic!("{:?}: {error}", self.record.receives[receive]),
        }
    }

    /// A receive has this message, in a buffer that may be longer.
    pub(crate) fn filled(&mut self, receive: usize, envelope: Envelope, buffer: &[u8]) {
        let split = buffer.split_at_checked(envelope.bytes as usize);
        let (bytes, rest) = split.expect("it is not longer than the buffer");
        self.took(receive, envelope, bytes);
        let is_untouched = rest.iter().all(|&byte| byte == UNTOUCHED);
        assert!(is_untouched, "{:?}", self.record.receives[receive]);
    }

    /// A receive has a message, and these of its bytes.
    pub(crate) fn took(&mut self, receive: usize, envelope: Envelope, bytes: &[u8]) {
        let its = &self.record.receives[receive];
        let communicator = its.communicator;
        assert!(
            its.pattern.takes(envelope.from, envelope.tag),
            "{its:?}: {envelope:?}"
        );
        if let Some(number) = number_in(bytes) {
            let sent = self.plan.messages.get(number);
            let sent = sent.unwrap_or_else(|| panic!("{its:?}: {envelope:?} has other bytes"));
            assert_eq!(
                (sent.communicator, sent.to),
                (communicator, self.me),
                "{its:?}"
            );
            let from = self.plan.rank(communicator, self.me, sent.from);
            assert_eq!(
                (sent.tag, sent.bytes as u64),
                (envelope.tag, envelope.bytes)
            );
            assert_eq!(from, envelope.from, "{its:?}: {sent:?}");
            let wanted = bytes_of(number, sent.bytes);
            assert!(
                bytes == &wanted[..bytes.len()],
                "{its:?}: {sent:?} is damaged"
            );
        }
        if self.record.take(receive, envelope, bytes) {
            self.expected.receive(communicator, envelope);
        }
    }

    pub(crate) fn hold(&mut self, receive: usize, matched: Matched) {
        let status = matched.status();
        self.took(receive, status.into(), &[]);
        self.held.push((receive, matched));
        // A call of its sender may wait for it.
        let is_awaited = OWN_TAGS.contains(&status.tag());
        if is_awaited || self.held.len() > 4 || self.draw.chance(60) {
            self.receive_held(self.held.len() - 1);
        }
    }

    pub(crate) fn receive_some_held(&mut self) {
        if !self.held.is_empty() {
            let at = self.draw.below(self.held.len());
            self.receive_held(at);
        }
    }

    pub(crate) fn receive_held(&mut self, at: usize) {
        let (receive, matched) = self.held.swap_remove(at);
        let status = matched.status();
        let bytes = status.bytes() as usize;
        match self.draw.below(9) {
            0 => {
                // Its message is lost.
                drop(matched);
                self.lost[0] += 1;
                self.lost[1] += status.bytes();
            }
            1 | 2 => {
                let received = matched.recv_vec().map_err(Error::from);
                let (bytes, result) = received.map_or_else(
                    |error| (Vec::new(), Err(error)),
                    |bytes| (bytes, Ok(status)),
                );
                self.received(receive, (bytes, result));
            }
            3..7 => {
                let mut buffer = match self.draw.chance(15) {
                    true => untouched(bytes / 2),
                    false => untouched(bytes + self.draw.below(50)),
                };
                let result = matched.recv(&mut buffer);
                self.received(receive, (buffer, result));
            }
            _ => {
                let room = bytes + self.draw.below(50);
                let request = matched.irecv(untouched(room)).unwrap();
                let ended = request.finish().unwrap();
                self.received(receive, ended);
            }
        }
    }
}
