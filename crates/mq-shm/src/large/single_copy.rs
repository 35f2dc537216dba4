//! Reading a message straight out of the sender's memory.
//!
//! `process_vm_readv` is refused by some kernels, containers, `seccomp` filters and debugger
//! policies, and a process number means another process in another namespace. So before the first
//! message of a pair the receiver reads a random word that the sender has published together with
//! its address: if that succeeds and the word is right, it may read, and what it reads is the right
//! process. Any refusal later makes the pair use the ring for the rest of that message and from
//! then on.

use std::io::IoSliceMut;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::process::{PTracer, set_ptracer};

/// Bytes that lie in the memory of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Address in that process.
    pub address: u64,
    /// How many.
    pub bytes: u64,
    /// Where they lie among the shared buffers of that process, if they do.
    pub shared: Option<u64>,
}

/// What the kernel made of an attempt to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// All bytes have been read.
    All,
    /// Only the first so many: the kernel refused to go on, or to begin.
    Refused(usize),
}

/// Reads as many bytes as `into` has room for, from `address` in process `pid`.
pub(crate) fn read(pid: u32, address: u64, into: &mut [u8]) -> Copied {
    let pid = Pid::from_raw(pid as i32);
    let mut done = 0;
    while done < into.len() {
        let rest = &mut into[done..];
        let from = RemoteIoVec {
            base: address as usize + done,
            len: rest.len(),
        };
        match process_vm_readv(pid, &mut [IoSliceMut::new(rest)], &[from]) {
            Ok(bytes) if bytes > 0 => done += bytes,
            Err(nix::errno::Errno::EINTR) => {}
            _ => return Copied::Refused(done),
        }
    }
    Copied::All
}

/// Lets a process, and all that it has started, read the memory of this one, where the kernel would
/// let nobody but the ancestors of this one do so: the Yama module with `kernel.yama.ptrace_scope`
/// at 1, as Debian and Ubuntu set it. For a launcher, those are the processes of the world.
///
/// It replaces what the program has declared before (`PR_SET_PTRACER`), and does nothing where the
/// kernel has no such module, or where the pair is refused for another reason: then the ring is
/// used.
pub fn permit(launcher: u32) {
    let launcher = i32::try_from(launcher).ok();
    if let Some(pid) = launcher.and_then(rustix::process::Pid::from_raw) {
        // Without the module there is no such declaration, and none is needed.
        let _ = set_ptracer(PTracer::ProcessID(pid));
    }
}

/// Whether the word at `address` in process `pid` can be read and is `token`.
pub(crate) fn probe(pid: u32, address: u64, token: u64) -> bool {
    let mut word = [0; 8];
    token != 0 && read(pid, address, &mut word) == Copied::All && u64::from_ne_bytes(word) == token
}
