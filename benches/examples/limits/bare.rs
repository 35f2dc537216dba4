//! A bare hash table: what entries found by hashing cost on this machine.
//!
//! One chain per bucket, at least one bucket per entry, one multiplication; all memory allocated
//! beforehand. It has no wildcards, no order under a key, no contexts, handles, errors or limits, and
//! chosen keys would flood it.

use crate::stream::{Key, Step, Stream};
use crate::subject::Steps;

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    payload: u64,
    next: u32,
}

pub(crate) struct BareTable {
    buckets: Vec<u32>,
    /// 64 less the bits of a bucket's number.
    shift: u32,
    entries: Vec<Entry>,
    /// The free entries, linked.
    free: u32,
}

impl BareTable {
    /// A table for a stream, if it can match the stream: every entry has its own key, and there are no
    /// wildcards.
    pub(crate) fn for_stream(stream: &Stream) -> Option<Self> {
        if stream.steps.iter().any(|step| step.key().is_none()) {
            return None;
        }
        let queued = match stream.fill.is_empty() {
            true => &stream.steps[..stream.unit / 2],
            false => &stream.fill[..],
        };
        let mut keys = (queued.iter())
            .map(|step| step.key().map(pack))
            .collect::<Option<Vec<u64>>>()?;
        keys.sort_unstable();
        keys.dedup();
        (keys.len() == queued.len()).then(|| Self::with_room_for(keys.len()))
    }

    fn with_room_for(entries: usize) -> Self {
        let buckets = entries.next_power_of_two().max(2);
        let slots = u32::try_from(entries).expect("few entries");
        let free = |next| Entry {
            key: 0,
            payload: 0,
            next: if next < slots { next } else { NIL },
        };
        Self {
            buckets: vec![NIL; buckets],
            shift: u64::BITS - buckets.trailing_zeros(),
            entries: (1..=slots).map(free).collect(),
            free: 0,
        }
    }

    /// Takes the entry of this key out, or queues one; its payload if there was one.
    #[inline(always)]
    fn take_or_queue(&mut self, key: u64, payload: u64) -> Option<u64> {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bucket = &mut self.buckets[(hash >> self.shift) as usize];
        let (mut before, mut slot) = (NIL, *bucket);
        while let Some(&entry) = self.entries.get(slot as usize) {
            if entry.key == key {
                match self.entries.get_mut(before as usize) {
                    Some(before) => before.next = entry.next,
                    None => *bucket = entry.next,
                }
                self.entries[slot as usize].next = self.free;
                self.free = slot;
                return Some(entry.payload);
            }
            (before, slot) = (slot, entry.next);
        }
        let slot = self.free;
        let entry = &mut self.entries[slot as usize];
        self.free = entry.next;
        *entry = Entry {
            key,
            payload,
            next: *bucket,
        };
        *bucket = slot;
        None
    }
}

impl Steps for BareTable {
    fn run(&mut self, steps: &[Step]) -> usize {
        let keys = steps.iter().filter_map(|step| step.key());
        keys.filter(|&key| self.take_or_queue(pack(key), 1).is_some())
            .count()
    }
}

fn pack((source, tag): Key) -> u64 {
    u64::from(source) << 32 | u64::from(tag.cast_unsigned())
}
