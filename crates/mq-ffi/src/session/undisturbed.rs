//! Work for a session that the application does not notice.
//!
//! It writes files, and the functions for that are ones in which a thread may be cancelled (`pthread_cancel`): the
//! thread's stack would be unwound through a call in the middle of its work, which ends the process. And they change
//! `errno`, at which a transport may look after a call of libmq that has nothing to do with files.

#[cfg(target_os = "linux")]
use core::ffi::c_int;

/// As in `pthread.h` of glibc and musl.
#[cfg(target_os = "linux")]
const PTHREAD_CANCEL_DISABLE: c_int = 1;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// The crate `libc` has it for other systems only.
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// Does some work in which the thread is not cancelled, and after which `errno` is what it was.
#[cfg(target_os = "linux")]
pub(super) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    struct Restore {
        cancellation: c_int,
        errno: c_int,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: it has no conditions.
            let errno = unsafe { libc::__errno_location() };
            // SAFETY: this thread's own, and the thread lives.
            unsafe { errno.write(self.errno) };
            // SAFETY: a state that it has returned itself.
            unsafe { pthread_setcancelstate(self.cancellation, &raw mut self.cancellation) };
        }
    }
    let mut cancellation = 0;
    // SAFETY: a state that there is, and a word of this function's.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut cancellation) };
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    let _restore = Restore {
        cancellation,
        errno,
    };
    work()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    work()
}
