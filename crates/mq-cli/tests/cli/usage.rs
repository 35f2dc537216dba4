//! The command line itself: help, wrong use, pipes.

use std::io::Read;
use std::process::Stdio;

use mq_core::structures::Kind;

use crate::support::{command, file, mq, real};

#[test]
fn wrong_use_exits_2() {
    let trace = real("lmp-melt16-r0");
    for args in [
        &["frobnicate"][..],
        &["replay"],
        &["stats"],
        &["advise"],
        &["advise", &trace, "--repeat", "0"],
        &["record"],
        &["record", "--"],
        &["record", "true"],
        &["record", "--structure", "5d", "--", "true"],
        &["replay", &trace, "--repeat", "0"],
        &["replay", &trace, "--repeat", "many"],
        &["replay", &trace, "--format", "xml"],
        &["replay", &trace, "--plot", "plot.png"],
        &["replay", &trace, "--structure", ""],
        &["generate"],
        &["generate", "depth", "--depth", "0"],
        &["generate", "depth", "--depth", "-1"],
        &["generate", "depth", "--order", "sideways"],
        &["generate", "depth", "--any-source", "101"],
        &["generate", "depth", "--any-tag", "-1"],
        &["generate", "depth", "--any-tag", "NaN"],
        &["generate", "depth", "--contexts", "0"],
        &["generate", "depth", "--rounds", "0"],
    ] {
        let run = mq(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn an_unknown_structure_is_answered_with_all_names() {
    let run = mq(&["replay", "t.mqt", "--structure", "list,5d"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("'5d'"), "{}", run.stderr);
    for kind in Kind::ALL {
        assert!(run.stderr.contains(kind.name()), "{kind}: {}", run.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn help_that_cannot_be_written_is_a_failure_unless_its_reader_has_left() {
    for args in [&["--help"][..], &["replay", "--help"], &["--version"]] {
        let full = std::fs::File::create("/dev/full").expect("it is there");
        let run = command(args).stdout(full).output().expect("mq starts");
        assert_eq!(run.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(
            said.starts_with("mq: standard output: cannot write: "),
            "{said}"
        );
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let run = command(args).stdout(writer).output().expect("mq starts");
        assert_eq!(
            (run.status.code(), run.stderr.as_slice()),
            (Some(0), &b""[..])
        );
    }
}

#[test]
fn without_arguments_it_prints_help_and_exits_2() {
    let run = mq(&[]);
    assert_eq!(run.code, 2);
    for command in [
        "replay",
        "stats",
        "record",
        "advise",
        "generate",
        "structures",
        "Examples:",
    ] {
        assert!(run.stderr.contains(command), "{command}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for args in [
        &["--help"][..],
        &["replay", "--help"],
        &["stats", "--help"],
        &["record", "--help"],
        &["advise", "--help"],
        &["generate", "--help"],
        &["generate", "depth", "--help"],
        &["structures", "--help"],
        #[cfg(target_os = "linux")]
        &["run", "--help"],
    ] {
        let run = mq(args);
        assert_eq!(run.code, 0, "{args:?}");
        assert!(run.stdout.contains("Examples:\n  mq "), "{args:?}");
    }
}

/// Every command, as `mq help` is asked about it.
#[cfg(target_os = "linux")]
const COMMANDS: [&[&str]; 20] = [
    &[],
    &["replay"],
    &["stats"],
    &["record"],
    &["advise"],
    &["generate"],
    &["generate", "depth"],
    &["generate", "halo"],
    &["generate", "gather"],
    &["generate", "nbody"],
    &["generate", "radix"],
    &["generate", "amr"],
    &["generate", "fds"],
    &["structures"],
    &["run"],
    &["pingpong"],
    &["bandwidth"],
    &["rate"],
    &["halo"],
    &["calls"],
];

#[cfg(target_os = "linux")]
#[test]
fn help_is_broken_where_the_terminal_ends_and_nowhere_else() {
    for (command, columns) in COMMANDS
        .iter()
        .flat_map(|c| [60, 80, 100, 200].map(|n| (c, n)))
    {
        let help = self::command(&[*command, &["--help"]].concat())
            .env("COLUMNS", columns.to_string())
            .output()
            .expect("mq starts");
        let help = String::from_utf8(help.stdout).expect("UTF-8");
        let width = columns.min(100);
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let is_one_word = pair[0].split_whitespace().any(|word| word.len() > 40);
            let length = pair[0].chars().count();
            assert!(length <= width || is_one_word, "{command:?}: {}", pair[0]);
            let is_prose = |line: &str| line.starts_with(char::is_alphanumeric);
            if is_prose(pair[0]) && is_prose(pair[1]) {
                let word = pair[1]
                    .split(' ')
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .count();
                assert!(length + 1 + word > width, "{command:?} {columns}: {pair:?}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_names_limits_and_endings() {
    for (command, texts) in [
        (
            "replay",
            &[
                "--plot <FILE.svg>",
                "end in .svg",
                "1 to 1,000,000",
                "and a library has none",
            ][..],
        ),
        (
            "stats",
            &["--plot <FILE.svg>", "end in .svg", "of those recorded"],
        ),
        ("record", &["ended_early"]),
        ("advise", &["MQ_STRUCTURE=array for Open MPI"]),
        (
            "pingpong",
            &["--plot <FILE.svg>", "end in .svg", "1G at most"],
        ),
        ("rate", &["--plot <FILE.svg>", "1 to 1,000", "1G at most"]),
        (
            "generate depth",
            &["queue, over all communicators, 1 to 1,000,000"],
        ),
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = mq(&args)
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for text in texts {
            assert!(help.contains(text), "{command}: {text}: {help}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_number_below_0_is_refused_as_a_value() {
    for args in [
        &["replay", "t.mqt", "-r", "-1"][..],
        &["advise", "t.mqt", "--repeat", "-1"],
        &["run", "--grace", "-1", "-n", "2", "true"],
        &["run", "--timeout", "-0.5", "-n", "2", "true"],
        &["pingpong", "--samples", "-1"],
        &["bandwidth", "--window", "-1"],
        &["rate", "--senders", "-1"],
        &["halo", "--tiles", "-1"],
        &["calls", "--processes", "-1"],
    ] {
        let run = mq(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("invalid value '-"),
            "{args:?}: {}",
            run.stderr
        );
        assert!(!run.stderr.contains("-- -"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn structures_are_listed_with_the_default_marked() {
    let run = mq(&["structures"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for kind in Kind::ALL {
        assert!(run.stdout.contains(kind.source()), "{kind}");
        assert!(run.stdout.contains(kind.when_to_choose()), "{kind}");
    }
    assert!(run.stdout.contains(&format!(" {} * ", Kind::default())));

    let objects = mq(&["structures", "--format", "json"]).objects();
    assert_eq!(objects.len(), Kind::ALL.len());
    let defaults: Vec<_> = objects.iter().filter(|o| o["default"] == true).collect();
    assert_eq!(defaults.len(), 1);
    assert_eq!(defaults[0]["name"], Kind::default().name());
    for (kind, object) in Kind::ALL.iter().zip(&objects) {
        let parameters = object["parameters"].as_array().expect("an array");
        assert_eq!(parameters.len(), kind.parameters().count(), "{kind}");
        for (known, parameter) in kind.parameters().zip(parameters) {
            assert_eq!(parameter["parameter"], known.name());
            assert!(run.stdout.contains(&format!(" {} ", known.name())));
            assert!(run.stdout.contains(known.meaning()));
            assert!(run.stdout.contains(&known.allowed()));
        }
    }
    let adaptive = objects.iter().find(|o| o["name"] == "adaptive");
    assert_eq!(adaptive.expect("listed")["parameters"][0]["default"], "256");
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_is_no_error() {
    let trace = real("lmp-melt16-r0");
    for args in [
        &["stats", &trace][..],
        &["replay", &trace, "--repeat", "1"],
        &["replay", &trace, "--repeat", "1", "--format", "json"],
        &["advise", &trace, "--repeat", "1"],
        &["advise", &trace, "--repeat", "1", "--format", "json"],
        &["structures"],
        &[
            "generate", "depth", "--depth", "20000", "--order", "forward",
        ],
    ] {
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mq starts");
        drop(child.stdout.take());
        let mut stderr = String::new();
        let pipe = child.stderr.as_mut().expect("stderr is piped");
        pipe.read_to_string(&mut stderr).expect("UTF-8");
        let status = child.wait().expect("mq ends");
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_trace_can_come_from_standard_input() {
    let (folder, _) = file("x", "");
    let input = folder.path().join("pipe.mqt");
    let text = mq(&["generate", "depth", "--depth", "50"]).stdout;
    std::fs::write(&input, text).expect("written");
    let output = command(&[
        "replay",
        "/dev/stdin",
        "--repeat",
        "1",
        "--structure",
        "indexed",
    ])
    .stdin(std::fs::File::open(&input).expect("opened"))
    .output()
    .expect("mq starts");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("100 operations"));
}
