//! [`Entry`]: a slot, and what its words mean in each state.

use super::NIL;

/// One queued entry: its key, its place in order, the caller's payload, and three words that mean what the state of the
/// slot says. Where there is no such slot or node, they are [`NIL`]; *stale* is what was there before, and must not be
/// read. A node is what the deep form of `indexed` makes of a slot of either queue.
///
/// | state of the slot | `next` | `prev` | `home` |
/// | --- | --- | --- | --- |
/// | free and listed | the next free slot | stale | stale |
/// | free, of a [`Window`](super::Window) | stale | stale | stale |
/// | on a [`Fifo`](crate::fifo::Fifo) | slot behind it | slot before it | the structure's mark |
/// | of `indexed`, short, or tabled and not linked | stale | stale | stale |
/// | tabled and linked | slot behind it in its bucket | slot before it, stale in the first | stale |
/// | deep, on the list of what is not indexed yet | slot behind it | slot before it | stale |
/// | deep, the first with its key | node of the second | node of the last, [`NIL`] if it is alone | node of the next key in its bucket |
/// | deep, behind others with its key | node behind it | node before it | stale |
/// | deep, in a log | as these two, but slots; stale until it is on a chain | as `next` | as `next` |
/// | deep, a receive without a class | slot behind it | slot before it | the mark of these |
#[derive(Debug)]
pub(crate) struct Entry<K, T> {
    pub(crate) key: K,
    pub(crate) sequence: u64,
    pub(super) payload: Option<T>,
    pub(crate) next: u32,
    pub(crate) prev: u32,
    pub(crate) home: u32,
}

impl<K, T> Entry<K, T> {
    /// Whether there is a payload.
    #[inline(always)]
    pub(crate) const fn is_used(&self) -> bool {
        self.payload.is_some()
    }
}

// Keys are copied by their `clone`, in the words that a pattern has there: a copy in one piece is made in memory, and
// then read in other words before it has arrived.
#[expect(clippy::clone_on_copy, reason = "a key may define how it is copied")]
impl<K: Copy, T> Entry<K, T> {
    /// A free slot. Searches may compare its key, and then see that there is no payload.
    #[inline(always)]
    pub(super) fn free(key: &K, next: u32) -> Self {
        Self {
            key: key.clone(),
            sequence: 0,
            payload: None,
            next,
            prev: NIL,
            home: NIL,
        }
    }

    /// The key, and the payload, which is taken out.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> (K, T) {
        let key = self.key.clone();
        let payload = self.payload.take().expect("the slot is in use");
        (key, payload)
    }
}
