//! A segment with a name in `/dev/shm`, for processes that can neither inherit a descriptor nor have sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::shm;

use super::mapped::{Mapped, known, system};
use crate::error::ShmError;
use crate::layout::Geometry;

/// Names can be guessed, and another user's link would lead to any segment of this one's.
const NO_LINK: shm::OFlags = shm::OFlags::from_bits_retain(OFlags::NOFOLLOW.bits());

/// Only for their user.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// For how long a process waits for the one that is making the segment.
const PATIENCE: Duration = Duration::from_secs(10);

impl Mapped {
    /// Makes the segment of this name, or opens it if another process has made it.
    ///
    /// The name is that of a file in `/dev/shm`, which [`Mapped::forget`] removes, as soon as all have opened
    /// it: not before, as whoever comes later makes another segment, where it waits for others in vain. Where
    /// processes may come at any time, one of them makes the segment and removes the name when nobody else is to
    /// come, and the others [open](Self::named_existing) what is there.
    ///
    /// A segment that cannot be completed leaves no name; processes that are killed before one of them has removed it
    /// leave the file. [`Mapped::meet`] leaves nothing.
    ///
    /// Memory is requested before it is used, and a lack of it is an error. A process that overwrites the
    /// segment can make others use parts for which no memory was requested: if `/dev/shm` is full, they then
    /// die from SIGBUS.
    ///
    /// # Errors
    /// As [`Mapped::create`] and [`Mapped::open`]; [`ShmError::Mismatch`] if the segment of that name has
    /// another geometry, [`ShmError::System`] if it is another user's, or if its maker does not finish it
    /// within ten seconds, after which the name is removed.
    pub fn named(name: &str, geometry: Geometry) -> Result<Self, ShmError> {
        let flags = shm::OFlags::RDWR | shm::OFlags::CREATE | shm::OFlags::EXCL | NO_LINK;
        loop {
            match shm::open(name, flags, MODE) {
                Ok(file) => return Self::make(file, &geometry, name),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(system(&format!("making {name} in /dev/shm"))(error)),
            }
            match Self::wait_for(name, MODE, PATIENCE) {
                // Another job has removed the name meanwhile.
                Err(ShmError::System { reason, .. })
                    if reason.kind() == io::ErrorKind::NotFound => {}
                opened => return opened?.of_geometry(&geometry, name),
            }
        }
    }

    /// Opens the segment of this name, which another process has made, or is making; never makes one.
    ///
    /// # Errors
    /// As [`named`](Self::named); [`ShmError::System`] with [`NotFound`](io::ErrorKind::NotFound) if there is no such
    /// name: nobody has made the segment yet, or its name has been removed.
    pub fn named_existing(name: &str) -> Result<Self, ShmError> {
        Self::wait_for(name, MODE, PATIENCE)
    }

    /// Makes a segment of a file that is new and that no other process uses.
    fn make(file: OwnedFd, geometry: &Geometry, name: &str) -> Result<Self, ShmError> {
        let seen = file.try_clone();
        let made = known(file, name).and_then(|file| {
            Self::fill(&file, geometry, name)?;
            // Those that wait for it may have given it up, and others may have made another.
            if let Ok(false) = Self::is_named(name, file.as_fd()) {
                return Err(unfinished(name));
            }
            Self::map(file, name)
        });
        if made.is_err() {
            // No process can use it, and no other process knows that it can go: unless its maker took so long
            // that another has removed the name, which may be a third one's segment now.
            let _ = seen.map(|seen| Self::forget_of(name, seen.as_fd()));
        }
        made
    }

    /// Opens a segment that another process may still be making.
    fn wait_for(name: &str, mode: Mode, patience: Duration) -> Result<Self, ShmError> {
        let began = Instant::now();
        let mut has_waited = false;
        loop {
            let file = match shm::open(name, shm::OFlags::RDWR | NO_LINK, mode) {
                Err(Errno::NOENT) if has_waited => return Err(given_up(name)),
                opened => opened.map_err(system(&format!("opening {name} in /dev/shm")))?,
            };
            check_owner(&file, name)?;
            let seen = file.try_clone();
            match Self::open(file, name) {
                // The magic word is written last.
                Err(ShmError::Foreign { found: 0, .. }) if began.elapsed() < patience => {
                    has_waited = true;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(ShmError::Foreign { found: 0, .. }) => {
                    // Its maker was killed, and no other process would remove it.
                    let _ = seen.map(|seen| Self::forget_of(name, seen.as_fd()));
                    return Err(unfinished(name));
                }
                result => return result,
            }
        }
    }

    /// Removes the name of a segment; those that have opened it keep it. For one process, once all that are ever to
    /// open it have: whoever calls [`named`](Self::named) after that makes another segment.
    ///
    /// # Errors
    /// [`ShmError::System`] if there is no such name.
    pub fn forget(name: &str) -> Result<(), ShmError> {
        shm::unlink(name).map_err(system(&format!("removing {name} from /dev/shm")))
    }

    /// Removes a name if it still refers to this file: another process may have removed it, and a third have
    /// made a segment of the same name. Whether it did.
    ///
    /// # Errors
    /// [`ShmError::System`] if it cannot be looked at or removed.
    pub fn forget_of(name: &str, file: BorrowedFd<'_>) -> Result<bool, ShmError> {
        let is_it = Self::is_named(name, file)?;
        if is_it {
            Self::forget(name)?;
        }
        Ok(is_it)
    }

    /// Whether a name refers to this file.
    fn is_named(name: &str, file: BorrowedFd<'_>) -> Result<bool, ShmError> {
        let there = match shm::open(name, shm::OFlags::RDONLY | NO_LINK, Mode::empty()) {
            Ok(there) => there,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(system(&format!("looking at {name} in /dev/shm"))(error)),
        };
        let identity = |status: rustix::fs::Stat| (status.st_dev, status.st_ino);
        Ok(fstat(&there).map(identity) == fstat(file).map(identity))
    }
}

/// A name has been removed before the segment was complete.
fn unfinished(name: &str) -> ShmError {
    ShmError::System {
        what: format!("waiting for the maker of {name} in /dev/shm"),
        reason: io::Error::new(
            io::ErrorKind::TimedOut,
            "it did not finish in time; the name has been removed: start all processes again",
        ),
    }
}

/// The name of a segment that was not complete has gone.
fn given_up(name: &str) -> ShmError {
    ShmError::System {
        what: format!("waiting for the maker of {name} in /dev/shm"),
        reason: io::Error::new(
            io::ErrorKind::NotFound,
            "it could not make it, or another process has given it up: start all processes again",
        ),
    }
}

/// Names can be guessed, and the user who made a file could truncate it under those that have mapped it.
fn check_owner(file: &OwnedFd, name: &str) -> Result<(), ShmError> {
    let owner = fstat(file)
        .map_err(system(&format!("looking at {name}")))?
        .st_uid;
    let me = geteuid().as_raw();
    if owner == me {
        return Ok(());
    }
    Err(ShmError::System {
        what: format!("opening {name} in /dev/shm"),
        reason: io::Error::other(format!("it belongs to user {owner}, this is user {me}")),
    })
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use rustix::fs::ftruncate;

    use super::*;
    use crate::untried::dev_shm_is_there;

    #[test]
    fn what_its_maker_did_not_finish_is_removed() {
        if !dev_shm_is_there("an unfinished name") {
            return;
        }
        let name = format!("/test-unfinished-{}", std::process::id());
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = shm::OFlags::RDWR | shm::OFlags::CREATE | shm::OFlags::EXCL;
        let file = shm::open(&name, flags, mode).unwrap();
        // Killed when the entries had memory and there was no header.
        ftruncate(&file, Geometry::new(2).unwrap().length()).unwrap();
        let error = Mapped::wait_for(&name, mode, Duration::from_millis(5)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("waiting for the maker of /test-unfinished"),
            "{text}"
        );
        assert!(shm::open(&name, shm::OFlags::RDWR, mode).is_err());
    }

    #[test]
    fn who_was_given_up_meanwhile_has_not_made_a_segment() {
        if !dev_shm_is_there("a name that was given up") {
            return;
        }
        let name = format!("/test-given-up-{}", std::process::id());
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = shm::OFlags::RDWR | shm::OFlags::CREATE | shm::OFlags::EXCL;
        let slow = shm::open(&name, flags, mode).unwrap();
        let impatient = std::thread::spawn({
            let name = name.clone();
            move || Mapped::wait_for(&name, mode, Duration::from_secs(1)).unwrap_err()
        });
        let patient = Mapped::wait_for(&name, mode, Duration::from_secs(600)).unwrap_err();
        for error in [impatient.join().unwrap(), patient] {
            assert!(
                error.to_string().contains("start all processes again"),
                "{error}"
            );
        }
        let other = Mapped::named(&name, Geometry::new(2).unwrap()).unwrap();
        let error = Mapped::make(slow, &Geometry::new(2).unwrap(), &name).unwrap_err();
        assert!(
            error.to_string().contains("start all processes again"),
            "{error}"
        );
        assert!(
            Mapped::forget_of(&name, other.file()).unwrap(),
            "the other's is still there"
        );
    }

    #[test]
    fn a_name_that_is_a_link_is_refused() {
        if !dev_shm_is_there("a name that is a link") {
            return;
        }
        let [name, link] =
            ["linked", "link"].map(|of| format!("/test-{of}-{}", std::process::id()));
        let at = |name: &str| std::path::Path::new("/dev/shm").join(&name[1..]);
        let _there = Mapped::named(&name, Geometry::new(2).unwrap()).unwrap();
        std::os::unix::fs::symlink(at(&name), at(&link)).unwrap();
        let opened = Mapped::named(&link, Geometry::new(2).unwrap());
        Mapped::forget(&name).unwrap();
        Mapped::forget(&link).unwrap();
        let error = opened.unwrap_err().to_string();
        assert!(error.contains(&link), "{error}");
    }
}
