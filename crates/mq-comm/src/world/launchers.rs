//! The launchers that are known, and the variables by which the processes that they start find each other.

use super::ancestors::{above, is_nearer, nearest_of, starter};

/// The environment, by name.
pub(super) type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A launcher's environment.
pub(super) struct Launcher {
    pub(super) rank: &'static str,
    pub(super) size: &'static str,
    /// How many of the processes are on this machine, or how many machines there are.
    pub(super) here: &'static [Here],
    /// The possible names of its program on this machine.
    pub(super) programs: &'static [&'static str],
    /// A name that no other job on this machine has.
    pub(super) name: fn(&Variables<'_>) -> Option<String>,
}

pub(super) enum Here {
    /// A variable that must be the number of processes.
    Processes(&'static str),
    /// A variable that must be 1.
    Machines(&'static str),
}

pub(super) static OPEN_MPI: Launcher = Launcher {
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    here: &[Here::Processes("OMPI_COMM_WORLD_LOCAL_SIZE")],
    programs: &["prted", "prterun", "orted", "mpirun", "mpiexec", "orterun"],
    name: |variable| {
        let job = variable("PMIX_NAMESPACE").or_else(|| variable("OMPI_MCA_ess_base_jobid"))?;
        Some(format!("openmpi-{job}"))
    },
};
pub(super) static MPICH: Launcher = Launcher {
    rank: "PMI_RANK",
    size: "PMI_SIZE",
    here: &[Here::Processes("MPI_LOCALNRANKS")],
    programs: &[HYDRA],
    name: |_| starter(&[HYDRA]).map(|starter| format!("mpich-{}", starter.name())),
};
pub(super) static FLUX: Launcher = Launcher {
    rank: "FLUX_TASK_RANK",
    size: "FLUX_JOB_SIZE",
    here: &[Here::Machines("FLUX_JOB_NNODES")],
    programs: &["flux-shell"],
    name: |variable| {
        // Each instance counts its jobs from the time it began, and a job may hold one.
        let instance = variable("FLUX_URI").unwrap_or_default();
        Some(format!("flux-{instance}-{}", variable("FLUX_JOB_ID")?))
    },
};
pub(super) static SLURM: Launcher = Launcher {
    rank: "SLURM_PROCID",
    size: "SLURM_STEP_NUM_TASKS",
    here: &[Here::Machines("SLURM_STEP_NUM_NODES")],
    programs: &["slurmstepd"],
    name: |variable| {
        let (job, step) = (variable("SLURM_JOB_ID")?, variable("SLURM_STEP_ID")?);
        Some(format!("slurm-{job}-{step}"))
    },
};

/// MPICH's program on each machine.
const HYDRA: &str = "hydra_pmi_proxy";

/// The rank variables of other launchers: `PMIx`, PALS and JSM.
const OTHER_RANKS: [&str; 3] = ["PMIX_RANK", "PALS_RANKID", "JSM_NAMESPACE_RANK"];

impl Launcher {
    /// Whether it has started this process along with others. (A SLURM batch script has a rank, but is not a
    /// step.)
    fn has_set(&self, there: &dyn Fn(&str) -> bool) -> bool {
        there(self.rank) && there(self.size)
    }

    /// Whether it is certain that it was called below the `mq run` whose variables this process has inherited.
    pub(super) fn is_nearer_than_mq(&self, variable: &Variables<'_>) -> bool {
        // A run's mark begins with the number of its launcher's process.
        let mark = variable("MQ_RUN");
        let mq = mark.and_then(|mark| mark.split('-').next()?.parse::<u32>().ok());
        mq.is_some_and(|mq| is_nearer(self.programs, mq))
    }
}

/// The known launcher, other than `mq run`, that has started this process along with others.
pub(super) fn known(there: &dyn Fn(&str) -> bool) -> Option<&'static Launcher> {
    let is_of = |launcher: &Launcher| launcher.has_set(there);
    // One may have been called below another, whose variables are still there.
    let all = [&OPEN_MPI, &MPICH, &FLUX, &SLURM];
    let set: Vec<&Launcher> = all.into_iter().filter(|launcher| is_of(launcher)).collect();
    if set.len() > 1
        && let Some(nearest) = nearest_of(&set.iter().map(|of| of.programs).collect::<Vec<_>>())
    {
        return Some(set[nearest]);
    }
    if is_of(&OPEN_MPI) {
        return Some(&OPEN_MPI);
    }
    // Flux, SLURM's own PMI and PALS set MPICH's variables too.
    if is_of(&MPICH) && above(MPICH.programs).is_some() {
        return Some(&MPICH);
    }
    match [&FLUX, &SLURM].into_iter().find(|launcher| is_of(launcher)) {
        // MPICH's job has the name of its parent: under another launcher, each rank may have a shell of its own as
        // parent, and the ranks would never meet.
        None if is_of(&MPICH) && other_rank(there).is_none() => Some(&MPICH),
        found => found,
    }
}

/// The rank variable of a launcher that is not known, if no known one has started this process.
pub(super) fn unknown(there: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    match known(there) {
        Some(_) => None,
        None => other_rank(there),
    }
}

/// The rank variable of a launcher other than `mq run`, known or not.
pub(super) fn any_rank(there: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let known = known(there).map(|launcher| launcher.rank);
    known.or_else(|| other_rank(there))
}

fn other_rank(there: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    OTHER_RANKS.into_iter().find(|name| there(name))
}

#[cfg(test)]
mod tests {
    use super::super::ancestors::parents_program;
    use super::*;

    const PMI: [&str; 2] = ["PMI_RANK", "PMI_SIZE"];

    /// The rank variables of the launcher that is known, and of the one that is not.
    fn ranks(variables: &[&str]) -> [Option<&'static str>; 2] {
        let there = |name: &str| variables.contains(&name);
        [known(&there).map(|launcher| launcher.rank), unknown(&there)]
    }

    #[test]
    fn who_sets_mpich_s_variables_too_is_not_taken_for_it() {
        let with_pmi = |others: &[&str]| ranks(&[&PMI[..], others].concat());
        assert_eq!(with_pmi(&[]), [Some("PMI_RANK"), None]);
        let flux = ["FLUX_TASK_RANK", "FLUX_JOB_SIZE"];
        assert_eq!(with_pmi(&flux), [Some("FLUX_TASK_RANK"), None]);
        let slurm = ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"];
        assert_eq!(with_pmi(&slurm), [Some("SLURM_PROCID"), None]);
        for other in OTHER_RANKS {
            assert_eq!(with_pmi(&[other]), [None, Some(other)]);
        }
    }

    #[test]
    fn a_launcher_is_known_by_rank_and_size_together() {
        for launcher in [&OPEN_MPI, &MPICH, &FLUX, &SLURM] {
            let (rank, size) = (launcher.rank, launcher.size);
            assert_eq!(ranks(&[rank, size]), [Some(rank), None]);
            assert_eq!(ranks(&[rank]), [None, None]);
        }
        let supported = ["PMIX_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"];
        assert_eq!(ranks(&supported), [Some("SLURM_PROCID"), None]);
    }

    #[test]
    fn any_launcher_s_rank_is_found() {
        let rank = |variables: &[&str]| any_rank(&|name: &str| variables.contains(&name));
        assert_eq!(rank(&PMI), Some("PMI_RANK"));
        assert_eq!(rank(&["PALS_RANKID"]), Some("PALS_RANKID"));
        assert_eq!(rank(&["MQ_RANK", "MQ_SIZE"]), None);
    }

    #[test]
    fn flux_jobs_of_two_instances_are_told_apart() {
        let name = |instance: &str| {
            (FLUX.name)(&|name| match name {
                "FLUX_URI" => Some(instance.into()),
                "FLUX_JOB_ID" => Some("fABC".into()),
                _ => None,
            })
        };
        assert_ne!(
            name("local:///run/flux/local"),
            name("local:///tmp/flux-x/local-0")
        );
        assert!(name("a").is_some_and(|name| name.ends_with("fABC")));
    }

    #[test]
    fn a_launcher_below_mq_run_is_nearer() {
        let parent: &'static str = Box::leak(parents_program().into_boxed_str());
        let programs: &'static [&'static str] = Box::leak(Box::new([parent]));
        let above = Launcher { programs, ..SLURM };
        // No process has this number.
        assert!(above.is_nearer_than_mq(&|_| Some(format!("{}-x", u32::MAX))));
        assert!(!above.is_nearer_than_mq(&|_| None), "no mark");
        assert!(!above.is_nearer_than_mq(&|_| Some("mark".into())));
    }

    #[test]
    fn a_launcher_that_is_not_above_is_not_nearer() {
        let no_such = Launcher {
            programs: &["no such program"],
            ..SLURM
        };
        assert!(!no_such.is_nearer_than_mq(&|_| Some("1-2".into())));
    }
}
