//! The layer between C and an engine, in every build: null and liveness checks, the refusal of calls from
//! within a callback, the lock of a locked engine, and the panic boundary.

mod blocks;

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mq_core::structures::Kind;
use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

pub(crate) use self::blocks::{install, remove};

use crate::allocator;
use crate::front::{self, MQ_FRONT_LAYOUT, mq_front};
use crate::matching::{EntryOf, Matching};
use crate::status::{MQ_ERR_ENGINE, MQ_ERR_INTERNAL, MQ_ERR_NULL, MQ_ERR_REENTRANT};

/// A matching engine. Opaque; made by `mq_engine_new`.
pub struct mq_engine {
    shell: Shell,
}

// `mq_inline.h` reads an engine's address as the front's.
const _: () = assert!(core::mem::offset_of!(mq_engine, shell.front) == 0);

#[repr(C)]
struct Shell {
    front: UnsafeCell<mq_front>,
    mutex: RawMutex,
    /// Whether calls take the mutex.
    locked: AtomicBool,
    /// A [`Behind`]: what is behind the front.
    behind: AtomicU8,
    /// The thread that is in a callback of the caller's; 0 if none.
    in_callback: AtomicUsize,
    /// `None` once freed.
    matching: UnsafeCell<Option<Box<Matching>>>,
    /// The end of the numbers for its names.
    numbers_end: AtomicU64,
}

/// What an operation meets if it is not done in the front.
#[repr(u8)]
enum Behind {
    /// Queues of the default structure.
    Default,
    /// Queues of another structure.
    Any,
    /// A call has to do more than match: the mutex, statistics, a session, limits, an allocator that may
    /// refuse.
    More,
    /// A panic has broken the engine: no call may use it.
    Broken,
}

impl Behind {
    fn of(matching: &Matching, locked: bool) -> Self {
        if locked || !matching.is_plain() || allocator::is_custom() {
            Self::More
        } else if matching.engine().kind() == Kind::Indexed {
            Self::Default
        } else {
            Self::Any
        }
    }
}

// SAFETY: one thread at a time reaches the cells: the one that holds the mutex of a locked engine, or the only
// one that uses an engine without a lock. Inline calls also read the front of a locked engine without the mutex:
// it is closed, and not written from when the engine is made until its block is used again.
unsafe impl Sync for Shell {}

impl core::fmt::Debug for mq_engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("mq_engine").finish_non_exhaustive()
    }
}

/// Tells threads apart, without a system call.
fn thread_token() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| core::ptr::from_ref(mark).addr())
}

/// The right to use an engine for the length of a call.
struct Access<'a> {
    mutex: Option<&'a RawMutex>,
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        if let Some(mutex) = self.mutex {
            // SAFETY: locked by `access`, by this thread.
            unsafe { mutex.unlock() };
        }
    }
}

impl Shell {
    fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }

    /// The right to use an engine that is not broken.
    #[inline]
    fn access(&self) -> Result<Access<'_>, c_int> {
        let access = self.any_access()?;
        if self.behind.load(Ordering::Relaxed) == Behind::Broken as u8 {
            return Err(MQ_ERR_INTERNAL);
        }
        Ok(access)
    }

    /// A panic may have left anything in the engine: from now on nothing uses it, inline calls included.
    #[cold]
    fn break_down(&self) {
        self.behind.store(Behind::Broken as u8, Ordering::Relaxed);
        // The front of an engine with a lock is closed forever, and read without the lock.
        if self.is_locked() {
            return;
        }
        // SAFETY: the panic was in this thread, the only one that uses the engine.
        let front = unsafe { &mut *self.front.get() };
        // The names already given stay stale in the next engine of the block.
        *front = mq_front::numbered_from(front.sequence);
    }

    #[inline]
    fn any_access(&self) -> Result<Access<'_>, c_int> {
        let inside = self.in_callback.load(Ordering::Relaxed);
        let locked = self.is_locked();
        if inside != 0 && (!locked || inside == thread_token()) {
            return Err(MQ_ERR_REENTRANT);
        }
        let mutex = locked.then_some(&self.mutex);
        if let Some(mutex) = mutex {
            mutex.lock();
        }
        let access = Access { mutex };
        // While this thread waited, the engine may have been freed, and its block given to one without a lock.
        if locked && !self.is_locked() {
            return Err(MQ_ERR_ENGINE);
        }
        Ok(access)
    }
}

/// An engine in use by a call.
pub(crate) struct Entered<'a> {
    pub(crate) matching: &'a mut Matching,
    pub(crate) front: &'a mut mq_front,
    in_callback: InCallback<'a>,
}

impl Entered<'_> {
    /// Runs code that calls the caller's functions: their calls to this engine are refused. All entries are in
    /// the queues meanwhile.
    pub(crate) fn with_callbacks<T>(&mut self, body: impl FnOnce(&mut Matching) -> T) -> T {
        front::settle(self.front, self.matching);
        front::hide(self.front, self.matching);
        let done = self.in_callback.during(|| body(self.matching));
        front::show(self.front, self.matching);
        done
    }
}

impl Entered<'_> {
    /// Shows every entry, in the front or behind it, to code that calls the caller's functions, with the
    /// protection of [`with_callbacks`](Self::with_callbacks): nothing moves.
    pub(crate) fn visit(&mut self, visitor: &mut dyn FnMut(EntryOf<'_>)) {
        // At least one of the two is empty.
        let is_in_front = !front::is_settled(self.front);
        front::hide(self.front, self.matching);
        self.in_callback.during(|| match is_in_front {
            true => front::visit(self.front, visitor),
            false => self.matching.visit(visitor),
        });
        front::show(self.front, self.matching);
    }
}

impl Entered<'_> {
    /// Shows every entry, in the front or behind it, to code that calls none of the caller's functions: the
    /// front stays as it is.
    pub(crate) fn look(&self, visitor: &mut dyn FnMut(EntryOf<'_>)) {
        // At least one of the two is empty.
        match front::is_settled(self.front) {
            true => self.matching.visit(visitor),
            false => front::visit(self.front, visitor),
        }
    }
}

/// The engine's word that says which thread is in a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InCallback<'a>(&'a AtomicUsize);

impl InCallback<'_> {
    /// Runs code that calls the caller's functions: their calls to the engine are refused.
    pub(crate) fn during<T>(self, body: impl FnOnce() -> T) -> T {
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.store(0, Ordering::Relaxed);
            }
        }
        self.0.store(thread_token(), Ordering::Relaxed);
        let _leave = Leave(self.0);
        body()
    }
}

/// Where a match operation is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// In the front: [`front_of`] is allowed.
    Front,
    /// On the queues, which have the default structure unless their context asked for another; nothing has to
    /// be recorded but how the operation ended: [`straight`] is allowed.
    Default,
    /// The same, on queues of another structure.
    Any,
    /// Through every layer that may be in between: [`enter`].
    Around,
}

/// Where to do an operation that may be done in the front if `state`, one of its words, says so.
///
/// # Safety
/// As for [`enter`].
#[inline(always)]
pub(crate) unsafe fn way(engine: *mut mq_engine, state: impl FnOnce(&mq_front) -> u32) -> Way {
    // SAFETY: null, or a block, which lives forever.
    let Some(mq_engine { shell }) = (unsafe { engine.as_ref() }) else {
        return Way::Around;
    };
    let behind = shell.behind.load(Ordering::Relaxed);
    let more = behind >= Behind::More as u8;
    if shell.in_callback.load(Ordering::Relaxed) != 0 || more && shell.is_locked() {
        return Way::Around;
    }
    // SAFETY: one thread at a time uses an engine without a lock, and it is in no other call to it.
    let front = unsafe { &*shell.front.get() };
    if state(front) == MQ_FRONT_LAYOUT {
        Way::Front
    } else if behind == Behind::Default as u8 {
        Way::Default
    } else if more {
        Way::Around
    } else {
        Way::Any
    }
}

/// The front of an engine.
///
/// # Safety
/// [`way`] has just returned [`Way::Front`]; nothing else of the engine is in use.
#[inline(always)]
pub(crate) unsafe fn front_of<'a>(engine: *mut mq_engine) -> &'a mut mq_front {
    // SAFETY: a block, which lives forever.
    let shell = unsafe { &(*engine).shell };
    // SAFETY: as required of the caller.
    unsafe { &mut *shell.front.get() }
}

/// The front and the queues of an engine that is neither locked, watched nor limited.
///
/// # Safety
/// [`way`] has just returned [`Way::Default`] or [`Way::Any`]; nothing else of the engine is in use.
#[inline(always)]
pub(crate) unsafe fn straight<'a>(
    engine: *mut mq_engine,
) -> Result<(&'a mut mq_front, &'a mut Matching), c_int> {
    // SAFETY: a block, which lives forever.
    let shell = unsafe { &(*engine).shell };
    // SAFETY: as required of the caller.
    let front = unsafe { &mut *shell.front.get() };
    // SAFETY: as required of the caller.
    let matching = unsafe { &mut *shell.matching.get() };
    Ok((front, matching.as_deref_mut().ok_or(MQ_ERR_ENGINE)?))
}

/// Runs the body of a call on an engine.
///
/// # Safety
/// `engine` is null or came from [`install`], whether it was freed since or not.
#[inline]
pub(crate) unsafe fn enter(
    engine: *const mq_engine,
    body: impl FnOnce(&mut Entered<'_>) -> Result<c_int, c_int>,
) -> c_int {
    guard(|| {
        // SAFETY: null, or a block, which lives forever.
        let shell = &unsafe { engine.as_ref() }.ok_or(MQ_ERR_NULL)?.shell;
        let access = shell.access()?;
        // SAFETY: this thread has the access; a call from a callback got none.
        let matching = unsafe { &mut *shell.matching.get() };
        // SAFETY: as above.
        let front = unsafe { &mut *shell.front.get() };
        let matching = matching.as_deref_mut().ok_or(MQ_ERR_ENGINE)?;
        let in_callback = InCallback(&shell.in_callback);
        let breaks = Breaks(shell);
        let status = body(&mut Entered {
            matching,
            front,
            in_callback,
        });
        core::mem::forget(breaks);
        drop(access);
        status
    })
}

/// Marks an engine as broken if a panic unwinds through it.
struct Breaks<'a>(&'a Shell);

impl Drop for Breaks<'_> {
    #[cold]
    fn drop(&mut self) {
        self.0.break_down();
    }
}

/// Runs a step on [`straight`] parts of an engine; a panic becomes a status, and breaks the engine.
///
/// # Safety
/// `engine` came from [`install`]; nothing else of it is in use.
#[inline(always)]
pub(crate) unsafe fn guard_step(
    engine: *mut mq_engine,
    step: impl FnOnce() -> Result<c_int, c_int>,
) -> c_int {
    guard(|| {
        // SAFETY: a block, which lives forever.
        let breaks = Breaks(unsafe { &(*engine).shell });
        let status = step();
        core::mem::forget(breaks);
        status
    })
}

/// Runs the body of a call; a panic becomes a status.
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    // After a panic the engine is broken, as the status says; nothing else is shared.
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status) | Err(status)) => status,
        Err(_) => MQ_ERR_INTERNAL,
    };
    // What the caller's allocator refused was dealt with if something was queued; otherwise it does not matter,
    // and must not be attributed to the next call.
    allocator::has_refused();
    status
}

/// The object behind a pointer from C.
///
/// # Errors
/// `MQ_ERR_NULL`.
///
/// # Safety
/// `pointer` is null, or valid for reads as `T` for the call.
#[inline]
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T) -> Result<&'a T, c_int> {
    // SAFETY: the caller vouches for a non-null pointer.
    unsafe { pointer.as_ref() }.ok_or(MQ_ERR_NULL)
}

/// Writes an output that the caller may not want.
///
/// # Safety
/// `output` is null, or valid for writes as `T`.
#[inline]
pub(crate) unsafe fn write<T>(output: *mut T, value: T) {
    if !output.is_null() {
        // SAFETY: not null, and the caller vouches for the rest.
        unsafe { output.write(value) };
    }
}

#[cfg(test)]
mod tests;
