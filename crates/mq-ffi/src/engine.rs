//! Engines and their contexts.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use mq_core::mpi::MpiPattern;
use mq_core::structures::{AnyQueues, Kind};
use mq_core::{Budget, ContextOptions, Engine, EngineOptions};

use crate::guard::{borrow, borrow_mut, guard};
use crate::inspect::{give_back, mq_removed_fn};
use crate::status::{MQ_ERR_ARGUMENT, MQ_ERR_NULL, MQ_ERR_STRUCTURE, MQ_NONE, of};
use crate::types::{
    MQ_ALLOW_OVERTAKING, MQ_NO_ANY_SOURCE, MQ_NO_ANY_TAG, mq_context_options, mq_engine_options,
};

/// A message of the caller, and what it weighs against the byte budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) cookie: *mut c_void,
    pub(crate) bytes: u64,
}

pub(crate) type Queues = AnyQueues<MpiPattern, *mut c_void, Message>;

/// A matching engine. Opaque; made by `mq_engine_new`.
#[derive(Debug)]
pub struct mq_engine {
    pub(crate) engine: Engine<Queues>,
}

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

/// Makes an engine and writes it to `*engine`. `options` may be null.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`.
///
/// # Safety
/// `options` is null or valid, `engine` valid for a write; `options->structure` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_engine_new(
    options: *const mq_engine_options,
    engine: *mut *mut mq_engine,
) -> c_int {
    guard(|| {
        if engine.is_null() {
            return Err(MQ_ERR_NULL);
        }
        let mut made = EngineOptions::new();
        // SAFETY: null or valid, as required of the caller.
        if let Some(options) = unsafe { options.as_ref() } {
            // SAFETY: as required of the caller.
            if let Some(kind) = unsafe { read_structure(options.structure) }? {
                made = made.kind(kind);
            }
            made = made.budget(budget(options));
        }
        let made = Box::new(mq_engine {
            engine: Engine::with_options(made),
        });
        // SAFETY: not null, and valid for a write as required of the caller.
        unsafe { engine.write(Box::into_raw(made)) };
        Ok(MQ_NONE)
    })
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
unsafe fn read_structure(name: *const c_char) -> Result<Option<Kind>, c_int> {
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
/// # Safety
/// `engine` is null or was made by `mq_engine_new` and not freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_engine_free(engine: *mut mq_engine) {
    guard(|| {
        if !engine.is_null() {
            // SAFETY: made by `Box::into_raw` in `mq_engine_new`, as required of the caller.
            drop(unsafe { Box::from_raw(engine) });
        }
        Ok(MQ_NONE)
    });
}

/// Makes a context usable. `options` may be null.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_CONTEXT_EXISTS`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (unknown promise).
///
/// # Safety
/// `engine` was made by `mq_engine_new`; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_create(
    engine: *mut mq_engine,
    context: u32,
    options: *const mq_context_options,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        let mut made = ContextOptions::new();
        if !options.is_null() {
            // SAFETY: valid, as required of the caller.
            let options = unsafe { borrow(options) }?;
            made = promises(options.promises)?;
            if options.size > 0 {
                made = made.size(options.size);
            }
            // SAFETY: as required of the caller.
            if let Some(kind) = unsafe { read_structure(options.structure) }? {
                made = made.kind(kind);
            }
        }
        let created = engine.engine.create_context(context, made);
        created.map(|()| MQ_NONE).map_err(of)
    })
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
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`.
///
/// # Safety
/// `engine` was made by `mq_engine_new`; `back` does not use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_context_free(
    engine: *mut mq_engine,
    context: u32,
    back: mq_removed_fn,
    user: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let engine = unsafe { borrow_mut(engine) }?;
        let freed = engine
            .engine
            .free_context(context, &mut |removed| give_back(&removed, back, user));
        freed.map(|()| MQ_NONE).map_err(of)
    })
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
