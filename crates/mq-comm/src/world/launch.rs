//! Which process of which world this is, from the environment that a launcher sets.

use std::ffi::OsString;
use std::fs;

use mq_shm::layout::MAX_PROCESSES;

use crate::error::Error;

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
    Name(String),
}

/// The environment, by name.
type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A launcher's environment.
struct Launcher {
    rank: &'static str,
    size: &'static str,
    /// How many of the processes are on this machine, or how many machines there are.
    here: &'static [Here],
    /// The possible names of its program on this machine.
    programs: &'static [&'static str],
    name: fn(&Variables<'_>) -> Option<String>,
}

impl Launcher {
    /// Whether it has started this process along with others. (A SLURM batch script has a rank, but is not a
    /// step.)
    fn has_set(&self, there: &dyn Fn(&str) -> bool) -> bool {
        there(self.rank) && there(self.size)
    }
}

enum Here {
    /// A variable that must be the number of processes.
    Processes(&'static str),
    /// A variable that must be 1.
    Machines(&'static str),
}

const OPEN_MPI: Launcher = Launcher {
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    here: &[Here::Processes("OMPI_COMM_WORLD_LOCAL_SIZE")],
    programs: &["prted", "prterun", "orted", "mpirun", "mpiexec", "orterun"],
    name: |variable| {
        let job = variable("PMIX_NAMESPACE").or_else(|| variable("OMPI_MCA_ess_base_jobid"))?;
        Some(format!("openmpi-{job}"))
    },
};
const MPICH: Launcher = Launcher {
    rank: "PMI_RANK",
    size: "PMI_SIZE",
    here: &[Here::Processes("MPI_LOCALNRANKS")],
    programs: &["hydra_pmi_proxy"],
    name: |_| starter(MPICH.programs).map(|starter| format!("mpich-{}", starter.name())),
};
const SLURM: Launcher = Launcher {
    rank: "SLURM_PROCID",
    size: "SLURM_STEP_NUM_TASKS",
    here: &[Here::Machines("SLURM_STEP_NUM_NODES")],
    programs: &["slurmstepd"],
    name: |variable| {
        let (job, step) = (variable("SLURM_JOB_ID")?, variable("SLURM_STEP_ID")?);
        Some(format!("slurm-{job}-{step}"))
    },
};

/// The rank variables of other launchers: `PMIx`, Flux, PALS and JSM.
const OTHER_RANKS: [&str; 4] = [
    "PMIX_RANK",
    "FLUX_TASK_RANK",
    "PALS_RANKID",
    "JSM_NAMESPACE_RANK",
];

/// The longest name at which processes meet, in bytes.
const NAME: usize = 80;

impl Start {
    pub(super) const ALONE: Self = Self {
        rank: 0,
        size: 1,
        meeting: Meeting::Nowhere,
        launcher: &[],
    };

    /// Looks for the variables of each launcher in turn. The program that was called last wins: `mq run`
    /// under `mpirun` is `mq run`.
    pub(super) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        if text("MQ_RANK").is_some() || text("MQ_SIZE").is_some() || text("MQ_SEGMENT").is_some() {
            return Self::of_mq(&text);
        }
        let there = |name: &str| text(name).is_some();
        let is_of = |launcher: &Launcher| launcher.has_set(&there);
        // SLURM's own PMI also sets MPICH's variables.
        let is_slurm = is_of(&SLURM) && above(MPICH.programs).is_none();
        let launchers = match is_slurm {
            true => [OPEN_MPI, SLURM, MPICH],
            false => [OPEN_MPI, MPICH, SLURM],
        };
        match launchers.iter().find(|launcher| is_of(launcher)) {
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
        let mut known = [&OPEN_MPI, &MPICH, &SLURM].into_iter();
        let is_known = there("MQ_RANK") || known.any(|launcher| launcher.has_set(&there));
        if self.size > 1 || is_known {
            return None;
        }
        OTHER_RANKS.into_iter().find(|name| there(name))
    }

    fn of_mq(text: &Variables<'_>) -> Result<Self, Error> {
        let (rank, size) = place("MQ_RANK", "MQ_SIZE", text)?;
        let segment = text("MQ_SEGMENT").ok_or_else(|| {
            Error::Start(
                "MQ_SEGMENT is missing: start the program with `mq run`, which sets it with MQ_RANK and MQ_SIZE"
                    .into(),
            )
        })?;
        let number = segment
            .strip_prefix("fd:")
            .and_then(|number| number.parse().ok());
        let number = number.ok_or_else(|| {
            Error::Start(format!(
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
        for here in launcher.here {
            let (name, wanted) = match here {
                Here::Processes(name) => (name, size),
                Here::Machines(name) => (name, 1),
            };
            if let Some(value) = text(name)
                && value.parse() != Ok(wanted)
            {
                return Err(Error::Start(format!(
                    "the processes are on several machines ({name} is {value}, not {wanted}), which this version \
                     cannot connect: start all {size} on one"
                )));
            }
        }
        let name = (launcher.name)(text).ok_or_else(|| {
            Error::Start(format!(
                "{} is set, but no variable that tells this job from another: start the program with `mq run`",
                launcher.rank
            ))
        })?;
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(safe).collect();
        // The end of a long name is kept: it tells jobs of one machine apart.
        let name = &name[name.len().saturating_sub(NAME)..];
        Ok(Self {
            rank,
            size,
            meeting: Meeting::Name(name.into()),
            launcher: launcher.programs,
        })
    }
}

fn place(rank_in: &str, size_in: &str, text: &Variables<'_>) -> Result<(u32, u32), Error> {
    let number = |name: &str, what: &str| {
        let value = text(name).ok_or_else(|| {
            Error::Start(format!(
                "{name} is missing: a launcher such as `mq run` sets {rank_in} and {size_in}"
            ))
        })?;
        value
            .parse::<u32>()
            .map_err(|_| Error::Start(format!("{name}={value} is not a {what}")))
    };
    let rank = number(rank_in, "rank (a number from 0)")?;
    let size = number(size_in, "number of processes")?;
    if size == 0 || size > MAX_PROCESSES {
        return Err(Error::Start(format!(
            "{size_in}={size}: a world has 1 to {MAX_PROCESSES} processes"
        )));
    }
    if rank >= size {
        return Err(Error::Start(format!(
            "{rank_in}={rank}, but {size_in}={size}: ranks are 0 to {}",
            size - 1
        )));
    }
    Ok((rank, size))
}

/// The nearest ancestor process that runs one of these programs, or else the parent.
pub(super) fn starter(programs: &[&str]) -> Option<Above> {
    above(programs).or_else(parent)
}

fn parent() -> Option<Above> {
    process(&process("self")?.parent.to_string())
}

/// The nearest ancestor process that runs one of these programs.
fn above(programs: &[&str]) -> Option<Above> {
    let mut above = parent()?;
    // The chain of parents ends at 1 or 0.
    while above.number > 1 {
        // The kernel keeps 15 bytes of a program's name.
        let is_it = |program: &&str| above.program == program[..program.len().min(15)];
        if programs.iter().any(is_it) {
            return Some(above);
        }
        above = process(&above.parent.to_string())?;
    }
    None
}

/// An ancestor of this process.
#[derive(Debug, Clone)]
pub(super) struct Above {
    pub(super) number: u32,
    parent: u32,
    started: u64,
    program: String,
}

impl Above {
    /// Number and start time, which no other process on this machine shares.
    fn name(&self) -> String {
        format!("{}-{}", self.number, self.started)
    }
}

fn process(number: &str) -> Option<Above> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let (first, rest) = stat.rsplit_once(')')?;
    let (number, program) = first.split_once(" (")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Above {
        number: number.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        program: program.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(variables: &[(&str, &str)]) -> Result<Start, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Start::find(variable).map_err(|error| error.to_string())
    }

    fn start(
        launcher: &'static [&'static str],
        rank: u32,
        size: u32,
        meeting: Meeting,
    ) -> Result<Start, String> {
        Ok(Start {
            rank,
            size,
            meeting,
            launcher,
        })
    }

    #[test]
    fn who_is_alone_by_a_launcher_that_is_not_known_is_told_so_once() {
        let complaint = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            Start::find(variable).unwrap().complaint(variable)
        };
        let said = complaint(&[("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "4")]).unwrap();
        assert!(
            said.starts_with("running as a single process although FLUX_TASK_RANK is set: "),
            "{said}"
        );
        let in_a_batch_script = [("SLURM_PROCID", "0"), ("PMIX_RANK", "0")];
        assert!(complaint(&in_a_batch_script).is_some());
        assert_eq!(complaint(&[("FLUX_TASK_RANK", "3")]), None);
        assert_eq!(complaint(&[]), None);
        let one = [
            ("PMIX_RANK", "0"),
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("OMPI_COMM_WORLD_SIZE", "1"),
        ];
        assert_eq!(complaint(&one), None);
    }

    #[test]
    fn slurm_is_known_by_its_step_though_it_sets_what_mpich_does() {
        let pmi2 = [
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "4"),
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_STEP_NUM_NODES", "1"),
            ("SLURM_JOB_ID", "88"),
            ("SLURM_STEP_ID", "0"),
        ];
        let meeting = Meeting::Name("slurm-88-0".into());
        assert_eq!(find(&pmi2), start(SLURM.programs, 1, 4, meeting));
    }

    #[test]
    fn each_launcher_is_known_by_its_variables() {
        assert_eq!(find(&[]), Ok(Start::ALONE));
        let mq = [
            ("MQ_RANK", "1"),
            ("MQ_SIZE", "4"),
            ("MQ_SEGMENT", "fd:9"),
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "1"),
        ];
        assert_eq!(find(&mq), start(&["mq"], 1, 4, Meeting::Descriptor(9)));
        let openmpi = [
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
            ("PMIX_NAMESPACE", "prterun-a.b-77@1"),
        ];
        let name = Meeting::Name("openmpi-prterun-a-b-77-1".into());
        assert_eq!(find(&openmpi), start(OPEN_MPI.programs, 3, 4, name));
        let slurm = [
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("SLURM_STEP_NUM_NODES", "1"),
            ("SLURM_JOB_ID", "12"),
            ("SLURM_STEP_ID", "3"),
        ];
        let name = Meeting::Name("slurm-12-3".into());
        assert_eq!(find(&slurm), start(SLURM.programs, 0, 2, name));
        let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")];
        assert_eq!(find(&batch), Ok(Start::ALONE));
    }

    #[test]
    fn processes_of_one_parent_meet_at_one_name() {
        let mpich = [("PMI_RANK", "1"), ("PMI_SIZE", "2")];
        let first = find(&mpich).unwrap();
        assert!(matches!(&first.meeting, Meeting::Name(name) if name.starts_with("mpich-")));
        assert_eq!(find(&mpich), Ok(first));
    }

    #[test]
    fn a_launcher_is_looked_for_among_all_processes_above() {
        let parent = process("self").unwrap().parent;
        assert_eq!(starter(&["no such program"]).unwrap().number, parent);
        let parent = process(&parent.to_string()).unwrap();
        assert_eq!(starter(&[&parent.program]).unwrap().number, parent.number);
        if parent.parent > 1 {
            let above = process(&parent.parent.to_string()).unwrap();
            let found = starter(&[&above.program]).unwrap();
            assert_eq!(found.program, above.program);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for (variables, part) in [
            (
                &[("MQ_RANK", "4"), ("MQ_SIZE", "4")][..],
                "ranks are 0 to 3",
            ),
            (
                &[("MQ_RANK", "x"), ("MQ_SIZE", "4")],
                "MQ_RANK=x is not a rank (a number from 0)",
            ),
            (&[("MQ_RANK", "0")], "MQ_SIZE is missing"),
            (
                &[("MQ_RANK", "0"), ("MQ_SIZE", "")],
                "MQ_SIZE= is not a number of processes",
            ),
            (&[("MQ_RANK", "0"), ("MQ_SIZE", "0")], "1 to 4096"),
            (
                &[("MQ_RANK", "0"), ("MQ_SIZE", "1")],
                "MQ_SEGMENT is missing: start the program with `mq run`",
            ),
            (
                &[("MQ_RANK", "0"), ("MQ_SIZE", "1"), ("MQ_SEGMENT", "9")],
                "MQ_SEGMENT=9 is not `fd:`",
            ),
            (
                &[
                    ("PMI_RANK", "0"),
                    ("PMI_SIZE", "4"),
                    ("MPI_LOCALNRANKS", "2"),
                ],
                "several machines",
            ),
            (
                &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "4")],
                "mq run",
            ),
        ] {
            let error = find(variables).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
