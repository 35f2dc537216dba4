//! How a process goes about sending and receiving.

mod environment;

use std::time::Duration;

use mq_core::structures::Choice;
use mq_shm::channel::Channel;
use mq_shm::wait::Patience;
use mq_shm::{CELL_PAYLOAD, Geometry, ShmError};

pub use environment::{Ignored, parse_bytes};

/// How a process sends and receives. Processes of one world may differ.
///
/// | field | variable | default | values |
/// | --- | --- | --- | --- |
/// | [`structure`](Self::structure) | `MQ_STRUCTURE` | `indexed` | that and the others that `mq structures` lists, with parameters: `bins:bins=64` |
/// | [`channel`](Self::channel) | `MQ_POLICY` | `adaptive+shared` | `per-peer`, `adaptive+per-peer`, `adaptive+shared`, `shared`, with [parameters](mq_shm::channel::Tuning): `per-peer:credits=8` |
/// | [`bypass`](Self::bypass) | `MQ_BYPASS` | 1 | 0, 1 |
/// | [`eager_limit`](Self::eager_limit) | `MQ_EAGER_LIMIT` | 20416 | bytes, with K, M or G |
/// | [`unexpected_limit`](Self::unexpected_limit) | `MQ_UNEXPECTED_LIMIT` | 1G | bytes, with K, M or G |
/// | [`ahead_limit`](Self::ahead_limit) | `MQ_AHEAD_LIMIT` | 64K | bytes, with K, M or G |
/// | [`single_copy`](Self::single_copy) | `MQ_SINGLE_COPY` | 1 | 0, 1 |
/// | [`single_copy_from`](Self::single_copy_from) | `MQ_SINGLE_COPY_FROM` | `auto` | bytes, with K, M or G, or `auto` |
/// | [`cooperative_copy`](Self::cooperative_copy) | `MQ_COOPERATIVE_COPY` | 1 | 0, 1 |
/// | [`shared_copy`](Self::shared_copy) | `MQ_SHARED_COPY` | 1 | 0, 1 |
/// | [`shared_buffers`](Self::shared_buffers) | `MQ_SHARED_BUFFERS` | 1G | bytes, with K, M or G |
/// | [`cells`](Self::cells) | `MQ_CELLS` | 32 | a number, 2 to 65,536 |
/// | [`nontemporal_from`](Self::nontemporal_from) | `MQ_NONTEMPORAL_FROM` | found at run time | bytes, with K, M or G |
/// | [`fastbox`](Self::fastbox) | `MQ_FASTBOX` | 1 | 0, 1 |
/// | [`patience`](Self::patience) | `MQ_PATIENCE` | by processes and cores | looks before it yields and before it sleeps: `2,40` |
/// | [`statistics`](Self::statistics) | `MQ_STATS` | 0 | 0, 1 |
/// | [`say_waits`](Self::say_waits) | `MQ_SAY_WAITS` | never | seconds |
/// | [`start_within`](Self::start_within) | `MQ_START_SECONDS` | 120 | seconds |
///
/// ```
/// use mq_comm::{Options, Policy};
///
/// let options = Options::default().with(|o| {
///     o.eager_limit = 64 << 10;
///     o.channel = Policy::PerPeer.into();
/// });
/// assert!(options.bypass);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The structure of the matching engine, and its parameters: a [`Kind`](crate::Kind)`.into()`, or a parsed text.
    pub structure: Choice,
    /// Which buffers eager messages use: a [`Policy`](crate::Policy), and its parameters.
    pub channel: Channel,
    /// Whether a receive with no unexpected match first polls the transport and takes its message directly,
    /// bypassing the engine (Nemesis).
    pub bypass: bool,
    /// The longest message that is sent eagerly, with its bytes, whether or not its receive is posted; in bytes.
    /// Receivers with too many unexpected messages ask for [announcements](Self::unexpected_limit) instead.
    pub eager_limit: usize,
    /// Bytes of memory that unexpected messages may take in this process, all senders together, with 256 for each
    /// besides its own. Senders of further ones are asked to announce them, however short: a blocking send to this
    /// process then waits for its receive, until half of the memory is free. A sender may have sent some 300 messages
    /// more by the time it hears that. Announced messages are not counted, though each takes some 200 bytes; short ones
    /// of collective operations, and those of this process to itself, are never held back.
    pub unexpected_limit: usize,
    /// The longest message, in bytes (at most 256 KiB), that another process may put into a ring without waiting to be
    /// asked for it: once an earlier one has found its receive posted, and while the ring is the quicker way for its
    /// length. Such a message takes as much memory here until it is received.
    pub ahead_limit: usize,
    /// Whether large messages are read from the sender's memory (single copy), if the kernel permits it.
    pub single_copy: bool,
    /// The shortest message that is read from the sender's memory, in bytes; shorter ones that are not eager
    /// go through a ring. With `None` (`auto` in the variable), each message takes the way that was found to
    /// be quicker for its size. The kernel looks up every page, and one process copies where two could: which
    /// way is quicker depends on the processor, and on whether messages are rewritten each time.
    pub single_copy_from: Option<usize>,
    /// Whether this process, while it waits or looks for messages, copies a part of a message that its
    /// receiver is reading from this process's memory into the receiver's memory, and whether it asks the
    /// same of others. It does not ask if its own [`patience`](Self::patience) has it yield its core
    /// immediately, nor, for messages in shared buffers, where it finds itself faster alone, unless
    /// [`single_copy_from`](Self::single_copy_from) is set. Requires [`single_copy`](Self::single_copy), even
    /// for those.
    pub cooperative_copy: bool,
    /// Whether large messages in a [shared buffer](crate::SharedBuffer) are copied straight out of it, if
    /// that is quicker than a ring or [`single_copy_from`](Self::single_copy_from) is a number. The sender's
    /// setting counts.
    pub shared_copy: bool,
    /// Bytes of shared buffers that each process may have. It counts in the process that creates the world's
    /// memory: under `mq run`, the variable counts where `mq run` is called. Unused bytes cost nothing.
    pub shared_buffers: usize,
    /// Cells that each process may have, of 20 KiB each, in which its messages lie until their receivers take them in:
    /// those that do not fit in the box of a pair, whatever comes before a pair has one, and under some policies all.
    /// Receivers that make no calls for long keep theirs, and once they have all that there are, the next message
    /// waits, whoever it is for. It counts in the process that creates the world's memory, as
    /// [`shared_buffers`](Self::shared_buffers). Unused cells cost nothing.
    pub cells: u32,
    /// The shortest message, in bytes, that is stored past the caches into a ring, or into a cell that a slot of a
    /// fastbox names; unless given, whatever is quicker at the moment. Cells in the queue are copied line by line.
    pub nontemporal_from: Option<usize>,
    /// Whether fastboxes are used, if the policy has them.
    pub fastbox: bool,
    /// What to do while nothing arrives; unless given, decided by the number of processes and cores, and by whether
    /// patience turns out to be in vain. A program
    /// that only asks (`test`, `iprobe`, `progress`) gives up its core as often, but never sleeps.
    pub patience: Option<Patience>,
    /// Whether this process prints what it has sent and received, and how, on stderr when it leaves.
    pub statistics: bool,
    /// After how long a wait, in which nothing comes and nothing goes out, this process says on stderr what it waits
    /// for, and which messages have come that no receive has asked for: ranks that wait for each other, or for a tag
    /// that nobody sends, are then seen. Once for each wait in a call that sleeps, so not with a
    /// [`patience`](Self::patience) that never comes to its sleep; and once while a program asks again and again
    /// (`test`, `iprobe`), unless it has something else to do between its questions.
    pub say_waits: Option<Duration>,
    /// How long to wait for the others at the start, where no launcher reports that one will not come.
    pub start_within: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            structure: Choice::default(),
            channel: Channel::default(),
            bypass: true,
            eager_limit: CELL_PAYLOAD,
            unexpected_limit: 1 << 30,
            ahead_limit: 64 << 10,
            single_copy: true,
            single_copy_from: None,
            cooperative_copy: true,
            shared_copy: true,
            shared_buffers: Geometry::BUFFERS as usize,
            cells: Geometry::CELLS,
            nontemporal_from: None,
            fastbox: true,
            patience: None,
            statistics: false,
            say_waits: None,
            start_within: Duration::from_secs(120),
        }
    }
}

impl Options {
    /// The same options with a change: `Options::default().with(|o| o.single_copy = false)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The sizes of a segment for `processes` processes.
    ///
    /// # Errors
    /// [`ShmError::Processes`] for none or too many; [`ShmError::Cells`] for fewer than 2 or more than 65,536;
    /// [`ShmError::Buffers`] if their shared buffers are more than 16 TiB.
    pub fn geometry(&self, processes: u32) -> Result<Geometry, ShmError> {
        Geometry::with_cells(processes, self.cells)?.with_buffers(self.shared_buffers as u64)
    }

    /// The options of the transport.
    pub(crate) fn of_transport(&self) -> mq_shm::Options {
        mq_shm::Options::default().with(|told| {
            told.policy = self.channel.policy;
            told.tuning = self.channel.tuning;
            told.fastbox = self.fastbox;
            told.single_copy = self.single_copy;
            told.cooperative_copy = self.cooperative_copy;
            told.shared_copy = self.shared_copy;
            told.nontemporal_from = self.nontemporal_from;
            told.patience = self.patience;
        })
    }
}
