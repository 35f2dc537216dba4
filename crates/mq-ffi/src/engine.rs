//! Engines and their contexts.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use mq_core::structures::Kind;
use mq_core::{Budget, ContextOptions, Engine, EngineOptions};

use crate::allocator;
use crate::front::{forget, reopen, settle};
use crate::gate::{borrow, enter, guard, install, mq_engine, remove};
use crate::inspect::{give_back, mq_removed_fn};
use crate::matching::{Matching, Message};
use crate::session::session_of;
use crate::status::{MQ_ERR_ARGUMENT, MQ_ERR_MEMORY, MQ_ERR_NULL, MQ_ERR_STRUCTURE, MQ_NONE, of};
use crate::types::{
    MQ_ALLOW_OVERTAKING, MQ_LOCKED, MQ_NO_ANY_SOURCE, MQ_NO_ANY_TAG, MQ_NO_FRONT, MQ_STATISTICS,
    mq_context_options, mq_engine_options,
};
use crate::watch::Watch;

/// The version of the library, as `major << 16 | minor << 8 | patch`.
#[unsafe(no_mangle)]
pub extern "C" fn mq_version() -> u32 {
    let part = |text: &str| text.parse().unwrap_or(0_u32);
    part(env!("CARGO_PKG_VERSION_MAJOR")) << 16
        | part(env!("CARGO_PKG_VERSION_MINOR")) << 8
        | part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// The name of structure `index`, from 0; null behind the last one.
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

/// Engines made so far, from 1: a zeroed handle names nothing.
static ENGINES: AtomicU64 = AtomicU64::new(1);

/// How far the numbers of two engines' handles are apart: a handle of one that was freed is stale in
/// all later ones.
const NAMES_OF_AN_ENGINE: u64 = 1 << 40;

/// Makes an engine and writes it to `*engine`. `options` may be null.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (unknown flag), `MQ_ERR_ENGINE` (the
/// session is closed), `MQ_ERR_MEMORY`.
///
/// # Safety
/// `options` is null or valid, `engine` null or valid for a write; `options->structure` is null or a C
/// string, `options->session` null or from `mq_session_open`.
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
        // Whatever was refused before was dealt with.
        allocator::has_refused();
        let first_sequence = NAMES_OF_AN_ENGINE * ENGINES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as required of the caller.
        let (matching, locked) = unsafe { make(options, first_sequence) }?;
        let made = install(Box::new(matching), locked, first_sequence);
        if allocator::has_refused() {
            // SAFETY: made just now.
            unsafe { remove(made) };
            return Err(MQ_ERR_MEMORY);
        }
        // SAFETY: not null, and valid for a write as required of the caller.
        unsafe { engine.write(made) };
        Ok(MQ_NONE)
    })
}

/// What the options ask for, and whether it is to be locked.
///
/// # Safety
/// As for [`mq_engine_new`].
unsafe fn make(
    options: Option<&mq_engine_options>,
    first_sequence: u64,
) -> Result<(Matching, bool), c_int> {
    let made = EngineOptions::new().first_sequence(first_sequence);
    let Some(options) = options else {
        let engine = Engine::with_options(made);
        return Ok((Matching::new(engine, None, false, true), false));
    };
    let flags = options.flags;
    if flags & !(MQ_STATISTICS | MQ_LOCKED | MQ_NO_FRONT) != 0 {
        return Err(MQ_ERR_ARGUMENT);
    }
    // SAFETY: as required of the caller.
    let session = unsafe { session_of(options.session) }?;
    // SAFETY: as required of the caller.
    let named = unsafe { read_structure(options.structure) }?;
    let kind = named.or_else(|| session.as_ref().and_then(|s| s.settings.structure));
    let made = made.kind(kind.unwrap_or_default()).budget(budget(options));
    let limited = options.max_unexpected > 0 || options.max_unexpected_bytes > 0;
    let session = session.filter(|session| session.settings.watches());
    let watched = session.is_some() || flags & MQ_STATISTICS != 0;
    let watch = watched.then(|| Watch::new(session));
    let locked = flags & MQ_LOCKED != 0;
    let uses_front = !locked && flags & MQ_NO_FRONT == 0;
    let engine = Engine::with_options(made);
    Ok((Matching::new(engine, watch, limited, uses_front), locked))
}

fn budget(options: &mq_engine_options) -> Budget<Message> {
    let mut budget = Budget::UNLIMITED;
    if options.max_unexpected > 0 {
        budget = budget.entries(usize::try_from(options.max_unexpected).unwrap_or(usize::MAX));
    }
    if options.max_unexpected_bytes > 0 {
        budget = budget.bytes(options.max_unexpected_bytes, |message: &Message| {
            message.bytes
        });
    }
    budget
}

/// # Safety
/// `name` is null or a C string.
pub(crate) unsafe fn read_structure(name: *const c_char) -> Result<Option<Kind>, c_int> {
    if name.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and a C string as required of the caller.
    let name = unsafe { CStr::from_ptr(name) };
    let kind = name.to_str().ok().and_then(|name| name.parse().ok());
    kind.map(Some).ok_or(MQ_ERR_STRUCTURE)
}

/// Frees an engine; entries still queued are forgotten, their cookies remain the caller's. Null is
/// allowed.
///
/// Errors: `MQ_ERR_ENGINE` if it was freed already (and its memory is in use by no other engine since),
/// `MQ_ERR_REENTRANT`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_engine_free(engine: *mut mq_engine) -> c_int {
    // SAFETY: as required of the caller.
    unsafe { remove(engine) }
}

/// Makes a context usable. `options` may be null.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_CONTEXT_EXISTS`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT`
/// (unknown promise), `MQ_ERR_MEMORY`.
///
/// # Safety
/// `engine` is null or was made by `mq_engine_new`; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_create(
    engine: *mut mq_engine,
    context: u32,
    options: *const mq_context_options,
) -> c_int {
    let body = |entered: &mut crate::gate::Entered<'_>| {
        let mut made = ContextOptions::new();
        let mut group = None;
        if !options.is_null() {
            // SAFETY: valid, as required of the caller.
            let options = unsafe { borrow(options) }?;
            made = promises(options.promises)?;
            if options.size > 0 {
                made = made.size(options.size);
                group = Some((options.size, options.rank));
            }
            // SAFETY: as required of the caller.
            if let Some(kind) = unsafe { read_structure(options.structure) }? {
                made = made.kind(kind);
            }
        }
        settle(entered.front, entered.matching);
        forget(entered.front);
        let engine = entered.matching.engine_mut();
        engine.create_context(context, made).map_err(of)?;
        if allocator::has_refused() {
            let _ = engine.free_context(context, &mut |_| ());
            return Err(MQ_ERR_MEMORY);
        }
        if let Some(watch) = entered.matching.watch_mut() {
            watch.context_created(context, group);
        }
        reopen(entered.front, entered.matching, context);
        Ok(MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

fn promises(bits: u32) -> Result<ContextOptions, c_int> {
    let mut options = ContextOptions::new();
    if bits & !(MQ_NO_ANY_SOURCE | MQ_NO_ANY_TAG | MQ_ALLOW_OVERTAKING) != 0 {
        return Err(MQ_ERR_ARGUMENT);
    }
    if bits & MQ_NO_ANY_SOURCE != 0 {
        options = options.no_any_source();
    }
    if bits & MQ_NO_ANY_TAG != 0 {
        options = options.no_any_tag();
    }
    if bits & MQ_ALLOW_OVERTAKING != 0 {
        options = options.allow_overtaking();
    }
    Ok(options)
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
    let body = |entered: &mut crate::gate::Entered<'_>| {
        settle(entered.front, entered.matching);
        forget(entered.front);
        let freed = entered.with_callbacks(|matching, _| {
            matching.free_context(context, &mut |removed| give_back(removed, back, user))
        });
        freed.map(|()| MQ_NONE)
    };
    // SAFETY: as required of the caller.
    unsafe { enter(engine, body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_table() {
        let names: Vec<_> = NAMES.iter().map(|name| name.to_str()).collect();
        let table: Vec<_> = Kind::ALL.iter().map(|kind| Ok(kind.name())).collect();
        assert_eq!(names, table);
    }
}
