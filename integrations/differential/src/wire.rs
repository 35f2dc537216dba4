//! [`Wire`]: the communicators of a run, and MPI calls on them in the program's terms.
//!
//! The calls are rsmpi's where it has them. It has neither `MPI_Request_get_status` nor
//! `MPI_Test_cancelled`; those are called as C has them.
#![expect(
    unsafe_code,
    reason = "two MPI calls that rsmpi lacks, and MPI constants"
)]

use core::mem::MaybeUninit;
use std::time::{Duration, Instant};

use mpi::Rank;
use mpi::datatype::Equivalence;
use mpi::ffi;
use mpi::point_to_point::{Message as Matched, Status};
use mpi::raw::AsRaw;
use mpi::request::{LocalScope, Request};
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

use crate::event::{Message, Wanted};

/// A send or receive that has not been completed.
pub(crate) type Pending<'a, 's> = Request<'a, [u8], &'s LocalScope<'a>>;

/// The rank of a process in a communicator: the second one counts backwards.
pub(crate) const fn rank_in(comm: u32, process: u32, processes: u32) -> u32 {
    match comm {
        0 => process,
        _ => processes - 1 - process,
    }
}

/// What a status says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The sender's rank in the world.
    pub(crate) sender: u32,
    pub(crate) tag: i32,
    pub(crate) bytes: usize,
}

/// The communicators of a run.
pub(crate) struct Wire {
    /// What programs use, duplicates of the world, the second one in reverse order.
    comms: [SimpleCommunicator; 2],
    /// Steers the run.
    control: SimpleCommunicator,
    /// The rank of this process in the world.
    pub(crate) process: u32,
    pub(crate) processes: u32,
    any_tag: i32,
}

/// Calls a method of the source that a receive names, which is a type of its own for the wildcard.
macro_rules! from_source {
    ($wire:expr, $wanted:expr, $source:ident => $call:expr) => {{
        let comm = $wire.comm($wanted.comm);
        match $wanted.sender {
            None => {
                let $source = comm.any_process();
                $call
            }
            Some(sender) => {
                let $source = comm.process_at_rank($wire.rank($wanted.comm, sender));
                $call
            }
        }
    }};
}

impl Wire {
    const GO: i32 = 1;

    /// Makes the communicators. All processes of the world call it.
    pub(crate) fn new(world: &SimpleCommunicator) -> Self {
        let backwards = world.split_by_color_with_key(Color::with_value(0), -world.rank());
        let wire = Self {
            comms: [world.duplicate(), backwards.expect("it has a color")],
            control: world.duplicate(),
            process: unsigned(world.rank()),
            processes: unsigned(world.size()),
            // SAFETY: a constant of the C library, which nothing changes.
            any_tag: unsafe { ffi::RSMPI_ANY_TAG },
        };
        for (number, comm) in (0..).zip(&wire.comms) {
            assert_eq!(comm.rank(), wire.rank(number, wire.process));
        }
        wire
    }

    fn comm(&self, number: u32) -> &SimpleCommunicator {
        &self.comms[number as usize]
    }

    fn rank(&self, comm: u32, process: u32) -> Rank {
        signed(rank_in(comm, process, self.processes))
    }

    fn tag(&self, wanted: &Wanted) -> i32 {
        wanted.tag.unwrap_or(self.any_tag)
    }

    /// What a status of a communicator says.
    pub(crate) fn seen(&self, comm: u32, status: &Status) -> Seen {
        let bytes = status.count(u8::equivalent_datatype());
        Seen {
            // The same formula translates both ways.
            sender: rank_in(comm, unsigned(status.source_rank()), self.processes),
            tag: status.tag(),
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        }
    }

    /// `MPI_Isend` or `MPI_Issend` to the receiver.
    pub(crate) fn send<'a, 's>(
        &self,
        scope: &'s LocalScope<'a>,
        message: &Message,
        contents: &'a [u8],
    ) -> Pending<'a, 's> {
        let receiver = self.rank(message.comm, 0);
        let receiver = self.comm(message.comm).process_at_rank(receiver);
        if message.is_synchronous() {
            receiver.immediate_synchronous_send_with_tag(scope, contents, message.tag)
        } else {
            receiver.immediate_send_with_tag(scope, contents, message.tag)
        }
    }

    /// `MPI_Irecv`.
    pub(crate) fn post<'a, 's>(
        &self,
        scope: &'s LocalScope<'a>,
        wanted: &Wanted,
        buffer: &'a mut [u8],
    ) -> Pending<'a, 's> {
        let tag = self.tag(wanted);
        from_source!(self, wanted, source => source.immediate_receive_into_with_tag(scope, buffer, tag))
    }

    /// `MPI_Iprobe`.
    pub(crate) fn probe(&self, wanted: &Wanted) -> Option<Seen> {
        let tag = self.tag(wanted);
        let status = from_source!(self, wanted, source => source.immediate_probe_with_tag(tag));
        status.map(|status| self.seen(wanted.comm, &status))
    }

    /// `MPI_Improbe`.
    pub(crate) fn extract(&self, wanted: &Wanted) -> Option<(Matched, Seen)> {
        let tag = self.tag(wanted);
        let found =
            from_source!(self, wanted, source => source.immediate_matched_probe_with_tag(tag));
        found.map(|(message, status)| (message, self.seen(wanted.comm, &status)))
    }

    /// `MPI_Allgather` of the ranks in a communicator: what came from each.
    pub(crate) fn gather(&self, comm: u32) -> Vec<Rank> {
        let mine = self.rank(comm, self.process);
        let mut all = vec![-1; self.processes as usize];
        self.comm(comm).all_gather_into(&mine, &mut all[..]);
        all
    }

    /// Tells a sender to take its next step.
    pub(crate) fn go(&self, process: u32, step: usize) {
        let step = step as u64;
        self.control
            .process_at_rank(signed(process))
            .send_with_tag(&step, Self::GO);
    }

    /// Waits for the receiver's word, and works on sends meanwhile.
    pub(crate) fn wait_for_go(&self, step: usize) {
        let receiver = self.control.process_at_rank(0);
        while receiver.immediate_probe_with_tag(Self::GO).is_none() {
            std::thread::yield_now();
        }
        let (said, _) = receiver.receive_with_tag::<u64>(Self::GO);
        assert_eq!(said, step as u64, "the ranks are at different steps");
    }

    /// Waits for all processes.
    pub(crate) fn barrier(&self) {
        self.control.barrier();
    }

    /// Ends all processes with this exit code.
    pub(crate) fn abort(&self, code: i32) -> ! {
        self.control.abort(code)
    }
}

/// Asks again and again until there is an answer, or until it takes too long.
pub(crate) fn wait_for<T>(timeout: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || start.elapsed() > timeout {
            return answer;
        }
        std::thread::yield_now();
    }
}

/// `MPI_Request_get_status`: the status of a request that is complete, which stays one.
pub(crate) fn peek(request: &Pending<'_, '_>) -> Option<Status> {
    let mut complete = 0;
    let mut status = MaybeUninit::uninit();
    // SAFETY: the request is active, rsmpi's `Request` is no other; both places may be written.
    unsafe {
        ffi::MPI_Request_get_status(request.as_raw(), &raw mut complete, status.as_mut_ptr())
    };
    // SAFETY: MPI fills in the status of a request that is complete.
    (complete != 0).then(|| Status::from_raw(unsafe { status.assume_init() }))
}

/// How a receive that was to be cancelled ended.
pub(crate) enum Cancelled<'a> {
    Done,
    /// It had its message.
    Late(Status, &'a [u8]),
}

/// `MPI_Cancel`, `MPI_Test` until the receive is complete, `MPI_Test_cancelled`.
///
/// # Errors
/// It is not complete in time, and MPI may still write to its buffer: the process has to end.
pub(crate) fn cancel<'a>(
    request: Pending<'a, '_>,
    timeout: Duration,
) -> Result<Cancelled<'a>, &'static str> {
    request.cancel();
    // SAFETY: it is completed here, or the caller ends the process.
    let (mut raw, contents, _) = unsafe { request.into_raw() };
    let mut status = MaybeUninit::uninit();
    let completed = wait_for(timeout, || {
        let mut complete = 0;
        // SAFETY: the request is active until this call completes it, and is not tested again then.
        unsafe { ffi::MPI_Test(&raw mut raw, &raw mut complete, status.as_mut_ptr()) };
        (complete != 0).then_some(())
    });
    completed.ok_or("a receive that was cancelled is neither cancelled nor complete")?;
    // SAFETY: MPI has filled it in, the request being complete.
    let status = unsafe { status.assume_init() };
    let mut cancelled = 0;
    // SAFETY: the status is one that MPI made.
    unsafe { ffi::MPI_Test_cancelled(&raw const status, &raw mut cancelled) };
    Ok(if cancelled == 0 {
        Cancelled::Late(Status::from_raw(status), contents)
    } else {
        Cancelled::Done
    })
}

fn unsigned(rank: Rank) -> u32 {
    u32::try_from(rank).expect("MPI gives ranks and sizes from 0")
}

fn signed(rank: u32) -> Rank {
    Rank::try_from(rank).expect("it came from MPI")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_translate_both_ways() {
        for comm in 0..2 {
            for process in 0..5 {
                let rank = rank_in(comm, process, 5);
                assert_eq!(rank_in(comm, rank, 5), process);
            }
        }
        assert_eq!(rank_in(1, 0, 5), 4);
    }
}
