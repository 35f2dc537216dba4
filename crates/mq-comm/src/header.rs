//! The two words that go with every message.
//!
//! | word | of a message to be matched | of an answer |
//! | --- | --- | --- |
//! | first | source 32, tag 32: what [`MpiEnvelope`] compares | the request, or the communicator, it is for |
//! | second | context 32, class 24, kind 8 | kind 8 |

use core::fmt;

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::{Pattern, TrafficClass};
use mq_shm::{Remote, RingId};

/// What a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message with its bytes.
    Eager = 1,
    /// A message whose bytes are to be fetched; its payload is an [`Announcement`].
    Announce = 2,
    /// To the sender of an announced message: its buffer is free.
    Finished = 3,
    /// To the sender of an announced message: the rest is to go through a ring, possibly the receiver's; its
    /// payload is a [`RingWanted`].
    RingWanted = 4,
    /// To the receiver of an announced message: this is the ring; its payload is a [`RingGiven`].
    RingGiven = 5,
    /// To the receiver of an announced message: it is not to be fetched, unless that has begun.
    Withdraw = 6,
    /// To the sender of an announced message: it is withdrawn.
    Withdrawn = 7,
    /// To all members of a communicator: it is over at one of them. The first word is its number.
    Closed = 8,
    /// A message whose bytes are in a ring, or will be, unasked; its payload is a [`GoneAhead`].
    Ahead = 9,
    /// To the sender of a message that went ahead: announce the next large ones, since no receive was posted for
    /// it, since it is time to find out which way is quicker, or since they are answers.
    AnnounceLarge = 10,
    /// As `RingWanted`, from a receiver that begins to time the ways: which is quicker can depend on the way
    /// of the messages in the other direction, so the sender is to do the same.
    RingTimed = 11,
    /// As `Withdraw`, from a process that dies, or panics: a receive or probe that finds the message is told so.
    Dying = 12,
    /// To the sender of an announced message, while it is being read: the sender may copy a part of it. The
    /// payload is the transport's.
    HelpWanted = 13,
    /// To a sender: announce all messages from now on, however short, since too many are unexpected here.
    AnnounceAll = 14,
    /// To a sender that was asked to: short messages need not be announced any more.
    EagerAgain = 15,
    /// To all members of a communicator: it is revoked. The first word is its number.
    Revoked = 16,
}

/// The second word of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    /// Of a message to be matched.
    #[inline]
    pub(crate) const fn new(context: u32, class: TrafficClass, kind: Kind) -> Self {
        Self((context as u64) << 32 | (class as u64) << 8 | kind as u64)
    }

    /// Of an answer.
    #[inline]
    pub(crate) const fn answer(kind: Kind) -> Self {
        Self(kind as u64)
    }

    /// The same with another kind.
    pub(crate) const fn with_kind(self, kind: Kind) -> Self {
        Self(self.0 & !0xff | kind as u64)
    }

    #[inline]
    pub(crate) const fn context(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The class, if it is one that a message may have.
    #[inline]
    pub(crate) fn class(self) -> Option<TrafficClass> {
        let class = TrafficClass::numbered((self.0 >> 8 & 0xff_ffff) as u32)?;
        (class != TrafficClass::Unknown).then_some(class)
    }

    /// The kind, if there is one of that number.
    #[inline]
    pub(crate) const fn kind(self) -> Option<Kind> {
        Some(match self.0 & 0xff {
            1 => Kind::Eager,
            2 => Kind::Announce,
            3 => Kind::Finished,
            4 => Kind::RingWanted,
            5 => Kind::RingGiven,
            6 => Kind::Withdraw,
            7 => Kind::Withdrawn,
            8 => Kind::Closed,
            9 => Kind::Ahead,
            10 => Kind::AnnounceLarge,
            11 => Kind::RingTimed,
            12 => Kind::Dying,
            13 => Kind::HelpWanted,
            14 => Kind::AnnounceAll,
            15 => Kind::EagerAgain,
            16 => Kind::Revoked,
            _ => return None,
        })
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("context", &self.context())
            .field("class", &self.class())
            .field("kind", &self.kind())
            .finish()
    }
}

/// The first word of a message to be matched.
#[inline]
pub(crate) const fn bits(source: u32, tag: i32) -> u64 {
    (source as u64) << 32 | tag.cast_unsigned() as u64
}

#[inline]
pub(crate) const fn source_of(bits: u64) -> u32 {
    (bits >> 32) as u32
}

#[inline]
pub(crate) const fn tag_of(bits: u64) -> i32 {
    (bits & 0xffff_ffff) as u32 as i32
}

/// What the engine sees of a message.
#[inline]
pub(crate) fn envelope(bits: u64, context: u32, class: TrafficClass) -> MpiEnvelope {
    MpiEnvelope::new(context, source_of(bits), tag_of(bits)).with_class(class)
}

/// Whether a receive takes a message with these words, of any kind.
#[inline]
pub(crate) fn takes(pattern: &MpiPattern, bits: u64, word: Word) -> bool {
    (bits ^ pattern.bits()) & pattern.care() == 0 && word.context() == pattern.context().0
}

const _: () = {
    // `takes` relies on the engine comparing the same word.
    assert!(bits(3, -1) == 0x3_ffff_ffff);
};

/// Where the bytes of an announced message are, and its sender's name for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Announcement {
    address: u64,
    /// Where they are among the sender's shared buffers, or [`NOWHERE`].
    shared: u64,
    pub(crate) bytes: u64,
    pub(crate) send: u64,
}

impl Announcement {
    pub(crate) fn new(remote: Remote, send: u64) -> Self {
        Self {
            address: remote.address,
            shared: remote.shared.unwrap_or(NOWHERE),
            bytes: remote.bytes,
            send,
        }
    }

    pub(crate) fn exposed(&self) -> Exposed {
        Exposed {
            address: self.address,
            shared: self.shared,
        }
    }
}

/// Where announced bytes are: in the sender's memory, and perhaps among its shared buffers. (An `Option` would take
/// eight bytes more of each request.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Exposed {
    address: u64,
    /// Or [`NOWHERE`].
    shared: u64,
}

/// No place among the shared buffers of a process.
const NOWHERE: u64 = u64::MAX;

impl Exposed {
    pub(crate) fn is_shared(self) -> bool {
        self.shared != NOWHERE
    }

    /// So many bytes there.
    pub(crate) fn remote(self, bytes: u64) -> Remote {
        Remote {
            address: self.address,
            bytes,
            shared: self.is_shared().then_some(self.shared),
        }
    }
}

/// Which bytes of an announced message are to come through a ring, and its receiver's name for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingWanted {
    pub(crate) receive: u64,
    /// Bytes that have come otherwise: those from here on.
    pub(crate) done: u64,
    pub(crate) until: u64,
    /// The ring that the receiver lends for it, or [`NO_RING`].
    pub(crate) ring: u32,
    /// Messages of these lengths may go ahead from now on: the longest, followed by a power of two.
    pub(crate) ahead: u32,
    /// The number of the ring's first buffer.
    pub(crate) first: u64,
}

/// In a [`RingWanted`]: the sender is to give a ring. In a [`RingGiven`]: it has no memory for one,
/// and the message is withdrawn.
const NO_RING: u32 = u32::MAX;

/// A ring, and the number of its first buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingGiven {
    pub(crate) ring: u32,
    pub(crate) first: u64,
}

impl RingGiven {
    pub(crate) const NONE: Self = Self {
        ring: NO_RING,
        first: 0,
    };

    pub(crate) fn is_none(self) -> bool {
        self.ring == NO_RING
    }
}

impl RingWanted {
    /// The ring that is lent, if one is.
    pub(crate) fn lent(&self) -> Option<RingGiven> {
        let given = RingGiven {
            ring: self.ring,
            first: self.first,
        };
        (!given.is_none()).then_some(given)
    }
}

impl From<(RingId, u64)> for RingGiven {
    fn from((ring, first): (RingId, u64)) -> Self {
        Self {
            ring: ring.0,
            first,
        }
    }
}

/// The length of a message that went ahead, its ring, and the number of its first buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GoneAhead {
    pub(crate) bytes: u64,
    pub(crate) ring: u32,
    pub(crate) first: u64,
}

macro_rules! words {
    ($($type:ident { $($field:ident: $word:ty),* };)*) => {
        $(
            impl $type {
                pub(crate) fn to_bytes(self) -> Payload {
                    let mut payload = Payload::default();
                    $(payload.push(&self.$field.to_le_bytes());)*
                    payload
                }

                /// Reads what `to_bytes` wrote, from a payload of the right length.
                pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
                    $(
                        let (word, bytes) = bytes.split_first_chunk()?;
                        let $field = <$word>::from_le_bytes(*word);
                    )*
                    bytes.is_empty().then_some(Self { $($field),* })
                }
            }
        )*
    };
}
words! {
    Announcement { address: u64, shared: u64, bytes: u64, send: u64 };
    RingWanted { receive: u64, done: u64, until: u64, ring: u32, ahead: u32, first: u64 };
    RingGiven { ring: u32, first: u64 };
    GoneAhead { bytes: u64, ring: u32, first: u64 };
}

/// The payload of a message of the protocol's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payload {
    bytes: [u8; Self::MOST],
    len: u8,
}

impl Default for Payload {
    fn default() -> Self {
        Self {
            bytes: [0; Self::MOST],
            len: 0,
        }
    }
}

impl Payload {
    /// The longest payload.
    pub(crate) const MOST: usize = 40;

    /// A short message.
    ///
    /// # Panics
    /// If there are more bytes than [`MOST`](Self::MOST).
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut payload = Self::default();
        payload.push(bytes);
        payload
    }

    fn push(&mut self, word: &[u8]) {
        let end = usize::from(self.len) + word.len();
        self.bytes[usize::from(self.len)..end].copy_from_slice(word);
        self.len = end as u8;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests;
