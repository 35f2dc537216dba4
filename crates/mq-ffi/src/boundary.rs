//! The layer between C and an engine, in every build. A match operation asks [`way`] where it is done; the
//! short ways check a few words and nothing else. Everything else goes through [`enter`]: null and liveness
//! checks, the refusal of calls from within a callback, the lock of a locked engine, and the panic boundary.

mod blocks;
mod enter;
mod entered;
mod pointers;
mod shell;
mod way;

pub(crate) use self::blocks::{install, remove};
pub(crate) use self::enter::{enter, enter_to_look, guard, guard_step};
pub(crate) use self::entered::{Entered, InCallback};
pub(crate) use self::pointers::{borrow, write};
pub use self::shell::mq_engine;
pub(crate) use self::way::{Way, front_of, straight, way};

#[cfg(test)]
mod tests;
