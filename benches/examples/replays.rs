//! A recorded trace, replayed without a clock, for an instruction counter.
//!
//! `replays TRACE STRUCTURE...` replays the trace twice in each structure, after two turns of the
//! empty loop; the first of two turns warms up. It prints the number of operations in the trace. A
//! counter that counts only inside functions named `replay`, and dumps its count whenever one returns,
//! gets the loop first and then the structures, alternating between warm-up and warm.
//! `benches/trace-instructions.sh` makes the table.

use std::error::Error;
use std::process::ExitCode;

use mq_core::structures::Kind;
use mq_trace::{Floor, Replay, Trace, timed};

const USAGE: &str = "usage: replays TRACE STRUCTURE...";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match replay(&arguments) {
        Ok(operations) => {
            println!("operations {operations}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

/// Replays what is asked for; the operations of the trace.
fn replay(arguments: &[String]) -> Result<usize, Box<dyn Error>> {
    let [path, structures @ ..] = arguments else {
        return Err("a trace is needed".into());
    };
    let kinds = structures.iter().map(|name| name.parse());
    let kinds = kinds.collect::<Result<Vec<Kind>, _>>()?;
    let trace = Trace::open(path)?;
    twice(&mut Floor::new(&trace));
    for kind in kinds {
        twice(timed(&trace, kind).as_mut());
    }
    Ok(trace.operations().len())
}

fn twice(replay: &mut dyn Replay) {
    replay.repetition();
    replay.repetition();
}
