//! Random programs, and what MPI promises about them.
//!
//! **What is generated** (`plan.rs`, `options.rs`). From a seed: two to five ranks with random options and structures;
//! communicators that are duplicated, split, and dropped with messages on them, so that their numbers are used again;
//! messages of all lengths, alone and in bursts, to others and to the rank itself; handovers, in which a blocking send
//! meets its receive; barriers and broadcasts. Each rank does its part in the same order, and in between posts receives
//! with and without wildcards, receives, probes, tests, waits and cancels (`acts.rs`), and drops requests and sets that
//! are under way (`drops.rs`), as its own chance says. Some of its part it does in scopes, which end well, with an
//! error, or by a panic (`scope.rs`). It waits only for messages that are certain to be left for it (`incoming.rs`): no
//! program has a deadlock.
//!
//! **What is checked.** At once: the bytes and the status of each message, what is behind it in the buffer, that a
//! cancelled receive has taken nothing, the buffers of sends, who is in a communicator, that a scope says what failed
//! in it, and that it leaves its memory alone afterwards. In the end (`rules.rs`): every message is received once; none
//! overtakes another, and no receive an earlier one; a probe shows what is next, and the receive that does the same
//! next takes it; what is known to have come is shown. Only a message that need not be received may be withdrawn, or
//! lost with a receive that was dropped while it waited: such a receive takes none that is sent later. And as many
//! messages and bytes are sent as received or left, as the profiles say (`sums.rs`).
//!
//! Most programs are run by threads, some by processes (`processes.rs`).
//!
//! `MQ_PROGRAMS=COUNT` runs COUNT programs from a seed that is printed, `MQ_PROGRAMS=COUNT@SEED` from that seed. A
//! seed fixes a program, but not how its ranks take turns: what fails once may have to be run some times.

mod acts;
mod draw;
mod drops;
mod incoming;
mod lending;
mod lent;
mod options;
mod pattern;
mod plan;
mod posted;
mod probes;
mod processes;
mod rank;
mod receives;
mod record;
mod requests;
mod rules;
mod scope;
mod sums;

#[path = "../common/mod.rs"]
mod common;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

use mq_comm::{Error, Options, World};

use draw::Draw;
use plan::Plan;
use rank::Rank;

/// Programs where nobody asks for more.
const PROGRAMS: u64 = 200;

/// After this many seconds, a program hangs.
const HANGS: u64 = 20;

#[test]
fn random_programs_get_what_mpi_promises() {
    let (count, from) = asked_for();
    let (begins, begun) = channel();
    std::thread::spawn(move || {
        let longest = Duration::from_secs(HANGS * common::slower());
        let mut seed = from;
        loop {
            match begun.recv_timeout(longest) {
                Ok(next) => seed = next,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    tell(&format!("the program hangs: {}", again(seed)));
                    std::process::abort();
                }
            }
        }
    });
    for seed in (0..count).map(|at| from.wrapping_add(at)) {
        begins.send(seed).expect("it listens");
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            tell(&format!("the program failed: {}", again(seed)));
            resume_unwind(panic);
        }
    }
}

#[test]
fn a_child_does_its_task() {
    processes::be_child();
}

/// How many programs, and the first seed.
fn asked_for() -> (u64, u64) {
    let Ok(asked) = std::env::var("MQ_PROGRAMS") else {
        return (PROGRAMS, 0);
    };
    let number = |text: &str| {
        let number = text.parse();
        number.unwrap_or_else(|_| panic!("MQ_PROGRAMS is COUNT or COUNT@SEED, not {asked:?}"))
    };
    if let Some((count, from)) = asked.split_once('@') {
        return (number(count), number(from));
    }
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("it is later");
    let from = since.as_micros() as u64;
    tell(&format!("MQ_PROGRAMS={asked}@{from}"));
    (number(&asked), from)
}

fn again(seed: u64) -> String {
    format!("MQ_PROGRAMS=1@{seed} cargo test -p mq-comm --test programs runs it again")
}

/// Not by a macro, whose words a test that ends the process keeps to itself.
fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// One program in this many is run by processes.
const BY_PROCESSES: u64 = 20;

fn run(seed: u64) {
    if seed.is_multiple_of(BY_PROCESSES) {
        return processes::run(seed);
    }
    let program = Program::new(seed);
    let options = &program.options;
    let ended = World::threads_with(program.plan.ranks, options, |world| program.part(world));
    ended.unwrap_or_else(|error| panic!("{error} ({options:?})"));
}

/// What a seed says.
struct Program {
    seed: u64,
    options: Options,
    plan: Plan,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, 0);
        let options = options::options(&mut draw);
        let ranks = 2 + draw.below(4) as u32;
        Self {
            seed,
            options,
            plan: plan::plan(&mut draw, ranks),
        }
    }

    /// Those of a rank, where ranks may differ, but for what all go by.
    fn options_of(&self, rank: u32) -> Options {
        let mut draw = Draw::new(self.seed, 1000 + rank);
        options::options(&mut draw).with(|o| {
            o.eager_limit = self.options.eager_limit;
            o.unexpected_limit = self.options.unexpected_limit;
            o.shared_buffers = self.options.shared_buffers;
        })
    }

    /// One rank's part.
    fn part(&self, world: &World) -> Result<(), Error> {
        // Where little may be unexpected, every message may have to wait for its receive.
        let options = &self.options;
        let eager = (options.unexpected_limit > 1 << 20).then_some(options.eager_limit);
        let sums = Rank::new(&self.plan, world, self.seed, eager).run();
        world.barrier()?;
        sums::check(world, &sums)?;
        world.barrier()?;
        assert_eq!(world.unexpected_bytes(), 0);
        Ok(())
    }
}
