//! Blocks that are the system's, known by address.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicBool;

use super::{GlobalAlloc, Layout, OVERDRAWN, Ordering, System, ptr};

/// Precedes each block.
struct Head {
    next: *mut Head,
    block: *mut u8,
}

/// The first head, and whether a thread is using the list. A mutex that may put a thread to sleep could
/// need memory for it.
struct List {
    busy: AtomicBool,
    first: UnsafeCell<*mut Head>,
}
// SAFETY: only one thread at a time reaches the heads, which `busy` ensures.
unsafe impl Sync for List {}

static BLOCKS: List = List {
    busy: AtomicBool::new(false),
    first: UnsafeCell::new(ptr::null_mut()),
};

impl List {
    fn with<T>(&self, body: impl FnOnce(*mut *mut Head) -> T) -> T {
        while self.busy.swap(true, Ordering::Acquire) {
            core::hint::spin_loop();
        }
        let done = body(self.first.get());
        self.busy.store(false, Ordering::Release);
        done
    }
}

/// The layout with room for a head, and where the block begins in it.
fn with_head(layout: Layout) -> Option<(Layout, usize)> {
    let (whole, offset) = Layout::new::<Head>().extend(layout).ok()?;
    Some((whole.pad_to_align(), offset))
}

pub(super) fn alloc(layout: Layout) -> *mut u8 {
    let Some((whole, offset)) = with_head(layout) else {
        return ptr::null_mut();
    };
    // SAFETY: a head has a size.
    let memory = unsafe { System.alloc(whole) };
    if memory.is_null() {
        return memory;
    }
    // SAFETY: `offset` lies within the allocation.
    let block = unsafe { memory.add(offset) };
    let head = memory.cast::<Head>();
    BLOCKS.with(|first| {
        // SAFETY: only this thread uses the list.
        let next = unsafe { *first };
        // SAFETY: the allocation begins with room for a head, and is aligned for it.
        unsafe { head.write(Head { next, block }) };
        // SAFETY: only this thread uses the list.
        unsafe { *first = head };
    });
    OVERDRAWN.fetch_add(1, Ordering::Release);
    block
}

/// Frees the block if it is one of these.
pub(super) fn release(block: *mut u8, layout: Layout) -> bool {
    let Some(head) = BLOCKS.with(|first| unlink(first, block)) else {
        return false;
    };
    OVERDRAWN.fetch_sub(1, Ordering::Release);
    if let Some((whole, _)) = with_head(layout) {
        // SAFETY: allocated with this layout by `alloc`.
        unsafe { System.dealloc(head.cast(), whole) };
    }
    true
}

/// Takes the head of a block out of the list that begins at `place`.
fn unlink(mut place: *mut *mut Head, block: *mut u8) -> Option<*mut Head> {
    loop {
        // SAFETY: the start of the list or the link of a head in it, and no other thread uses the list.
        let head = unsafe { *place };
        if head.is_null() {
            return None;
        }
        // SAFETY: a head in the list is allocated.
        if unsafe { (*head).block } == block {
            // SAFETY: a head in the list is allocated.
            let next = unsafe { (*head).next };
            // SAFETY: as where it was read: no other thread uses the list.
            unsafe { *place = next };
            return Some(head);
        }
        // SAFETY: a head in the list is allocated.
        place = unsafe { &raw mut (*head).next };
    }
}
