//! What every rank but the receiver does: it sends when it is told to.

use crate::event::Message;
use crate::program::{Program, Step};
use crate::wire::Wire;

/// One round.
pub(crate) fn round(wire: &Wire, program: &Program) {
    let mine = |message: &Message| {
        let sent = (message.sender == wire.process).then(|| message.contents());
        sent.unwrap_or_default()
    };
    let contents: Vec<Vec<u8>> = program.messages.iter().map(mine).collect();
    mpi::request::scope(|scope| {
        let mut sends = Vec::new();
        for (number, step) in program.steps.iter().enumerate() {
            match step {
                Step::Burst { parts, .. } => {
                    for part in parts.iter().filter(|part| part.sender == wire.process) {
                        wire.wait_for_go(number);
                        for at in part.messages.clone() {
                            sends.push(wire.send(scope, &program.messages[at], &contents[at]));
                        }
                    }
                }
                Step::Collective(comm) => {
                    wire.gather(*comm);
                }
                _ => {}
            }
        }
        for send in sends {
            send.wait();
        }
    });
}
