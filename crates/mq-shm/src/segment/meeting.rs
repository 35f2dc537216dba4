//! How processes without a common parent to hand them a descriptor come to one segment: at a Unix
//! socket in the abstract namespace, whose name all know.
//!
//! The first to come has the socket, makes the segment, and hands its descriptor to those that come
//! later. Neither the socket nor the segment is a file, and both disappear with the processes, however
//! those end: at no moment can anything be left behind.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags,
    SocketType, connect, recvmsg, sendmsg, shutdown, socket_with,
};
use rustix::process::geteuid;

use super::Mapped;
use crate::error::ShmError;
use crate::layout::Geometry;
use crate::origin::Origin;

/// How long a process waits before it checks again who has the socket.
const PAUSE: Duration = Duration::from_millis(1);

/// How many are let in before the host looks at anything else: any process on the machine may knock.
const AT_ONCE: usize = 64;

/// Hands a segment to the processes that [meet](Mapped::meet) at its name. Dropping it removes the
/// place, and the next process that comes makes a new one.
#[derive(Debug)]
pub struct Host {
    listener: UnixListener,
    file: OwnedFd,
    name: String,
    /// The owner of the place: a child that has a copy of this closes nothing for others.
    origin: Origin,
}

impl Mapped {
    /// Makes the segment of a meeting, if this process is the first that comes; otherwise gets it from
    /// the first. The first has a [`Host`], and must [let the others in](Host::admit) until all have
    /// come.
    ///
    /// The name has at most 80 bytes, and is for the processes of one user that see each other's
    /// numbers (one PID namespace) and sockets (one network namespace).
    ///
    /// # Errors
    /// As [`Mapped::create`] and [`Mapped::open`]; [`ShmError::Mismatch`] if the segment has another
    /// geometry, [`ShmError::System`] if the place is another user's, if its host does not answer
    /// `within` that time, or if the system has no such sockets.
    pub fn meet(
        name: &str,
        geometry: Geometry,
        within: Duration,
    ) -> Result<(Self, Option<Host>), ShmError> {
        let address = address(name);
        let bound = SocketAddr::from_abstract_name(&address).map_err(meeting(name))?;
        let begun = Instant::now();
        loop {
            match UnixListener::bind_addr(&bound) {
                Ok(listener) => return Host::new(listener, name, geometry),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(meeting(name)(error)),
            }
            let left = within.saturating_sub(begun.elapsed());
            match ask(&address, left.max(PAUSE)) {
                Ok(file) => {
                    let memory = Self::open(file, name)?.of_geometry(&geometry, name)?;
                    return Ok((memory, None));
                }
                Err(error) if !is_lost(&error) => return Err(meeting(name)(error)),
                Err(_) if left.is_zero() => return Err(meeting(name)(nobody_answers())),
                Err(_) => sleep(PAUSE),
            }
        }
    }
}

impl Host {
    fn new(
        listener: UnixListener,
        name: &str,
        geometry: Geometry,
    ) -> Result<(Mapped, Option<Self>), ShmError> {
        let memory = Mapped::create(geometry)?;
        let ready = listener.set_nonblocking(true);
        let file = ready.and_then(|()| memory.file().try_clone_to_owned());
        let host = Self {
            listener,
            file: file.map_err(meeting(name))?,
            name: name.into(),
            origin: Origin::here(),
        };
        Ok((memory, Some(host)))
    }

    /// Hands the segment to those that have come since the last call; if they are very many, to some
    /// of them. Never blocks.
    ///
    /// # Errors
    /// [`ShmError::System`] if the system does not let them in.
    pub fn admit(&self) -> Result<(), ShmError> {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Ok((guest, _)) => self.hand_to(&guest),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return Err(meeting(&self.name)(error)),
                },
            }
        }
        Ok(())
    }

    /// Processes of other users get nothing, and all will notice if a process has ended meanwhile.
    fn hand_to(&self, guest: &UnixStream) {
        if check_peer(guest).is_err() {
            return;
        }
        let files = [self.file.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(&files));
        debug_assert!(fits, "there is space for one");
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = retry_on_intr(|| sendmsg(guest, &[IoSlice::new(b"m")], &mut control, flags));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        // A child that another thread has forked has the socket too, and would keep later processes
        // waiting.
        let _ = shutdown(&self.listener, Shutdown::Both);
    }
}

/// The descriptor that the host of a place hands out.
fn ask(address: &[u8], patience: Duration) -> io::Result<OwnedFd> {
    // Do not wait if more knock than the system queues.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let host = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    retry_on_intr(|| connect(&host, &SocketAddrUnix::new_abstract_name(address)?))?;
    let host = UnixStream::from(host);
    check_peer(&host)?;
    host.set_nonblocking(false)?;
    let begun = Instant::now();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let come = loop {
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(nobody_answers());
        }
        // Each time: a call that a signal has interrupted waits for the whole time when it is
        // repeated.
        host.set_read_timeout(Some(left))?;
        let mut bytes = [IoSliceMut::new(&mut byte)];
        match recvmsg(&host, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(come) => break come,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(nobody_answers()),
            Err(error) => return Err(error.into()),
        }
    };
    if come.bytes == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut handed = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    handed.next().ok_or_else(|| {
        // What there is no room for is cut off.
        match come.flags.contains(ReturnFlags::CTRUNC) {
            true => Errno::MFILE.into(),
            false => io::Error::new(ErrorKind::InvalidData, "no descriptor was handed over"),
        }
    })
}

fn nobody_answers() -> io::Error {
    let said = "the process that has the place does not answer";
    io::Error::new(ErrorKind::TimedOut, said)
}

/// Whether the process at the other end has ended, has not begun, or has others to let in first.
fn is_lost(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::WouldBlock
    )
}

/// Names can be guessed, and the user who made a segment could read what is sent there.
fn check_peer(peer: &UnixStream) -> io::Result<()> {
    let (theirs, mine) = (getsockopt(peer, PeerCredentials)?.uid(), geteuid().as_raw());
    if theirs == mine {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it belongs to user {theirs}, this is user {mine}"
    )))
}

/// The address of a place. Processes that do not see each other's numbers could not tell which of them
/// live: containers that share a network may have used the same names.
fn address(name: &str) -> Vec<u8> {
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let numbers = numbers.to_string_lossy();
    let numbers = numbers.trim_matches(|c: char| !c.is_ascii_digit());
    format!("mq/{numbers}/{name}").into_bytes()
}

fn meeting(name: &str) -> impl FnOnce(io::Error) -> ShmError {
    let what = format!("meeting the other processes at {name}");
    move |reason| ShmError::System { what, reason }
}
