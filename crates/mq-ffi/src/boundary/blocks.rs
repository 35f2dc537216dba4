//! Where engines live: in blocks that are never freed, so that a freed engine can be told from a live one.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use super::InCallback;
use super::shell::{Behind, Shell, mq_engine};
use crate::allocator;
use crate::front::{self, mq_front};
use crate::lock::lock;
use crate::matching::Matching;
use crate::status::{MQ_ERR_ENGINE, MQ_ERR_INTERNAL, MQ_NONE};

/// Blocks of freed engines. A block is never given back to the allocator, so that a stale pointer can be
/// told from a live one; the next engine reuses it.
static FREED: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// The block of a freed engine, and the numbers left for the names of the next.
struct Block {
    at: NonNull<mq_engine>,
    numbers: Range<u64>,
}

/// Numbers for the names of all engines in one block, one engine after the other: a handle of a freed
/// engine is stale in all later ones, and in all other blocks. (An engine that queues more goes on with those of the
/// next block: for a day at ten million a second, its names may be those of another that lives at the same time.)
const NUMBERS_OF_A_BLOCK: u64 = 1 << 40;

/// This many of a block's numbers must be left for the next engine, or it gets new ones.
const NUMBERS_LEFT: u64 = 1 << 38;

/// The first number that no block has, from 1 on: a zeroed handle names nothing.
static NUMBERS: AtomicU64 = AtomicU64::new(NUMBERS_OF_A_BLOCK);

/// Numbers that no engine has had; `None` after 2^23 blocks, which is also the limit of simultaneous
/// engines.
fn new_numbers() -> Option<Range<u64>> {
    let first = NUMBERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end_of_numbers);
    let first = first.ok()?;
    Some(first..end_of_numbers(first)?)
}

/// The end of a block's numbers that begin here; `None` if an engine cannot begin there
/// ([`first_sequence`](mq_core::EngineOptions::first_sequence)).
fn end_of_numbers(first: u64) -> Option<u64> {
    (first < 1 << 63).then_some(first + NUMBERS_OF_A_BLOCK)
}

/// Engines have used numbers before this one that were other blocks'.
static USED_BY_OTHERS: AtomicU64 = AtomicU64::new(0);

/// An engine whose numbers ended at `end` has reached `next`: no later engine gets the numbers it used
/// beyond its end.
fn pass_over(end: u64, next: u64) {
    if next > end {
        let free = next.checked_next_multiple_of(NUMBERS_OF_A_BLOCK);
        NUMBERS.fetch_max(free.unwrap_or(1 << 63), Ordering::Relaxed);
        USED_BY_OTHERS.fetch_max(next, Ordering::Relaxed);
    }
}

/// Whether the numbers that are left of a block are enough for another engine, and nobody else's.
fn suffice(numbers: &Range<u64>) -> bool {
    let are_enough = numbers.end.saturating_sub(numbers.start) >= NUMBERS_LEFT;
    are_enough && numbers.start >= USED_BY_OTHERS.load(Ordering::Relaxed)
}

/// Set in the numbers of the front's names, and not in those of the queues: half of one is never half of
/// the other.
const IN_FRONT: u64 = 1 << 63;

// SAFETY: the block of a freed engine belongs to the thread that takes it out of the list.
unsafe impl Send for Block {}

/// A block that holds the engine that `make` makes. The names of the engine and of its front are numbered
/// from the number passed to `make`; `None` if there are no numbers left.
pub(crate) fn install(
    make: impl FnOnce(InCallback<'static>, u64) -> Box<Matching>,
    locked: bool,
) -> Option<*mut mq_engine> {
    let reused = lock(&FREED).pop();
    let (reused, numbers) = match reused {
        Some(Block { at, numbers }) => (Some(at), numbers),
        None => (None, 0..0),
    };
    let numbers = match suffice(&numbers) {
        true => numbers,
        false => new_numbers()?,
    };
    let block = reused.unwrap_or_else(|| {
        let shell = Shell {
            front: UnsafeCell::new(mq_front::CLOSED),
            mutex: Mutex::new(()),
            locked: AtomicBool::new(false),
            behind: AtomicU8::new(Behind::More as u8),
            in_callback: AtomicUsize::new(0),
            matching: UnsafeCell::new(None),
            numbers_end: AtomicU64::new(0),
        };
        NonNull::from(Box::leak(Box::new(mq_engine { shell })))
    });
    // SAFETY: blocks live forever.
    let shell: &'static Shell = unsafe { &block.as_ref().shell };
    let mut matching = make(InCallback(&shell.in_callback), numbers.start);
    let mut front = mq_front::numbered_from(IN_FRONT | numbers.start);
    shell.numbers_end.store(numbers.end, Ordering::Relaxed);
    front::furnish(&mut front, &mut matching);
    shell.locked.store(locked, Ordering::Relaxed);
    let behind = Behind::of(&matching, locked) as u8;
    shell.behind.store(behind, Ordering::Relaxed);
    // A thread that still calls with the pointer to the previous, locked engine, which its caller must not do,
    // mostly learns that it was freed: it looks again once it has the mutex, which is held meanwhile.
    let locked = lock(&shell.mutex);
    // SAFETY: nothing else has this block, except such a thread.
    unsafe { *shell.front.get() = front };
    // SAFETY: as above.
    unsafe { *shell.matching.get() = Some(matching) };
    drop(locked);
    Some(block.as_ptr())
}

/// Empties a block and keeps it for the next engine.
///
/// # Safety
/// `engine` is null or came from [`install`].
pub(crate) unsafe fn remove(engine: *mut mq_engine) -> c_int {
    let Some(block) = NonNull::new(engine) else {
        return MQ_NONE;
    };
    let emptied = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: blocks live forever.
        let shell = unsafe { &block.as_ref().shell };
        // An engine that a panic has broken may be freed.
        let access = shell.any_access()?;
        // SAFETY: this thread has the access.
        let matching = unsafe { &mut *shell.matching.get() };
        let front = shell.front.get();
        // SAFETY: as above.
        let named = unsafe { (*front).sequence };
        // The front of an engine with a lock is closed, and inline calls read it without the lock.
        if !shell.is_locked() {
            // SAFETY: as above.
            unsafe { *front = mq_front::CLOSED };
        }
        let gone = matching.take().ok_or(MQ_ERR_ENGINE);
        let is_broken = shell.behind.load(Ordering::Relaxed) == Behind::Broken as u8;
        shell.behind.store(Behind::More as u8, Ordering::Relaxed);
        drop(access);
        gone.map(|mut matching| {
            if !is_broken {
                matching.end();
            }
            let next = (named & !IN_FRONT).max(matching.engine().next_sequence());
            let end = shell.numbers_end.load(Ordering::Relaxed);
            pass_over(end, next);
            next..end
        })
    }));
    let status = match emptied {
        Ok(Ok(numbers)) => {
            lock(&FREED).push(Block { at: block, numbers });
            MQ_NONE
        }
        Ok(Err(status)) => status,
        Err(_) => MQ_ERR_INTERNAL,
    };
    // As in [`guard`](super::guard).
    allocator::forget_refusals();
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_engines_can_not_begin() {
        let last = (1 << 63) - NUMBERS_OF_A_BLOCK;
        assert_eq!(end_of_numbers(NUMBERS_OF_A_BLOCK), Some(2 << 40));
        assert_eq!(end_of_numbers(last), Some(1 << 63));
        assert_eq!(end_of_numbers(1 << 63), None);
    }

    #[test]
    fn numbers_that_an_engine_has_given_beyond_its_own_are_nobody_s() {
        let own = new_numbers().unwrap();
        pass_over(own.end, own.end);
        let next = new_numbers().unwrap();
        // Another test may have taken some in between.
        assert!(next.start >= own.end);
        let far = next.end + 3 * NUMBERS_OF_A_BLOCK + 1;
        let others = far - 1..far + NUMBERS_OF_A_BLOCK;
        assert!(suffice(&others));
        pass_over(next.end, far);
        assert!(new_numbers().unwrap().start > far);
        assert!(!suffice(&others), "some are used");
        assert!(suffice(&(far..far + NUMBERS_LEFT)));
        assert!(!suffice(&(far..far + NUMBERS_LEFT - 1)));
    }
}
