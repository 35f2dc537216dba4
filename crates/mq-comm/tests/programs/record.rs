//! What a rank has seen, in the order in which it called.

use crate::pattern::{Envelope, Pattern};

#[derive(Default)]
pub(crate) struct Record {
    pub(crate) receives: Vec<Receive>,
    pub(crate) probes: Vec<Probe>,
    time: u32,
    /// Calls that look for messages of others: receives, probes, collective operations.
    pub(crate) looks: u32,
}

/// Whatever takes a message: a receive, or a probe that takes it out.
#[derive(Debug)]
pub(crate) struct Receive {
    pub(crate) communicator: usize,
    pub(crate) pattern: Pattern,
    pub(crate) outcome: Outcome,
    pub(crate) begun: u32,
    /// When it was known to have taken a message or was cancelled.
    pub(crate) ended: u32,
    /// Its number among all looks.
    pub(crate) look: u32,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Open,
    /// It has taken a message, which begins with these bytes: eight, or as many as there is room for.
    Took(Envelope, Vec<u8>),
    Cancelled,
    /// It was given up while it waited, and may have taken a message.
    Dropped,
    /// Its message, from this rank and with this tag, was withdrawn.
    Withdrawn(u32, i32),
}

impl Receive {
    /// Whether it may have ended with a message that the program has not got.
    pub(crate) fn may_have_taken(&self) -> bool {
        matches!(self.outcome, Outcome::Dropped | Outcome::Withdrawn(..))
    }
}

/// A message was shown, or none was there.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) communicator: usize,
    pub(crate) pattern: Pattern,
    pub(crate) shown: Option<Envelope>,
    pub(crate) at: u32,
    pub(crate) look: u32,
}

impl Record {
    fn tick(&mut self) -> u32 {
        self.time += 1;
        self.time
    }

    /// Something looks for messages.
    pub(crate) fn look(&mut self) -> u32 {
        self.looks += 1;
        self.looks
    }

    /// A receive begins; returns its number.
    pub(crate) fn begin(&mut self, communicator: usize, pattern: Pattern) -> usize {
        let (begun, look) = (self.tick(), self.look());
        self.receives.push(Receive {
            communicator,
            pattern,
            outcome: Outcome::Open,
            begun,
            ended: begun,
            look,
        });
        self.receives.len() - 1
    }

    /// A receive has taken a message. Returns whether that is news: a matched probe says it before the bytes are there.
    pub(crate) fn take(&mut self, receive: usize, envelope: Envelope, bytes: &[u8]) -> bool {
        let time = self.tick();
        let begin = bytes[..bytes.len().min(8)].to_vec();
        let receive = &mut self.receives[receive];
        let is_news = matches!(receive.outcome, Outcome::Open);
        if is_news {
            receive.ended = time;
        }
        receive.outcome = Outcome::Took(envelope, begin);
        is_news
    }

    /// A receive ends, and has no message for the program.
    pub(crate) fn end(&mut self, receive: usize, outcome: Outcome) {
        self.receives[receive].ended = self.tick();
        self.receives[receive].outcome = outcome;
    }

    pub(crate) fn probe(&mut self, communicator: usize, pattern: Pattern, shown: Option<Envelope>) {
        let (at, look) = (self.tick(), self.look());
        self.probes.push(Probe {
            communicator,
            pattern,
            shown,
            at,
            look,
        });
    }
}
