//! An engine in use by a call, and the caller's functions that the call runs.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::shell::thread_token;
use crate::aliases::Owners;
use crate::front::{self, mq_front};
use crate::matching::Matching;
use crate::shown::Shown;

/// An engine in use by a call.
pub(crate) struct Entered<'a> {
    pub(crate) matching: &'a mut Matching,
    pub(crate) front: Front<'a>,
    pub(super) in_callback: InCallback<'a>,
}

/// The front of that engine. It is borrowed for one use at a time: while the caller's functions run, their inline calls
/// read it.
pub(crate) struct Front<'a>(&'a UnsafeCell<mq_front>);

impl<'a> Front<'a> {
    /// # Safety
    /// The thread has the engine to itself as long as this lives, apart from what it calls, and nothing else borrows
    /// the front.
    pub(super) unsafe fn new(front: &'a UnsafeCell<mq_front>) -> Self {
        Self(front)
    }
}

impl Deref for Front<'_> {
    type Target = mq_front;

    #[inline(always)]
    fn deref(&self) -> &mq_front {
        // SAFETY: as promised to `new`; a change needs this exclusively.
        unsafe { &*self.0.get() }
    }
}

impl DerefMut for Front<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut mq_front {
        // SAFETY: as promised to `new`.
        unsafe { &mut *self.0.get() }
    }
}

impl Entered<'_> {
    /// Runs code that calls the caller's functions: their calls to this engine are refused. All entries are in
    /// the queues meanwhile.
    pub(crate) fn with_callbacks<T>(&mut self, body: impl FnOnce(&mut Matching) -> T) -> T {
        front::settle(&mut self.front, self.matching);
        let is_moving = front::hide(&mut self.front, self.matching);
        let done = self.in_callback.during(|| body(self.matching));
        match self.matching.lengths() {
            // As when the last entry leaves by itself.
            (0, 0) => front::emptied(&mut self.front, self.matching),
            _ => front::show(&mut self.front, self.matching, is_moving),
        }
        done
    }

    /// Shows every entry, in the front or behind it, with the names that owners hold, to code that calls the caller's
    /// functions, with the protection of [`with_callbacks`](Self::with_callbacks): nothing moves.
    pub(crate) fn visit(&mut self, visitor: &mut dyn FnMut(Shown, &mut Owners<'_>)) {
        let is_in_front = !front::is_settled(&self.front);
        let is_moving = front::hide(&mut self.front, self.matching);
        let mut owners = self.matching.aliases.owners();
        let visitor = &mut |entry| visitor(entry, &mut owners);
        self.in_callback.during(|| {
            if is_moving {
                // Receives before messages, and of either those first that are behind the front.
                for posted in [true, false] {
                    let some = &mut |entry: Shown| {
                        if entry.is_posted() == posted {
                            visitor(entry);
                        }
                    };
                    self.matching.visit(some);
                    front::visit(&self.front, some);
                }
            } else if is_in_front {
                front::visit(&self.front, visitor);
            } else {
                self.matching.visit(visitor);
            }
        });
        front::show(&mut self.front, self.matching, is_moving);
    }

    /// Shows every entry, behind the front and in it, to code that calls none of the caller's functions: the
    /// front stays as it is.
    pub(crate) fn look(&self, visitor: &mut dyn FnMut(Shown)) {
        self.matching.visit(visitor);
        self.look_into_front(visitor);
    }

    /// The same for those in the front.
    pub(crate) fn look_into_front(&self, visitor: &mut dyn FnMut(Shown)) {
        front::visit(&self.front, visitor);
    }
}

/// The engine's word that says which thread is in a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InCallback<'a>(pub(super) &'a AtomicUsize);

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
