//! `mq pingpong`, `bandwidth`, `rate`, `halo` and `calls`: short runs that check the output.

use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

use crate::support::{Launcher, by_shell};

fn mq(args: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
    for name in ["MQ_RANK", "MQ_SIZE", "MQ_SEGMENT"] {
        command.env_remove(name);
    }
    let short = ["--samples", "2", "--block", "20"];
    command
        .args(args)
        .args(short)
        .envs(settings.iter().copied());
    command.output().expect("mq starts")
}

/// The rows of a command in JSON; each has to be one object.
fn rows(args: &[&str], settings: &[(&str, &str)]) -> Vec<serde_json::Value> {
    let output = mq(&[args, &["--format", "json"]].concat(), settings);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} {settings:?}: {errors}");
    assert_eq!(errors, "");
    let text = String::from_utf8(output.stdout).expect("it is text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

fn numbers(rows: &[serde_json::Value], member: &str) -> Vec<u64> {
    rows.iter()
        .map(|row| row[member].as_u64().expect("a number"))
        .collect()
}

/// The cores that this process may use.
fn usable() -> Vec<usize> {
    let usable = rustix::thread::sched_getaffinity(None).expect("the system says it");
    let cores = 0..rustix::thread::CpuSet::MAX_CPU;
    cores.filter(|&core| usable.is_set(core)).collect()
}

#[test]
fn pingpong_has_a_row_for_each_size_whichever_way_messages_take() {
    let ways: [&[(&str, &str)]; 7] = [
        &[],
        &[("MQ_SINGLE_COPY_FROM", "0")],
        &[("MQ_BYPASS", "0")],
        &[("MQ_FASTBOX", "0")],
        &[("MQ_SINGLE_COPY", "0")],
        &[("MQ_POLICY", "shared")],
        &[("MQ_EAGER_LIMIT", "1M"), ("MQ_STRUCTURE", "list")],
    ];
    let sizes = &["pingpong", "--sizes", "0,8,100,20000,300000"][..];
    let shared = [sizes, &["--shared-buffers"]].concat();
    let shared_ways: [&[(&str, &str)]; 2] = [&[], &[("MQ_SHARED_COPY", "0")]];
    let from_own = ways.map(|way| (sizes, way));
    let from_shared = shared_ways.map(|way| (&shared[..], way));
    for (command, way) in from_own.into_iter().chain(from_shared) {
        let rows = rows(command, way);
        assert_eq!(numbers(&rows, "size"), [0, 8, 100, 20_000, 300_000]);
        for row in rows {
            assert_eq!(row["mode"], "pingpong");
            assert!(row["best"].as_f64() > Some(0.0));
            assert!(row["ns"].as_f64() >= row["best"].as_f64());
        }
    }
}

#[test]
fn bandwidth_is_measured_by_window_and_one_at_a_time() {
    let rows = rows(
        &["bandwidth", "--sizes", "16384,3000000", "--window", "5"],
        &[],
    );
    let by: Vec<_> = rows.iter().map(|row| row["by"].as_str()).collect();
    assert_eq!(
        by,
        [
            Some("window"),
            Some("window"),
            Some("pingpong"),
            Some("pingpong"),
            Some("rewritten"),
            Some("rewritten")
        ]
    );
    let sizes = [16_384, 3_000_000];
    assert_eq!(numbers(&rows, "size"), [sizes; 3].concat());
    let chosen = ["bandwidth", "--sizes", "100", "--by", "rewritten,window"];
    let by = self::rows(&chosen, &[]);
    assert_eq!(by[0]["by"], "rewritten");
    assert_eq!(by[1]["by"], "window");
    assert_eq!(by.len(), 2);
}

#[test]
fn an_exchange_has_as_many_messages_each_way_as_fit() {
    let sizes = ["bandwidth", "--by", "exchange", "--sizes", "0,8,3000000"];
    for more in [
        &["--window", "40"][..],
        &["--window", "40", "--shared-buffers"],
    ] {
        let rows = rows(&[&sizes[..], more].concat(), &[]);
        assert_eq!(numbers(&rows, "size"), [0, 8, 3_000_000]);
        assert_eq!(numbers(&rows, "window"), [40, 40, 2]);
        assert!(rows.iter().all(|row| row["by"] == "exchange"));
        assert!(rows[1..].iter().all(|row| row["gb_s"].as_f64() > Some(0.0)));
    }
}

#[test]
fn rate_has_a_row_for_each_number_of_senders() {
    let rows = rows(
        &["rate", "--senders", "1,3", "--size", "8", "--window", "9"],
        &[],
    );
    assert_eq!(numbers(&rows, "senders"), [1, 3]);
    assert!(rows.iter().all(|row| row["per_s"].as_f64() > Some(0.0)));
}

#[test]
fn senders_share_a_core_only_where_there_are_too_few() {
    let args = ["rate", "--senders", "3,1,2", "--window", "9"];
    let cores = |row: &serde_json::Value| -> Vec<u64> {
        let cores = row["cores"].as_array().expect("a list");
        let cores = cores.iter().map(|core| core.as_u64().expect("bound"));
        cores.collect()
    };
    let usable = usable();
    let (first, there) = (usable[0], usable.len());
    for row in rows(&args, &[]) {
        let mut cores = cores(&row);
        let processes = row["senders"].as_u64().expect("a number") as usize + 1;
        assert_eq!(cores.len(), processes);
        cores.dedup();
        assert_eq!(cores.len(), processes.min(there), "{row}");
    }
    let first_alone = first.to_string();
    let chosen = [&args[..], &["--cores", &first_alone]].concat();
    for row in rows(&chosen, &[]) {
        assert!(
            cores(&row).iter().all(|&core| core == first as u64),
            "{row}"
        );
    }
    let unbound = rows(&[&args[..], &["--unbound"]].concat(), &[]);
    let lengths: Vec<_> = unbound.iter().map(|row| row["cores"].as_array()).collect();
    let lengths: Vec<_> = lengths.iter().map(|cores| cores.map(Vec::len)).collect();
    assert_eq!(lengths, [Some(4), Some(2), Some(3)]);
    let table = mq(&chosen, &[]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("| cores\n"), "{table}");
    let twice = format!("{first},{first}");
    let cell = format!("| {twice:>5}\n");
    assert!(table.contains(&cell), "{table}");
}

#[test]
fn objects_say_what_was_measured() {
    let fastbox = [
        ("MQ_FASTBOX", "0"),
        ("MQ_TRACE_DIR", "x"),
        ("MQ_POLICY", ""),
    ];
    let with = serde_json::json!({"MQ_FASTBOX": "0"});
    let bandwidth = [
        "bandwidth",
        "--sizes",
        "100",
        "--window",
        "5",
        "--shared-buffers",
    ];
    let bandwidth = rows(&bandwidth, &fastbox);
    let windows: Vec<_> = bandwidth.iter().map(|row| row.get("window")).collect();
    assert_eq!(windows, [Some(&5.into()), None, None]);
    let shared = |row: &serde_json::Value| (row["shared_buffers"].clone(), row["settings"].clone());
    assert!(
        bandwidth
            .iter()
            .all(|row| shared(row) == (true.into(), with.clone()))
    );
    for command in [
        &["pingpong", "--sizes", "8"][..],
        &["halo", "--tiles", "1"],
        &["rate"],
    ] {
        let row = &rows(command, &[])[0];
        assert_eq!(shared(row), (false.into(), serde_json::json!({})));
        let window = row.get("window").and_then(serde_json::Value::as_u64);
        assert_eq!(window, (command[0] == "rate").then_some(64));
    }
}

#[test]
fn a_plot_is_drawn_also_for_a_reader_that_leaves() {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("latency.svg");
    let script = "\"$0\" pingpong --samples 2 --block 20 --plot \"$1\" | head -n 1";
    let output = by_shell(script).arg(&plot).output().expect("sh starts");
    assert_eq!(output.stderr, b"");
    assert_eq!(
        output.stdout.iter().filter(|&&byte| byte == b'\n').count(),
        1
    );
    let svg = std::fs::read_to_string(plot).expect("it was drawn");
    assert!(svg.contains("ns one way"));
}

#[test]
fn more_memory_than_there_is_is_refused_with_its_size() {
    let limited = |command: &str| {
        let script = format!("ulimit -v 2000000; exec \"$0\" {command}");
        let output = by_shell(&script).output().expect("sh starts");
        let errors = String::from_utf8(output.stderr).expect("it is text");
        assert_eq!(output.status.code(), Some(2), "{command}: {errors}");
        errors
    };
    let short = "--samples 1 --block 1";
    for (command, option) in [
        ("pingpong --sizes 8,1G", "--sizes"),
        ("bandwidth --by window --sizes 1G", "--sizes"),
        (
            "rate --size 1M --window 2048",
            "--size, --window or --senders",
        ),
    ] {
        let said = format!(
            "mq: a process would need 2.0 GiB for its messages, more than the system provides: reduce {option}\n"
        );
        assert_eq!(limited(&format!("{command} {short}")), said, "{command}");
    }
    let said = "mq: the receiver would need 58.6 GiB for its buffers, but 4.0 GiB is the limit: reduce --size, \
                --window or --senders\n";
    assert_eq!(limited("rate --size 1M --window 60000"), said);
    assert!(limited("rate --senders 1000 --window 65536 --size 0").contains("would need 3.9 GiB"));
    // If another launcher starts the processes, each finds out by itself.
    let errors = limited(&format!("run -n 2 -- \"$0\" pingpong --sizes 1G {short}"));
    let said = "mq: there is no memory for a message of 1073745920 bytes";
    assert!(
        errors.contains(said) && !errors.contains("panicked"),
        "{errors}"
    );
}

#[test]
fn rows_are_printed_as_they_are_measured() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
    let args = ["pingpong", "--samples", "5", "--block", "50000"];
    let launcher = Launcher::start(command.args(args).stdin(Stdio::null()));
    assert!(launcher.line().contains(" core"));
    assert_eq!(launcher.line(), "");
    assert_eq!(launcher.line(), " bytes         | ns one way  | best");
    assert_eq!(
        launcher.line(),
        "---------------+-------------+-------------"
    );
    assert!(launcher.line().starts_with(" 0             | "));
    launcher.signal(Signal::TERM);
    let run = launcher.finish();
    assert!(run.stdout.lines().count() < 10, "{}", run.stdout);
}

#[test]
fn who_is_stopped_plots_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("latency.svg");
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
        let args = ["pingpong", "--samples", "5", "--block", "50000"];
        command
            .args(args)
            .args(["--format", "json", "--plot"])
            .arg(&plot);
        let launcher = Launcher::start(command.stdin(Stdio::null()));
        assert!(launcher.line().contains("pingpong"));
        launcher.signal(signal);
        let run = launcher.finish();
        assert_eq!(run.code(), 128 + signal.as_raw(), "{run:?}");
        let said = format!("mq: stopped by signal {} (", signal.as_raw());
        assert!(run.stderr.contains(&said), "{}", run.stderr);
        let svg = std::fs::read_to_string(&plot).expect("there is a plot");
        assert!(svg.trim_end().ends_with("</svg>"));
        std::fs::remove_file(&plot).expect("it is there");
    }
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

#[test]
fn halo_has_a_row_for_each_tile() {
    let rows = rows(&["halo", "--tiles", "1,1000"], &[]);
    assert_eq!(numbers(&rows, "tile"), [1, 1000]);
}

#[test]
fn calls_have_a_row_for_each_size_and_a_barrier_has_one() {
    let others = "broadcast sendrecv itself alltoall recv probe iprobe test";
    for processes in [2, 3] {
        let number = processes.to_string();
        let args = &["calls", "--sizes", "0,70000", "--processes", &number][..];
        let rows = rows(args, &[]);
        let mut expected = vec![("barrier", 0)];
        expected.extend((others.split(' ')).flat_map(|name| [(name, 0), (name, 70_000)]));
        let found: Vec<_> = (rows.iter())
            .map(|row| (row["call"].as_str().unwrap_or("?"), row["size"].as_u64()))
            .collect();
        let expected: Vec<_> = (expected.into_iter())
            .map(|(name, size)| (name, Some(size)))
            .collect();
        assert_eq!(found, expected);
        assert!(rows.iter().all(|row| row["ranks"] == processes));
    }
}

#[test]
fn where_the_processes_run_is_chosen_and_said() {
    let size = &["pingpong", "--sizes", "0"][..];
    let first = usable()[0];
    let (alone, twice) = (first.to_string(), format!("{first},{first}"));
    let chosen = rows(&[size, &["--cores", &twice]].concat(), &[]);
    assert_eq!(chosen[0]["cores"], serde_json::json!([first, first]));
    let unbound = rows(&[size, &["--unbound"]].concat(), &[]);
    let nobody = serde_json::json!([null, null]);
    let one_core = usable().len() == 1;
    assert!(unbound[0]["cores"] == nobody || one_core, "{unbound:?}");
    let shared = rows(&["halo", "--tiles", "1", "--cores", &alone], &[]);
    assert_eq!(shared[0]["cores"], serde_json::json!(vec![first; 4]));
}

#[test]
fn cores_that_are_not_there_are_refused() {
    let unknown = format!("{},1000", usable()[0]);
    for (list, said) in [
        (&*unknown, "--cores: core 1000 is not one of those"),
        ("1-", "expected core numbers up to 1023, such as 0,2 or 4-7"),
    ] {
        let output = mq(&["pingpong", "--sizes", "0", "--cores", list], &[]);
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(said), "{errors}");
    }
}

#[test]
fn a_plot_that_is_not_drawn_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("new.svg");
    let name = plot.to_str().expect("it is text");
    for refused in [&["--cores", "0,1000"][..], &["--cores", "0,1000-1001"]] {
        let args = ["pingpong", "--sizes", "0", "--plot", name];
        let output = mq(&[&args[..], refused].concat(), &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(!plot.exists());
    }
    let args = [
        "pingpong",
        "--sizes",
        "0",
        "--plot",
        "/nowhere/at/all/x.svg",
    ];
    let output = mq(&args, &[]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn a_table_and_a_plot_are_for_people() {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("latency.svg");
    let name = plot.to_str().expect("it is text");
    let args = ["pingpong", "--sizes", "0,1024", "--plot", name];
    let output = mq(
        &args,
        &[
            ("MQ_FASTBOX", "0"),
            ("MQ_BYPASS", "1"),
            ("MQ_TRACE_DIR", "x"),
        ],
    );
    let text = String::from_utf8(output.stdout).expect("it is text");
    assert!(text.contains("\n bytes         | ns one way  | "), "{text}");
    assert!(text.contains(" core"), "{text}");
    let svg = std::fs::read_to_string(plot).expect("it was drawn");
    assert!(svg.starts_with("<svg") && svg.contains("ns one way"));
    let cores = text.lines().next().expect("the cores");
    let what = format!("One message at a time, from the processes&apos; own memory. {cores}\n");
    assert!(svg.contains(&what), "{svg}");
    assert!(svg.contains("\nMQ_BYPASS=1 MQ_FASTBOX=0\n"), "{svg}");
}

#[test]
fn the_wrong_number_of_processes_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
    let program = env!("CARGO_BIN_EXE_mq");
    command.args(["run", "-n", "3", "--", program, "pingpong", "--sizes", "0"]);
    let output = command.output().expect("mq starts");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("mq: 2 processes are needed, 3 were started"),
        "{errors}"
    );
}

#[test]
fn a_wrong_switch_is_named_with_what_it_may_be() {
    let output = mq(&["pingpong", "--sizes", "0"], &[("MQ_FASTBOX", "off")]);
    assert!(output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("MQ_FASTBOX=off is ignored; expected 0 or 1"),
        "{errors}"
    );
}

#[test]
fn what_was_sent_is_told_on_request() {
    let settings = [
        ("MQ_STATS", "1"),
        ("MQ_POLICY", "per-peer:credits=2"),
        ("MQ_STRUCTURE", "bins:bins=4"),
    ];
    let output = mq(&["pingpong", "--sizes", "8"], &settings);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let with = "with structure bins:bins=4, policy per-peer:credits=2";
    for rank in ["mq: rank 0: ", "mq: rank 1: "] {
        let heading = told.lines().find(|line| line.starts_with(rank));
        assert!(heading.is_some_and(|line| line.ends_with(with)), "{told}");
    }
    for line in [
        "sent with their data",
        "taken by a waiting receive",
        "through fastboxes",
    ] {
        assert_eq!(told.matches(line).count(), 2, "{told}");
    }
}

#[test]
fn a_wrong_setting_is_named_once() {
    let output = mq(&["pingpong", "--sizes", "8"], &[("MQ_BYPASS", "perhaps")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors.matches("MQ_BYPASS").count(), 1, "{errors}");
}
