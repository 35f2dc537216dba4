//! Whether a trace's lines are consistent: numbers, sizes and fates settled by earlier lines.

use std::collections::{HashMap, TryReserveError};

use crate::line::Line;
use crate::parse_error::ParseError;

/// The most receives, and the most messages, of one trace: the count must fit the format's 32-bit
/// numbers.
const LIMIT: usize = u32::MAX as usize;

/// Checks that each line of a trace is possible after the lines before it.
///
/// It knows which entries are queued and which are gone, not which match: whether a recorded pairing is
/// the one that MPI's ordering rules demand is checked by a replay. A refused line changes nothing.
///
/// A source at or above the declared size of its communicator is accepted. The `c` line of an
/// intercommunicator has the size of the local group, while sources are ranks of the remote one
/// (MPI-5.0 section 7.6), and the line does not tell the two kinds apart. Structures that need a
/// bound must take the larger of the declared size and the largest source + 1.
///
/// # Cost
/// Constant time per line. 12 bytes per receive and per message (twice that at worst, as the tables
/// grow by doubling), and about 24 bytes per declared communicator. Nothing is freed before the end, so
/// that error messages can tell what became of a receive long ago.
#[derive(Clone, Debug)]
pub struct Validator {
    communicators: HashMap<u32, Ranks>,
    receives: Vec<Entry<Receive>>,
    messages: Vec<Entry<Message>>,
    /// The most entries of either table; lower only in tests.
    limit: usize,
}

/// What a `c` line said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ranks {
    size: u32,
    my_rank: u32,
}

/// A receive or message: its communicator, and what became of it.
#[derive(Clone, Copy, Debug)]
struct Entry<S> {
    comm: u32,
    state: S,
}

/// What became of a receive; numbers are those of messages.
#[derive(Clone, Copy, Debug)]
enum Receive {
    Queued,
    TookAtOnce(u32),
    TakenBy(u32),
    Cancelled,
}

/// What became of a message; numbers are those of receives.
#[derive(Clone, Copy, Debug)]
enum Message {
    Unexpected,
    TookAtOnce(u32),
    TakenBy(u32),
}

impl Default for Validator {
    fn default() -> Self {
        Self::new()
    }
}

impl Validator {
    /// A validator that has seen no line.
    #[must_use]
    pub fn new() -> Self {
        Self {
            communicators: HashMap::new(),
            receives: Vec::new(),
            messages: Vec::new(),
            limit: LIMIT,
        }
    }

    /// Accepts the next line of the trace.
    ///
    /// # Errors
    /// The line is not possible here.
    ///
    /// # Cost
    /// Constant time: one hash look-up or at most two table entries; allocates as the tables grow.
    pub fn check(&mut self, line: &Line) -> Result<(), ParseError> {
        line.check()
            .and_then(|()| self.follow(line))
            .map_err(ParseError::new)
    }

    /// Makes room for what the next line adds, which [`check`](Self::check) would not return without.
    pub(crate) fn reserve(&mut self, line: &Line) -> Result<(), TryReserveError> {
        match line {
            Line::Communicator { .. } => self.communicators.try_reserve(1),
            Line::Post { .. } => self.receives.try_reserve(1),
            Line::Arrive { .. } => self.messages.try_reserve(1),
            Line::Probe { .. } | Line::Cancel { .. } => Ok(()),
        }
    }

    /// Accepts a line that is valid in itself, or says why it is not possible here.
    fn follow(&mut self, line: &Line) -> Result<(), String> {
        match *line {
            Line::Communicator {
                comm,
                size,
                my_rank,
            } => self.declare(comm, Ranks { size, my_rank }),
            Line::Post { comm, matched, .. } => self.post(comm, matched),
            Line::Arrive { comm, matched, .. } => self.arrive(comm, matched),
            Line::Probe { comm, matched, .. } => {
                matched.map_or(Ok(()), |number| self.unexpected(number, comm).map(drop))
            }
            Line::Cancel { receive } => {
                let entry = self
                    .queued(receive)
                    .map_err(|why| format!("cannot cancel: {why}"))?;
                entry.state = Receive::Cancelled;
                Ok(())
            }
        }
    }

    fn declare(&mut self, comm: u32, ranks: Ranks) -> Result<(), String> {
        let earlier = *self.communicators.entry(comm).or_insert(ranks);
        if earlier == ranks {
            return Ok(());
        }
        Err(format!(
            "communicator {comm} is declared again with size {} and own rank {}; it had size {} and own rank {}",
            ranks.size, ranks.my_rank, earlier.size, earlier.my_rank
        ))
    }

    fn post(&mut self, comm: u32, matched: Option<u32>) -> Result<(), String> {
        let number = next_number(self.receives.len(), self.limit, "receives")?;
        let state = match matched {
            None => Receive::Queued,
            Some(message) => {
                self.unexpected(message, comm)?.state = Message::TakenBy(number);
                Receive::TookAtOnce(message)
            }
        };
        self.receives.push(Entry { comm, state });
        Ok(())
    }

    fn arrive(&mut self, comm: u32, matched: Option<u32>) -> Result<(), String> {
        let number = next_number(self.messages.len(), self.limit, "messages")?;
        let state = match matched {
            None => Message::Unexpected,
            Some(receive) => {
                let entry = self.queued(receive)?;
                check_communicator("receive", receive, entry.comm, comm)?;
                entry.state = Receive::TakenBy(number);
                Message::TookAtOnce(receive)
            }
        };
        self.messages.push(Entry { comm, state });
        Ok(())
    }

    /// The receive of that number, if it is queued.
    fn queued(&mut self, number: u32) -> Result<&mut Entry<Receive>, String> {
        let count = self.receives.len();
        let Some(entry) = self.receives.get_mut(number as usize) else {
            return Err(format!(
                "receive {number} does not exist yet; receives so far: {count}"
            ));
        };
        match entry.state {
            Receive::Queued => Ok(entry),
            Receive::TookAtOnce(message) => Err(format!(
                "receive {number} was never queued, it took message {message} immediately"
            )),
            Receive::TakenBy(message) => Err(format!(
                "receive {number} was already taken by message {message}"
            )),
            Receive::Cancelled => Err(format!("receive {number} was already cancelled")),
        }
    }

    /// The message of that number, if it is unexpected and of that communicator.
    fn unexpected(&mut self, number: u32, comm: u32) -> Result<&mut Entry<Message>, String> {
        let count = self.messages.len();
        let Some(entry) = self.messages.get_mut(number as usize) else {
            return Err(format!(
                "message {number} does not exist yet; messages so far: {count}"
            ));
        };
        match entry.state {
            Message::Unexpected => {
                check_communicator("message", number, entry.comm, comm).map(|()| entry)
            }
            Message::TookAtOnce(receive) => Err(format!(
                "message {number} was never unexpected, it took receive {receive} immediately"
            )),
            Message::TakenBy(receive) => Err(format!(
                "message {number} was already taken by receive {receive}"
            )),
        }
    }
}

/// The number that the next receive or message gets.
fn next_number(count: usize, limit: usize, what: &str) -> Result<u32, String> {
    match u32::try_from(count) {
        Ok(number) if count < limit => Ok(number),
        _ => Err(format!("a trace may have at most {limit} {what}")),
    }
}

fn check_communicator(what: &str, number: u32, has: u32, wanted: u32) -> Result<(), String> {
    if has == wanted {
        return Ok(());
    }
    Err(format!(
        "{what} {number} belongs to communicator {has}, not {wanted}"
    ))
}

#[cfg(test)]
mod tests;
