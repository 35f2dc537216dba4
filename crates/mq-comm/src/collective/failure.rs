//! What a rank passes on in place of a message that it could not get.
//!
//! A rank that has lost another in the middle of a collective operation goes on with the operation: it still
//! sends what live ranks wait for, or, if it has nothing to send, this notice. So nobody waits forever for a
//! rank that has given up, and the next operation finds all messages of this one received.

use mq_shm::Process;
use mq_shm::liveness::Gone;

use crate::error::{Error, NoticedBy};

/// What a notice begins with: data are unlikely to.
const MARK: [u8; 8] = *b"\x00mq lost";
/// Bytes of a notice, unless the message in whose place it comes has as many.
const NOTICE_BYTES: usize = 16;
/// Bytes of a notice in that case.
pub(super) const LONG_NOTICE_BYTES: usize = 24;
/// What became of the process that a notice names.
const LEFT: u32 = 0;
const DIED: u32 = 1;
/// It lives, and could not go on with the operation.
const STUCK: u32 = 2;
/// It has found that the ranks do not make the same call: another operation, or another length.
const AT_ODDS: u32 = 3;
/// It lives, and could not tell this rank what it may have told others.
const UNTOLD: u32 = 4;

/// What the ranks are told that hear of an [`AT_ODDS`].
pub(crate) const FOUND_ELSEWHERE: &str = "found at another rank; see the error reported there";

/// What an operation goes on with: a success, or that a rank is gone. Any other failure ends it immediately.
pub(super) fn unless_gone(result: Result<(), Error>) -> Result<Result<(), Error>, Error> {
    match result {
        Ok(()) | Err(Error::Gone { .. }) => Ok(result),
        Err(error) => Err(error),
    }
}

/// Why a rank could not get what it was to pass on.
pub(super) struct Notice {
    bytes: [u8; LONG_NOTICE_BYTES],
    len: usize,
}

impl Notice {
    /// What `me` says in place of a message of this many bytes.
    pub(super) fn of(error: &Error, bytes: usize, me: Process) -> Self {
        let (process, how) = match error {
            Error::Gone {
                process,
                how: Gone::Left,
                ..
            } => (*process, LEFT),
            Error::Gone { process, .. } => (*process, DIED),
            Error::Elsewhere { process } => (*process, STUCK),
            Error::Disagreement(_) => (me, AT_ODDS),
            _ => (me, STUCK),
        };
        Self::with(process, how, bytes)
    }

    /// What `me` says in place of what it may have told others.
    pub(super) fn of_untold(me: Process) -> Self {
        Self::with(me, UNTOLD, 0)
    }

    fn with(process: Process, how: u32, bytes: usize) -> Self {
        let mut notice = Self {
            bytes: [0; LONG_NOTICE_BYTES],
            len: if bytes == NOTICE_BYTES {
                LONG_NOTICE_BYTES
            } else {
                NOTICE_BYTES
            },
        };
        notice.bytes[..8].copy_from_slice(&MARK);
        notice.bytes[8..12].copy_from_slice(&process.0.to_le_bytes());
        notice.bytes[12..16].copy_from_slice(&how.to_le_bytes());
        notice
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The process that a notice names, and what became of it, if a message is a notice.
fn words(message: &[u8]) -> Option<(Process, u32)> {
    let (words, _) = message.strip_prefix(&MARK)?.as_chunks::<4>();
    let &[process, how, ..] = words else {
        return None;
    };
    Some((
        Process(u32::from_le_bytes(process)),
        u32::from_le_bytes(how),
    ))
}

/// Whether a message is a notice whose sender may have told others what it could not tell this rank.
pub(super) fn is_of_untold(message: &[u8]) -> bool {
    words(message).is_some_and(|(_, how)| how == UNTOLD)
}

/// The error that the sender of a message reports instead, if it is a notice.
pub(super) fn read(message: &[u8]) -> Option<Error> {
    let (process, how) = words(message)?;
    let by = NoticedBy::Collective;
    let gone = |how| Error::Gone { process, how, by };
    Some(match how {
        LEFT => gone(Gone::Left),
        DIED => gone(Gone::Died),
        AT_ODDS => Error::Disagreement(FOUND_ELSEWHERE),
        _ => Error::Elsewhere { process },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_says_who_is_gone_and_is_never_as_long_as_the_message() {
        for how in [Gone::Left, Gone::Died] {
            for bytes in 0..30 {
                let (process, by) = (Process(7), NoticedBy::Collective);
                let gone = Error::Gone { process, how, by };
                let notice = Notice::of(&gone, bytes, Process(1));
                assert_ne!(notice.bytes().len(), bytes);
                let said = read(notice.bytes()).unwrap().to_string();
                assert_eq!(said, gone.to_string());
            }
        }
        // A rank that passes on another's notice leaves it as it is.
        let own = Notice::of(&Error::Cancelled, 0, Process(3));
        let heard = read(own.bytes()).unwrap();
        let is_of_3 = |error: &Error| {
            matches!(
                error,
                Error::Elsewhere {
                    process: Process(3)
                }
            )
        };
        assert!(is_of_3(&heard), "{heard}");
        let heard = read(Notice::of(&heard, 0, Process(1)).bytes());
        assert!(heard.is_some_and(|error| is_of_3(&error)));
        let at_odds = Notice::of(&Error::Disagreement("x"), 0, Process(3));
        let heard = read(at_odds.bytes());
        assert!(matches!(heard, Some(Error::Disagreement(_))));
        let untold = Notice::of_untold(Process(3));
        assert!(read(untold.bytes()).is_some_and(|error| is_of_3(&error)));
        assert!(is_of_untold(untold.bytes()) && !is_of_untold(own.bytes()));
        assert!(read(&[0; 16]).is_none() && read(&MARK).is_none());
    }
}
