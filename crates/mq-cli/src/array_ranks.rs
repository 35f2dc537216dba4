//! For which traces `array` would take too much memory.

use mq_core::structures::RankHeads;
use mq_trace::Trace;

/// The most ranks, over all communicators, for which `array` is used: 2 GiB.
pub(crate) const MOST: u64 = 1 << 27;

/// The ranks for which `array` would keep memory.
pub(crate) fn of(trace: &Trace) -> u64 {
    let heads = |size: u32| u64::from(size.min(RankHeads::MOST));
    trace.communicators().map(|comm| heads(comm.size)).sum()
}
