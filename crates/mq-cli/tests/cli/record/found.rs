//! What `mq record` says of the traces that it found.

use super::TRACE;
use super::workplace::Workplace;
use crate::support::{command, mq, text};

/// A trace of one of four ranks.
fn of_four(rank: u32) -> String {
    let header = format!("rank={rank} ranks=4");
    TRACE.replacen("rank=0", &header, 1)
}

#[test]
fn ranks_without_a_trace_are_missed() {
    let place = Workplace::new();
    let (first, third) = (of_four(0), of_four(2));
    let app = place.application(&[("r0.mqt", &first), ("r2.mqt", &third)], "");
    let run = place.record(&[], &[&app]);
    assert_eq!(run.code, 0);
    let missing = "traces of 2 of 4 ranks: ranks 1 and 3 are missing";
    let said = format!("mq: {missing}: does the launcher pass MQ_TRACE on");
    assert!(run.stderr.starts_with(&said), "{}", run.stderr);
    assert!(run.stderr.contains("-x MQ_TRACE") && run.stderr.contains("--output"));
    assert!(run.stdout.starts_with("2 traces in "), "{}", run.stdout);

    let output = place.output();
    for command in ["stats", "advise"] {
        let read = mq(&[command, &output]);
        let said = format!("mq: {output}: {missing}\n");
        assert_eq!((read.code, read.stderr.as_str()), (0, &*said), "{command}");
    }
    // Who names one wants one.
    let one = mq(&["stats", &text(&place.path("out/r0.mqt.gz"))]);
    assert_eq!((one.code, one.stderr.as_str()), (0, ""));

    // But does not miss it in a directory that is named too.
    let both = mq(&["stats", &output, &text(&place.path("out/r0.mqt.gz"))]);
    let said = format!("mq: {output}: {missing}\n");
    assert_eq!((both.code, both.stderr), (0, said));

    let (second, fourth) = (of_four(1), of_four(3));
    let app = place.application(&[("r1.mqt", &second), ("r3.mqt", &fourth)], "");
    assert_eq!(place.record(&["--force"], &[&app]).code, 0);
    let whole = mq(&["stats", &output]);
    assert_eq!((whole.code, whole.stderr.as_str()), (0, ""));
}

/// What `mq record` has not collected yet is of the recording around it; a user's own directory is one by itself.
#[test]
fn a_directory_of_a_name_like_a_recording_s_is_one_by_itself() {
    let place = Workplace::new();
    for (directory, rank) in [("recording-a", 0), ("recording-b", 1), ("recording-12", 2)] {
        let directory = place.path(directory);
        std::fs::create_dir(&directory).expect("it is new");
        std::fs::write(directory.join("t.mqt"), of_four(rank)).expect("written");
    }
    let said = |names: [&str; 2]| {
        let mut stats = command(&["stats", names[0], names[1]]);
        let run = stats.current_dir(place.path("")).output();
        let run = run.expect("mq starts");
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stderr).expect("UTF-8")
    };
    let of_b = "mq: recording-b: traces of 1 of 4 ranks: ranks 0, 2 and 3 are missing\n";
    let of_a = "mq: recording-a: traces of 1 of 4 ranks: ranks 1, 2 and 3 are missing\n";
    assert_eq!(
        said(["recording-b", "recording-a"]),
        format!("{of_a}{of_b}")
    );
    let here = "mq: .: traces of 1 of 4 ranks: ranks 0, 1 and 3 are missing\n";
    assert_eq!(
        said(["recording-12", "recording-a"]),
        format!("{here}{of_a}")
    );
}

#[test]
fn json_names_the_rank_and_ranks_are_in_their_order() {
    let place = Workplace::new();
    let ranks = ["r10", "r2", "r0", "r1"].map(|name| {
        let trace = TRACE.replacen("rank=0", &format!("rank={}", &name[1..]), 1);
        (format!("{name}.mqt"), trace)
    });
    let traces: Vec<_> = ranks
        .iter()
        .map(|(name, trace)| (&**name, &**trace))
        .collect();
    let app = place.application(&traces, "echo full > \"$MQ_TRACE/r2.ended\"\n");
    let run = place.record(&["--format", "json"], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let output = place.output();
    let stats = mq(&["stats", &output, "--format", "json"]).objects();
    let advised = mq(&["advise", &output, "--repeat", "1", "--format", "json"]).stdout;
    let advised: serde_json::Value = serde_json::from_str(&advised).expect("JSON");
    let advised = advised["traces"].as_array().expect("a list").clone();
    for (objects, which) in [
        (run.objects(), "record"),
        (stats, "stats"),
        (advised, "advise"),
    ] {
        let of = |object: &serde_json::Value| {
            let early = object["ended_early"].as_str().map(str::to_owned);
            (object["header"]["rank"].as_str().map(str::to_owned), early)
        };
        let found: Vec<_> = objects.iter().map(of).collect();
        let expected = ["0", "1", "2", "10"].map(|rank| {
            let early = (rank == "2").then(|| "full".to_owned());
            (Some(rank.to_owned()), early)
        });
        assert_eq!(found, expected, "{which}");
        assert!(objects[0].get("ended_early").is_some(), "{which}");
    }
}

#[test]
fn a_deep_queue_is_not_searched_for_its_length_squared() {
    let place = Workplace::new();
    let mut deep = String::from("# mqtrace 1\n");
    for tag in 0..5_000 {
        deep += &format!("a 0 1 {tag}\n");
    }
    for tag in (0..5_000).rev() {
        deep += &format!("p 0 1 {tag} ={tag}\n");
    }
    let app = place.application(&[("deep.mqt", &deep), ("short.mqt", TRACE)], "");
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let said = "\ndeep.mqt.gz replayed by indexed alone: array would compare more than 10,000,000 entries and 64 per \
                operation\n";
    assert!(run.stdout.ends_with(said), "{}", run.stdout);
    let run = place.record(&["--force", "--format", "json"], &[&app]);
    let judges = run
        .objects()
        .iter()
        .map(|one| one["judges"].to_string())
        .collect::<Vec<_>>();
    assert_eq!(judges, [r#"["indexed"]"#, r#"["indexed","array"]"#]);
}

#[test]
fn a_recording_of_nothing_says_so() {
    let place = Workplace::new();
    let app = place.application(&[("t.mqt", "# mqtrace 1 rank=0\n")], "");
    let run = place.record(&[], &[&app]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(
        run.stdout.contains("\nno operations were recorded: "),
        "{}",
        run.stdout
    );
}
