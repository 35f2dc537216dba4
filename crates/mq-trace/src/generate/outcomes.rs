//! The outcomes that the matching rules give.

use mq_core::mpi::MpiPattern;
use mq_core::{Arrive, MatchQueues, Post};

use crate::line::Line;
use crate::trace::{Operation, Trace};

/// Fills in the outcomes that `queues` give, which are empty and serve every communicator; `progress`
/// gets the number of operations done.
pub(super) fn resolve<Q>(lines: &mut [Line], mut queues: Q, progress: &mut dyn FnMut(usize))
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = u32, Message = u32>,
{
    let trace = Trace::from_lines("resolve", lines);
    let operations = lines
        .iter_mut()
        .filter(|line| !matches!(line, Line::Communicator { .. }));
    let (mut receives, mut messages) = (0, 0);
    for (i, (line, operation)) in operations.zip(trace.operations()).enumerate() {
        let outcome = match *operation {
            Operation::Post { pattern, .. } => {
                receives += 1;
                match queues.post(pattern, receives - 1) {
                    Post::Matched { message, .. } => Some(message),
                    Post::Queued(_) => None,
                }
            }
            Operation::Arrive { envelope } => {
                messages += 1;
                match queues.arrive(envelope, messages - 1) {
                    Arrive::Matched { receive, .. } => Some(receive),
                    Arrive::Unexpected => None,
                }
            }
            Operation::Probe { .. } | Operation::Cancel { .. } => None,
        };
        if let Line::Post { matched, .. } | Line::Arrive { matched, .. } = line {
            *matched = outcome;
        }
        progress(i + 1);
    }
}
