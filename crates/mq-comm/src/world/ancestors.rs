//! The processes above this one, as `/proc` shows them.

use core::iter::successors;
use std::fs;

/// A process above this one.
#[derive(Debug, Clone)]
pub(super) struct Above {
    pub(super) number: u32,
    parent: u32,
    started: u64,
    program: String,
}

impl Above {
    /// Number and start time, which no other process on this machine shares.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.number, self.started)
    }

    fn runs_one_of(&self, programs: &[&str]) -> bool {
        // The kernel keeps 15 bytes of a program's name.
        let is_it = |program: &&str| self.program == program[..program.len().min(15)];
        programs.iter().any(is_it)
    }
}

/// The nearest ancestor process that runs one of these programs, or else the parent.
pub(super) fn starter(programs: &[&str]) -> Option<Above> {
    above(programs).or_else(parent)
}

/// Its number, as the kernel takes it.
pub(super) fn number_of_starter(programs: &[&str]) -> Option<u32> {
    // A `/proc` of another PID namespace names other processes by these numbers.
    let is_ours = process("self").is_some_and(|own| own.number == std::process::id());
    let number = match is_ours {
        true => starter(programs)?.number,
        false => std::os::unix::process::parent_id(),
    };
    (number > 0).then_some(number)
}

/// The nearest ancestor process that runs one of these programs.
pub(super) fn above(programs: &[&str]) -> Option<Above> {
    ancestors().find(|above| above.runs_one_of(programs))
}

/// Which of these lists has a program that the nearest ancestor process runs of those that run any.
pub(super) fn nearest_of(all: &[&[&str]]) -> Option<usize> {
    first_met(ancestors(), all)
}

fn first_met(mut ancestors: impl Iterator<Item = Above>, all: &[&[&str]]) -> Option<usize> {
    ancestors.find_map(|above| all.iter().position(|programs| above.runs_one_of(programs)))
}

/// The name of the parent process.
#[cfg(test)]
pub(super) fn parents_program() -> String {
    parent().expect("a process has a parent").program
}

/// Whether an ancestor process that runs one of these programs is nearer than the `mq run` with this number, which
/// may be no ancestor at all.
pub(super) fn is_nearer(programs: &[&str], mq: u32) -> bool {
    is_met_first(&ancestors().collect::<Vec<_>>(), programs, mq)
}

fn is_met_first(ancestors: &[Above], programs: &[&str], mq: u32) -> bool {
    let by_number = ancestors.iter().position(|above| above.number == mq);
    // Its own PID namespace may give it another number than `/proc` does.
    let by_name = || ancestors.iter().position(|above| above.program == "mq");
    let below = &ancestors[..by_number.or_else(by_name).unwrap_or(ancestors.len())];
    below.iter().any(|above| above.runs_one_of(programs))
}

/// The nearest first.
fn ancestors() -> impl Iterator<Item = Above> {
    let next = |of: &Above| process(&of.parent.to_string());
    // The chain ends at 0, which is no process. Process 1 counts: in a container it may be the launcher.
    successors(parent(), next)
}

fn parent() -> Option<Above> {
    process(&process("self")?.parent.to_string())
}

fn process(number: &str) -> Option<Above> {
    let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything. The kernel cuts it at 15
    // bytes, within a character if need be.
    let stat = String::from_utf8_lossy(&stat);
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

    #[test]
    fn a_launcher_is_looked_for_among_all_processes_above() {
        let parent = process("self").unwrap().parent;
        assert_eq!(number_of_starter(&["no such program"]), Some(parent));
        let parent = process(&parent.to_string()).unwrap();
        assert_eq!(number_of_starter(&[&parent.program]), Some(parent.number));
        if parent.parent > 0 {
            let above = process(&parent.parent.to_string()).unwrap();
            let found = starter(&[&above.program]).unwrap();
            assert_eq!(found.program, above.program);
        }
    }

    fn above_each_other(chain: &[&str]) -> impl Iterator<Item = Above> {
        chain.iter().zip(100..).map(|(program, number)| Above {
            number,
            parent: number + 1,
            started: 0,
            program: (*program).to_owned(),
        })
    }

    #[test]
    fn of_several_launchers_the_nearest_is_found() {
        let all = [
            &["prted", "mpirun"][..],
            &["hydra_pmi_proxy"],
            &["slurmstepd"],
        ];
        let met = |chain: &[&str]| first_met(above_each_other(chain), &all);
        assert_eq!(met(&["bash", "slurmstepd", "driver", "mpirun"]), Some(2));
        assert_eq!(met(&["prted", "slurmstepd", "hydra_pmi_prox"]), Some(0));
        assert_eq!(met(&["hydra_pmi_proxy", "mpirun"]), Some(1));
        assert_eq!(met(&["bash", "sshd"]), None);
    }

    #[test]
    fn of_two_launchers_the_one_that_is_met_first_is_nearer() {
        let is_nearer = |chain: &[&str], programs: &[&str], mq: u32| {
            is_met_first(&above_each_other(chain).collect::<Vec<_>>(), programs, mq)
        };
        let both = ["bash", "prted", "prterun", "bash", "mq", "slurmstepd"];
        assert!(is_nearer(&both, &["orted", "prted"], 104), "below `mq run`");
        assert!(!is_nearer(&both, &["slurmstepd"], 104), "above it");
        assert!(!is_nearer(&both, &["slurmstepd"], 7), "it has two numbers");
        assert!(!is_nearer(&both, &["hydra_pmi_proxy"], 104), "nowhere");
        let recorded = ["bash", "prted", "mq", "slurmstepd", "mq"];
        assert!(is_nearer(&recorded, &["slurmstepd"], 104), "`mq record`");
        assert!(!is_nearer(&recorded, &["slurmstepd"], 102));
        let renamed = ["bash", "mq-0.1", "slurmstepd"];
        assert!(!is_nearer(&renamed, &["slurmstepd"], 101));
        assert!(
            is_nearer(&renamed, &["slurmstepd"], 7),
            "`mq run` is not above: its variables have come with the job's environment"
        );
    }
}
