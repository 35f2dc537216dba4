//! Mapping a part of a segment's file without touching it.
#![allow(unsafe_code, reason = "maps memory")]

use std::os::fd::AsFd;
use std::ptr::{self, NonNull};

use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mprotect, munlock, munmap};

/// Maps this many bytes of a file, from one of its pages on, at an address of the kernel's choice, for the caller to
/// unmap. Pages get memory when they are requested, and not before, also in a program that has all of its
/// memory locked from now on (`mlockall(MCL_FUTURE)`): there the kernel would give all pages memory at once, of which
/// most are never used.
pub(crate) fn map(
    file: impl AsFd,
    at: u64,
    bytes: usize,
    allowed: MprotectFlags,
) -> Result<NonNull<u8>, Errno> {
    let flags = MapFlags::SHARED | MapFlags::NORESERVE;
    // Nothing can be given memory that may not be touched.
    // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
    let base = unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::empty(), flags, file, at) }?;
    // A failure means that the system knows no locks.
    // SAFETY: the range is the mapping, which nobody knows yet.
    let _ = unsafe { munlock(base, bytes) };
    // SAFETY: as above.
    let opened = unsafe { mprotect(base, bytes, allowed) };
    match (opened, NonNull::new(base.cast())) {
        (Ok(()), Some(base)) => Ok(base),
        (opened, _) => {
            // SAFETY: as above.
            let _ = unsafe { munmap(base, bytes) };
            Err(opened.err().unwrap_or(Errno::FAULT))
        }
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use std::fs;
    use std::process::Command;

    use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
    use rustix::mm::{MlockAllFlags, mlockall};

    use super::*;

    const BYTES: usize = 1 << 26;

    /// In a process of its own, since the lock is for all that comes.
    #[test]
    fn a_program_that_locks_its_memory_gives_none_to_what_is_not_used() {
        const INSIDE: &str = "MQ_TEST_LOCKS";
        if std::env::var_os(INSIDE).is_none() {
            let test = "segment::mapping::tests::a_program_that_locks_its_memory_gives_none_to_what_is_not_used";
            let run = Command::new(std::env::current_exe().unwrap())
                .args([test, "--exact", "--nocapture"])
                .env(INSIDE, "1")
                .output()
                .unwrap();
            eprint!("{}", String::from_utf8_lossy(&run.stderr));
            let said = String::from_utf8_lossy(&run.stdout);
            assert!(run.status.success(), "{said}");
            assert!(said.contains("1 passed"), "{said}");
            return;
        }
        let file = memfd_create("mapping", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, BYTES as u64).unwrap();
        // Refused beyond `ulimit -l`: then locked maps of this size are refused as well.
        if let Err(error) = mlockall(MlockAllFlags::FUTURE) {
            assert!(matches!(error, Errno::PERM | Errno::NOMEM), "{error}");
            return eprintln!("not tried: this user may not lock memory");
        }
        let map = |allowed| map(&file, 0, BYTES, allowed);
        let base = match map(MprotectFlags::READ | MprotectFlags::WRITE) {
            Err(Errno::AGAIN) => return eprintln!("not tried: this user may not lock so much"),
            mapped => mapped.unwrap(),
        };
        map(MprotectFlags::READ).unwrap();
        assert_eq!(fstat(&file).unwrap().st_blocks, 0);
        // SAFETY: a byte of the mapping, which nothing else uses.
        unsafe { base.write(1) };
        let blocks = fstat(&file).unwrap().st_blocks;
        assert!((1..=256).contains(&blocks), "{blocks}");
        let locked = fs::read_to_string("/proc/self/status").unwrap();
        assert!(locked.contains("VmLck:"), "{locked}");
    }
}
