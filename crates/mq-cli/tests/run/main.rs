//! `mq run` as a user runs it: the real binary starts small shell programs.
#![cfg(target_os = "linux")]

mod ends;
mod leftovers;
mod node;
mod output;
mod signals;
mod start;
mod stuck;
mod support;
mod terminal;
