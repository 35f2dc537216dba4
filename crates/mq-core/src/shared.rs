//! [`SharedEngine`]: matching from many threads.
//!
//! # What a context consists of
//! The **undivided queues**, behind one lock. While threads hardly wait for each other there is
//! nothing more: an operation takes the lock and is one step of ordinary queues, wildcards
//! included. When threads are seen to wait ([`Divide`]), the context is divided into **shards**:
//! queues, each behind its own lock and on its own cache lines, chosen by the sender's rank, or by
//! everything that is matched if receives from any source and of any tag were promised away. Entries
//! queued before stay where they are, so that handles keep their meaning. A receive from any source,
//! which no single shard can hold, still goes to the undivided queues after the division.
//!
//! # Who writes and who reads
//!
//! | label | what | written | read |
//! | --- | --- | --- | --- |
//! | STAND | whether the context exists, its life, how it is divided, its terms: a copy in each place | with all locks of the context | with the place's lock |
//! | MODE | the same, as a guess where to look first | with all locks | by anyone, relaxed |
//! | CROWD | whether threads wait for a place often | with the place's lock | by anyone, relaxed |
//! | NUMBER | the numbers of entries | with the place's lock; levelled with all | with the place's lock |
//! | GATE-CLOSE | a shard's gate, lowered | with all locks | with the shard's lock |
//! | GATE-OPEN | a shard's gate, raised to that of the undivided queues | with the shard's and the undivided queues' lock | with the shard's lock |
//! | ELDERS | how many messages of the shard from before the division are left | set with all locks, lowered with the shard's lock or all | with the shard's lock |
//! | DIRECTORY | the cells of contexts and of their shards | once, with the registry's or the undivided queues' lock; release | by anyone, acquire |
//!
//! Only MODE, CROWD and DIRECTORY are atomics. The gate is an ordinary word behind the shard's lock and
//! cannot be read too early: the compiler allows no access without the lock.
//!
//! # Proof
//! **No deadlock** (ORDER). Locks are taken in this order: registry, the directory's map (whose holder
//! takes no other lock), shards by ascending number, undivided queues, and then the configuration or
//! the budget. No thread takes a lock of a second context while it holds one of the first. The lock that
//! keeps high-water calls apart is taken only by a thread that holds none, so a call may take all others.
//!
//! **The right place** (MODE, STAND). An operation guesses from MODE which locks it needs, takes
//! them, and reads STAND there. STAND changes only with all locks held, so what the operation reads
//! stays true until it releases its lock; if it took the wrong locks, it tries again with what it read.
//! A freed context says so in every place, and a context created again has another life, which the
//! handles of the old one do not have. The guess may be arbitrarily old: it costs a retry and decides
//! nothing.
//!
//! **The order of receives** (NUMBER). A number is a place and a count; counts are compared. Before
//! a receive from any source is queued, with all locks held, all places are made to count from the
//! same `k` on, and the receive gets `k`. Receives that shards queued before have counts below `k`;
//! those queued after have `k` or more. So, of a receive in a shard and one in the undivided
//! queues, the first was posted earlier exactly if its count is smaller. Entries in the undivided
//! queues from before the division have counts below all in shards, since shards start counting where
//! the undivided queues had got to.
//!
//! **The gate** (GATE-CLOSE, GATE-OPEN). While a shard's lock is held, *no receive in the undivided
//! queues that could take a message of the shard has a count below the shard's gate*. When the
//! context is divided, each shard is told whether there is such a receive, then called *early*; one
//! that names its source concerns only the shard of that source. The same happens when promises are
//! withdrawn and the shards are chosen differently. A receive is added to the undivided queues of a
//! divided context only with all locks held, and then every gate is set to at most its count before the
//! first lock is released. A gate is raised only with both locks held, to the gate of the undivided
//! queues, which is above a later receive's count only if none is queued; and not while the shard may
//! have early receives, of which the undivided queues count how many are left. Removing a receive needs
//! only the undivided queues' lock and breaks nothing. So a message that holds its shard's lock may skip
//! the undivided queues in two cases: the gate is open (above every count), and nothing there is for it;
//! or the earliest receive of the shard has a count below the gate, and is earlier than all there.
//! Neither can change before it releases the shard's lock, since adding a receive takes that lock too.
//! In any other case it takes the second lock, and compares.
//!
//! **Elders** (ELDERS). Messages enter the undivided queues only while the context is undivided, and
//! each belongs to one shard. At the division the shard is told how many it has; it counts those that
//! leave, which requires the shard's lock or all locks. While some are left, receives ask the undivided
//! queues first, where all of them are earlier than what the shard holds.
//!
//! **One moment.** Every operation takes all locks that it needs before it releases any, and the places
//! that it leaves out could not have changed what it found. Take as its moment the one at which it
//! holds them all: the operations in the order of their moments give the same answers on ordinary
//! queues in which a receive may take any of the messages that are the earliest of their senders. A
//! message takes the earliest receive by the paragraphs on order and gate. A receive from a named source
//! finds all messages of that source in one shard, in order, after the elders; one from any source
//! holds all locks. If shards are chosen by everything that is matched, a receive's messages are in one
//! shard because they are equal.
//!
//! An operation for any source keeps the order between senders as follows: elders first, in order; then by
//! count. After each such operation that takes or shows a message, even an elder, all places count from the
//! same number on, so a message is overtaken at most by those that arrived before the next such operation.
//!
//! `tests/loom` tries all interleavings of these races on this code;
//! `docs/memory-model.md` in the repository lists what was broken on purpose to see it fail.

mod all;
mod context;
mod directory;
mod engine;
mod entries;
mod gated;
mod lives;
mod lock;
mod numbers;
mod operations;
mod options;
mod place;
mod pressure;
mod shared_context;
pub(crate) mod sync;
mod update;

pub use self::engine::SharedEngine;
pub use self::options::{Divide, Sharding};
pub use self::shared_context::SharedContext;
