//! [`Origin`]: which process made something of which a child may have a copy (`fork`).
//!
//! A process number does not tell them apart where each is process 1 of a PID namespace, as a container's
//! first process and a sandbox that it starts. So the process also writes a mark into a page that the
//! kernel empties in children.
#![allow(unsafe_code, reason = "maps a page")]

#[cfg(not(mq_loom))]
use core::ptr;
#[cfg(not(mq_loom))]
use std::sync::OnceLock;

#[cfg(not(mq_loom))]
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

#[cfg(not(mq_loom))]
use crate::layout::PAGE;
#[cfg(not(mq_loom))]
use crate::sync::{AtomicU64, Ordering};

/// A process, as one that made something, and not its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    process: u32,
    /// 0 where the kernel empties no pages (before Linux 4.14).
    mark: u64,
}

impl Origin {
    /// This process.
    ///
    /// # Cost
    /// A system call, for the process's number: an emulator may only say that it empties pages.
    #[must_use]
    pub fn here() -> Self {
        #[cfg(mq_loom)]
        let mark = 0;
        #[cfg(not(mq_loom))]
        let mark = marked().unwrap_or(0);
        Self {
            process: std::process::id(),
            mark,
        }
    }

    /// Whether this is that process, and not a child that has a copy of what it made.
    #[must_use]
    pub fn is_here(self) -> bool {
        self == Self::here()
    }
}

/// The mark of this process; `None` if a child would keep it.
#[cfg(not(mq_loom))]
fn marked() -> Option<u64> {
    static PAGE_OF_MARK: OnceLock<Option<&AtomicU64>> = OnceLock::new();
    /// A child goes on from where its parent was, so its mark is none of its ancestors'.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let mark = (*PAGE_OF_MARK.get_or_init(page))?;
    match mark.load(Ordering::Relaxed) {
        0 => {
            let new = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            let set = mark.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
            Some(set.map_or_else(|by_another_thread| by_another_thread, |_| new))
        }
        mark => Some(mark),
    }
}

/// A page of zeros that is one of zeros again in every child; never given back.
#[cfg(not(mq_loom))]
fn page() -> Option<&'static AtomicU64> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
    let page = unsafe { mmap_anonymous(ptr::null_mut(), PAGE, access, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the page was mapped above, and nothing refers to it.
    if unsafe { madvise(page, PAGE, Advice::LinuxWipeOnFork) }.is_err() {
        // SAFETY: as above; it is not used any more.
        let _ = unsafe { munmap(page, PAGE) };
        return None;
    }
    // SAFETY: the page is aligned, stays mapped, and only ever used as this; zeros are a valid value.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use rustix::process::{WaitOptions, waitpid};

    use super::*;
    use crate::untried::untried;

    #[test]
    fn a_child_is_not_its_parent_nor_its_own_child() {
        let here = Origin::here();
        assert!(here.is_here() && Origin::here() == here);
        if marked().is_none() {
            return untried("a child of the same number", "this kernel empties no pages");
        }
        let forked = |child: &dyn Fn() -> bool| {
            // SAFETY: the child only does what is safe after a fork of many threads, and ends.
            match unsafe { nix::unistd::fork() }.expect("forked") {
                nix::unistd::ForkResult::Child => {
                    let code = i32::from(!child());
                    // SAFETY: ends the process.
                    unsafe { nix::libc::_exit(code) }
                }
                nix::unistd::ForkResult::Parent { child } => {
                    let child = rustix::process::Pid::from_raw(child.as_raw());
                    let ended = waitpid(child, WaitOptions::empty()).expect("waited for");
                    ended.expect("it has ended").1.exit_status() == Some(0)
                }
            }
        };
        assert!(forked(&|| {
            let child = Origin::here();
            let of_its_own = || forked(&|| !here.is_here() && !child.is_here());
            !here.is_here() && child.is_here() && of_its_own()
        }));
        assert!(here.is_here());
    }
}
