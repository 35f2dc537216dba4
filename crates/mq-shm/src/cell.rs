//! A cell: one message, or one part of a longer one, on its way through a receive queue.
//!
//! A cell belongs to one process forever, and one process at a time touches it:
//!
//! | where it is | who may touch it | until |
//! | --- | --- | --- |
//! | owner's pool | owner | it is pushed on a receiver's queue, or named |
//! | receiver's queue | nobody | the receiver takes the chain |
//! | receiver | receiver | it is pushed on the owner's returns |
//! | owner's returns | nobody | the owner takes the chain |
//! | named in a slot of a fastbox | receiver, once that shows it | the receiver counts the slot as taken, or has it lent |
//! | lent | receiver | the receiver names it in a slot of its own, with an answer in it |
//! | named by the receiver | owner, once the slot shows it | it has read the answer, and has it in its pool |
//!
//! A cell that was in a queue or with a receiver when that receiver died goes back to the owner, which knows
//! where each of its cells went.

use crate::sync::{AtomicU32, Guarded};

/// Bytes of message in a cell of 20 KiB: a message of 16 KiB, a common size, fits. The last page is touched
/// only by messages that need it.
pub const CELL_PAYLOAD: usize = if cfg!(mq_loom) { 64 } else { 20 * 1024 - 64 };

/// Describes a cell's content.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CellHead {
    /// Number of this message between the two processes, over all paths.
    pub(crate) sequence: u64,
    pub(crate) header: [u64; 2],
    /// Length of the whole message in bytes.
    pub(crate) total: u64,
    /// Bytes of the message in earlier cells.
    pub(crate) offset: u64,
    /// Bytes in this cell.
    pub(crate) len: u32,
    /// [`OPENS_BOX`] or 0.
    pub(crate) flags: u32,
    /// Puts the payload on its own cache line.
    reserved: u64,
}

/// The pair's next messages may be in its fastbox.
pub(crate) const OPENS_BOX: u32 = 1;

/// The header and the bytes that follow it.
#[repr(C, align(8))]
pub(crate) struct CellBody {
    pub(crate) head: CellHead,
    pub(crate) payload: [u8; CELL_PAYLOAD],
}

/// A link of a [`Chain`](crate::chain::Chain) and a message.
#[repr(C, align(64))]
pub(crate) struct Cell {
    pub(crate) link: AtomicU32,
    pub(crate) body: Guarded<CellBody>,
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            link: AtomicU32::new(0),
            body: Guarded::new(CellBody {
                head: CellHead::default(),
                payload: [0; CELL_PAYLOAD],
            }),
        }
    }
}
