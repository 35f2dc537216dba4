//! Which process of which world this is, from the environment that a launcher sets.

use std::ffi::OsString;

use mq_shm::ShmError;
use mq_shm::layout::MAX_PROCESSES;

use super::launchers::{Here, Launcher, Variables, any_rank, known, unknown};
use crate::error::{Error, StartCause};

/// A process's place in a world, and where it meets the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) rank: u32,
    pub(super) size: u32,
    pub(super) meeting: Meeting,
    /// The program that started all of them, as the kernel names it; empty if it is not known.
    pub(super) launcher: &'static [&'static str],
}

/// Where the processes of a world find their segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meeting {
    /// There is nobody to meet.
    Nowhere,
    /// At a descriptor that all have inherited.
    Descriptor(u32),
    /// At a name that all know.
    Name(String, Said),
}

/// What a launcher says of processes that meet at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    /// The variable that says how many they are.
    pub(super) size_in: &'static str,
    /// Whether it says that all of them are on this machine.
    pub(super) all_here: bool,
}

/// The longest name at which processes meet, in bytes.
const NAME: usize = 80;

impl Start {
    pub(super) const ALONE: Self = Self {
        rank: 0,
        size: 1,
        meeting: Meeting::Nowhere,
        launcher: &[],
    };

    /// Looks for the variables of each launcher. The program that was called last wins: `mq run` under `mpirun` is
    /// `mq run`, and `mpirun` under `mq run` is `mpirun`, where it is seen to be the nearer of them.
    pub(super) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let there = |name: &str| variable(name).is_some();
        let launcher = known(&there);
        let is_of_mq = there("MQ_RANK") || there("MQ_SIZE") || there("MQ_SEGMENT");
        if is_of_mq && !launcher.is_some_and(|launcher| launcher.is_nearer_than_mq(&text)) {
            return Self::of_mq(&text);
        }
        match launcher {
            Some(launcher) => Self::of(launcher, &text),
            None => Ok(Self::ALONE),
        }
    }

    /// What to say in a process that [is alone](Self::find) only because its launcher is not known: of many
    /// started so, the first says it.
    pub(super) fn complaint(&self, variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
        let name = self.unknown_launcher(&variable)?;
        if variable(name)? != "0" {
            return None;
        }
        Some(format!(
            "running as a single process although {name} is set: unsupported launcher; `mq run -n N` starts the \
             processes of a world"
        ))
    }

    /// The rank variable of a launcher that is not one of the known ones.
    pub(super) fn unknown_launcher(
        &self,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<&'static str> {
        let there = |name: &str| variable(name).is_some();
        if self.size > 1 || there("MQ_RANK") {
            return None;
        }
        unknown(&there)
    }

    fn of_mq(text: &Variables<'_>) -> Result<Self, Error> {
        let (rank, size) = place("MQ_RANK", "MQ_SIZE", text)?;
        let segment = text("MQ_SEGMENT").ok_or_else(|| {
            refused(
                "MQ_SEGMENT is missing: start the program with `mq run`, which sets it with MQ_RANK and MQ_SIZE",
            )
        })?;
        let number = segment
            .strip_prefix("fd:")
            .and_then(|number| number.parse().ok());
        let number = number.ok_or_else(|| {
            refused(format!(
                "MQ_SEGMENT={segment} is not `fd:` followed by a descriptor number: start the program with `mq run`"
            ))
        })?;
        Ok(Self {
            rank,
            size,
            meeting: Meeting::Descriptor(number),
            launcher: &["mq"],
        })
    }

    fn of(launcher: &Launcher, text: &Variables<'_>) -> Result<Self, Error> {
        let (rank, size) = place(launcher.rank, launcher.size, text)?;
        if size == 1 {
            return Ok(Self::ALONE);
        }
        let mut all_here = false;
        for here in launcher.here {
            let (name, wanted) = match here {
                Here::Processes(name) => (name, size),
                Here::Machines(name) => (name, 1),
            };
            let Some(value) = text(name) else {
                continue;
            };
            if value.parse() != Ok(wanted) {
                let message = format!(
                    "the processes are on several machines ({name} is {value}, not {wanted}), which this version \
                     cannot connect: start all {size} on one"
                );
                return Err(Error::start(StartCause::SeveralMachines, message));
            }
            all_here = true;
        }
        let name = (launcher.name)(text).ok_or_else(|| {
            refused(format!(
                "{} is set, but no variable that tells this job from another: start the program with `mq run`",
                launcher.rank
            ))
        })?;
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(safe).collect();
        // The end of a long name is kept: it tells jobs of one machine apart.
        let name = &name[name.len().saturating_sub(NAME)..];
        let size_in = launcher.size;
        Ok(Self {
            rank,
            size,
            meeting: Meeting::Name(name.into(), Said { size_in, all_here }),
            launcher: launcher.programs,
        })
    }
}

fn place(rank_in: &str, size_in: &str, text: &Variables<'_>) -> Result<(u32, u32), Error> {
    let number = |name: &str, what: &str| {
        let value = text(name).ok_or_else(|| {
            refused(format!(
                "{name} is missing: a launcher such as `mq run` sets {rank_in} and {size_in}"
            ))
        })?;
        value
            .parse::<u32>()
            .map_err(|_| refused(format!("{name}={value} is not a {what}")))
    };
    let rank = number(rank_in, "rank (a number from 0)")?;
    let size = number(size_in, "number of processes")?;
    if size == 0 || size > MAX_PROCESSES {
        return Err(refused(format!(
            "{size_in}={size}: a world has 1 to {MAX_PROCESSES} processes"
        )));
    }
    if rank >= size {
        return Err(refused(format!(
            "{rank_in}={rank}, but {size_in}={size}: ranks are 0 to {}",
            size - 1
        )));
    }
    Ok((rank, size))
}

/// What to tell a process that has found its place in `MQ_RANK` and cannot have it: if another launcher has given it
/// a rank too, all that launcher's processes have inherited one place.
pub(super) fn told_of_both(error: Error, variable: impl Fn(&str) -> Option<OsString>) -> Error {
    let is_taken =
        matches!(&error, Error::Transport(why) if matches!(**why, ShmError::Taken { .. }));
    match any_rank(&|name: &str| variable(name).is_some()) {
        Some(rank) if is_taken => {
            let message = format!(
                "{error}; {rank} is set too: if MQ_RANK is that of an enclosing `mq run`, put `env -u MQ_RANK -u \
                 MQ_SIZE -u MQ_SEGMENT` before the other launcher's command"
            );
            Error::start(StartCause::PlaceTaken, message)
        }
        _ => error,
    }
}

fn refused(message: impl Into<String>) -> Error {
    Error::start(StartCause::Variables, message)
}

#[cfg(test)]
mod tests;
