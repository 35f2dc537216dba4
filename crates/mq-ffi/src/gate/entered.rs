//! An engine in use by a call, and the caller's functions that the call runs.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::shell::thread_token;
use crate::front::{self, mq_front};
use crate::matching::{EntryOf, Matching};

/// An engine in use by a call.
pub(crate) struct Entered<'a> {
    pub(crate) matching: &'a mut Matching,
    pub(crate) front: &'a mut mq_front,
    pub(super) in_callback: InCallback<'a>,
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

    /// Shows every entry, behind the front and in it, to code that calls none of the caller's functions: the
    /// front stays as it is.
    pub(crate) fn look(&self, visitor: &mut dyn FnMut(EntryOf<'_>)) {
        self.matching.visit(visitor);
        self.look_into_front(visitor);
    }

    /// The same for those in the front.
    pub(crate) fn look_into_front(&self, visitor: &mut dyn FnMut(EntryOf<'_>)) {
        front::visit(self.front, visitor);
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
