//! What this machine does not let a test try. For the tests in this crate and those beside it.

use std::io::{IoSliceMut, Write as _};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::fs::{Access, access};

/// This machine does not let a test try something: it says so, and fails where everything has to be tried
/// (`MQ_ALL_CHECKS`, as in `.ci/run`).
pub(crate) fn untried(what: &str, why: &str) {
    // Not by a macro, whose words a test that passes keeps to itself.
    let _ = writeln!(std::io::stderr(), "{what} was not tried: {why}");
    let all = std::env::var_os("MQ_ALL_CHECKS").is_some();
    assert!(!all, "{what} was not tried: {why}");
}

pub(crate) const NOT_READ: &str = "process_vm_readv is refused on this machine";

/// Whether the kernel reads this process's memory for it; says so where it does not. Asked without
/// anything of the library's: what that says of itself may be wrong.
pub(crate) fn memory_is_read(what: &str) -> bool {
    let (from, mut into) = ([7_u8; 8], [0_u8; 8]);
    let there = RemoteIoVec {
        base: from.as_ptr().expose_provenance(),
        len: from.len(),
    };
    let read = process_vm_readv(Pid::this(), &mut [IoSliceMut::new(&mut into)], &[there]);
    let is_read = read == Ok(from.len()) && into == from;
    if !is_read {
        untried(what, NOT_READ);
    }
    is_read
}

/// Whether `/dev/shm` takes files; says so where it does not.
pub(crate) fn dev_shm_is_there(what: &str) -> bool {
    // Only a directory has the dot.
    let is_there = access("/dev/shm/.", Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if !is_there {
        untried(what, "/dev/shm is no directory that can be written to");
    }
    is_there
}
