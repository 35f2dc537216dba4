//! What the programs for an instruction counter have in common: `instructions`, `drained`, `operations`.

use std::error::Error;
use std::process::ExitCode;

use mq_core::mpi::MpiPattern;
use mq_core::{ContextOptions, Engine, EngineOptions, MatchQueues, Tuning};

/// The communicator of [`engine`].
pub(crate) const CONTEXT: u32 = 0;

/// Does what the arguments ask for, or says why not and how the program is used.
pub(crate) fn run(
    usage: &str,
    ask: impl FnOnce(&[String]) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match ask(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}\n{usage}");
            ExitCode::FAILURE
        }
    }
}

/// An engine with a communicator of so many ranks. The hash is always the same, so that the same entries share a bucket
/// in every run.
pub(crate) fn engine<Q>(ranks: u32) -> Engine<Q>
where
    Q: MatchQueues<Pattern = MpiPattern>,
{
    let mut tuning = Tuning::default();
    tuning.hash_seed = Some(1);
    let mut engine = Engine::with_options(EngineOptions::new().tuning(tuning));
    let created = engine.create_context(CONTEXT, ContextOptions::new().size(ranks));
    assert!(created.is_ok(), "the first context");
    engine
}
