//! The steps of sending and receiving between which a process can be killed, and a way to trigger
//! that.
//!
//! With the feature `_steps`, a process whose environment has `MQ_DIE=STEP` or `MQ_DIE=STEP:N` kills
//! itself with SIGKILL when it reaches that step for the first or the Nth time. Without the
//! feature, a step does nothing.

macro_rules! steps {
    ($($(#[$meaning:meta])* $step:ident,)*) => {
        /// Every step. Their names are what `MQ_DIE` takes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Step {
            $($(#[$meaning])* $step,)*
        }

        #[cfg(feature = "_steps")]
        impl Step {
            /// Not formatted, which would allocate in the programs that are to be stopped.
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$step => stringify!($step),)*
                }
            }
        }

        /// The names of all steps.
        #[cfg(feature = "_steps")]
        pub const STEPS: &[&str] = &[$(stringify!($step)),*];
    };
}

steps! {
    /// A process has its number, and no other process knows it yet.
    Joining,
    /// A process has joined.
    Joined,
    /// A process has noted that another may have something of it, and has sent it nothing.
    Noted,
    /// A cell is out of the pool, empty.
    CellTaken,
    /// A cell is filled and not yet in the queue.
    CellFilled,
    /// A cell is in the queue; the receiver has not been woken.
    CellPushed,
    /// A chain has been taken off the queue and not yet looked at.
    ChainTaken,
    /// A message in a cell is in the receiver's hands.
    CellHeld,
    /// A cell is read and not yet returned.
    CellRead,
    /// A cell has been returned; the owner has not been woken.
    CellReturned,
    /// The fastbox has its memory, and the receiver does not know of it.
    BoxMade,
    /// A slot is filled and not yet shown.
    SlotFilled,
    /// A slot has been shown; the receiver has not been woken.
    SlotShown,
    /// A message in a slot is in the receiver's hands.
    SlotHeld,
    /// A slot is given back.
    SlotEmptied,
    /// A cell is lent with the message that is in it.
    CellLent,
    /// A message is in the cell that was lent.
    CellAnswered,
    /// A ring belongs to a transfer.
    RingTaken,
    /// A ring is lent to the sender of a large message, who does not know.
    RingLent,
    /// A buffer of a ring is filled and not yet shown.
    BufferFilled,
    /// A buffer has been shown.
    BufferShown,
    /// A buffer is read and not yet given back.
    BufferRead,
    /// A message is about to be read from its sender's memory.
    Copying,
    /// A message has been read from its sender's memory, and the sender does not know.
    Copied,
    /// The sender of a message has been asked for help with it, and nothing has been copied.
    HelpAsked,
    /// A sender has taken a part of its message to copy.
    HelpTaken,
    /// A sender has copied its part of a message, and not reported it.
    HelpGiven,
    /// A sender has reported the part that it has copied.
    HelpCounted,
    /// A receiver has copied all of a message but what the sender has taken.
    HelpAwaited,
    /// Pages for a shared buffer are taken, and have no memory yet.
    SharedTaken,
    /// Pages for a shared buffer have their memory.
    SharedMade,
    /// A message is about to be copied out of a shared buffer.
    SharedCopying,
    /// A message has been copied out of a shared buffer, and the sender does not know.
    SharedCopied,
    /// The memory of a shared buffer is given back, and its pages are not.
    SharedGivenBack,
    /// The process has said that it sleeps, and does not sleep yet.
    Sleeping,
    /// Another process, which sleeps, is marked as being woken, and has not been woken yet.
    Waking,
    /// Everything from an ended process has been received, and the note of it has not been struck
    /// out.
    Buried,
    /// The note of an ended process is struck out.
    StruckOut,
    /// This process has taken on giving back the memory of one that has ended.
    Inherited,
    /// The memory of an ended process is given back, and nobody knows.
    GivenBack,
    /// A process has said that it leaves.
    Left,
}

#[cfg(not(feature = "_steps"))]
#[inline(always)]
pub(crate) fn step(_step: Step) {}

#[cfg(feature = "_steps")]
pub use counted::at_step;
#[cfg(feature = "_steps")]
pub(crate) use counted::step;

#[cfg(feature = "_steps")]
mod counted {
    use super::Step;
    use std::sync::OnceLock;

    use crate::sync::{AtomicU32, Ordering};

    struct Death {
        step: String,
        times: AtomicU32,
    }

    static DEATH: OnceLock<Option<Death>> = OnceLock::new();

    fn planned() -> Option<Death> {
        let plan = std::env::var("MQ_DIE").ok()?;
        let (step, times) = match plan.split_once(':') {
            Some((step, times)) => (step, times.parse().expect("MQ_DIE=STEP:N has a number")),
            None => (plan.as_str(), 1),
        };
        Some(Death {
            step: step.to_owned(),
            times: AtomicU32::new(times),
        })
    }

    pub(crate) fn step(step: Step) {
        at_step(step.name());
    }

    /// A process reaches a step of this name, defined by a crate that builds on this one, and kills
    /// itself if `MQ_DIE` says so.
    ///
    /// # Panics
    /// If `MQ_DIE` cannot be parsed.
    pub fn at_step(step: &str) {
        let Some(death) = DEATH.get_or_init(planned) else {
            return;
        };
        if death.step == step && death.times.fetch_sub(1, Ordering::Relaxed) == 1 {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("to die");
            loop {
                std::thread::park();
            }
        }
    }
}
