//! The world: all processes that were started together.

mod ancestors;
mod launch;
mod launchers;
mod meeting;
mod threads;

use core::cell::RefCell;
use core::ops::Deref;
use std::rc::Rc;

use mq_shm::{Endpoint, Mapped, Process, ShmError};

use crate::communicator::Communicator;
use crate::error::{Error, StartCause};
use crate::options::{Ignored, Options};
use crate::protocol::{Core, Number};
use crate::say::say;
use crate::transport::Transport;
use launch::{Meeting, Start};

pub use threads::Seat;

/// This process's place among those that were started together. `MPI_COMM_WORLD`, MPI 4.1 §7.2.4.
///
/// It is a [`Communicator`] of all of them. When the world and everything made from it are dropped, pending
/// sends are completed, and the process leaves; if the others keep it waiting for that, it says so on
/// stderr after five seconds. A process that forgets any of them ([`core::mem::forget`], a reference-counted
/// cycle) does not leave: when it ends, the others see it as dead. A thread of a world of threads never ends,
/// so the others wait for it; they also wait for a process that runs another program in its place (`exec`),
/// because the process goes on. A child that has a copy of the world (`fork`) may only drop the copy, or end:
/// it is not a process of the world.
#[derive(Debug)]
#[must_use = "the world is left when this is dropped"]
pub struct World<T: Transport = Endpoint> {
    all: Communicator<T>,
}

impl<T: Transport> World<T> {
    /// A world of the processes of a transport. If an endpoint was not [prepared](mq_shm::Endpoint::prepare),
    /// its first message may be refused for want of memory, in the middle of an operation on which others
    /// rely.
    ///
    /// # Safety
    /// Every other endpoint of this transport in this program, on any thread, must be owned by a `World`. One that
    /// other code drives could misreport rings and memory, and a world that believed it could write a buffer that
    /// another is writing.
    #[allow(unsafe_code, reason = "the other ends are the caller's")]
    pub unsafe fn over(transport: T, options: &Options) -> Self {
        Self::of(transport, options)
    }

    /// [`over`](Self::over), where it is known who the others are.
    fn of(transport: T, options: &Options) -> Self {
        let (me, processes) = (transport.me(), transport.processes());
        let core = Rc::new(RefCell::new(Core::new(transport, options)));
        let group = (0..processes).map(Process).collect();
        Self {
            all: Communicator::new(core, Number::WORLD, me.0, group),
        }
    }

    /// Marks this process as failed: dropping the world reports it as dead instead of leaving cleanly, as
    /// after a panic, and processes that wait for its messages are told. Large messages that it has announced
    /// are withdrawn first, for which their receivers have to make progress, or end.
    ///
    /// A launcher goes by the exit status: end the process with another than 0, too.
    pub fn fail(&self) {
        let mut core = self.all.inner.core();
        core.state.departure.has_failed = true;
        core.transport.fail();
    }

    /// Leaves the world: sees through what others wait for, as dropping the world does, and reports what went
    /// wrong. `MPI_Finalize`, MPI 4.1 §11.2.2.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let world = World::alone()?;
    /// let copy = world.dup()?;
    /// drop(copy);
    /// world.finalize()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`] if communicators, requests, sets, matched messages or shared buffers of the world
    /// still exist: the process leaves when the last of them is dropped. [`Error::Transport`] if what others
    /// wait for cannot be seen through; they are then told that this process has died, since what it sent
    /// last may be lost.
    pub fn finalize(self) -> Result<(), Error> {
        let core = self.all.inner.core.clone();
        core.borrow_mut().state.departure.is_finalizing = true;
        drop(self);
        let core = Rc::try_unwrap(core).map_err(|core| {
            core.borrow_mut().state.departure.is_finalizing = false;
            Error::InUse
        })?;
        core.into_inner().end()
    }

    /// Runs a program in this world, and leaves it, or fails if the program does.
    fn run_program<R, E: From<Error>>(
        self,
        program: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        // A part of the world that the program has kept may be dropped when the panic is over.
        let unless_it_returns = Failing(&self);
        let result = program(&self);
        core::mem::forget(unless_it_returns);
        if result.is_err() {
            self.fail();
            return result;
        }
        match self.finalize() {
            // The program has kept a part of the world, which is left later.
            Ok(()) | Err(Error::InUse) => result,
            Err(error) => Err(error.into()),
        }
    }

    /// The communicator of all processes.
    #[inline]
    #[must_use]
    pub fn communicator(&self) -> &Communicator<T> {
        &self.all
    }
}

/// Marks a world as [failed](World::fail) when dropped.
struct Failing<'a, T: Transport>(&'a World<T>);

impl<T: Transport> Drop for Failing<'_, T> {
    fn drop(&mut self) {
        self.0.fail();
    }
}

impl<T: Transport> Deref for World<T> {
    type Target = Communicator<T>;

    #[inline]
    fn deref(&self) -> &Communicator<T> {
        &self.all
    }
}

impl World {
    /// Enters the world that this process was started in, with the [`Options`] of the environment.
    /// `MPI_Init`, MPI 4.1 §11.2.1.
    ///
    /// | started by | finds its rank in | and the others by |
    /// | --- | --- | --- |
    /// | `mq run` | `MQ_RANK`, `MQ_SIZE` | the descriptor that `MQ_SEGMENT=fd:N` names |
    /// | Open MPI's `mpirun` | `OMPI_COMM_WORLD_RANK`, `_SIZE` | a name made of `PMIX_NAMESPACE` or `OMPI_MCA_ess_base_jobid` |
    /// | MPICH's `mpirun` | `PMI_RANK`, `PMI_SIZE` | a name made of the process that started them |
    /// | `srun` | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS` | a name made of `SLURM_JOB_ID` and `SLURM_STEP_ID` |
    /// | `flux run` | `FLUX_TASK_RANK`, `FLUX_JOB_SIZE` | a name made of `FLUX_URI` and `FLUX_JOB_ID` |
    /// | itself, or by anything else | it is alone, and says so if variables of `PMIx`, PALS or JSM are set | |
    ///
    /// Whether all of them are on this machine is told by `OMPI_COMM_WORLD_LOCAL_SIZE`, `MPI_LOCALNRANKS`,
    /// `SLURM_STEP_NUM_NODES` and `FLUX_JOB_NNODES`.
    ///
    /// `srun`, `flux run` and others set `PMI_RANK` and `PMI_SIZE` too: they are MPICH's where its `hydra_pmi_proxy` is
    /// above this process, or no other launcher's rank is set. Of several launchers, whose variables are all inherited,
    /// the one counts whose program is nearest above this process; where none can be seen, as from a container, Open
    /// MPI's come first, then those of `flux run`, `srun` and MPICH. The variables of `mq run` come before all others,
    /// unless another launcher's program is nearer than `mq run`. A program that is to run alone where a
    /// launcher's variables are inherited, as in an interactive shell of a job, is started with `mq run -n 1`.
    ///
    /// Processes that only have a name meet at a Unix socket in the abstract namespace, where the first to
    /// come hands its segment to the others: nothing is in a file system at any time. The socket is gone
    /// before this returns.
    ///
    /// With [`single_copy`](Options::single_copy) and a Yama `ptrace_scope` of 1, and if it is not the only
    /// process, this process lets its launcher (its parent, if no launcher of a known name is above it) and
    /// whatever they have started read and write its memory (`PR_SET_PTRACER`), for as long as it lives.
    ///
    /// A program that returns an error after this, by `?`, drops the world and so leaves properly, after
    /// waiting for others: [`run`](Self::run) is for programs that end this way.
    ///
    /// # Errors
    /// [`Error::Start`] if the variables contradict each other, the processes are on several machines, or a
    /// process that is to meet the others at a name does not come in [time](Options::start_within);
    /// [`Error::Gone`] if a process ends before the last one has come; [`Error::Transport`] if the shared
    /// memory is not that of such a world, there is no memory for it, or, under `mq run`, a process has
    /// already entered the world in this place (`Error::Start` if another launcher has given this process a rank
    /// too).
    pub fn init() -> Result<Self, Error> {
        let (options, ignored) = Options::from_environment();
        Self::start(&options, &ignored).map_err(|error| match error {
            Error::Transport(error) if matches!(*error, ShmError::Buffers { .. }) => {
                let message = format!("MQ_SHARED_BUFFERS: {error}");
                Error::start(StartCause::Variables, message)
            }
            error => error,
        })
    }

    /// Enters the world as [`init`](Self::init) does, and runs a program in it. If the program returns an
    /// error, this process [fails](Self::fail): a process that drops its world after an error has left
    /// properly, and others may wait for its messages where no launcher ends them. Otherwise the world is
    /// left when the program returns, or when the last part of the world that it returned or kept is
    /// dropped; if that never happens, the others see this process die.
    ///
    /// `mq run` ends all processes when one fails; start a program that is to survive deaths with
    /// `--keep-going`. Other launchers may or may not have such an option.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// fn main() -> Result<(), Error> {
    ///     World::run(|world| {
    ///         let mut word = [0_u32];
    ///         world.sendrecv(&[5_u32], world.rank(), 0, &mut word, world.rank(), 0)?;
    ///         assert_eq!(word, [5]);
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// The program's; otherwise as [`init`](Self::init), and [`Error::Transport`] as
    /// [`finalize`](Self::finalize): the program's result is then lost.
    pub fn run<R, E: From<Error>>(program: impl FnOnce(&Self) -> Result<R, E>) -> Result<R, E> {
        Self::init()?.run_program(program)
    }

    /// [`run`](Self::run) with the program's own options instead of the environment's.
    ///
    /// ```
    /// use mq_comm::{Error, Options, World};
    ///
    /// // The environment's, but for one.
    /// let (options, ignored) = Options::from_environment();
    /// ignored.iter().for_each(|ignored| eprintln!("{ignored}"));
    /// World::run_with(&options.with(|o| o.bypass = false), |world| world.barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As `run` and [`with_options`](Self::with_options).
    pub fn run_with<R, E: From<Error>>(
        options: &Options,
        program: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        Self::with_options(options)?.run_program(program)
    }

    /// How many processes there are in the world that [`init`](Self::init) would enter: 1 if this one was
    /// started by itself. For a program that then starts the others.
    ///
    /// # Errors
    /// [`Error::Start`], as `init`.
    pub fn launched_size() -> Result<u32, Error> {
        Ok(Start::find(|name| std::env::var_os(name))?.size)
    }

    /// The variable in which an unsupported launcher has set this process's rank, if there is one: each
    /// process that it starts is alone in a world of its own. For a program that starts processes of its own.
    #[must_use]
    pub fn unknown_launcher() -> Option<&'static str> {
        let start = Start::find(|name| std::env::var_os(name)).ok()?;
        start.unknown_launcher(|name| std::env::var_os(name))
    }

    /// [`init`](Self::init) with the program's own options; the environment's are ignored. Rank 0 still
    /// prints the warnings about the launcher and `/proc`.
    ///
    /// # Errors
    /// As `init`, and [`Error::Transport`] if all shared buffers together would have more than 16 TiB.
    pub fn with_options(options: &Options) -> Result<Self, Error> {
        Self::start(options, &[])
    }

    /// Enters the world that this process was started in; rank 0 prints what its user should know.
    fn start(options: &Options, ignored: &[Ignored]) -> Result<Self, Error> {
        let start = Start::find(|name| std::env::var_os(name))?;
        if start.rank == 0 {
            let alone = start.complaint(|name| std::env::var_os(name));
            let unwatched = start.size > 1 && !mq_shm::liveness::notices_deaths();
            let unwatched = unwatched.then(|| {
                "no usable /proc: the death of a process cannot be detected, and the others would wait for its \
                 messages forever"
                    .into()
            });
            let ignored = ignored.iter().map(Ignored::to_string);
            for complaint in ignored.chain(alone).chain(unwatched) {
                say(&format!("rank 0: {complaint}"));
            }
        }
        Self::enter(&start, options)
    }

    /// A world of this process only.
    ///
    /// # Errors
    /// [`Error::Transport`] if there is no memory for it.
    pub fn alone() -> Result<Self, Error> {
        Self::enter(&Start::ALONE, &Options::default())
    }

    fn enter(start: &Start, options: &Options) -> Result<Self, Error> {
        if options.single_copy
            && start.size > 1
            && let Some(launcher) = ancestors::number_of_starter(start.launcher)
        {
            mq_shm::permit_single_copy(launcher);
        }
        let geometry = options.geometry(start.size)?.for_worlds();
        let join = |memory| Self::join(memory, start.rank, options);
        match &start.meeting {
            Meeting::Nowhere => join(Mapped::create(geometry)?),
            Meeting::Descriptor(number) => {
                let what = format!("MQ_SEGMENT=fd:{number}");
                let memory = inherited(*number, &what)?;
                let processes = mq_shm::segment::Memory::geometry(&memory).processes();
                if processes != start.size {
                    let message = format!(
                        "{what} is for {processes} processes, but MQ_SIZE is {}: start all processes of a world \
                         together",
                        start.size
                    );
                    return Err(Error::start(StartCause::Segment, message));
                }
                join(memory)
                    .map_err(|error| launch::told_of_both(error, |name| std::env::var_os(name)))
            }
            Meeting::Name(name, said) => {
                let (memory, host) = Mapped::meet(name, geometry, options.start_within)?;
                let world = join(memory)?;
                meeting::meet(&world, host, *said, options.start_within)?;
                Ok(world)
            }
        }
    }
}

impl World {
    /// A world of this process in a segment in which all others are worlds too.
    #[allow(unsafe_code, reason = "worlds trust each other")]
    fn join(memory: Mapped, rank: u32, options: &Options) -> Result<Self, Error> {
        let of_transport = options.of_transport();
        // SAFETY: it sends nothing before it is in a world, at the end of this function.
        let endpoint = unsafe { Endpoint::join_worlds(memory, Process(rank), of_transport) };
        let mut endpoint = endpoint?;
        // Now rather than in the middle of an operation on which others rely.
        if let Err(error) = endpoint.prepare() {
            // It does not leave: the others count on it.
            endpoint.fail();
            return Err(error.into());
        }
        Ok(Self::of(endpoint, options))
    }
}

/// The segment behind a descriptor that this process has inherited.
fn inherited(number: u32, what: &str) -> Result<Mapped, Error> {
    Mapped::inherited(number, what).map_err(|error| match error {
        ShmError::System { reason, .. } => {
            let message = format!(
                "{what} is not a segment that this process has inherited ({reason}): start it with `mq run`; if it was, \
                 something in between has closed the descriptor, as Python's subprocess does without \
                 `close_fds=False`"
            );
            Error::start(StartCause::Segment, message)
        }
        other => other.into(),
    })
}
