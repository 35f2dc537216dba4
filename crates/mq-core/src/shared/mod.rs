//! [`SharedEngine`]: matching from many threads.
//!
//! # What a context consists of
//! The **undivided queues**, behind one lock. While threads hardly wait for each other there is
//! nothing more: an operation takes the lock and is one step of ordinary queues, wildcards
//! included. When they are seen to wait ([`Divide`]), the context is divided into **shards**:
//! queues behind a lock and on cache lines of their own, chosen by the sender's rank, or by all
//! that is matched where receives from any source and of any tag were promised away. What was
//! queued before stays where it is, so that handles keep their meaning; what no single shard can
//! hold, a receive from any source, goes to the undivided queues also from then on.
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
//! Only MODE, CROWD and DIRECTORY are atomics. The gate is an ordinary word behind the shard's lock, so
//! that it cannot be read too early: the compiler admits no access without the lock.
//!
//! # Proof
//! **No deadlock** (ORDER). Locks are taken in the order registry, the directory's map (which nobody
//! holds while he takes another), shards by ascending number, undivided queues, and then the
//! configuration or the budget; and nobody takes a lock of a second context while he holds one of
//! the first.
//!
//! **The right place** (MODE, STAND). An operation guesses from MODE which locks it needs, takes
//! them, and reads STAND there. STAND changes only with all locks held, so what the operation reads
//! stays true until it lets go; if its locks are the wrong ones it tries again with what it read. A
//! freed context says so in every place, and one made anew has another life, which the handles of
//! the old one do not have. The guess may be as old as it likes: it costs a turn and decides
//! nothing.
//!
//! **The order of receives** (NUMBER). A number is a place and a count; counts are compared. Before
//! a receive from any source is queued, with all locks held, all places are made to count from the
//! same `k` on, and the receive gets `k`. Receives that shards queued before have counts below `k`;
//! those queued after have `k` or more. So, of a receive in a shard and one in the undivided
//! queues, the first was posted earlier exactly if its count is smaller. What is in the undivided
//! queues from before the division has counts below all in shards, since shards begin where the
//! undivided queues had come to.
//!
//! **The gate** (GATE-CLOSE, GATE-OPEN). While a shard's lock is held, *no receive in the undivided
//! queues that could take a message of the shard has a count below the shard's gate*. When the
//! context is divided each shard is told whether there is one, which is *early* then; one that names
//! its source concerns the shard of that source alone. So it is again when promises are taken back
//! and the shards are by other means. A receive is added to the undivided queues of a divided context
//! only with all locks held, and then every gate is set to at most its count before the first lock
//! is released. A gate is raised only with both locks held, to the undivided queues' own, which is
//! above a later receive's count only if none is queued; and not while the shard may have early
//! ones, of which the undivided queues count how many are left. Removing a receive needs the undivided
//! queues' lock alone and breaks nothing. So a message that holds its shard's lock may leave the
//! undivided queues out in two cases: the gate is open (above every count), and nothing there is
//! for it; or the earliest receive of the shard has a count below the gate, and is earlier than all
//! there. Neither can change before it releases the shard's lock, since to add a receive takes that
//! lock too. In any other case it takes the second lock, and compares.
//!
//! **Elders** (ELDERS). Messages enter the undivided queues only while the context is undivided,
//! and each is of one shard, which is told how many it has when the context is divided, and counts
//! those that leave, which they do with the shard's lock held, or all. As long as it has some,
//! receives ask there first, where all is earlier than what the shard holds.
//!
//! **One moment.** Every operation takes all locks that it needs before it releases any, and those
//! that it leaves out could not have changed what it found. Take as its moment the one at which it
//! holds them all: the operations in the order of their moments give the same answers on ordinary
//! queues, in which a receive takes any message of those that are the earliest of their senders. A
//! message takes the earliest receive by the two paragraphs before. A receive from a named source
//! finds all messages of that source in one shard, in order, after the elders; one from any source
//! holds all locks. By all that is matched, a receive's messages are in one shard because they are
//! equal.
//!
//! Order between senders is kept by an operation for any source as follows: elders first, in order;
//! then by count; and after each such operation that takes a message, an elder too, all places count
//! from the same number on, so that a message is overtaken at most by those that arrived before the
//! next such operation.
//!
//! `tests/loom_gate.rs` tries all interleavings of these races on this code, and
//! `docs/memory-model.md` tells what was broken on purpose to see it fail.

mod context;
mod directory;
mod engine;
mod gated;
mod lock;
mod names;
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
