//! What is compared: messages, what receives ask for, and what the MPI library did with them.

use core::fmt;

/// A message of a random program. Its length tells which one it is, so that a status names it
/// before its contents can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    /// Its number in the program of the round.
    pub(crate) id: u32,
    /// The communicator, by number.
    pub(crate) comm: u32,
    /// The sending process, by its rank in the world.
    pub(crate) sender: u32,
    pub(crate) tag: i32,
    /// Whether it is so long that libraries send it by rendezvous.
    pub(crate) long: bool,
}

impl Message {
    /// Bytes of the shortest message.
    const SHORT: usize = 16;
    /// Bytes of the shortest long message: past the eager limits of shared-memory transports.
    const LONG: usize = 65_536;
    /// Messages of one program, at most.
    pub(crate) const LIMIT: usize = 16_384;
    /// Bytes of the longest message.
    pub(crate) const LONGEST: usize = Self::LONG + Self::LIMIT;

    /// Its length in bytes, that of no other message of its program.
    pub(crate) const fn bytes(&self) -> usize {
        let least = if self.long { Self::LONG } else { Self::SHORT };
        least + self.id as usize
    }

    /// The number of the message that is as long as that.
    pub(crate) const fn id_of(bytes: usize) -> Option<usize> {
        match bytes {
            Self::LONG.. => Some(bytes - Self::LONG),
            Self::SHORT.. => Some(bytes - Self::SHORT),
            _ => None,
        }
    }

    /// Whether it is sent in synchronous mode, which must make no difference.
    pub(crate) const fn is_synchronous(&self) -> bool {
        self.id % 8 == 5
    }

    /// What is sent: number and sender, then bytes that follow from the number.
    pub(crate) fn contents(&self) -> Vec<u8> {
        let mut contents = vec![self.id.to_le_bytes()[0]; self.bytes()];
        contents[..4].copy_from_slice(&self.id.to_le_bytes());
        contents[4..8].copy_from_slice(&self.sender.to_le_bytes());
        contents
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            comm,
            sender,
            tag,
            ..
        } = self;
        write!(
            f,
            "message {id} (communicator {comm}, from {sender}, tag {tag})"
        )
    }
}

/// What a receive or probe asks for; `None` is the wildcard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) comm: u32,
    /// The sending process, by its rank in the world.
    pub(crate) sender: Option<u32>,
    pub(crate) tag: Option<i32>,
}

impl Wanted {
    /// Exactly the sender and tag of a message.
    pub(crate) const fn exactly(message: &Message) -> Self {
        Self {
            comm: message.comm,
            sender: Some(message.sender),
            tag: Some(message.tag),
        }
    }

    /// The same, from one sender.
    pub(crate) const fn from(self, sender: u32) -> Self {
        Self {
            sender: Some(sender),
            ..self
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(communicator {}, from ", self.comm)?;
        match self.sender {
            Some(sender) => write!(f, "{sender}")?,
            None => f.write_str("any")?,
        }
        match self.tag {
            Some(tag) => write!(f, ", tag {tag})"),
            None => f.write_str(", any tag)"),
        }
    }
}

/// What the library did, in the order in which it did it. Receives are named by their number in the
/// round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A message arrived and took that receive, or none.
    Arrived {
        message: Message,
        receive: Option<u32>,
    },
    /// A receive was posted and took that message, or none.
    Posted {
        receive: u32,
        wanted: Wanted,
        message: Option<Message>,
    },
    /// `MPI_Iprobe` showed that message, or none.
    Probed {
        wanted: Wanted,
        message: Option<Message>,
    },
    /// `MPI_Improbe` took that message out, or none.
    Extracted {
        wanted: Wanted,
        message: Option<Message>,
    },
    /// `MPI_Cancel` took the receive out, or it had its message already.
    Cancelled { receive: u32, done: bool },
    /// A collective call went through a communicator, past all receives that stand there.
    Collective { comm: u32 },
    /// Nothing is posted and no message waits.
    Empty,
}

impl Event {
    /// Whether a message met a receive, or was shown to a probe.
    pub(crate) const fn is_pairing(&self) -> bool {
        match self {
            Self::Arrived { receive, .. } => receive.is_some(),
            Self::Posted { message, .. }
            | Self::Probed { message, .. }
            | Self::Extracted { message, .. } => message.is_some(),
            Self::Cancelled { .. } | Self::Collective { .. } | Self::Empty => false,
        }
    }
}

/// A message or none, for sentences.
pub(crate) struct Which(pub(crate) Option<Message>);

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(message) => message.fmt(f),
            None => f.write_str("no message"),
        }
    }
}

/// A receive or none, for sentences.
pub(crate) struct Receive(pub(crate) Option<u32>);

impl fmt::Display for Receive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(receive) => write!(f, "receive {receive}"),
            None => f.write_str("no receive"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arrived { message, receive } => {
                write!(f, "{message} arrives and takes {}", Receive(*receive))
            }
            Self::Posted {
                receive,
                wanted,
                message,
            } => write!(
                f,
                "receive {receive} {wanted} is posted and takes {}",
                Which(*message)
            ),
            Self::Probed { wanted, message } => {
                write!(f, "a probe {wanted} shows {}", Which(*message))
            }
            Self::Extracted { wanted, message } => {
                write!(f, "a matched probe {wanted} takes {}", Which(*message))
            }
            Self::Cancelled {
                receive,
                done: true,
            } => write!(f, "receive {receive} is cancelled"),
            Self::Cancelled {
                receive,
                done: false,
            } => write!(f, "receive {receive} is too late to be cancelled"),
            Self::Collective { comm } => {
                write!(f, "a collective call goes through communicator {comm}")
            }
            Self::Empty => f.write_str("both queues are empty"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_names_its_message() {
        let limit = u32::try_from(Message::LIMIT).expect("small");
        for (id, long) in [(0, false), (0, true), (limit - 1, false), (limit - 1, true)] {
            let message = Message {
                id,
                comm: 0,
                sender: 1,
                tag: 2,
                long,
            };
            assert_eq!(Message::id_of(message.bytes()), Some(id as usize));
            assert_eq!(message.contents().len(), message.bytes());
            assert!(message.bytes() <= Message::LONGEST);
        }
        assert_eq!(Message::id_of(3), None);
    }
}
