//! The environment of ranks at their start, and programs that cannot be started.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{Launcher, by_shell, command, launcher, shell, unshare};

#[test]
fn nobody_reads_standard_input_that_is_for_nobody() {
    for (who, heard) in [("rank0", "typed\n"), ("none", "")] {
        let mut launcher = command(&["-n", "2", "--label", "never", "--stdin", who, "--", "cat"]);
        let mut launcher = launcher
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("mq starts");
        // If nobody is to read it, the pipe may already be closed.
        let _ = launcher.stdin.take().expect("piped").write_all(b"typed\n");
        let output = launcher.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stdout), heard, "{who}");
    }
}

#[test]
fn every_rank_finds_its_number_and_how_many_there_are() {
    let run = shell(
        &["-n", "3", "--label", "never"],
        "echo $MQ_RANK of $MQ_SIZE",
    )
    .finish();
    assert_eq!(run.sorted(), ["0 of 3", "1 of 3", "2 of 3"]);
    assert_eq!((run.code(), run.stderr.as_str()), (0, ""));
}

/// The cores that each of three ranks may use, as the kernel lists them, by rank.
fn cores_of_ranks(option: &[&str]) -> Vec<String> {
    let script = "while read -r name cores; do
                      test \"$name\" != Cpus_allowed_list: || echo $MQ_RANK $cores
                  done < /proc/self/status";
    let options = [&["-n", "3", "--label", "never"], option].concat();
    let run = shell(&options, script).finish();
    assert_eq!((run.code(), run.stderr.as_str()), (0, ""));
    let lines = run.sorted().into_iter().zip(0..);
    let cores = lines.map(|(line, rank)| line.strip_prefix(&format!("{rank} ")).unwrap().into());
    cores.collect()
}

#[test]
fn ranks_are_bound_to_cores_if_that_is_asked_for() {
    let [all, same, again] = cores_of_ranks(&["--bind", "none"]).try_into().unwrap();
    assert_eq!((&all, &all), (&same, &again));
    let bound: Vec<usize> = cores_of_ranks(&["--bind", "core"])
        .iter()
        .map(|core| core.parse().expect("one core"))
        .collect();
    assert!(bound.is_sorted(), "{bound:?}");
    let several = all.contains([',', '-']);
    assert_eq!(bound[0] != bound[2], several, "{bound:?} of {all}");
    let last = bound[2].to_string();
    assert_eq!(cores_of_ranks(&["--cores", &last]), [&last[..]; 3]);
}

#[test]
fn a_core_that_may_not_be_used_is_refused() {
    let run = shell(&["-n", "2", "--cores", "1000"], "echo started").finish();
    assert_eq!((run.code(), run.stdout.as_str()), (2, ""), "{run:?}");
    assert!(
        run.stderr.contains("core 1000 is not one of those"),
        "{run:?}"
    );
}

#[test]
fn sixty_four_ranks_start_and_end() {
    let run = shell(&["-n", "64"], "echo $MQ_RANK").finish();
    let expected: BTreeSet<String> = (0..64).map(|rank| format!("[{rank}] {rank}")).collect();
    let found: BTreeSet<String> = run.stdout.lines().map(str::to_owned).collect();
    assert_eq!(found, expected);
    assert_eq!((run.code(), run.stderr.as_str()), (0, ""));
}

#[test]
fn all_ranks_inherit_one_segment_without_a_name() {
    let before = names_in_shared_memory();
    let script = "case $MQ_SEGMENT in fd:*) ;; *) exit 9; esac
                  stat -L -c %d:%i /proc/$$/fd/${MQ_SEGMENT#fd:}; readlink /proc/$$/fd/${MQ_SEGMENT#fd:}";
    let run = shell(&["-n", "3", "--label", "never"], script).finish();
    assert_eq!(run.code(), 0, "{run:?}");
    let found: BTreeSet<&str> = run.stdout.lines().collect();
    assert_eq!(found.len(), 2, "{run:?}");
    assert!(
        found.iter().any(|line| line.starts_with("/memfd:mq-")),
        "{run:?}"
    );
    assert_eq!(names_in_shared_memory(), before);
}

/// The names in it that could be ours.
fn names_in_shared_memory() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("mq")).collect()
}

#[test]
fn ranks_inherit_no_other_descriptor_of_the_launcher() {
    // 255 and the descriptors of the test itself do not matter: only new ones count.
    let list = "for fd in /proc/$$/fd/*; do echo ${fd##*/}; done";
    let alone = Command::new("sh")
        .args(["-c", list])
        .output()
        .expect("sh starts");
    let alone = String::from_utf8(alone.stdout).expect("numbers");
    let run = shell(&["-n", "1"], &format!("echo ${{MQ_SEGMENT#fd:}}; {list}")).finish();
    let mut lines = run.stdout.lines();
    let segment = lines.next().expect("the segment's descriptor");
    let new: Vec<&str> = lines
        .filter(|fd| !alone.lines().any(|known| known == *fd))
        .collect();
    assert_eq!(new, [segment]);
    // Scripts use low-numbered descriptors of their own.
    assert!(
        segment.parse::<u32>().is_ok_and(|number| number >= 200),
        "{segment}"
    );
}

#[test]
fn a_limit_of_the_length_of_files_is_told() {
    let limited = by_shell("ulimit -f 100; exec \"$0\" run -n 2 -- true").output();
    let limited = limited.expect("sh starts");
    let said = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(2), "{said}");
    assert!(said.contains("`ulimit -f`"), "{said}");
}

#[test]
fn only_rank_0_reads_standard_input() {
    let script = "while read -r line; do echo \"$line\"; done; echo end";
    let mut command = command(&["-n", "3", "--", "sh", "-c", script]);
    let mut launcher = Launcher::start(command.stdin(Stdio::piped()));
    launcher.write("one\ntwo\n");
    let run = launcher.finish();
    assert_eq!(
        run.sorted(),
        ["[0] end", "[0] one", "[0] two", "[1] end", "[2] end"]
    );
}

#[test]
fn whoever_feeds_rank_0_learns_that_it_has_ended() {
    // `yes` ends only when nobody holds the other end of its pipe any more, and rank 1 only after that.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "(yes; touch ended) | \"$0\" run -n 2 -- sh -c \
                  'test $MQ_RANK = 0 || until test -e ended; do sleep 0.01; done'";
    let run = Launcher::start(by_shell(script).current_dir(folder.path())).finish();
    assert_eq!(run.code(), 0, "{run:?}");
}

#[test]
fn a_program_that_is_not_there_gives_127_and_one_sentence() {
    for program in ["./no-such-program", "no-such-program"] {
        let run = launcher(&["-n", "4", "--", program]).finish();
        assert_eq!((run.code(), run.stdout.as_str()), (127, ""));
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(
            run.stderr
                .starts_with(&format!("mq: {program}: there is no such program"))
        );
    }
}

#[test]
fn a_program_whose_interpreter_is_not_there_is_not_said_to_be_missing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script");
    std::fs::write(&path, "#!/no/such/interpreter\n").expect("there is room");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("it is ours");
    let run = launcher(&["-n", "2", "--", &path.to_string_lossy()]).finish();
    assert_eq!((run.code(), run.stdout.as_str()), (127, ""));
    let says = ": is there, but not what is to run it: the interpreter ";
    assert!(run.stderr.contains(says), "{}", run.stderr);
}

#[test]
fn a_program_for_another_machine_is_not_read_by_a_shell() {
    let mut head = std::fs::read(env!("CARGO_BIN_EXE_mq")).expect("a program");
    head.truncate(64);
    // The processor's number: of a PDP-11, which nobody emulates for programs of Linux.
    head[18..20].copy_from_slice(&65_u16.to_ne_bytes());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("program");
    std::fs::write(&path, head).expect("there is room");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("it is ours");
    // By its path, and by its name alone.
    for program in [path.as_os_str(), "program".as_ref()] {
        let mut command = command(&["-n", "2", "--"]);
        let run = Launcher::start(command.arg(program).env("PATH", folder.path())).finish();
        assert_eq!((run.code(), run.stdout.as_str()), (126, ""));
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(
            run.stderr.contains(": cannot be executed: "),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn the_name_of_a_program_does_not_reach_the_terminal_as_it_is() {
    let run = launcher(&["-n", "2", "--", "./red\x1b[31m\nmq: blue"]).finish();
    assert_eq!((run.code(), run.stderr.lines().count()), (127, 1));
    let name = "mq: ./red\\u{1b}[31m\\nmq: blue: there is no such program";
    assert!(run.stderr.starts_with(name), "{}", run.stderr);
}

#[test]
fn a_file_that_is_not_executable_gives_126_and_one_sentence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "#!/bin/sh\n").expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("set");
    for (program, why) in [
        (file.to_str().expect("UTF-8"), "is not an executable file"),
        ("/", "is a directory"),
    ] {
        let run = launcher(&["-n", "4", "--keep-going", "--", program]).finish();
        assert_eq!((run.code(), run.stdout.as_str()), (126, ""));
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
}

#[test]
fn a_program_that_is_executable_but_not_for_this_user_is_not_said_to_lack_its_mode() {
    // Where programs can be run: temporary folders may be mounted noexec.
    let target = env!("CARGO_TARGET_TMPDIR");
    std::fs::create_dir_all(target).expect("made");
    let folder = tempfile::tempdir_in(target).expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("interpreter"), "").expect("written");
    // By its name alone: the path may have a space, which would end it.
    std::fs::write(at("source"), "#!interpreter\n").expect("written");
    // Another process makes the file, which could be busy otherwise if a concurrent test is starting a
    // process.
    let mut install = Command::new("install");
    let installed = install.args(["-m", "755", &at("source"), &at("program")]);
    assert!(installed.status().expect("install starts").success());
    let mut command = command(&["-n", "2", "--", &at("program")]);
    let run = Launcher::start(command.current_dir(folder.path())).finish();
    assert_eq!((run.code(), run.stdout.as_str()), (126, ""));
    let said = "program: this user may not execute it, and ";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert!(run.stderr.contains("noexec"), "{}", run.stderr);
}

#[test]
fn what_fails_before_the_program_is_not_said_of_the_program() {
    // As the launcher starts a rank, but with a launcher or a core that does not exist, and nobody to
    // report to.
    let own = std::process::id().to_string();
    for (launcher, said) in [
        ("5000000", "be tied to its parent's life: "),
        (own.as_str(), "be bound to its core: "),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
        command.args(["start-rank", "--refusals=1000000", "--core=1023"]);
        command.arg(format!("--launcher={launcher}"));
        command.args(["--", "true"]);
        let output = command.output().expect("mq starts");
        assert_eq!(output.status.code(), Some(2), "{launcher}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = format!("mq: a process cannot be started: it cannot {said}");
        assert!(stderr.starts_with(&said), "{stderr}");
    }
}

#[test]
fn a_program_may_itself_exit_with_127() {
    let run = shell(&["-n", "2", "--keep-going"], "exit $((127 * MQ_RANK))").finish();
    assert_eq!(run.code(), 127);
    assert!(run.stderr.contains("mq: rank 1 (pid "), "{}", run.stderr);
    assert!(
        run.stderr.contains("exited with status 127"),
        "{}",
        run.stderr
    );
}

#[test]
fn wrong_use_exits_2_and_says_what_to_give() {
    for (arguments, sentence) in [
        (&["-n", "0", "--", "true"][..], "from 1 to 4096"),
        (&["-n", "4097", "--", "true"], "from 1 to 4096"),
        (
            &["-n", "99999999999999999999", "--", "true"],
            "from 1 to 4096",
        ),
        (&["-n", "-1", "--", "true"], "-1"),
        (&["-n", "two", "--", "true"], "from 1 to 4096"),
        (&["-np", "4", "true"], "write -n 4 for mpirun's -np 4"),
        (&["-np4", "true"], "write -n 4 for mpirun's -np 4"),
        (&["--", "true"], "--processes"),
        (&["-n", "2"], "PROGRAM"),
        (&["-n", "2", "--"], "PROGRAM"),
        (&["-n", "2", "--timeout", "0", "--", "true"], "above 0"),
        (&["-n", "2", "--timeout", "NaN", "--", "true"], "seconds"),
        (&["-n", "2", "--grace", "soon", "--", "true"], "seconds"),
        (&["-n", "2", "--label", "no", "--", "true"], "auto"),
        (&["--no-such-option", "-n", "2", "true"], "--no-such-option"),
    ] {
        let run = launcher(arguments).finish();
        assert_eq!((run.code(), run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(
            run.stderr.contains(sentence),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn too_few_open_files_are_told_and_the_programs_keep_their_limit() {
    let limited = |limits: &str| {
        let rest = "exec \"$0\" run -n 30 --label never -- sh -c 'ulimit -S -n'";
        Launcher::start(&mut by_shell(&format!("{limits}; {rest}"))).finish()
    };
    let run = limited("ulimit -S -n 40");
    assert_eq!(
        (run.code(), run.sorted()),
        (0, vec!["40"; 30]),
        "{}",
        run.stderr
    );
    // Too few for the ranks, and for the launcher alone.
    for limits in ["ulimit -n 40", "ulimit -n 6"] {
        let run = limited(limits);
        assert_eq!((run.code(), run.stdout.as_str()), (2, ""));
        let few = "mq: the processes cannot be started: 92 open files are needed for 30 processes; `ulimit -n` \
                   allows too few\n";
        assert_eq!(run.stderr, few);
    }
}

#[test]
fn what_is_missing_where_nothing_can_be_started_is_named() {
    for (place, said) in [
        ("/proc", "there is no /proc/self/exe, "),
        ("/dev", "there is no /dev/null"),
    ] {
        let mount = ["mount", "-t", "tmpfs", "none", place];
        let what = format!("a machine without {place} was");
        let Some(mut without) = unshare(&what, &["-m", "-rm"], &mount) else {
            return;
        };
        let script = format!("{} && exec \"$0\" run -n 2 -- true", mount.join(" "));
        without.args(["sh", "-c", &script, env!("CARGO_BIN_EXE_mq")]);
        let run = Launcher::start(&mut without).finish();
        assert_eq!(run.code(), 2, "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
}

/// Set in the environment of the process that this test starts from its own executable.
const CHILD: &str = "MQ_TEST_HAS_FILES";

#[test]
fn files_that_the_launcher_inherits_take_none_from_the_ranks() {
    if std::env::var_os(CHILD).is_none() {
        // In a process of its own: what concurrent tests start would inherit the files too.
        let test = "start::files_that_the_launcher_inherits_take_none_from_the_ranks";
        let mut again = Command::new(std::env::current_exe().expect("a path"));
        let again = again.args(["--exact", test, "--nocapture"]).env(CHILD, "");
        let again = again.output().expect("it starts");
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(said.contains("1 passed"), "{again:?}");
        return;
    }
    // Sixty files, and a limit that would suffice without them.
    let file = File::open("/dev/null").expect("opened");
    let inherited = || rustix::io::dup(&file).expect("once more");
    let _files: Vec<OwnedFd> = (0..60).map(|_| inherited()).collect();
    let script = "ulimit -S -n 90
                  exec \"$0\" run -n 20 --label never -- sh -c 'ulimit -S -n'";
    let run = Launcher::start(&mut by_shell(script)).finish();
    assert_eq!((run.code(), run.sorted()), (0, vec!["90"; 20]), "{run:?}");
}

#[test]
fn a_wrong_variable_that_counts_for_the_launcher_is_named_once() {
    let with = |buffers: &str, program: &[&str]| {
        let mut command = command(&[&["-n", "2", "--"], program].concat());
        Launcher::start(command.env("MQ_SHARED_BUFFERS", buffers)).finish()
    };
    let mut few = command(&["-n", "2", "--", "true"]);
    let run = Launcher::start(few.env("MQ_CELLS", "1")).finish();
    let ignored = "mq: MQ_CELLS=1 is ignored; expected a number from 2 to 65536\n";
    assert_eq!((run.code(), run.stderr.as_str()), (0, ignored));

    let run = with("10000G", &["true"]);
    assert_eq!((run.code(), run.stdout.as_str()), (2, ""));
    let too_much = "mq: the processes cannot be started: MQ_SHARED_BUFFERS=10000G: a process of this \
                    segment can have ";
    assert!(run.stderr.starts_with(too_much), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);

    let ignored = "mq: MQ_SHARED_BUFFERS=zz is ignored; expected a number of bytes, such as 4096, 64K, 2M or 1G\n";
    let mq = env!("CARGO_BIN_EXE_mq");
    let pingpong = ["pingpong", "--sizes", "0", "--samples", "1", "--block", "1"];
    let pingpong = [&[mq], &pingpong[..]].concat();
    for program in [&["true"][..], &pingpong] {
        let run = with("zz", program);
        assert_eq!(
            (run.code(), run.stderr.as_str()),
            (0, ignored),
            "{program:?}"
        );
    }
}

#[test]
fn what_the_launcher_calls_itself_with_is_not_in_the_help() {
    let mut help = Command::new(env!("CARGO_BIN_EXE_mq"));
    let help = help.arg("--help").output().expect("mq starts");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    assert!(help.contains("mq run -n 4"), "{help}");
    assert!(!help.contains("-rank"), "{help}");
}
