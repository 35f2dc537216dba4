//! What an endpoint knows about another process.

use crate::fastbox::{Inlet, Outlet};
use crate::ids::CellId;
use crate::large::cooperative::Helps;
use crate::large::pace::{ReadPace, WritePace};
use crate::large::single_copy::Seen;
use crate::liveness::Gone;
use crate::place::Place;
use crate::segment_ref::SegmentRef;

/// The state of a pair, on this side: where messages to the other process go, and where those from it are.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) place: SegmentRef<Place>,
    /// Number of the next message to it, over all paths. The first is 1, as fresh memory is 0.
    pub(super) sequence: u64,
    /// Number of the next message from it.
    pub(super) due: u64,
    /// Number of the message that was next from it when the last was sent to it.
    pub(super) due_when_sent: u64,
    /// The fastbox to it, if there is one.
    pub(super) outlet: Option<Outlet>,
    /// It is in the list of those to whom slots name cells; only once.
    pub(super) is_naming: bool,
    /// The fastbox from it, if there is one.
    pub(super) inlet: Option<Inlet>,
    /// The own cell that is lent to it.
    pub(super) lent: Option<CellId>,
    /// The cell that it has lent, for the next message to it that takes one.
    pub(super) borrowed: Option<CellId>,
    /// It has sent a message in a cell that a slot names.
    pub(super) has_sent_by_name: bool,
    /// Cells sent to it before it got a fastbox.
    pub(super) before_box: u32,
    /// How many times a message from it is wanted.
    pub(super) wanted: u32,
    /// Cells that still go to it before memory for a fastbox is asked for again, which was refused.
    pub(super) box_wishes: u32,
    /// There has been, or will be, a message between the two.
    pub(super) met: bool,
    /// A note records that it may hold something of this process's.
    pub(super) noted: bool,
    /// It has ended, and what it had may be given back.
    pub(super) struck_out: bool,
    pub(super) memory: RemoteMemory,
    /// Which way of writing into rings and cells for it is the fastest.
    pub(super) writing: WritePace,
    /// The same, for reading what it has written.
    pub(super) reading: ReadPace,
    pub(super) gone: Option<Gone>,
}

/// What is known of the memory of another process, which this one reads and writes through the kernel.
#[derive(Debug, Default)]
pub(super) struct RemoteMemory {
    pub(super) seen: Option<Seen>,
    /// It cannot be read: the kernel has refused once.
    pub(super) is_unreadable: bool,
    /// Its process cannot be helped: the kernel has refused once to read its words, or to write into it.
    pub(super) can_not_be_helped: bool,
    /// Whether its process copies a part of its messages when asked.
    pub(super) helps: Helps,
}

/// A number that no message has, nor a slot of a box before its first one, of which 48 bits are compared: none is due
/// from a process whose end has been reported.
pub(super) const NO_MESSAGE: u64 = u64::MAX - 1;

impl Peer {
    pub(super) fn new(place: SegmentRef<Place>) -> Self {
        Self {
            place,
            sequence: 1,
            due: 1,
            due_when_sent: 0,
            outlet: None,
            is_naming: false,
            inlet: None,
            lent: None,
            borrowed: None,
            has_sent_by_name: false,
            before_box: 0,
            wanted: 0,
            box_wishes: 0,
            met: false,
            noted: false,
            struck_out: false,
            memory: RemoteMemory::default(),
            writing: WritePace::default(),
            reading: ReadPace::default(),
            gone: None,
        }
    }
}
