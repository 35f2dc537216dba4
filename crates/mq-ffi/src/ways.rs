//! The short ways of the match operations: in the front, and straight to the queues of an engine for which
//! nothing has to be recorded but how a step ended. Each is compiled separately and takes its arguments in
//! registers: their common part, a call and its checks, costs as much as a short search. They are C functions
//! because those do not unwind: the calls end in jumps to them.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::boundary::{Entered, Way, enter, front_of, guard_step, mq_engine, straight, way};
use crate::front::Reach::{Far, Near};
use crate::front::moving::{self, after, move_some};
use crate::front::{self, Searched, emptied, filled, is_settled, mq_front, prepare, settle, steps};
use crate::matching::{Matching, Message, Queues};
use crate::operations::InContext;
use crate::plain::{self, Outputs};
use crate::status::{MQ_ERR_NULL, MQ_MATCHED, MQ_NONE};
use crate::types::{Exact, mq_envelope, mq_handle, mq_message_handle, mq_pattern};
use crate::{halves, operations};

/// What to do after a step that has left few entries, or none.
type Afterwards = Option<fn(&mut mq_front, &mut Matching)>;

/// Does that, inside the panic boundary as the step is: if it panics the engine is broken, and calls report
/// so.
///
/// # Safety
/// [`way`] has just returned [`Way::Default`] or [`Way::Any`]; nothing of the engine is in use any more.
#[cold]
#[inline(never)]
unsafe fn afterwards(engine: *mut mq_engine, what: fn(&mut mq_front, &mut Matching)) {
    let rest = || {
        // SAFETY: as required of the caller.
        let (front, matching) = unsafe { straight(engine) }?;
        what(front, matching);
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { guard_step(engine, rest) };
}

/// How a step of posting ended.
#[inline(always)]
fn posted(front: &mut mq_front, matching: &mut Matching, status: c_int) -> Afterwards {
    if status == MQ_NONE {
        front.no_receives = 0;
        front.open = 0;
        matching.receive_added().then_some(filled)
    } else {
        (status == MQ_MATCHED && matching.message_left()).then_some(emptied)
    }
}

/// How a step of arriving ended.
#[inline(always)]
fn arrived(front: &mut mq_front, matching: &mut Matching, status: c_int) -> Afterwards {
    if status == MQ_NONE {
        front.no_messages = 0;
        front.open = 0;
        matching.message_added().then_some(filled)
    } else {
        (status == MQ_MATCHED && matching.receive_left()).then_some(emptied)
    }
}

/// How a step of extracting ended.
#[inline(always)]
fn extracted(_: &mut mq_front, matching: &mut Matching, status: c_int) -> Afterwards {
    (status == MQ_MATCHED && matching.message_left()).then_some(emptied)
}

/// How a step of delivering ended.
#[inline(always)]
fn delivered(_: &mut mq_front, matching: &mut Matching, status: c_int) -> Afterwards {
    (status == MQ_MATCHED && matching.receive_left()).then_some(emptied)
}

/// How a search that removes nothing ended.
#[inline(always)]
const fn looked(_: &mut mq_front, _: &mut Matching, _: c_int) -> Afterwards {
    None
}

/// [`try_again`]: asking again is pointless.
const NOT_AGAIN: c_int = MQ_NONE;

/// [`try_again`]: asking again is worthwhile.
const AGAIN: c_int = MQ_MATCHED;

/// The front did not answer. Returns whether it is worth asking again, or an error if something is wrong with
/// the operation; nothing has to move for that.
///
/// # Safety
/// As for [`enter`].
#[cold]
#[inline(never)]
unsafe fn try_again<T>(engine: *mut mq_engine, what: &T, queues: bool) -> c_int
where
    T: InContext + plain::Checked,
{
    let body = |entered: &mut Entered<'_>| {
        what.check(entered.matching.engine_mut())?;
        let again = prepare(&mut entered.front, entered.matching, what.context(), queues);
        Ok(if again { AGAIN } else { NOT_AGAIN })
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

/// Asking the front again as before is pointless: lets a search look at all its entries if it may; returns whether.
///
/// # Safety
/// As for [`enter`].
#[cold]
#[inline(never)]
unsafe fn grant_far_look(engine: *mut mq_engine, searched: Searched, has_wildcard: bool) -> bool {
    let body = |entered: &mut Entered<'_>| {
        let (front, matching) = (&*entered.front, &mut *entered.matching);
        let granted = front::grant_far_look(front, matching, searched, has_wildcard);
        Ok(c_int::from(granted))
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) == 1 }
}

/// An open front has the entry that an operation names, but not near: lets it leave if it may; returns whether.
///
/// # Safety
/// As for [`enter`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn grant_far_exit(engine: *mut mq_engine, searched: Searched) -> bool {
    let body = |entered: &mut Entered<'_>| {
        let (front, matching) = (&*entered.front, &mut *entered.matching);
        Ok(c_int::from(front::grant_far_exit(
            front, matching, searched,
        )))
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) == 1 }
}

macro_rules! ways {
    ($name:ident($what:ident: $type:ty $(, $arg:ident: $kind:ty)*),
     $may:ident, queues: $queues:literal, around: $around:path,
     $front:ident => $in_front:expr $(; far $searched:expr, $has_wildcard:expr => $far:expr)?,
     $step:ident($($with:expr),*), $ended:ident) => {
        /// The ways of the call of this name.
        pub(crate) mod $name {
            use super::*;

            /// Wherever the operation is to be done.
            ///
            /// # Safety
            /// As for the call.
            #[inline(always)]
            pub(crate) unsafe extern "C" fn call(
                engine: *mut mq_engine,
                $what: *const $type,
                $($arg: $kind),*
            ) -> c_int {
                // SAFETY: as required of the caller.
                match unsafe { way(engine, |front| front.$may) } {
                    // SAFETY: as required of the caller.
                    Way::Front => unsafe { in_front(engine, $what, $($arg),*) },
                    // SAFETY: as required of the caller.
                    Way::Default => unsafe { in_default(engine, $what, $($arg),*) },
                    // SAFETY: as required of the caller.
                    Way::Any => unsafe { in_any(engine, $what, $($arg),*) },
                    // SAFETY: as required of the caller.
                    Way::Around => unsafe { $around(engine, $what, $($arg),*) },
                }
            }

            /// In the front, or wherever the operation is done otherwise.
            ///
            /// # Safety
            /// As for the call; [`way`] has just returned [`Way::Front`].
            #[inline(never)]
            unsafe extern "C" fn in_front(
                engine: *mut mq_engine,
                $what: *const $type,
                $($arg: $kind),*
            ) -> c_int {
                // SAFETY: as required of the caller.
                let Some($what) = (unsafe { $what.as_ref() }) else {
                    return MQ_ERR_NULL;
                };
                // SAFETY: as required of the caller.
                let $front = unsafe { front_of(engine) };
                // SAFETY: as required of the caller.
                if let Some(status) = unsafe { $in_front } {
                    return status;
                }
                // SAFETY: as required of the caller.
                unsafe { not_in_front(engine, $what, $($arg),*) }
            }

            /// [`in_front`] had no answer.
            ///
            /// # Safety
            /// As for the call; `$what` is not null.
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn not_in_front(
                engine: *mut mq_engine,
                $what: &$type,
                $($arg: $kind),*
            ) -> c_int {
                // SAFETY: as required of the caller.
                match unsafe { try_again(engine, $what, $queues) } {
                    NOT_AGAIN => {}
                    // SAFETY: as required of the caller.
                    AGAIN => return unsafe { call(engine, $what, $($arg),*) },
                    error => return error,
                }
                $(
                    // SAFETY: as required of the caller.
                    if unsafe { grant_far_look(engine, $searched, $has_wildcard) } {
                        // SAFETY: as required of the caller.
                        let $front = unsafe { front_of(engine) };
                        // SAFETY: as required of the caller.
                        if let Some(status) = unsafe { $far } {
                            return status;
                        }
                    }
                )?
                // SAFETY: as required of the caller.
                match unsafe { way(engine, |_| 0) } {
                    // SAFETY: as required of the caller.
                    Way::Default | Way::Any => unsafe { in_any(engine, $what, $($arg),*) },
                    // SAFETY: as required of the caller.
                    _ => unsafe { $around(engine, $what, $($arg),*) },
                }
            }

            /// On queues of the default structure, for operations that give their source and their whole tag:
            /// with few checks and one structure's code, which needs few registers. Everything else goes to
            /// [`in_any`].
            ///
            /// # Safety
            /// As for the call; [`way`] has just returned [`Way::Default`].
            #[inline(never)]
            unsafe extern "C" fn in_default(
                engine: *mut mq_engine,
                $what: *const $type,
                $($arg: $kind),*
            ) -> c_int {
                // SAFETY: as required of the caller.
                let (exact, parts) = unsafe { ($what.as_ref().and_then(Exact::exact), straight(engine)) };
                if let (Some((source, exact)), Ok((front, matching))) = (exact, parts)
                    && is_settled(front)
                    && let Some(Queues::Indexed(queues)) = matching.engine_mut().queues_by_number(exact.context(), source)
                {
                    // SAFETY: as required of the caller.
                    let status = unsafe { guard_step(engine, || Ok(plain::$step::on(queues, exact, $($with),*))) };
                    // A step that panicked has broken the engine: nothing of it is touched any more.
                    if status >= MQ_NONE
                        && let Some(what) = $ended(front, matching, status)
                    {
                        // SAFETY: as required of the caller.
                        unsafe { afterwards(engine, what) };
                    }
                    return status;
                }
                // SAFETY: as required of the caller.
                unsafe { in_any(engine, $what, $($arg),*) }
            }

            /// On queues of any structure, for any operation.
            ///
            /// # Safety
            /// As for the call; [`way`] has just returned [`Way::Default`] or [`Way::Any`].
            #[inline(never)]
            unsafe extern "C" fn in_any(
                engine: *mut mq_engine,
                $what: *const $type,
                $($arg: $kind),*
            ) -> c_int {
                let step = || {
                    // SAFETY: as required of the caller.
                    let $what = unsafe { $what.as_ref() }.ok_or(MQ_ERR_NULL)?;
                    // SAFETY: as required of the caller.
                    let (front, matching) = unsafe { straight(engine) }?;
                    if move_some(front, matching) {
                        // SAFETY: as required of the caller.
                        let ended = unsafe { moving::$step(front, matching, $what, $($with),*) }?;
                        if let Some(status) = ended {
                            after(front, matching);
                            return Ok(status);
                        }
                    }
                    settle(front, matching);
                    // SAFETY: as required of the caller.
                    let status = unsafe { plain::$step::of(matching.engine_mut(), $what, $($with),*) }?;
                    if let Some(what) = $ended(front, matching, status) {
                        what(front, matching);
                    }
                    Ok(status)
                };
                // SAFETY: as required of the caller.
                unsafe { guard_step(engine, step) }
            }
        }
    };
}

ways! {
    post(pattern: mq_pattern, receive: *mut c_void, handle: *mut mq_handle,
         message: *mut *mut c_void, envelope: *mut mq_envelope),
    open, queues: true, around: operations::post_around,
    front => steps::post(front, pattern, receive, handle, Outputs { message, envelope }, Near);
    far Searched::Messages, pattern.has_wildcard() => steps::post(front, pattern, receive, handle, Outputs { message, envelope }, Far),
    post(receive, handle, Outputs { message, envelope }), posted
}

ways! {
    arrive(envelope: mq_envelope, bytes: u64, message: *mut c_void, receive: *mut *mut c_void),
    open, queues: true, around: operations::arrive_around,
    front => steps::arrive(front, envelope, bytes, message, receive, Near);
    far Searched::Receives, false => steps::arrive(front, envelope, bytes, message, receive, Far),
    arrive(Message { cookie: message, bytes }, receive), arrived
}

ways! {
    probe(pattern: mq_pattern, message: *mut *mut c_void, envelope: *mut mq_envelope),
    no_messages, queues: false, around: operations::probe_around,
    front => steps::find(front, pattern, ptr::null_mut(), Outputs { message, envelope }, Near);
    far Searched::Messages, pattern.has_wildcard() => steps::find(front, pattern, ptr::null_mut(), Outputs { message, envelope }, Far),
    find(ptr::null_mut(), Outputs { message, envelope }), looked
}

ways! {
    extract(pattern: mq_pattern, message: *mut *mut c_void, envelope: *mut mq_envelope),
    no_messages, queues: false, around: halves::extract_around,
    front => steps::extract(front, pattern, Outputs { message, envelope }, Near);
    far Searched::Messages, pattern.has_wildcard() => steps::extract(front, pattern, Outputs { message, envelope }, Far),
    extract(Outputs { message, envelope }), extracted
}

ways! {
    find(pattern: mq_pattern, found: *mut mq_message_handle, message: *mut *mut c_void,
         envelope: *mut mq_envelope),
    no_messages, queues: false, around: halves::find_around,
    front => steps::find(front, pattern, found, Outputs { message, envelope }, Near);
    far Searched::Messages, pattern.has_wildcard() => steps::find(front, pattern, found, Outputs { message, envelope }, Far),
    find(found, Outputs { message, envelope }), looked
}

ways! {
    deliver(envelope: mq_envelope, receive: *mut *mut c_void),
    no_receives, queues: false, around: halves::deliver_around,
    front => steps::deliver(front, envelope, receive, Near);
    far Searched::Receives, false => steps::deliver(front, envelope, receive, Far),
    deliver(receive), delivered
}

ways! {
    queue_receive(pattern: mq_pattern, receive: *mut c_void, handle: *mut mq_handle),
    open, queues: true, around: halves::queue_receive_around,
    front => steps::queue_receive(front, pattern, receive, handle),
    queue_receive(receive, handle), posted
}

ways! {
    queue_message(envelope: mq_envelope, bytes: u64, message: *mut c_void,
                  queued: *mut mq_message_handle),
    open, queues: true, around: halves::queue_message_around,
    front => steps::queue_message(front, envelope, bytes, message, queued),
    queue_message(Message { cookie: message, bytes }, queued), arrived
}
