//! Worlds whose processes are threads of one process: for tests, and for programs that have no need
//! of more.

use std::panic;
use std::rc::Rc;

use mq_shm::{Endpoint, Mapped, Process, ShmError};

use super::World;
use crate::error::Error;
use crate::options::Options;

/// A place in a world of threads that nobody has taken yet. One that is dropped before it is taken
/// has died, as far as the others can see.
#[derive(Debug)]
pub struct Seat {
    /// Nothing once it is taken.
    memory: Option<Mapped>,
    rank: u32,
    options: Options,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            // The rank is one of the segment's.
            let _ = memory.ended(Process(self.rank));
        }
    }
}

impl Seat {
    /// Takes it: from now on this thread is the process.
    ///
    /// # Errors
    /// [`Error::Transport`] if the place can not be taken.
    pub fn take(mut self) -> Result<World, Error> {
        let Some(memory) = self.memory.take() else {
            unreachable!("a seat is taken once");
        };
        let mut endpoint = Endpoint::join(memory, Process(self.rank), self.options.of_transport())?;
        endpoint.prepare()?;
        Ok(World::over(endpoint, &self.options))
    }
}

impl World {
    /// Places for `size` processes that are threads of this one, over memory like that which
    /// processes share.
    ///
    /// # Errors
    /// [`Error::Transport`] if there is no memory for it.
    pub fn seats(size: u32, options: &Options) -> Result<Vec<Seat>, Error> {
        let segment = Mapped::create(options.geometry(size)?)?;
        let seat = |rank| {
            let file = segment
                .file()
                .try_clone_to_owned()
                .map_err(|source| ShmError::System {
                    what: "sharing a segment with a thread".into(),
                    source,
                })?;
            Ok(Seat {
                memory: Some(Mapped::open(file, "the segment of a world of threads")?),
                rank,
                options: *options,
            })
        };
        (0..size).map(seat).collect()
    }

    /// Runs a program as `size` processes that are threads of this one, and gives what each
    /// returned, by rank. One that returns an error has died, as far as the others can see: a launcher
    /// would have ended them.
    ///
    /// # Errors
    /// That of the first of them, by rank, that did not fail since another had ended; otherwise the
    /// first; or that of [`seats`](Self::seats).
    ///
    /// # Panics
    /// If one of them does, with its panic; the others see it die.
    pub fn threads<R: Send>(
        size: u32,
        program: impl Fn(World) -> Result<R, Error> + Sync,
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
        program: impl Fn(World) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let seats = Self::seats(size, options)?;
        let program = &program;
        std::thread::scope(|scope| {
            let run = |seat: Seat| {
                let world = seat.take()?;
                // Kept until it is known how the program has ended.
                let core = Rc::clone(&world.communicator().inner.core);
                let end = program(world);
                if end.is_err() {
                    let mut core = core.borrow_mut();
                    core.state.has_failed = true;
                    core.transport.fail();
                }
                end
            };
            let threads: Vec<_> = seats
                .into_iter()
                .map(|seat| scope.spawn(move || run(seat)))
                .collect();
            let ends: Vec<_> = threads
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect();
            let ends: Vec<_> = ends
                .into_iter()
                .map(|end| end.unwrap_or_else(|panic| panic::resume_unwind(panic)))
                .collect();
            let is_cause = |end: &Result<R, Error>| !matches!(end, Ok(_) | Err(Error::Gone { .. }));
            let (causes, others): (Vec<_>, Vec<_>) = ends.into_iter().partition(is_cause);
            causes.into_iter().chain(others).collect()
        })
    }
}
