//! The memory file of a segment, through a descriptor that is known to still belong to it.
//!
//! Programs close descriptors that they do not know, for example before they start other programs,
//! and the number then goes to the next file they open. Requesting memory for that file would make
//! it longer, and giving memory back would destroy its contents, so each call first checks which
//! file it is.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::fs::{FallocateFlags, fallocate, fstat};
use rustix::io::Errno;

use crate::error::ShmError;

/// How much memory is requested at once. If a signal interrupts the request, the kernel gives up
/// and takes back what it had allocated: in a program that gets a signal every few milliseconds, as
/// from a profiler, a large request would never finish.
const RESERVED_AT_ONCE: u64 = 1 << 20;

/// Device and inode number of a file.
pub(crate) type Inode = (u64, u64);

/// The file that a descriptor refers to.
pub(crate) fn inode_of(file: impl AsFd) -> Result<Inode, Errno> {
    let status = fstat(file)?;
    Ok((status.st_dev, status.st_ino))
}

/// A descriptor of the memory file.
#[derive(Debug)]
pub(crate) struct File {
    /// Present until this is dropped.
    descriptor: Option<OwnedFd>,
    inode: Inode,
}

impl File {
    pub(crate) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let inode = inode_of(&descriptor)?;
        let descriptor = Some(descriptor);
        Ok(Self { descriptor, inode })
    }

    /// Another descriptor of the same file.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.check()?;
        Self::new(self.as_fd().try_clone_to_owned()?)
    }

    /// An error if the descriptor is closed, or refers to another file.
    pub(crate) fn check(&self) -> io::Result<()> {
        if inode_of(self) == Ok(self.inode) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the program has closed descriptor {}, which was the segment's",
            self.as_fd().as_raw_fd()
        )))
    }

    /// Requests memory now, while it can still be refused; `what` says what it is for.
    pub(crate) fn reserve(
        &self,
        offset: u64,
        bytes: u64,
        what: &'static str,
    ) -> Result<(), ShmError> {
        let refused = |reason| ShmError::NoMemory {
            what,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            reason,
        };
        // This is not a lack of memory, which may be temporary.
        self.check().map_err(|reason| ShmError::System {
            what: format!("getting shared memory for {what}"),
            reason,
        })?;
        let mut done = 0;
        while done < bytes {
            let piece = RESERVED_AT_ONCE.min(bytes - done);
            match fallocate(self, FallocateFlags::empty(), offset + done, piece) {
                Ok(()) => done += piece,
                Err(Errno::INTR) => {}
                Err(error) => {
                    if done > 0 {
                        self.punch(offset, done);
                    }
                    return Err(refused(error.into()));
                }
            }
        }
        Ok(())
    }

    /// Gives memory back; whether the system has taken it. Memory that it has not taken stays until
    /// the segment goes.
    pub(crate) fn punch(&self, offset: u64, bytes: u64) -> bool {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if self.check().is_err() {
            return false;
        }
        loop {
            match fallocate(self, flags, offset, bytes) {
                Err(Errno::INTR) => {}
                done => return done.is_ok(),
            }
        }
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let descriptor = self.descriptor.as_ref();
        descriptor.expect("it is there until the drop").as_fd()
    }
}

/// Closes the descriptor, unless it refers to another file by now.
impl Drop for File {
    fn drop(&mut self) {
        let is_ours = self.check().is_ok();
        if let Some(descriptor) = self.descriptor.take()
            && !is_ours
        {
            let _ = descriptor.into_raw_fd();
        }
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;
    use crate::buffers::window::Window;
    use crate::segment::Access;

    #[test]
    fn nothing_is_done_to_a_file_that_has_the_number_now() {
        let make = |name: &str| memfd_create(name, MemfdFlags::CLOEXEC).unwrap();
        let segment = make("segment");
        ftruncate(&segment, 1 << 16).unwrap();
        let file = File::new(segment).unwrap();
        file.reserve(0, 4096, "a part").unwrap();
        let kept = file.try_clone().unwrap();
        let theirs = make("theirs");
        rustix::io::write(&theirs, b"precious").unwrap();
        let mut number = file.as_fd().try_clone_to_owned().unwrap();
        rustix::io::dup2(&theirs, &mut number).unwrap();
        let stolen = File {
            descriptor: Some(number),
            inode: file.inode,
        };
        let error = stolen.reserve(1 << 15, 4096, "a part").unwrap_err();
        assert!(error.to_string().contains("a part"), "{error}");
        assert!(!stolen.punch(0, 4096));
        assert!(stolen.try_clone().is_err());
        for access in [Access::Own, Access::Read] {
            let window = Window::of_file(&stolen, 0, 4096, access);
            assert!(window.is_err(), "it is no region of buffers");
        }
        let number = stolen.as_fd().as_raw_fd();
        drop(stolen);
        let mut left = [0; 16];
        assert_eq!(rustix::io::pread(&theirs, &mut left, 0), Ok(8));
        assert_eq!(&left[..8], b"precious");
        let still = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
        assert!(still.to_string_lossy().contains("theirs"), "{still:?}");
        assert!(kept.punch(0, 4096), "another of the segment's");
    }
}
