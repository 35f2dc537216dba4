//! Engines and their contexts.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::str::FromStr;

use mq_core::structures::{Choice, Kind};
use mq_core::{Budget, ContextOptions, Engine, EngineOptions, HighWater};

use crate::allocator;
use crate::boundary::{InCallback, enter, guard, install, mq_engine, remove};
use crate::front::{self, forget, reopen};
use crate::inspect::{give_back, mq_removed_fn};
use crate::limits::{Listener, budget, high_water};
use crate::matching::{Matching, Message, RemovedOf};
use crate::session::session_of;
use crate::status::{
    MQ_ERR_ARGUMENT, MQ_ERR_MEMORY, MQ_ERR_NULL, MQ_ERR_STRUCTURE, MQ_NONE, status_of,
};
use crate::types::{
    CHECKED_PROMISES, MQ_LOCKED, MQ_NO_FRONT, MQ_STATISTICS, mq_context_options, mq_engine_options,
    promise_bits, read_promises,
};
use crate::watch::Watch;

/// The version of the library that this header belongs to. While major is 0, every minor version is a separate
/// ABI; the soname contains both.
pub const MQ_VERSION_MAJOR: u32 = 0;
/// The minor version.
pub const MQ_VERSION_MINOR: u32 = 1;
/// The patch: versions differing only in the patch are compatible.
pub const MQ_VERSION_PATCH: u32 = 0;

/// All three, as `mq_version` gives those of the library.
pub const MQ_VERSION: u32 = MQ_VERSION_MAJOR << 16 | MQ_VERSION_MINOR << 8 | MQ_VERSION_PATCH;

/// The version of the library, as `major << 16 | minor << 8 | patch`. A program that may have been linked or loaded
/// with another library than its header's compares it with `MQ_VERSION`. While major is 0, the minor versions have to
/// be the same too.
#[unsafe(no_mangle)]
pub extern "C" fn mq_version() -> u32 {
    let part = |text: &str| text.parse().unwrap_or(0_u32);
    part(env!("CARGO_PKG_VERSION_MAJOR")) << 16
        | part(env!("CARGO_PKG_VERSION_MINOR")) << 8
        | part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// The name of structure `index`, from 0, valid forever; null after the last one.
#[unsafe(no_mangle)]
pub extern "C" fn mq_structure_name(index: u32) -> *const c_char {
    NAMES
        .get(index as usize)
        .map_or(ptr::null(), |name| name.as_ptr())
}

/// The names of [`Kind::ALL`], terminated for C; a test compares the two.
const NAMES: &[&CStr] = &[
    c"list",
    c"array",
    c"4d",
    c"threshold",
    c"rbtree",
    c"bins",
    c"adaptive",
    c"pnp",
    c"col",
    c"col+pnp",
    c"clusters",
    c"indexed",
];

/// Makes an engine and writes it to `*engine`. `options` may be null.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (unknown flag, nonzero reserved word, marks
/// without `high_water` or the reverse, a low mark that is not below its high one), `MQ_ERR_ENGINE` (the
/// session is closed), `MQ_ERR_MEMORY` (also beyond 2^23 engines at a time).
///
/// # Safety
/// `options` is null or valid, `engine` null or valid for a write; `options->structure` is null or a C string,
/// `options->session` null or from `mq_session_open`; `options->high_water` is null or a function of its type,
/// which may be called with `options->high_water_user` by every thread that uses the engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_engine_new(
    options: *const mq_engine_options,
    engine: *mut *mut mq_engine,
) -> c_int {
    guard(|| {
        if engine.is_null() {
            return Err(MQ_ERR_NULL);
        }
        // SAFETY: null or valid, as required of the caller.
        let options = unsafe { options.as_ref() };
        // What was refused before has already been dealt with.
        allocator::forget_refusals();
        // SAFETY: as required of the caller.
        let plan = unsafe { Plan::read(options) }?;
        let locked = plan.locked;
        let make = |in_callback, numbers| Box::new(plan.make(numbers, in_callback));
        let made = install(make, locked).ok_or(MQ_ERR_MEMORY)?;
        if allocator::take_refusal() {
            // SAFETY: made just now.
            unsafe { remove(made) };
            return Err(MQ_ERR_MEMORY);
        }
        // SAFETY: not null, and valid for a write as required of the caller.
        unsafe { engine.write(made) };
        Ok(MQ_NONE)
    })
}

/// What the options ask for, checked.
#[derive(Default)]
struct Plan {
    structure: Choice,
    budget: Budget<Message>,
    high_water: Option<(HighWater, Listener)>,
    limited: bool,
    watch: Option<Watch>,
    locked: bool,
    no_front: bool,
}

impl Plan {
    /// # Safety
    /// As for [`mq_engine_new`].
    unsafe fn read(options: Option<&mq_engine_options>) -> Result<Self, c_int> {
        let Some(options) = options else {
            return Ok(Self::default());
        };
        let flags = options.flags;
        if flags & !(MQ_STATISTICS | MQ_LOCKED | MQ_NO_FRONT) != 0 || options.reserved != [0; 4] {
            return Err(MQ_ERR_ARGUMENT);
        }
        // SAFETY: as required of the caller.
        let session = unsafe { session_of(options.session) }?;
        // SAFETY: as required of the caller.
        let named = unsafe { read_structure(options.structure) }?;
        let asked = || session.as_ref().and_then(|s| s.settings.structure.clone());
        let structure = named.or_else(asked).unwrap_or_default();
        let high_water = high_water(options)?;
        let limited = high_water.is_some()
            || options.max_unexpected > 0
            || options.max_unexpected_bytes > 0
            || options.max_unexpected_per_source > 0
            || options.max_unexpected_bytes_per_source > 0;
        let session = session.filter(|session| session.settings.watches());
        let watched = session.is_some() || flags & MQ_STATISTICS != 0;
        if let Some(session) = &session {
            session.tally.uses(&structure);
        }
        Ok(Self {
            structure,
            budget: budget(options),
            high_water,
            limited,
            watch: watched.then(|| Watch::new(session)),
            locked: flags & MQ_LOCKED != 0,
            no_front: flags & MQ_NO_FRONT != 0,
        })
    }

    /// Makes the engine; its callers are refused while they are in `in_callback`.
    fn make(self, first_sequence: u64, in_callback: InCallback<'static>) -> Matching {
        let mut options = EngineOptions::new()
            .first_sequence(first_sequence)
            .choice(&self.structure)
            .budget(self.budget);
        if let Some((marks, listener)) = self.high_water {
            options = options.high_water(marks, move |used| {
                in_callback.during(|| listener.tell(used));
            });
        }
        let engine = Engine::with_options(options);
        let uses_front = !self.locked && !self.no_front;
        Matching::new(engine, self.watch, self.limited, uses_front)
    }
}

/// A [`Choice`], with parameters, or a `Kind` where there can be none. An empty name is none.
///
/// # Safety
/// `name` is null or a C string.
pub(crate) unsafe fn read_structure<T: FromStr>(name: *const c_char) -> Result<Option<T>, c_int> {
    if name.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and a C string as required of the caller.
    let name = unsafe { CStr::from_ptr(name) };
    if name.is_empty() {
        return Ok(None);
    }
    let structure = name.to_str().ok().and_then(|name| name.parse().ok());
    structure.map(Some).ok_or(MQ_ERR_STRUCTURE)
}

/// Frees an engine. Entries still queued are dropped; their cookies remain the caller's. Null is allowed.
///
/// Errors: `MQ_ERR_ENGINE` if it was already freed (and no other engine has reused its memory since),
/// `MQ_ERR_REENTRANT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_engine_free(engine: *mut mq_engine) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { remove(engine) }
}

/// Makes a context usable. `options` may be null; what is not known yet can be given later, with
/// `mq_context_update`.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_CONTEXT_EXISTS`, `MQ_ERR_STRUCTURE`,
/// `MQ_ERR_ARGUMENT` (unknown promise, nonzero reserved word), `MQ_ERR_MEMORY`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_create(
    engine: *mut mq_engine,
    context: u32,
    options: *const mq_context_options,
) -> c_int {
    let body = |entered: &mut crate::boundary::Entered<'_>| {
        // SAFETY: as required of the caller.
        let options = unsafe { options.as_ref() };
        let mut made = terms(options)?;
        // SAFETY: as required of the caller.
        if let Some(kind) = unsafe { read_structure::<Kind>(structure(options)) }? {
            made = made.kind(kind);
        }
        let group = group(options);
        let engine = entered.matching.engine_mut();
        engine.create_context(context, made).map_err(status_of)?;
        if allocator::take_refusal() {
            let _ = engine.free_context(context, &mut |_| ());
            return Err(MQ_ERR_MEMORY);
        }
        if let Some(watch) = entered.matching.watch_mut() {
            watch.context_created(context, group);
        }
        let lengths = entered.matching.lengths();
        reopen(&mut entered.front, entered.matching, context, lengths);
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

/// Replaces the size and the promises of a context in use by those in `options`; what `options` leave out is
/// dropped, and null or zeroed options drop everything. For a context that was made before these were known
/// (`MPI_Comm_set_info`, or a message that came before its communicator). The structure remains the one that
/// the context was created with. While the context has entries queued in that structure, behind the front, the
/// structure may keep the plan that it made for the earlier size: preferably give the size when the context is
/// created. `options->rank` is for a trace, as when a context is created: an empty context of another size is another
/// communicator there. If `options` refuse what was admitted so far (a smaller size, a size at last, a promise more),
/// the entries that are queued are looked at, all of them one by one; otherwise none is.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_ARGUMENT`
/// (unknown promise, a structure, nonzero reserved word); `MQ_ERR_RANK`, `MQ_ERR_ANY_SOURCE` or
/// `MQ_ERR_ANY_TAG` if a queued receive or message contradicts `options`. On error nothing has changed.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_update(
    engine: *mut mq_engine,
    context: u32,
    options: *const mq_context_options,
) -> c_int {
    let body = |entered: &mut crate::boundary::Entered<'_>| {
        // SAFETY: as required of the caller.
        let options = unsafe { options.as_ref() };
        let wanted = terms(options)?;
        if !structure(options).is_null() {
            return Err(MQ_ERR_ARGUMENT);
        }
        let promises = options.map_or(0, |options| options.promises);
        let last_rank = options.map_or(0, |options| options.size).wrapping_sub(1);
        let before = entered.matching.terms(context)?;
        let added = promises & !promise_bits(&before);
        if last_rank < before.last_rank || added & CHECKED_PROMISES != 0 {
            front::check(&entered.front, context, last_rank, promises)?;
        }
        let engine = entered.matching.engine_mut();
        engine.update_context(context, wanted).map_err(status_of)?;
        entered.matching.context_updated(context, group(options));
        forget(&mut entered.front, context);
        let lengths = entered.matching.lengths();
        reopen(&mut entered.front, entered.matching, context, lengths);
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

/// The requested size and promises.
fn terms(options: Option<&mq_context_options>) -> Result<ContextOptions, c_int> {
    let Some(options) = options else {
        return Ok(ContextOptions::new());
    };
    if options.reserved != [0; 2] {
        return Err(MQ_ERR_ARGUMENT);
    }
    let terms = read_promises(options.promises)?;
    Ok(match options.size {
        0 => terms,
        size => terms.size(size),
    })
}

/// The size and this process's rank, if the size is known.
fn group(options: Option<&mq_context_options>) -> Option<(u32, u32)> {
    let options = options.filter(|options| options.size > 0)?;
    Some((options.size, options.rank))
}

/// The name of the requested structure, or null.
fn structure(options: Option<&mq_context_options>) -> *const c_char {
    options.map_or(ptr::null(), |options| options.structure)
}

/// Removes a context and hands every entry left in it to `back` (which may be null), receives first.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; `back` is null or a function of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_free(
    engine: *mut mq_engine,
    context: u32,
    back: mq_removed_fn,
    user: *mut c_void,
) -> c_int {
    let body = |entered: &mut crate::boundary::Entered<'_>| {
        entered.matching.check_context(context)?;
        forget(&mut entered.front, context);
        let give_back = &mut |removed: &RemovedOf| give_back(removed, back, user);
        let freed = if front::is_all_there_is_and_lacks(&entered.front, context) {
            entered.matching.free_context(context, give_back)
        } else {
            entered.with_callbacks(|matching| matching.free_context(context, give_back))
        };
        freed.map(|()| MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_the_version_of_the_library() {
        let said = MQ_VERSION_MAJOR << 16 | MQ_VERSION_MINOR << 8 | MQ_VERSION_PATCH;
        assert_eq!(said, mq_version());
    }

    #[test]
    fn the_names_are_those_of_the_table() {
        let names: Vec<_> = NAMES.iter().map(|name| name.to_str()).collect();
        let table: Vec<_> = Kind::ALL.iter().map(|kind| Ok(kind.name())).collect();
        assert_eq!(names, table);
    }
}
