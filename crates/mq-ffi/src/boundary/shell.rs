//! An engine as C holds it, and who may use it: one thread at a time, none from a callback, nobody after a panic.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use mq_core::structures::Kind;

use crate::allocator;
use crate::front::mq_front;
use crate::lock::lock;
use crate::matching::Matching;
use crate::status::{MQ_ERR_ENGINE, MQ_ERR_INTERNAL, MQ_ERR_REENTRANT};

/// A matching engine. Opaque; made by `mq_engine_new`.
pub struct mq_engine {
    pub(super) shell: Shell,
}

// `mq_inline.h` reads an engine's address as the front's.
const _: () = assert!(core::mem::offset_of!(mq_engine, shell.front) == 0);

#[repr(C)]
pub(super) struct Shell {
    pub(super) front: UnsafeCell<mq_front>,
    pub(super) mutex: Mutex<()>,
    /// Whether calls take the mutex.
    pub(super) locked: AtomicBool,
    /// A [`Behind`]: what is behind the front.
    pub(super) behind: AtomicU8,
    /// The thread that is in a callback of the caller's; 0 if none.
    pub(super) in_callback: AtomicUsize,
    /// `None` once freed.
    pub(super) matching: UnsafeCell<Option<Box<Matching>>>,
    /// The end of the numbers for its names.
    pub(super) numbers_end: AtomicU64,
}

/// What an operation meets if it is not done in the front.
#[repr(u8)]
pub(super) enum Behind {
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
    pub(super) fn of(matching: &Matching, locked: bool) -> Self {
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
pub(super) fn thread_token() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| core::ptr::from_ref(mark).addr())
}

/// The right to use an engine for the length of a call.
pub(super) struct Access<'a> {
    _locked: Option<MutexGuard<'a, ()>>,
}

impl Shell {
    pub(super) fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }

    /// The right to use an engine that is not broken.
    #[inline]
    pub(super) fn access(&self) -> Result<Access<'_>, c_int> {
        let access = self.any_access()?;
        if self.behind.load(Ordering::Relaxed) == Behind::Broken as u8 {
            return Err(MQ_ERR_INTERNAL);
        }
        Ok(access)
    }

    /// A panic may have left anything in the engine: from now on nothing uses it, inline calls included.
    #[cold]
    pub(super) fn break_down(&self) {
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
    pub(super) fn any_access(&self) -> Result<Access<'_>, c_int> {
        let inside = self.in_callback.load(Ordering::Relaxed);
        let locked = self.is_locked();
        if inside != 0 && (!locked || inside == thread_token()) {
            return Err(MQ_ERR_REENTRANT);
        }
        let access = Access {
            _locked: locked.then(|| lock(&self.mutex)),
        };
        // While this thread waited, the engine may have been freed, and its block given to one without a lock.
        if locked && !self.is_locked() {
            return Err(MQ_ERR_ENGINE);
        }
        Ok(access)
    }
}
