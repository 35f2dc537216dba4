//! What a receive or a probe asks for, and what a status says of a message.

use mq_comm::{Source, Status, TagSelector};

/// All bits of a tag.
pub(crate) const ANY: u32 = u32::MAX;

/// Ranks are those of the communicator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Pattern {
    /// From any, if `None`.
    pub(crate) from: Option<u32>,
    pub(crate) tag: i32,
    /// The bits in which tags may differ from that one.
    pub(crate) ignored: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Envelope {
    pub(crate) from: u32,
    pub(crate) tag: i32,
    pub(crate) bytes: u64,
}

impl Pattern {
    pub(crate) const fn new(from: Option<u32>, tag: i32, ignored: u32) -> Self {
        let tag = if ignored == ANY { 0 } else { tag };
        Self { from, tag, ignored }
    }

    pub(crate) fn takes(&self, from: u32, tag: i32) -> bool {
        self.overlaps(&Self::new(Some(from), tag, 0))
    }

    /// Whether a message may match both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let same = self.from.is_none() || other.from.is_none() || self.from == other.from;
        let differ = (self.tag ^ other.tag).cast_unsigned();
        same && differ & !self.ignored & !other.ignored == 0
    }

    pub(crate) fn source(&self) -> Source {
        self.from.map_or(Source::Any, Source::from)
    }

    pub(crate) fn selector(&self) -> TagSelector {
        let (wanted, ignore) = (self.tag.into(), self.ignored);
        match ignore {
            0 => self.tag.into(),
            ANY => TagSelector::Any,
            _ => TagSelector::Masked { wanted, ignore },
        }
    }
}

impl From<Status> for Envelope {
    fn from(status: Status) -> Self {
        let (from, tag, bytes) = (status.source(), status.tag(), status.bytes());
        Self { from, tag, bytes }
    }
}
