//! The outcomes that the matching rules give.

use mq_core::mpi::MpiPattern;
use mq_core::{Arrive, MatchQueues, Post};

use crate::line::Line;
use crate::trace::{envelope, pattern};

/// Fills in the outcomes that `queues` give, which are empty and serve every communicator; `progress`
/// gets the number of operations done.
pub(super) fn resolve<Q>(lines: &mut [Line], mut queues: Q, progress: &mut dyn FnMut(usize))
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let operations = lines
        .iter_mut()
        .filter(|line| !matches!(line, Line::Communicator { .. }));
    let (mut receives, mut messages) = (0, 0);
    for (i, line) in operations.enumerate() {
        match line {
            Line::Post {
                comm,
                source,
                tag,
                matched,
            } => {
                receives += 1;
                *matched = match queues.post(pattern(*comm, *source, *tag), receives - 1) {
                    Post::Matched { message, .. } => Some(message),
                    Post::Queued(_) => None,
                };
            }
            Line::Arrive {
                comm,
                source,
                tag,
                matched,
            } => {
                messages += 1;
                *matched = match queues.arrive(envelope(*comm, *source, *tag), messages - 1) {
                    Arrive::Matched { receive, .. } => Some(receive),
                    Arrive::Unexpected => None,
                };
            }
            Line::Communicator { .. } | Line::Probe { .. } | Line::Cancel { .. } => {}
        }
        progress(i + 1);
    }
}
