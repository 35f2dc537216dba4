//! The command `mq` as a user runs it: the real binary on real traces.

mod advise;
mod generate;
mod malformed;
#[cfg(target_os = "linux")]
mod memory;
mod readme;
#[cfg(unix)]
mod record;
mod replay;
mod stats;
#[cfg(target_os = "linux")]
mod stopping;
mod support;
#[cfg(target_os = "linux")]
#[path = "../run/terminal.rs"]
mod terminal;
mod usage;
mod workloads;
