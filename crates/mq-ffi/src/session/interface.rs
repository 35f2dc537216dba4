//! The C interface of sessions.

use core::ffi::{CStr, c_char, c_int};
use core::ptr::NonNull;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::undisturbed::undisturbed;
use super::{Place, Session, Settings, mq_statistics, report};
use crate::boundary::{borrow, guard, write};
use crate::engine::read_structure;
use crate::lock::lock;
use crate::status::{MQ_ERR_ARGUMENT, MQ_ERR_ENGINE, MQ_ERR_NO_STATISTICS, MQ_ERR_NULL, MQ_NONE};

/// One process's trace, statistics and settings, for all its engines. Opaque; made by
/// `mq_session_open`.
#[derive(Debug)]
pub struct mq_session {
    /// `None` once closed.
    open: Mutex<Option<Arc<Session>>>,
}

/// Blocks of closed sessions, kept like those of freed engines.
static CLOSED: Mutex<Vec<Block>> = Mutex::new(Vec::new());

struct Block(NonNull<mq_session>);

// SAFETY: a session can be used by any thread.
unsafe impl Send for Block {}

/// A block that holds a session.
fn install(session: Arc<Session>) -> *mut mq_session {
    let reused = lock(&CLOSED).pop();
    let Some(Block(block)) = reused else {
        let open = Mutex::new(Some(session));
        return Box::into_raw(Box::new(mq_session { open }));
    };
    // SAFETY: blocks live forever.
    *lock(&unsafe { block.as_ref() }.open) = Some(session);
    block.as_ptr()
}

/// Options for opening a session. Zeroed, they ask for nothing. Strings are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mq_session_options {
    /// The library's name and version, for the trace and the table, which have its first 256 bytes; null for "libmq".
    pub library: *const c_char,
    /// This process's rank in the job, below `size` if that is known.
    pub rank: u32,
    /// The number of processes in the job; 0 if unknown.
    pub size: u32,
    /// A folder in which to record a trace, or null.
    pub trace: *const c_char,
    /// The name of the structure, with parameters if any, for engines that name none, or null for the default.
    pub structure: *const c_char,
    /// Nonzero: print a table of statistics when the session is closed.
    pub statistics: u32,
    /// Nonzero: the variables `MQ_STRUCTURE`, `MQ_TRACE` and `MQ_STATS` override these options. `MQ_BUDGET_ENTRIES` and
    /// `MQ_BUDGET_BYTES` have no options: what exceeds them is reported on stderr and refused by nothing, unless the
    /// library asks for them (`mq_session_budgets`) and gives them to its engines.
    pub environment: u32,
    /// Nonzero: messages are queued without their sizes, and `MQ_BUDGET_BYTES` is refused.
    pub no_sizes: u32,
    /// What the library's processes that were started together have in common and others have not, for the trace, or
    /// null: the ranks of each such job begin with 0. At most 1,024 bytes.
    pub job: *const c_char,
    /// Must be 0: for options of later versions.
    pub reserved: [u64; 3],
}

/// Opens a session and writes it to `*session`; engines join it by `mq_engine_options.session`.
///
/// A variable with a wrong value gives one line on stderr, from rank 0, and counts as not set. The
/// same holds for a trace folder that cannot be written, with a line from each rank that cannot
/// write it: it may be a different folder on each node. The line names the variable, or the option
/// if the folder came from there. The structure `clusters` gives a line from rank 0 if variables are
/// read: without a profile, which cannot be named here, it is one list.
///
/// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (a reserved word is not 0, the rank is not below the
/// size, or `job` is too long).
///
/// # Safety
/// `options` is null or valid, its strings null or C strings; `session` is null or valid for a
/// write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_session_open(
    options: *const mq_session_options,
    session: *mut *mut mq_session,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let options = unsafe { borrow(options) }?;
        if session.is_null() {
            return Err(MQ_ERR_NULL);
        }
        let is_outside = options.size != 0 && options.rank >= options.size;
        if options.reserved != [0; 3] || is_outside {
            return Err(MQ_ERR_ARGUMENT);
        }
        // SAFETY: as required of the caller.
        let job = unsafe { text(options.job) }.filter(|job| !job.is_empty());
        if job.as_ref().is_some_and(|job| job.len() > LONGEST_JOB) {
            return Err(MQ_ERR_ARGUMENT);
        }
        // SAFETY: as required of the caller.
        let library = unsafe { text(options.library) };
        let library = library.filter(|name| !name.trim().is_empty());
        let library = library.map_or_else(|| "libmq".into(), |name| start_of(&name).to_owned());
        let mut settings = Settings {
            // SAFETY: as required of the caller.
            structure: unsafe { read_structure(options.structure) }?,
            // SAFETY: as required of the caller.
            trace: unsafe { path(options.trace) }.filter(|folder| !folder.as_os_str().is_empty()),
            trace_is_an_option: true,
            statistics: options.statistics != 0,
            ..Settings::default()
        };
        if options.environment != 0 && !is_privileged() {
            let complaints = settings.read(options.no_sizes == 0, |name| std::env::var_os(name));
            if options.rank == 0 {
                for complaint in complaints {
                    report::say(options.rank, &complaint);
                }
            }
        }
        let place = Place {
            rank: options.rank,
            size: options.size,
            job,
        };
        let opened = undisturbed(|| Session::open(library, place, settings));
        let made = install(Arc::new(opened));
        // SAFETY: not null, and valid for a write as required of the caller.
        unsafe { session.write(made) };
        Ok(MQ_NONE)
    })
}

/// Writes the budgets that the user has set for the unexpected messages of this process, 0 for one that is not set:
/// `MQ_BUDGET_ENTRIES`, in messages, and `MQ_BUDGET_BYTES`. By themselves they refuse nothing: a process that exceeds
/// one says so, once. A library that can hold its senders back copies them to `mq_engine_options.max_unexpected` and
/// `max_unexpected_bytes` of the engine that it makes next, where 0 means no limit as well: then `mq_arrive` answers
/// `MQ_ERR_ENTRY_BUDGET` or `MQ_ERR_BYTE_BUDGET`. One with several engines has to divide them: the user means all
/// messages of the process, and an engine counts its own. Both are 0 if the session was opened without
/// `mq_session_options.environment`, and the bytes with `no_sizes`.
///
/// Errors: `MQ_ERR_NULL`; `MQ_ERR_ENGINE` if the session is closed.
///
/// # Safety
/// `session` is null or was made by `mq_session_open`; the outputs are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_session_budgets(
    session: *const mq_session,
    entries: *mut u64,
    bytes: *mut u64,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let session = unsafe { session_of(session) }?.ok_or(MQ_ERR_NULL)?;
        let settings = &session.settings;
        // SAFETY: as required of the caller.
        unsafe { write(entries, settings.entries.unwrap_or(0)) };
        // SAFETY: as required of the caller.
        unsafe { write(bytes, settings.bytes.unwrap_or(0)) };
        Ok(MQ_NONE)
    })
}

/// Writes what the engines of a session have counted together, freed ones included, as `mq_statistics_read` does for
/// one; `longest` and `most_bytes` are of all queues of the process at one time. Any thread may ask at any time: while
/// engines are in use, some counts may be of a moment later than others.
///
/// Errors: `MQ_ERR_NULL`; `MQ_ERR_ENGINE` if the session is closed; `MQ_ERR_NO_STATISTICS` if it counts nothing, since
/// it was opened without `statistics`, a trace and budgets, and no variable has asked for one.
///
/// # Safety
/// `session` is null or was made by `mq_session_open`; `statistics` is null or valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_session_statistics_read(
    session: *const mq_session,
    statistics: *mut mq_statistics,
    size: usize,
) -> c_int {
    guard(|| {
        // SAFETY: as required of the caller.
        let session = unsafe { session_of(session) }?.ok_or(MQ_ERR_NULL)?;
        if !session.settings.watches() {
            return Err(MQ_ERR_NO_STATISTICS);
        }
        // SAFETY: as required of the caller.
        unsafe { session.tally.read().write(statistics, size) };
        Ok(MQ_NONE)
    })
}

/// Completes the trace and prints the table on stderr. Engines of the session remain usable; what
/// they do is no longer recorded. Null is allowed. In a child of `fork` it neither completes nor
/// prints: the trace and the table are the parent's.
///
/// Errors: `MQ_ERR_ENGINE` if it is already closed, unless another session that was opened since is at its address:
/// then that one is closed.
///
/// # Safety
/// `session` is null or was made by `mq_session_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_session_close(session: *mut mq_session) -> c_int {
    guard(|| {
        let Some(block) = NonNull::new(session) else {
            return Ok(MQ_NONE);
        };
        // SAFETY: as required of the caller; blocks live forever.
        let session = unsafe { block.as_ref() };
        let open = lock(&session.open).take().ok_or(MQ_ERR_ENGINE)?;
        undisturbed(|| open.close());
        lock(&CLOSED).push(Block(block));
        Ok(MQ_NONE)
    })
}

/// The session behind a caller's pointer, if it is open.
///
/// # Safety
/// `session` is null or was made by `mq_session_open`.
pub(crate) unsafe fn session_of(session: *const mq_session) -> Result<Option<Arc<Session>>, c_int> {
    // SAFETY: as required of the caller.
    let Some(session) = (unsafe { session.as_ref() }) else {
        return Ok(None);
    };
    let open = lock(&session.open);
    open.as_ref().map(Arc::clone).map(Some).ok_or(MQ_ERR_ENGINE)
}

/// A trace's header is one line, with a limit. That of a job must be whole, since it tells jobs apart.
const LONGEST_NAME: usize = 256;
const LONGEST_JOB: usize = 1024;

/// As much of a library's name as a trace shows: some libraries have texts of many lines for their version.
fn start_of(name: &str) -> &str {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// # Safety
/// `text` is null or a C string.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as required of the caller.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// # Safety
/// `path` is null or a C string.
unsafe fn path(path: *const c_char) -> Option<PathBuf> {
    if path.is_null() {
        return None;
    }
    // SAFETY: as required of the caller.
    let path = unsafe { CStr::from_ptr(path) };
    Some(OsStr::from_bytes(path.to_bytes()).into())
}

/// Whether this program has rights that its user has not, as one that is set-uid: then its environment, which is the
/// user's, must not have files written.
#[cfg(target_os = "linux")]
fn is_privileged() -> bool {
    // Not from /proc/self/auxv: that belongs to root if the program has such rights, and may be missing.
    // SAFETY: the call reads memory that the kernel gave this process, and has no conditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Likewise, as far as POSIX tells.
#[cfg(not(target_os = "linux"))]
fn is_privileged() -> bool {
    // SAFETY: these calls have no conditions.
    unsafe { libc::geteuid() != libc::getuid() || libc::getegid() != libc::getgid() }
}
