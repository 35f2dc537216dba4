//! What a call was about when it noticed that another process had ended.

use core::fmt;

use mq_core::mpi::{MpiPattern, TagSelector};

use crate::protocol::is_of_collectives;

/// What has noticed that another process has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoticedBy {
    /// A receive for which no message had come.
    Receive {
        /// Whether a message from any process would have done.
        from_any: bool,
        /// The tag that it asked for, if that is one and at hand.
        tag: Option<i32>,
    },
    /// A probe that found no message.
    Probe {
        /// Whether a message from any process would have done.
        from_any: bool,
        /// The tag that it asked for, if that is one and at hand.
        tag: Option<i32>,
    },
    /// A receive of a message that had come in part.
    Part {
        /// The message's tag.
        tag: i32,
    },
    /// A send.
    Send {
        /// The message's tag, if that is at hand.
        tag: Option<i32>,
    },
    /// A collective operation, at this process or at another.
    Collective,
    /// The wait for all processes when the world is entered.
    Start,
    /// Something else, such as an answer to another process.
    Other,
}

impl NoticedBy {
    /// A send in a context.
    pub(crate) const fn send(context: u32, tag: i32) -> Self {
        Self::Send { tag: Some(tag) }.unless_collective(context)
    }

    /// A receive in a context that has found its message.
    pub(crate) const fn part(context: u32, tag: i32) -> Self {
        Self::Part { tag }.unless_collective(context)
    }

    /// A receive in a context that has found none.
    pub(crate) const fn receive(context: u32, from_any: bool, tag: Option<i32>) -> Self {
        Self::Receive { from_any, tag }.unless_collective(context)
    }

    /// A probe, or a receive after one.
    pub(crate) fn probe(pattern: &MpiPattern, from_any: bool) -> Self {
        let tag = tag_asked(pattern);
        Self::Probe { from_any, tag }.unless_collective(pattern.context().0)
    }

    /// What communicators send in a collective operation is nothing that their user knows of.
    const fn unless_collective(self, context: u32) -> Self {
        match is_of_collectives(context) {
            true => Self::Collective,
            false => self,
        }
    }
}

/// The tag that a receive or a probe asks for, unless it asks for several.
pub(crate) fn tag_asked(pattern: &MpiPattern) -> Option<i32> {
    match pattern.tag() {
        TagSelector::Exact(tag) => Some(tag.0),
        _ => None,
    }
}

impl fmt::Display for NoticedBy {
    /// What follows the sentence about the process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, from_any, tag) = match *self {
            Self::Receive { from_any, tag } => ("receive", from_any, tag),
            Self::Probe { from_any, tag } => ("probe", from_any, tag),
            Self::Part { tag } => {
                return write!(f, " before all of its message with tag {tag} had come");
            }
            Self::Send { tag: Some(tag) } => {
                return write!(f, " (noticed by a send to it with tag {tag})");
            }
            Self::Send { tag: None } => return f.write_str(" (noticed by a send to it)"),
            Self::Collective => return f.write_str(" (noticed by a collective operation)"),
            Self::Start => return f.write_str(" before all processes had entered the world"),
            Self::Other => return Ok(()),
        };
        let from = if from_any { "any rank" } else { "it" };
        write!(f, " (noticed by a {what} from {from}")?;
        tag.map_or(Ok(()), |tag| write!(f, " with tag {tag}"))?;
        f.write_str(")")
    }
}
