//! `mq generate halo`, `gather`, `nbody`, `radix`, `amr` and `fds`.

use crate::support::{file, fresh, mq, text};

const MODELS: [&str; 6] = ["halo", "gather", "nbody", "radix", "amr", "fds"];

#[test]
fn a_generated_application_is_reproduced_and_its_fit_printed() {
    for model in MODELS {
        for rank in ["0", "5"] {
            let (_folder, path) = fresh("t.mqt.gz");
            let path = text(&path);
            let process = [
                "--ranks", "40", "--rank", rank, "--rounds", "2", "--seed", "3",
            ];
            let run = mq(&[&["generate", model], &process[..], &["-o", &path]].concat());
            assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
            let name = format!("{model}-40-r{rank}");
            assert!(run.stderr.starts_with(&name), "{}", run.stderr);
            for column in [" statistic ", " published | this trace | ratio\n"] {
                assert!(run.stderr.contains(column), "{column}: {}", run.stderr);
            }

            let replay = ["replay", &path, "--repeat", "1", "--format", "json"];
            let run = mq(&[&replay[..], &["--structure", "list,indexed"]].concat());
            assert_eq!(run.code, 0, "{name}: {}", run.stderr);
            for object in run.objects() {
                assert_eq!(object["mismatches"], 0, "{name}");
            }
        }
    }
}

#[test]
fn the_header_tells_how_to_generate_it_again() {
    let args = [
        "--keys", "n29", "--ranks", "6", "--rank", "2", "--seed", "9",
    ];
    let generate = || mq(&[&["generate", "radix", "--rounds", "1"], &args[..]].concat());
    let run = generate();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let header = run.stdout.lines().next();
    let expected = "# mqtrace 1 source=generated pattern=radix mpi=openmpi-tags ranks=6 rank=2 \
                    keys=n29 rounds=1 seed=9";
    assert_eq!(header, Some(expected));
    assert_eq!(generate().stdout, run.stdout);
}

#[test]
fn figures_of_a_published_number_of_processes_are_compared_directly() {
    let (_folder, path) = fresh("t.mqt");
    let path = text(&path);
    let run = mq(&["generate", "nbody", "--rank", "1", "-o", &path]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    let first = run.stderr.lines().next();
    assert_eq!(
        first,
        Some("nbody-512-r1 beside Nbody.512 on 512 processes")
    );
    let longest = " longest PRQ (2014, Table 8, AQL) ";
    let row = run.stderr.lines().find(|line| line.starts_with(longest));
    let cells: Vec<&str> = row.expect("a row").split('|').map(str::trim).collect();
    assert_eq!(cells[1..], ["509", "511", "1.00"]);

    let stats = mq(&["stats", &path, "--format", "json"]).objects();
    assert_eq!(stats[0]["max_posted"], 511);
    assert!(stats[0]["collective_messages"].as_u64() > Some(0));
}

#[test]
fn figures_of_the_nearest_run_are_named_as_such() {
    let run = mq(&["generate", "nbody", "--ranks", "900", "--rounds", "1"]);
    let expected = "nbody-900-r0 beside Nbody.704 on 704 processes: nothing is published for 900, \
                    and this is nearest\n";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    let run = mq(&["generate", "halo", "--neighbors", "6", "--rounds", "1"]);
    let expected = "halo-512-r0: nothing is published of such a process\n";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
}

#[test]
fn who_only_sends_has_an_empty_trace() {
    let run = mq(&["generate", "gather", "--ranks", "8", "--rank", "3"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().skip(1).collect();
    assert_eq!(lines, ["c 0 8 3"]);
    let (_folder, trace) = file("t.mqt", &run.stdout);
    assert_eq!(mq(&["stats", &trace]).code, 0);
}

#[test]
fn what_cannot_be_generated_is_refused_before_work_begins() {
    let run = mq(&["generate", "nbody", "--ranks", "8", "--rank", "8"]);
    assert_eq!(
        run.refusal(),
        "rank 8 is not one of the 8 processes; choose a --rank below --ranks"
    );
    let many = ["--ranks", "1048576", "--keys", "n30"];
    let run = mq(&[&["generate", "radix"], &many[..]].concat());
    assert!(
        run.refusal().contains("at most 20,000,000"),
        "{}",
        run.stderr
    );
    let run = mq(&["generate", "amr", "--rounds", "1000000"]);
    assert!(
        run.refusal().contains("--ranks and --rounds"),
        "{}",
        run.stderr
    );
    for args in [
        &["fds", "--ranks", "1"][..],
        &["fds", "--ranks", "1048577"],
        &["halo", "--neighbors", "5"],
        &["radix", "--keys", "n31"],
        &["gather", "--order", "sideways"],
        &["amr", "--rounds", "0"],
    ] {
        let run = mq(&[&["generate"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
        assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn every_model_has_help_with_examples() {
    for model in MODELS {
        let help = mq(&["generate", model, "--help"]);
        assert_eq!(help.code, 0, "{model}");
        let example = format!("Examples:\n  mq generate {model} ");
        assert!(help.stdout.contains(&example), "{model}: {}", help.stdout);
        let words: Vec<&str> = help.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains("2 to 1,048,576"), "{model}");
    }
}
