//! Allocation through the caller's functions.
//!
//! Rust's collections treat a failed allocation as the end of the process. A library inside an application must
//! not end it, so when the caller's function refuses, the memory comes from the system, the operation that
//! asked for it is undone, and its call returns `MQ_ERR_MEMORY`.

mod overdraft;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::alloc::System;

use crate::boundary::{borrow, guard};
use crate::status::{MQ_ERR_NULL, MQ_ERR_TOO_LATE, MQ_NONE};

/// Returns `bytes` bytes at an address that is a multiple of `align`, or null. `align` is a power of two and a
/// multiple of a pointer's size, as `posix_memalign` requires.
pub type mq_alloc_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, bytes: usize, align: usize) -> *mut c_void,
>;

/// Releases what the other function returned for the same `bytes` and `align`.
pub type mq_release_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, memory: *mut c_void, bytes: usize, align: usize),
>;

/// Where libmq gets its memory. The functions must not call libmq, nor block on a lock that any thread may
/// hold while it calls libmq; any thread that calls libmq may call them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_allocator {
    /// Not null.
    pub allocate: mq_alloc_fn,
    /// Not null.
    pub release: mq_release_fn,
    /// Passed to both.
    pub user: *mut c_void,
}

/// The caller's functions, forever; null before they are set.
static CUSTOM: AtomicPtr<mq_allocator> = AtomicPtr::new(ptr::null_mut());
/// Where memory comes from, once and for all: the first block decides, or the call that sets functions.
static ORIGIN: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
/// A thread is setting functions. It needs no memory from here for that, and nothing else can stop it.
const BEING_SET: u8 = 1;
const OF_SYSTEM: u8 = 2;
const OF_CALLER: u8 = 3;

thread_local! {
    /// The most bytes at once that the caller's function has refused this thread since the last look, or 0:
    /// each call answers for what it was refused. It is neither made nor dropped, so it needs no memory.
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}
/// Blocks that come from the system although the caller has set functions.
static OVERDRAWN: AtomicUsize = AtomicUsize::new(0);

/// Makes libmq take all its memory from `allocator`, which is copied. Call it once, before any other call but
/// `mq_version`, `mq_strerror` and `mq_structure_name`.
///
/// When `allocate` returns null, the call in progress queues nothing and returns `MQ_ERR_MEMORY`; a call that
/// queues nothing anyway, such as `mq_purge`, does its work. (The memory that either uses then is the
/// system's.) The engine goes on to refuse what it would have to queue with that memory, until `allocate` gives as much
/// or nothing is queued. Without such functions memory is the system's, and a process that gets none ends.
///
/// The functions are called as long as anything in this process uses libmq. A component that may be unloaded on
/// its own, while others go on using the same libmq, must not supply functions that are unloaded
/// with it.
///
/// Errors: `MQ_ERR_NULL`; `MQ_ERR_TOO_LATE` if libmq already holds memory; `MQ_ERR_MEMORY` if there is none for
/// the copy.
///
/// # Safety
/// `allocator` is null or valid; its functions do what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_allocator_set(allocator: *const mq_allocator) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let allocator = unsafe { borrow(allocator) }?;
        if allocator.allocate.is_none() || allocator.release.is_none() {
            return Err(MQ_ERR_NULL);
        }
        let claimed =
            ORIGIN.compare_exchange(UNDECIDED, BEING_SET, Ordering::Acquire, Ordering::Relaxed);
        claimed.map_err(|_| MQ_ERR_TOO_LATE)?;
        // SAFETY: the layout has a size.
        let memory = unsafe { System.alloc(Layout::new::<mq_allocator>()) };
        let kept = memory.cast::<mq_allocator>();
        if kept.is_null() {
            ORIGIN.store(UNDECIDED, Ordering::Release);
            return Err(crate::status::MQ_ERR_MEMORY);
        }
        // SAFETY: allocated for this type just now.
        unsafe { kept.write(*allocator) };
        CUSTOM.store(kept, Ordering::Release);
        ORIGIN.store(OF_CALLER, Ordering::Release);
        Ok(MQ_NONE)
    })
}

/// Whether the memory comes from the caller's functions.
#[inline(always)]
pub(crate) fn is_custom() -> bool {
    !CUSTOM.load(Ordering::Relaxed).is_null()
}

/// Whether the caller's function has refused this thread something since this was last asked: who asks answers for it.
#[inline(always)]
pub(crate) fn take_refusal() -> bool {
    is_custom() && take()
}

#[cold]
fn take() -> bool {
    REFUSED.take() > 0
}

/// Nobody has to answer for what the caller's function has refused this thread so far.
#[inline(always)]
pub(crate) fn forget_refusals() {
    let _ = take_refusal();
}

/// Runs a caller's function in the middle of a call. It may use other engines: this call does not answer for
/// what is refused to those, nor they for what was refused to this one.
pub(crate) fn apart<T>(function: impl FnOnce() -> T) -> T {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            REFUSED.set(self.0);
        }
    }
    let _restore = Restore(REFUSED.take());
    unless_it_throws(function)
}

/// Runs a caller's function, which may be one of C++: an exception that leaves it ends the process here. Without this
/// boundary an optimised build would have none, and the exception would pass through calls in the middle of their work.
#[allow(
    improper_ctypes_definitions,
    reason = "nobody but this library calls it: `extern` makes it the boundary"
)]
#[inline]
extern "C" fn unless_it_throws<T>(function: impl FnOnce() -> T) -> T {
    function()
}

/// What an engine owes: storage that the caller's function refused and the system had to lend so that the
/// queues stayed in order. The engine then has room for more entries, but these are refused until the caller's
/// function gives as much, or there would be no limit; or until nothing is queued, when the storage goes back.
///
/// A word, since every engine has one: the most bytes at once that were refused, an even number, and [`IS_OF_NEW`].
#[derive(Debug, Default)]
pub(crate) struct Debt(u32);

/// Set if the queues were [made anew](Debt::begin_anew) and nothing has been queued since.
const IS_OF_NEW: u32 = 1;

impl Debt {
    /// Adds what the caller's function has refused this thread so far, for entries that stay queued.
    pub(crate) fn add_refusals(&mut self) {
        if is_custom() {
            self.add(REFUSED.take());
        }
    }

    fn add(&mut self, refused: usize) {
        let refused = u32::try_from(refused.next_multiple_of(2)).unwrap_or(u32::MAX - 1);
        self.0 = self.bytes().max(refused) | (self.0 & IS_OF_NEW);
    }

    /// Adds what was refused since the last time, or strikes the debt out if the caller's function would give as much;
    /// returns whether the entry queued just now cannot stay.
    #[inline(always)]
    pub(crate) fn reckon(&mut self) -> bool {
        is_custom() && self.reckon_with_caller()
    }

    #[cold]
    fn reckon_with_caller(&mut self) -> bool {
        let refused = REFUSED.take();
        if refused > 0 {
            self.add(refused);
        } else if self.bytes() == 0 || would_give(self.bytes() as usize) {
            self.0 = 0;
        }
        self.bytes() > 0
    }

    const fn bytes(&self) -> u32 {
        self.0 & !IS_OF_NEW
    }

    /// Whether queues in which nothing is queued owe storage that they would not have if they were made anew.
    pub(crate) const fn can_begin_anew(&self) -> bool {
        self.bytes() > 0 && self.0 & IS_OF_NEW == 0
    }

    /// Makes queues anew, which owe only what is refused to them.
    pub(crate) fn begin_anew(&mut self, make: impl FnOnce()) {
        forget_refusals();
        make();
        *self = Self(IS_OF_NEW);
        self.add_refusals();
    }
}

/// Whether the caller's function would give this many bytes at the moment.
fn would_give(bytes: usize) -> bool {
    // SAFETY: set once, valid forever.
    let Some(custom) = (unsafe { CUSTOM.load(Ordering::Acquire).as_ref() }) else {
        return true;
    };
    let Ok(layout) = Layout::from_size_align(bytes, align_of::<usize>()) else {
        return false;
    };
    let Some(memory) = ask(custom, layout) else {
        return false;
    };
    give(custom, memory, layout);
    true
}

struct Switch;

#[global_allocator]
static SWITCH: Switch = Switch;

// SAFETY: memory is the system's or comes from the caller's functions, whose types promise what an allocator
// must. `ORIGIN` decides before the first block where memory comes from; what the caller's function refuses
// comes from the system, which `overdraft` records, and goes back there. Nothing here unwinds.
unsafe impl GlobalAlloc for Switch {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let custom = CUSTOM.load(Ordering::Acquire);
        if custom.is_null() {
            if ORIGIN.load(Ordering::Relaxed) != OF_SYSTEM && !decide_for_system() {
                // SAFETY: as required of the caller; the functions are set now.
                return unsafe { self.alloc(layout) };
            }
            // SAFETY: as required of the caller.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: set once, valid forever.
        let custom = unsafe { &*custom };
        alloc_custom(custom, layout)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let custom = CUSTOM.load(Ordering::Acquire);
        if custom.is_null() {
            // SAFETY: as required of the caller.
            return unsafe { System.dealloc(memory, layout) };
        }
        // SAFETY: set once, valid forever.
        let custom = unsafe { &*custom };
        release_custom(custom, memory, layout);
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if ORIGIN.load(Ordering::Relaxed) == OF_SYSTEM {
            // SAFETY: as required of the caller.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as required of the caller.
        let memory = unsafe { self.alloc(layout) };
        if !memory.is_null() {
            // SAFETY: allocated with this size just now.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if CUSTOM.load(Ordering::Acquire).is_null() {
            // SAFETY: as required of the caller; all memory is the system's.
            return unsafe { System.realloc(memory, layout, bytes) };
        }
        // SAFETY: the caller promises that the size is a valid one for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: as required of the caller.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            let common = layout.size().min(bytes);
            // SAFETY: both have this many bytes, and the new block is another.
            unsafe { moved.copy_from_nonoverlapping(memory, common) };
            // SAFETY: as required of the caller.
            unsafe { self.dealloc(memory, layout) };
        }
        moved
    }
}

/// The first block: from now on memory is the system's, unless a thread has set functions or is just doing so,
/// which this waits for.
#[cold]
fn decide_for_system() -> bool {
    loop {
        let was =
            ORIGIN.compare_exchange(UNDECIDED, OF_SYSTEM, Ordering::Relaxed, Ordering::Acquire);
        match was {
            Ok(_) | Err(OF_SYSTEM) => return true,
            Err(OF_CALLER) => return false,
            // Not `thread::yield_now`: nothing of the standard library's is needed here.
            Err(_) => core::hint::spin_loop(),
        }
    }
}

fn alloc_custom(custom: &mq_allocator, layout: Layout) -> *mut u8 {
    if let Some(memory) = ask(custom, layout) {
        return memory.as_ptr();
    }
    REFUSED.set(REFUSED.get().max(layout.size()));
    overdraft::alloc(layout)
}

fn release_custom(custom: &mq_allocator, memory: *mut u8, layout: Layout) {
    if OVERDRAWN.load(Ordering::Acquire) > 0 && overdraft::release(memory, layout) {
        return;
    }
    if let Some(memory) = NonNull::new(memory) {
        give(custom, memory, layout);
    }
}

/// The alignment that the caller's functions are given, as `posix_memalign` requires it.
fn align(layout: Layout) -> usize {
    layout.align().max(align_of::<*mut c_void>())
}

/// Asks the caller's function for memory.
fn ask(custom: &mq_allocator, layout: Layout) -> Option<NonNull<u8>> {
    let allocate = custom.allocate?;
    // SAFETY: a function of this type, from the caller, with the caller's own pointer.
    let memory =
        unless_it_throws(|| unsafe { allocate(custom.user, layout.size(), align(layout)) });
    NonNull::new(memory.cast())
}

/// Gives back memory that came from [`ask`].
fn give(custom: &mq_allocator, memory: NonNull<u8>, layout: Layout) {
    if let Some(release) = custom.release {
        let memory = memory.as_ptr().cast();
        // SAFETY: the block came from the other function.
        unless_it_throws(|| unsafe { release(custom.user, memory, layout.size(), align(layout)) });
    }
}
