//! Whether a trace's lines are consistent: numbers, sizes and fates settled by earlier lines.

use std::collections::{HashMap, TryReserveError};

use crate::error::ParseError;
use crate::line::Line;

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
mod tests {
    use super::*;
    use crate::line::{SourceField, TagField};

    /// Checks the lines, all good but the last, and returns the reason why the last is refused.
    /// Refusing twice shows that a refused line changes nothing.
    fn reason(lines: &[&str]) -> String {
        let mut validator = Validator::new();
        let (last, good) = lines.split_last().expect("a line to refuse");
        for text in good {
            assert_eq!(check(&mut validator, text), Ok(()), "{text}");
        }
        let reason = check(&mut validator, last).expect_err("the last line cannot stand here");
        assert_eq!(check(&mut validator, last), Err(reason.clone()));
        reason
    }

    fn check(validator: &mut Validator, text: &str) -> Result<(), String> {
        let line = Line::parse(text).expect("the line alone is good");
        validator.check(&line).map_err(ParseError::into_reason)
    }

    #[test]
    fn what_a_reader_would_not_read_is_refused() {
        let rank = 1 << 31;
        for line in [
            Line::Communicator {
                comm: 0,
                size: 0,
                my_rank: 0,
            },
            Line::Communicator {
                comm: 0,
                size: 2,
                my_rank: 2,
            },
            Line::Arrive {
                comm: 0,
                source: rank,
                tag: 0,
                matched: None,
            },
            Line::Post {
                comm: 0,
                source: SourceField::Rank(rank),
                tag: TagField::Any,
                matched: None,
            },
        ] {
            let refused = Line::parse(&line.to_string());
            assert!(refused.is_err(), "{line}");
            assert_eq!(Validator::new().check(&line).err(), refused.err(), "{line}");
        }
    }

    #[test]
    fn numbers_must_exist() {
        assert_eq!(
            reason(&["p 0 0 0 =0"]),
            "message 0 does not exist yet; messages so far: 0"
        );
        assert_eq!(
            reason(&["a 0 0 0", "b 0 0 0 =1"]),
            "message 1 does not exist yet; messages so far: 1"
        );
        assert_eq!(
            reason(&["p 0 0 0", "a 0 0 0 =1"]),
            "receive 1 does not exist yet; receives so far: 1"
        );
        assert_eq!(
            reason(&["x 3"]),
            "cannot cancel: receive 3 does not exist yet; receives so far: 0"
        );
    }

    #[test]
    fn a_receive_ends_once() {
        let taken = ["p 0 0 0", "a 0 0 0 =0"];
        assert_eq!(
            reason(&[taken[0], taken[1], "x 0"]),
            "cannot cancel: receive 0 was already taken by message 0"
        );
        assert_eq!(
            reason(&[taken[0], taken[1], "a 0 0 0 =0"]),
            "receive 0 was already taken by message 0"
        );

        let at_once = ["a 0 0 0", "p 0 0 0 =0"];
        let never = "receive 0 was never queued, it took message 0 immediately";
        assert_eq!(
            reason(&[at_once[0], at_once[1], "x 0"]),
            format!("cannot cancel: {never}")
        );
        assert_eq!(reason(&[at_once[0], at_once[1], "a 0 0 0 =0"]), never);

        assert_eq!(
            reason(&["p 0 0 0", "x 0", "x 0"]),
            "cannot cancel: receive 0 was already cancelled"
        );
        assert_eq!(
            reason(&["p 0 0 0", "x 0", "a 0 0 0 =0"]),
            "receive 0 was already cancelled"
        );
    }

    #[test]
    fn a_message_ends_once() {
        let taken = "message 0 was already taken by receive 0";
        assert_eq!(reason(&["a 0 0 0", "p 0 0 0 =0", "p 0 0 0 =0"]), taken);
        assert_eq!(reason(&["a 0 0 0", "p 0 0 0 =0", "b 0 0 0 =0"]), taken);
        let never = "message 0 was never unexpected, it took receive 0 immediately";
        assert_eq!(reason(&["p 0 0 0", "a 0 0 0 =0", "p 0 0 0 =0"]), never);
        assert_eq!(reason(&["p 0 0 0", "a 0 0 0 =0", "b 0 0 0 =0"]), never);
    }

    #[test]
    fn communicators_do_not_mix() {
        assert_eq!(
            reason(&["a 1 0 0", "p 2 0 0 =0"]),
            "message 0 belongs to communicator 1, not 2"
        );
        assert_eq!(
            reason(&["a 1 0 0", "b 2 0 0 =0"]),
            "message 0 belongs to communicator 1, not 2"
        );
        assert_eq!(
            reason(&["p 1 0 0", "a 2 0 0 =0"]),
            "receive 0 belongs to communicator 1, not 2"
        );
    }

    #[test]
    fn a_declaration_holds() {
        assert_eq!(
            reason(&["c 1 4 0", "c 1 4 0", "c 1 5 0"]),
            "communicator 1 is declared again with size 5 and own rank 0; it had size 4 and own rank 0"
        );
        assert_eq!(
            reason(&["c 1 4 0", "c 1 4 2"]),
            "communicator 1 is declared again with size 4 and own rank 2; it had size 4 and own rank 0"
        );
    }

    #[test]
    fn a_probe_takes_nothing() {
        let mut validator = Validator::new();
        for text in [
            "a 0 9 0",
            "b 0 9 0 =0",
            "b 0 * * =0",
            "p 0 9 0 =0",
            "p 0 * 0",
            "x 1",
        ] {
            assert_eq!(check(&mut validator, text), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_intercommunicator_has_sources_above_its_local_size() {
        let mut validator = Validator::new();
        for text in ["c 7 1 0", "p 7 1 -16", "a 7 1 -16 =0", "b 7 1 0"] {
            assert_eq!(check(&mut validator, text), Ok(()), "{text}");
        }
    }

    #[test]
    fn counts_fit_the_numbers() {
        let mut validator = Validator {
            limit: 1,
            ..Validator::new()
        };
        assert_eq!(check(&mut validator, "p 0 0 0"), Ok(()));
        assert_eq!(check(&mut validator, "a 0 0 0"), Ok(()));
        assert_eq!(
            check(&mut validator, "p 0 0 0 =0"),
            Err("a trace may have at most 1 receives".into())
        );
        assert_eq!(
            check(&mut validator, "a 0 0 0 =0"),
            Err("a trace may have at most 1 messages".into())
        );
        assert_eq!(
            check(&mut validator, "p 0 0 0 =0"),
            Err("a trace may have at most 1 receives".into())
        );
        assert_eq!(next_number(LIMIT - 1, LIMIT, "receives"), Ok(u32::MAX - 1));
        assert!(next_number(LIMIT, LIMIT, "receives").is_err());
    }

    #[test]
    fn an_operation_costs_twelve_bytes() {
        assert_eq!(size_of::<Entry<Receive>>(), 12);
        assert_eq!(size_of::<Entry<Message>>(), 12);
    }
}
