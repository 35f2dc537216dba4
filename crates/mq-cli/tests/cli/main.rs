//! The command `mq` as a person runs it: the real binary on real traces.

mod generate;
mod malformed;
mod replay;
mod stats;
mod support;
mod usage;
