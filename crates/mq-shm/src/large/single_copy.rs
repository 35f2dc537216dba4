//! Reading a message straight out of the sender's memory, or writing it into the receiver's.
//!
//! Some kernels, containers, `seccomp` filters and debugger policies refuse `process_vm_readv`, and a process
//! number means a different process in another namespace, or after its holder has ended. So a read also
//! fetches a random word that the sender has published together with its address, in the same system call,
//! which looks at one process from beginning to end: if the word is right, it was the right process. Looking
//! that page up takes 0.2 us, as long as copying 4 KiB, so short reads soon afterwards omit it. After any
//! refusal the pair uses the ring for the rest of that message and from then on.

use std::io::{IoSlice, IoSliceMut};
use std::time::{Duration, Instant};

use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use rustix::process::{PTracer, set_ptracer};

/// Bytes in the memory of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Address in that process.
    pub address: u64,
    /// How many.
    pub bytes: u64,
    /// Offset in the shared buffers of that process, if they lie there.
    pub shared: Option<u64>,
}

/// The result of an attempt to read through the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// All bytes have been read.
    All,
    /// Only the first bytes, as many as given here: the kernel refused to go on, or to begin.
    Refused(usize),
}

/// Why a process's words were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookError {
    /// The kernel does not permit it, or has no such process, or the process is ending.
    Refused,
    /// The word is another: the process that had it has ended, runs another program, or hides its memory.
    Another,
    /// There is no memory at that address, because the process runs another program or has ended, or the
    /// kernel could not get at it just now, for instance for want of memory to swap it in.
    Unclear,
}

/// A process that was identified by its word at most this long ago still has its number: the kernel assigns
/// numbers in turn, and reuses one only when all others have been assigned, of which there are tens of
/// thousands (`kernel.pid_max`). It assigns a chosen number only to privileged processes that ask for it, as
/// CRIU does. One case goes unnoticed: a process that replaces its program (`execve`) within this time, with
/// a message announced and not completed. The new program's bytes are then read.
pub(crate) const KNOWN_FOR: Duration = Duration::from_micros(200);
/// Reads without the word begin before that, and are no longer than this many bytes: one that does not finish
/// in time is wasted, and for a long one the word makes no difference.
const WITHOUT_WORD_FOR: Duration = Duration::from_micros(100);
const WITHOUT_WORD_BYTES: usize = 256 << 10;

/// Whose memory it is: the number of a process, and the word that identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryId {
    pub(crate) pid: u32,
    pub(crate) token: u64,
    pub(crate) token_at: u64,
}

/// The memory of a process that was last identified by its word, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) whom: MemoryId,
    pub(crate) at: Instant,
}

impl MemoryId {
    /// Reads as many bytes as `into` has room for, from `address`.
    pub(crate) fn read(self, address: u64, into: &mut [u8], seen: &mut Option<Seen>) -> Copied {
        let Some(pid) = self.pid() else {
            return Copied::Refused(0);
        };
        let mut done = 0;
        while done < into.len() {
            let now = Instant::now();
            let mut word = [0; 8];
            let word_bytes = word.len();
            let rest = &mut into[done..];
            let without_word =
                rest.len() <= WITHOUT_WORD_BYTES && self.is_known(*seen, now, WITHOUT_WORD_FOR);
            let from = [
                RemoteIoVec {
                    base: self.token_at as usize,
                    len: word_bytes,
                },
                RemoteIoVec {
                    base: address as usize + done,
                    len: rest.len(),
                },
            ];
            let mut to = [IoSliceMut::new(&mut word), IoSliceMut::new(rest)];
            let first = usize::from(without_word);
            let read = process_vm_readv(pid, &mut to[first..], &from[first..]);
            match read {
                Ok(bytes) if without_word && bytes > 0 => {
                    // This process may have been descheduled before the kernel looked the number up. Then the
                    // next read comes with the word.
                    if self.is_known(*seen, Instant::now(), KNOWN_FOR) {
                        done += bytes;
                    }
                }
                Ok(bytes) if bytes > word_bytes && u64::from_ne_bytes(word) == self.token => {
                    *seen = Some(Seen {
                        whom: self,
                        at: now,
                    });
                    done += bytes - word_bytes;
                }
                Err(nix::errno::Errno::EINTR) => {}
                _ => return Copied::Refused(done),
            }
        }
        Copied::All
    }

    /// The words after the one that identifies the process.
    pub(crate) fn look<const WORDS: usize>(
        self,
        seen: &mut Option<Seen>,
    ) -> Result<[u64; WORDS], LookError> {
        let pid = self.pid().ok_or(LookError::Refused)?;
        let now = Instant::now();
        let (mut word, mut words) = ([0; 8], [[0; 8]; WORDS]);
        let bytes = word.len() * (1 + WORDS);
        let mut to = [
            IoSliceMut::new(&mut word),
            IoSliceMut::new(words.as_flattened_mut()),
        ];
        let from = RemoteIoVec {
            base: self.token_at as usize,
            len: bytes,
        };
        let read = loop {
            match process_vm_readv(pid, &mut to, &[from]) {
                Err(nix::errno::Errno::EINTR) => {}
                read => break read,
            }
        };
        match read {
            Ok(read) if read == bytes && u64::from_ne_bytes(word) == self.token => {
                *seen = Some(Seen {
                    whom: self,
                    at: now,
                });
                Ok(words.map(u64::from_ne_bytes))
            }
            Ok(read) if read >= word.len() && u64::from_ne_bytes(word) != self.token => {
                Err(LookError::Another)
            }
            Ok(_) | Err(nix::errno::Errno::EFAULT) => Err(LookError::Unclear),
            Err(_) => Err(LookError::Refused),
        }
    }

    /// Writes bytes to `address`, in system calls that each begin within a short time of having identified
    /// the process by its word: the kernel takes hold of the memory when they begin. Returns whether the
    /// kernel permitted this, and the process still was the same. The caller knows that the process waits for
    /// the bytes there.
    pub(crate) fn write(self, address: u64, from: &[u8], seen: &mut Option<Seen>) -> bool {
        let Some(pid) = self.pid() else {
            return false;
        };
        let mut done = 0;
        while done < from.len() {
            if !self.is_known(*seen, Instant::now(), WITHOUT_WORD_FOR)
                && self.look::<0>(seen).is_err()
            {
                return false;
            }
            let rest = &from[done..];
            let to = RemoteIoVec {
                base: address as usize + done,
                len: rest.len(),
            };
            match process_vm_writev(pid, &[IoSlice::new(rest)], &[to]) {
                Ok(bytes) if bytes > 0 => done += bytes,
                Err(nix::errno::Errno::EINTR) => {}
                _ => return false,
            }
        }
        true
    }

    /// Its number, unless its memory cannot be read, or it does not say which is its own.
    fn pid(self) -> Option<Pid> {
        let pid = i32::try_from(self.pid).ok();
        let pid = pid.filter(|&pid| pid > 0 && self.token != 0);
        pid.map(Pid::from_raw)
    }

    /// Whether it is the process that was identified at most that long ago.
    fn is_known(self, seen: Option<Seen>, now: Instant, time: Duration) -> bool {
        seen.is_some_and(|seen| seen.whom == self && now - seen.at < time)
    }
}

/// Lets a process, and everything it has started, read and write the memory of this one, if otherwise the
/// kernel would permit that only to the ancestors of this one: the Yama module with
/// `kernel.yama.ptrace_scope` at 1, as Debian and Ubuntu set it. For a launcher, those are the processes of
/// the world.
///
/// It replaces what the program has declared before (`PR_SET_PTRACER`), and does nothing if the kernel has no
/// such module, or if access is refused for another reason: then the ring is used.
pub fn permit(launcher: u32) {
    let launcher = i32::try_from(launcher).ok();
    if let Some(pid) = launcher.and_then(rustix::process::Pid::from_raw) {
        // Without the module there is no such declaration, and none is needed.
        let _ = set_ptracer(PTracer::ProcessID(pid));
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;
    use crate::untried::memory_is_read;

    #[test]
    fn only_a_process_with_the_right_word_is_read() {
        if !memory_is_read("reading memory") {
            return;
        }
        let token = Box::new(0x1234_5678_9abc_def0_u64);
        let message = vec![7_u8; 100_000];
        let me = MemoryId {
            pid: std::process::id(),
            token: *token,
            token_at: core::ptr::from_ref(&*token) as u64,
        };
        let mut into = vec![0; message.len()];
        let address = message.as_ptr() as u64;
        let mut seen = None;
        assert_eq!(me.read(address, &mut into, &mut seen), Copied::All);
        assert_eq!(into, message);
        assert_eq!(seen.map(|seen| seen.whom), Some(me));
        let another = MemoryId {
            token: *token + 1,
            ..me
        };
        assert_eq!(
            another.read(address, &mut into, &mut None),
            Copied::Refused(0)
        );
        let nowhere = MemoryId { token_at: 8, ..me };
        assert_eq!(
            nowhere.read(address, &mut into, &mut None),
            Copied::Refused(0)
        );
        for (pid, token) in [(0, *token), (u32::MAX, *token), (me.pid, 0)] {
            let none = MemoryId { pid, token, ..me };
            assert_eq!(none.read(address, &mut into, &mut None), Copied::Refused(0));
        }
    }

    /// Words as a process shows them, and how the first identifies it.
    fn shown(words: &[u64; 3]) -> MemoryId {
        MemoryId {
            pid: std::process::id(),
            token: words[0],
            token_at: words.as_ptr().expose_provenance() as u64,
        }
    }

    #[test]
    fn the_words_of_a_process_are_seen_where_its_own_is_right() {
        if !memory_is_read("looking at words") {
            return;
        }
        let words = [0x1234_5678_9abc_def0, 5, 6];
        let me = shown(&words);
        let mut seen = None;
        assert_eq!(me.look(&mut seen), Ok([5, 6]));
        assert_eq!(seen.map(|seen| seen.whom), Some(me));
        for (error, whom) in [
            (LookError::Another, MemoryId { token: 1, ..me }),
            (LookError::Unclear, MemoryId { token_at: 8, ..me }),
            (LookError::Refused, MemoryId { token: 0, ..me }),
            (LookError::Refused, MemoryId { pid: 0, ..me }),
            // The kernel's highest number is lower.
            (LookError::Refused, MemoryId { pid: 1 << 30, ..me }),
        ] {
            let mut seen = None;
            assert_eq!(whom.look::<2>(&mut seen), Err(error), "{whom:?}");
            assert_eq!(seen, None);
        }
    }

    #[test]
    fn only_a_process_with_the_right_word_is_written() {
        if !memory_is_read("writing memory") {
            return;
        }
        let words = [0x1234_5678_9abc_def0, 5, 6];
        let me = shown(&words);
        let message = vec![7_u8; 300_000];
        let mut into = vec![0_u8; message.len()];
        let address = into.as_mut_ptr().expose_provenance() as u64;
        let mut seen = None;
        assert!(me.write(address, &message, &mut seen));
        assert_eq!(into, message);
        assert_eq!(seen.map(|seen| seen.whom), Some(me));
        into.fill(0);
        let another = MemoryId { token: 1, ..me };
        for mut seen in [None, seen] {
            assert!(!another.write(address, &message, &mut seen));
        }
        let long_ago = Seen {
            whom: another,
            at: Instant::now() - WITHOUT_WORD_FOR,
        };
        assert!(!another.write(address, &message, &mut Some(long_ago)));
        assert!(into.iter().all(|&byte| byte == 0));
        // Memory of no process.
        assert!(!me.write(8, &message, &mut seen));
    }

    #[test]
    fn the_word_is_fetched_again_when_it_was_seen_long_ago_or_of_another() {
        if !memory_is_read("reading without the word") {
            return;
        }
        let token = Box::new(0x1234_5678_9abc_def0_u64);
        let message = vec![7_u8; 4096];
        let wrong = MemoryId {
            pid: std::process::id(),
            token: *token + 1,
            token_at: core::ptr::from_ref(&*token) as u64,
        };
        let mut into = vec![0; message.len()];
        let mut read = |whom, at| {
            let mut seen = Some(Seen { whom, at });
            wrong.read(message.as_ptr() as u64, &mut into, &mut seen)
        };
        // No check is made so soon after it was right; unless this thread is descheduled each time.
        let is_left_out = (0..1000).any(|_| read(wrong, Instant::now()) == Copied::All);
        assert!(is_left_out);
        let another = MemoryId { pid: 1, ..wrong };
        assert_eq!(read(another, Instant::now()), Copied::Refused(0));
        let long_ago = Instant::now() - WITHOUT_WORD_FOR;
        assert_eq!(read(wrong, long_ago), Copied::Refused(0));
    }
}
