//! What an engine's options say about its unexpected messages: limits, and marks below them.

use core::ffi::{c_int, c_void};

use mq_core::{Budget, HighWater, Used};

use crate::allocator;
use crate::matching::Message;
use crate::status::MQ_ERR_ARGUMENT;
use crate::types::mq_engine_options;

/// The function to call when a high mark is reached.
pub(crate) struct Listener {
    call: unsafe extern "C-unwind" fn(*mut c_void, u64, u64),
    user: *mut c_void,
}

// SAFETY: whoever makes the engine vouches for calls by every thread that uses it.
unsafe impl Send for Listener {}
// SAFETY: as above: `tell` is called by the thread that has the engine, and no other at the time.
unsafe impl Sync for Listener {}

impl Listener {
    pub(crate) fn tell(&self, used: Used) {
        // SAFETY: a function of this type, from the caller, with the caller's own pointer.
        allocator::apart(|| unsafe { (self.call)(self.user, used.entries as u64, used.bytes) });
    }
}

pub(crate) fn high_water(
    options: &mq_engine_options,
) -> Result<Option<(HighWater, Listener)>, c_int> {
    let entries = (options.high_unexpected, options.low_unexpected);
    let bytes = (options.high_unexpected_bytes, options.low_unexpected_bytes);
    let marked = [entries, bytes].map(|(high, _)| high > 0);
    let disordered = [entries, bytes].map(|(high, low)| low > 0 && low >= high);
    if disordered.contains(&true) || marked.contains(&true) != options.high_water.is_some() {
        return Err(MQ_ERR_ARGUMENT);
    }
    let mut marks = HighWater::NEVER;
    if marked[0] {
        marks = marks.entries(entries_of(entries.0), entries_of(entries.1));
    }
    if marked[1] {
        marks = marks.bytes(bytes.0, bytes.1);
    }
    let user = options.high_water_user;
    let listener = options.high_water.map(|call| Listener { call, user });
    Ok(listener.map(|listener| (marks, listener)))
}

fn entries_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(crate) fn budget(options: &mq_engine_options) -> Budget<Message> {
    let mut budget = Budget::UNLIMITED;
    if options.max_unexpected > 0 {
        budget = budget.entries(entries_of(options.max_unexpected));
    }
    if options.max_unexpected_per_source > 0 {
        budget = budget.entries_per_source(entries_of(options.max_unexpected_per_source));
    }
    if options.max_unexpected_bytes > 0 || options.high_unexpected_bytes > 0 {
        let limit = match options.max_unexpected_bytes {
            0 => u64::MAX,
            limit => limit,
        };
        budget = budget.bytes(limit, bytes_of);
    }
    if options.max_unexpected_bytes_per_source > 0 {
        budget = budget.bytes_per_source(options.max_unexpected_bytes_per_source, bytes_of);
    }
    budget
}

fn bytes_of(message: &Message) -> u64 {
    message.bytes
}
