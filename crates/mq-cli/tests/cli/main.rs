//! The command `mq` as a user runs it: the real binary on real traces.

mod advise;
mod generate;
mod malformed;
#[cfg(unix)]
mod record;
mod replay;
mod stats;
mod support;
mod usage;
mod workloads;
