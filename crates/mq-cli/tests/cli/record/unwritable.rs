//! Recordings of which something cannot be written.

use std::fs::{self, File};
use std::process::Command;

use super::WRONG;
use super::workplace::{Workplace, names};

#[test]
fn a_trace_that_becomes_too_large_stays_and_the_others_are_collected() {
    let place = Workplace::new();
    // Hardly compressible, so that it is too long compressed too; linked, as if a process without a limit had
    // written it.
    let mut long = String::from("# mqtrace 1 rank=0\n");
    let mut tag = 1_u32;
    for _ in 0..30_000 {
        tag = tag.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        long += &format!("a 0 1 {}\n", tag >> 2);
    }
    let long = place.write("long.mqt", &long);
    let app = place.write(
        "app.sh",
        &format!(
            "#!/bin/sh\nln '{}' \"$MQ_TRACE/r0.mqt\"\necho '# mqtrace 1 rank=1' >\"$MQ_TRACE/r1.mqt\"\n",
            long.display()
        ),
    );
    let limited = "ulimit -f 100; exec \"$0\" record -o \"$1\" -- sh \"$2\"";
    let run = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_mq"), &place.output()])
        .arg(app)
        .output()
        .expect("sh starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{:?}: {said}", run.status);
    assert!(said.contains("cannot write: File too large"), "{said}");
    let collected = place.collected();
    let [good, left] = collected.as_slice() else {
        panic!("{collected:?}");
    };
    assert_eq!(good, "r1.mqt.gz");
    assert_eq!(names(&place.path("out").join(left)), ["r0.mqt"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_wrong_with_traces_is_told_though_the_table_cannot_be_printed() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", WRONG), ("bad.mqt", "# mqtrace 1\nq 0 1\n")], "");
    for format in ["table", "json"] {
        let full = File::options().write(true).open("/dev/full");
        let run = Command::new(env!("CARGO_BIN_EXE_mq"))
            .args([
                "record",
                "--format",
                format,
                "-o",
                &place.output(),
                "--",
                &app,
            ])
            .stdout(full.expect("it is there"))
            .output()
            .expect("mq starts");
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains("MPI's rules give receive 0"), "{said}");
        assert!(said.contains("unknown operation `q`"), "{said}");
        assert!(said.contains("standard output: cannot write: "), "{said}");
        fs::remove_dir_all(place.path("out")).expect("it is there");
    }
}
