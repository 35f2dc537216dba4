//! [`Sharding`]: when the queues of one context are divided, and into how many shards.

/// The most shards of a context.
pub(super) const MOST_SHARDS: usize = 64;

/// When the queues of a context are divided into shards, so that threads in one context do not wait
/// for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Divide {
    /// When threads are seen to wait at least once per 1,024 entries queued. A context used by one thread,
    /// or rarely by many, keeps one lock and one pair of queues, and matches exactly as
    /// [`Engine`](crate::Engine) does. So does a context with more than one operation for any source,
    /// probes included, per 32 entries: after a division, each of those would lock every shard. Its threads
    /// then wait up to 38 microseconds before they sleep. The operation that divides a context
    /// [visits](super::SharedContext::divide) all entries.
    #[default]
    WhenContended,
    /// When the context is created: for contexts known to be used by many threads.
    AtOnce,
    /// Never: one lock per context.
    Never,
}

/// How the contexts of a [`SharedEngine`](super::SharedEngine) are divided.
///
/// ```
/// use mq_core::shared::{Divide, Sharding};
///
/// let sharding = Sharding::new().divide(Divide::AtOnce).shards(6);
/// assert_eq!(sharding.count(), 8, "a power of two");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sharding {
    count: usize,
    pub(super) divide: Divide,
}

impl Sharding {
    /// Twice as many shards as the machine has processors, created when threads are seen to wait.
    pub fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(4, usize::from);
        Self {
            count: 0,
            divide: Divide::default(),
        }
        .shards(2 * processors)
    }

    /// The number of shards, rounded up to a power of two and limited to 64.
    ///
    /// More shards let more threads match concurrently. Each shard costs memory, about 256 bytes with
    /// [`Indexed`](crate::structures::Indexed), and time in each operation for any source, which locks
    /// all shards.
    #[must_use]
    pub const fn shards(mut self, shards: usize) -> Self {
        let within = if shards < MOST_SHARDS {
            shards
        } else {
            MOST_SHARDS
        };
        self.count = within.next_power_of_two();
        self
    }

    /// When the shards are created.
    #[must_use]
    pub const fn divide(mut self, divide: Divide) -> Self {
        self.divide = divide;
        self
    }

    /// The number of shards: a power of two.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }
}

impl Default for Sharding {
    fn default() -> Self {
        Self::new()
    }
}
