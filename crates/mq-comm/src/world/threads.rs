//! Worlds whose processes are threads of one process: for tests, and for programs that need no more.

use std::panic;

use mq_shm::{Mapped, Origin, Process, ShmError};

use super::World;
use crate::collective::FOUND_ELSEWHERE;
use crate::error::Error;
use crate::options::Options;

/// A place in a world of threads that nobody has taken yet. If it is dropped before it is taken, the others
/// see a dead process.
#[derive(Debug)]
#[must_use = "the others see a dead process if this is dropped"]
pub struct Seat {
    /// `None` once it is taken.
    memory: Option<Mapped>,
    /// The process that made it: a child's copy is not a seat.
    origin: Origin,
    rank: u32,
    options: Options,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory
            && self.origin.is_here()
        {
            // The rank is within the segment.
            let _ = memory.ended(Process(self.rank));
        }
    }
}

impl Seat {
    /// Takes the seat: from now on this thread is the process.
    ///
    /// # Errors
    /// [`Error::Transport`] if the place cannot be taken.
    pub fn take(mut self) -> Result<World, Error> {
        let Some(memory) = self.memory.take() else {
            unreachable!("a seat is taken once");
        };
        World::join(memory, self.rank, &self.options)
    }
}

impl World {
    /// Places for `size` processes that are threads of this one, over the same kind of memory that processes
    /// share.
    ///
    /// # Errors
    /// [`Error::Transport`] if there is no memory for it.
    pub fn seats(size: u32, options: &Options) -> Result<Vec<Seat>, Error> {
        let segment = Mapped::create(options.geometry(size)?.for_worlds())?;
        let seat = |rank| {
            let file = segment
                .file()
                .try_clone_to_owned()
                .map_err(|reason| ShmError::System {
                    what: format!(
                        "sharing a segment with thread {rank} of {size}, each of which needs open files (`ulimit -n`)"
                    ),
                    reason,
                })?;
            Ok(Seat {
                memory: Some(Mapped::open(file, "the segment of a world of threads")?),
                origin: Origin::here(),
                rank,
                options: options.clone(),
            })
        };
        (0..size).map(seat).collect()
    }

    /// Runs a program as `size` processes that are threads of this one, and returns their results, by rank. A
    /// thread that returns an error counts as dead to the others: a launcher would have ended them. For a
    /// process that leaves before its thread returns, use [seats](Self::seats).
    ///
    /// # Errors
    /// The error of the first thread, by rank, that did not fail because of another; if there is none, the
    /// first error; or that of [`seats`](Self::seats).
    ///
    /// # Panics
    /// If a thread panics, with the panic of the first by rank, even if that followed from another's. The
    /// others see it die, and what they returned is lost.
    pub fn threads<R: Send>(
        size: u32,
        program: impl Fn(&World) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        Self::threads_with(size, &Options::default(), program)
    }

    /// [`threads`](Self::threads) with options.
    ///
    /// # Errors
    /// As `threads`.
    ///
    /// # Panics
    /// As `threads`.
    pub fn threads_with<R: Send>(
        size: u32,
        options: &Options,
        program: impl Fn(&World) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let ends = Self::run_threads(size, options, program)?;
        let (mut results, mut errors) = (Vec::new(), Vec::new());
        for end in ends {
            match end {
                Ok(result) => results.push(result),
                Err(error) => errors.push(error),
            }
        }
        match errors.into_iter().min_by_key(distance) {
            Some(error) => Err(error),
            None => Ok(results),
        }
    }

    /// [`threads`](Self::threads) for a program with its own error type, and for tests of what becomes of
    /// each rank: returns how each ended, by rank.
    ///
    /// ```
    /// use mq_comm::{Error, Options, Process, World};
    ///
    /// type AnyError = Box<dyn std::error::Error + Send + Sync>;
    ///
    /// let ends = World::run_threads(2, &Options::default(), |world| -> Result<u64, AnyError> {
    ///     if world.rank() == 1 {
    ///         return Err("this rank fails".into());
    ///     }
    ///     let mut number = [0_u64];
    ///     world.recv(&mut number, 1, 7)?;
    ///     Ok(number[0])
    /// })?;
    /// let gone = ends[0].as_ref().unwrap_err().downcast_ref::<Error>();
    /// assert!(matches!(gone, Some(Error::Gone { process: Process(1), .. })));
    /// assert_eq!(ends[1].as_ref().unwrap_err().to_string(), "this rank fails");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`seats`](Self::seats).
    ///
    /// # Panics
    /// As `threads`.
    pub fn run_threads<R: Send, E: From<Error> + Send>(
        size: u32,
        options: &Options,
        program: impl Fn(&World) -> Result<R, E> + Sync,
    ) -> Result<Vec<Result<R, E>>, Error> {
        let seats = Self::seats(size, options)?;
        let program = &program;
        let ends = std::thread::scope(|scope| {
            let run = |seat: Seat| seat.take()?.run_program(program);
            let threads: Vec<_> = seats
                .into_iter()
                .map(|seat| scope.spawn(move || run(seat)))
                .collect();
            let ends: Vec<_> = threads
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect();
            let ends = ends.into_iter();
            ends.map(|end| end.unwrap_or_else(|panic| panic::resume_unwind(panic)))
                .collect()
        });
        Ok(ends)
    }
}

/// How far an error is from the original failure: what a process was told about another is not a cause.
fn distance(error: &Error) -> u8 {
    match error {
        Error::Gone { .. } => 2,
        Error::Elsewhere { .. }
        | Error::Revoked
        | Error::Withdrawn { .. }
        | Error::Disagreement(FOUND_ELSEWHERE) => 1,
        _ => 0,
    }
}
