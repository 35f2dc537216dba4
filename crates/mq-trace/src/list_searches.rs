//! [`ListSearches`]: what a trace's searches would cost in a list.

use std::collections::TryReserveError;

use crate::standing::Standing;
use crate::trace::{Operation, Trace};

/// The entries that the searches of a trace's operations compare in one list for all communicators, as MPICH has it:
/// an iterator over the operations.
///
/// # Cost
/// No search is made. How many entries a list compares follows from the recorded outcomes, if these are those that MPI
/// demands, as [`check()`](crate::check()) tells. So an operation takes time logarithmic in the number of all, and
/// memory 4 bytes; [`check()`](crate::check()) with `list` takes the time of its searches, which may be the square.
///
/// ```
/// use mq_trace::{ListSearches, Trace, TraceReader};
///
/// let text = "# mqtrace 1\np 0 1 5\np 0 1 6\na 0 1 6 =1\n";
/// let trace = Trace::read(TraceReader::new("example", text.as_bytes())?)?;
/// let visited: Vec<u64> = ListSearches::of(&trace)?.map(|search| search.posted).collect();
/// assert_eq!(visited, [0, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ListSearches<'a> {
    trace: &'a Trace,
    /// The operation that comes next.
    next: usize,
    posted: Standing,
    unexpected: Standing,
    /// Receives and messages so far.
    receives: u32,
    messages: u32,
}

/// The entries that one operation compares in a list of each queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ListSearch {
    /// Of the posted receive queue, which messages search.
    pub posted: u64,
    /// Of the unexpected message queue, which receives and probes search.
    pub unexpected: u64,
}

impl ListSearch {
    /// Of both queues.
    #[must_use]
    pub const fn visited(self) -> u64 {
        self.posted + self.unexpected
    }
}

impl<'a> ListSearches<'a> {
    /// Of all operations of a trace.
    ///
    /// # Errors
    /// There are not 4 bytes for each receive and message.
    pub fn of(trace: &'a Trace) -> Result<Self, TryReserveError> {
        let room = |entries: u32| -> Result<Standing, TryReserveError> {
            let mut nodes = Vec::new();
            nodes.try_reserve_exact(entries as usize + 1)?;
            Ok(Standing::new(nodes))
        };
        Ok(Self {
            trace,
            next: 0,
            posted: room(trace.receives())?,
            unexpected: room(trace.messages())?,
            receives: 0,
            messages: 0,
        })
    }
}

impl Iterator for ListSearches<'_> {
    type Item = ListSearch;

    fn next(&mut self) -> Option<ListSearch> {
        let operation = self.trace.operations().get(self.next)?;
        let matched = self.trace.outcome(self.next);
        self.next += 1;
        let mut search = ListSearch::default();
        match *operation {
            Operation::Post { .. } => {
                search.unexpected = self.unexpected.visited(matched);
                match matched {
                    Some(message) => self.unexpected.remove(message),
                    None => self.posted.add(self.receives),
                }
                self.receives += 1;
            }
            Operation::Arrive { .. } => {
                search.posted = self.posted.visited(matched);
                match matched {
                    Some(receive) => self.posted.remove(receive),
                    None => self.unexpected.add(self.messages),
                }
                self.messages += 1;
            }
            Operation::Probe { .. } => search.unexpected = self.unexpected.visited(matched),
            Operation::Cancel { receive } => self.posted.remove(receive),
        }
        Some(search)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.trace.operations().len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for ListSearches<'_> {}
