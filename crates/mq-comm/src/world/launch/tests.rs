use mq_shm::Process;

use super::super::launchers::{FLUX, OPEN_MPI, SLURM};
use super::*;

/// An environment of these variables.
fn with(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + Copy {
    move |name: &str| {
        let found = variables.iter().find(|(given, _)| *given == name);
        found.map(|(_, value)| OsString::from(value))
    }
}

fn find(variables: &[(&str, &str)]) -> Result<Start, String> {
    Start::find(with(variables)).map_err(|error| error.to_string())
}

/// A place of a launcher that says that all processes are on this machine.
fn at_a_name(launcher: &Launcher, rank: u32, size: u32, name: &str) -> Result<Start, String> {
    let said = Said {
        size_in: launcher.size,
        all_here: true,
    };
    Ok(Start {
        rank,
        size,
        meeting: Meeting::Name(name.into(), said),
        launcher: launcher.programs,
    })
}

#[test]
fn who_is_alone_by_a_launcher_that_is_not_known_is_told_so_once() {
    let complaint = |variables: &[(&str, &str)]| {
        let variable = with(variables);
        Start::find(variable).unwrap().complaint(variable)
    };
    let pals = |rank| [("PALS_RANKID", rank), ("PMI_RANK", rank), ("PMI_SIZE", "4")];
    let said = complaint(&pals("0")).unwrap();
    assert!(
        said.starts_with("running as a single process although PALS_RANKID is set: "),
        "{said}"
    );
    assert_eq!(complaint(&pals("3")), None);
    let in_a_batch_script = [("SLURM_PROCID", "0"), ("PMIX_RANK", "0")];
    assert!(complaint(&in_a_batch_script).is_some());
    assert_eq!(complaint(&[]), None);
    let one = [
        ("PMIX_RANK", "0"),
        ("OMPI_COMM_WORLD_RANK", "0"),
        ("OMPI_COMM_WORLD_SIZE", "1"),
    ];
    assert_eq!(complaint(&one), None);
}

#[test]
fn flux_is_known_by_its_job_though_it_sets_what_mpich_does() {
    let job = |nodes| {
        find(&[
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "4"),
            ("PMI_FD", "21"),
            ("FLUX_TASK_RANK", "1"),
            ("FLUX_JOB_SIZE", "4"),
            ("FLUX_JOB_NNODES", nodes),
            ("FLUX_JOB_ID", "ƒuAsjAo"),
            ("FLUX_URI", "local:///tmp/a/local-0"),
        ])
    };
    assert_eq!(
        job("1"),
        at_a_name(&FLUX, 1, 4, "flux-local----tmp-a-local-0--uAsjAo")
    );
    let error = job("2").unwrap_err();
    assert!(error.contains("FLUX_JOB_NNODES is 2, not 1"), "{error}");
}

#[test]
fn each_launcher_is_known_by_its_variables() {
    assert_eq!(find(&[]), Ok(Start::ALONE));
    let mq = [
        ("MQ_RANK", "1"),
        ("MQ_SIZE", "4"),
        ("MQ_SEGMENT", "fd:9"),
        ("MQ_RUN", "1-2"),
        ("PMI_RANK", "0"),
        ("PMI_SIZE", "1"),
    ];
    let of_mq = Start {
        rank: 1,
        size: 4,
        meeting: Meeting::Descriptor(9),
        launcher: &["mq"],
    };
    assert_eq!(find(&mq), Ok(of_mq));
    let openmpi = [
        ("OMPI_COMM_WORLD_RANK", "3"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ("PMIX_NAMESPACE", "prterun-a.b-77@1"),
    ];
    let name = "openmpi-prterun-a-b-77-1";
    assert_eq!(find(&openmpi), at_a_name(&OPEN_MPI, 3, 4, name));
    let slurm = [
        ("SLURM_PROCID", "0"),
        ("SLURM_STEP_NUM_TASKS", "2"),
        ("SLURM_STEP_NUM_NODES", "1"),
        ("SLURM_JOB_ID", "12"),
        ("SLURM_STEP_ID", "3"),
    ];
    assert_eq!(find(&slurm), at_a_name(&SLURM, 0, 2, "slurm-12-3"));
    let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")];
    assert_eq!(find(&batch), Ok(Start::ALONE));
}

#[test]
fn processes_of_one_parent_meet_at_one_name() {
    let mpich = [("PMI_RANK", "1"), ("PMI_SIZE", "2")];
    let first = find(&mpich).unwrap();
    let Meeting::Name(name, said) = &first.meeting else {
        panic!("{first:?}");
    };
    assert!(name.starts_with("mpich-"), "{name}");
    assert!(!said.all_here, "nothing says so");
    assert_eq!(find(&mpich), Ok(first));
}

#[test]
fn who_finds_its_place_taken_is_told_of_another_launcher_s_rank() {
    let taken = || {
        let (process, pid) = (Process(0), 4711);
        Error::from(ShmError::Taken { process, pid })
    };
    let told =
        |error: Error, variables: &[(&str, &str)]| told_of_both(error, with(variables)).to_string();
    let of_mq = [("MQ_RANK", "0"), ("MQ_SIZE", "1")];
    assert_eq!(told(taken(), &of_mq), taken().to_string());
    let both = [
        ("MQ_RANK", "0"),
        ("OMPI_COMM_WORLD_RANK", "3"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
    ];
    let said = told(taken(), &both);
    let begin = format!("{}; OMPI_COMM_WORLD_RANK is set too: ", taken());
    assert!(said.starts_with(&begin), "{said}");
    assert!(said.contains("-u MQ_SEGMENT"), "{said}");
    let other = told(Error::Cancelled, &both);
    assert_eq!(other, Error::Cancelled.to_string(), "another reason");
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
