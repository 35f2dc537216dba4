//! Two processes on the transport alone: a parent makes a segment and starts itself again, the child inherits it, and
//! is sent a long message through a ring. Run it: `cargo run -p mq-examples --example two_processes`
#![allow(unsafe_code, reason = "vouches for a ring")]

use std::os::fd::AsRawFd;
use std::process::Command;

use mq_shm::large::{Pulled, Pushed, RingId, Stretch};
use mq_shm::wait::Idle;
use mq_shm::{Arrival, Endpoint, Geometry, Mapped, Options, Process, Sent};

type AnyError = Box<dyn std::error::Error>;
const PARENT: Process = Process(0);
const CHILD: Process = Process(1);
// Kinds of short messages: the first word of a header. The second is a number.
const ANNOUNCED: u64 = 1; // a long message, of so many bytes
const ASKED: u64 = 2; // for it
const GIVEN: u64 = 3; // a ring, of this number; the message is the number of the first buffer
const PULLED: u64 = 4; // all of it

fn say(at: &mut Endpoint, to: Process, header: [u64; 2], number: u64) -> Result<(), AnyError> {
    let mut idle = Idle::default();
    while at.try_send(to, header, &number.to_le_bytes(), 0)? != Sent::Whole {
        at.rest(&mut idle)?;
    }
    Ok(())
}

/// Waits for a short message of that kind: the number in its header, and the one that it is.
fn hear(at: &mut Endpoint, kind: u64) -> Result<[u64; 2], AnyError> {
    let mut idle = Idle::default();
    loop {
        match at.poll()? {
            Some(Arrival::Message(mut message)) => {
                let mut number = [0; 8];
                message.copy_to(&mut number);
                let [found, word] = message.header();
                assert_eq!(found, kind, "the other keeps to the order");
                return Ok([word, u64::from_le_bytes(number)]);
            }
            Some(Arrival::Gone(process, how)) => Err(format!("process {process} {how}"))?,
            None => {}
        }
        at.rest(&mut idle)?;
    }
}

fn parent(at: &mut Endpoint, long: &[u8]) -> Result<(), AnyError> {
    say(at, CHILD, [ANNOUNCED, long.len() as u64], 0)?;
    hear(at, ASKED)?;
    let taken = at.take_ring(CHILD, long.len())?;
    let (ring, first) = taken.ok_or("all rings are in use")?; // then rest, and try again
    say(at, CHILD, [GIVEN, ring.0.into()], first)?;
    // SAFETY: the two ends are two processes.
    let stretch = unsafe { Stretch::new(PARENT, ring, first, 0) };
    let (mut done, mut idle) = (0, Idle::default());
    while let Pushed::Upto(now) = at.push(stretch, long, done)? {
        done = now;
        at.rest_briefly(&mut idle)?;
    }
    hear(at, PULLED)?;
    assert!(at.free_ring(ring));
    Ok(())
}

fn child(at: &mut Endpoint) -> Result<(), AnyError> {
    let [bytes, _] = hear(at, ANNOUNCED)?;
    let mut long = vec![0; bytes as usize];
    say(at, PARENT, [ASKED, 0], 0)?;
    let [ring, first] = hear(at, GIVEN)?;
    // SAFETY: as above.
    let stretch = unsafe { Stretch::new(PARENT, RingId(ring as u32), first, 0) };
    let (mut done, mut idle) = (0, Idle::default());
    while let Pulled::Upto(now) = at.pull(PARENT, stretch, &mut long, done)? {
        done = now;
        at.rest_briefly(&mut idle)?;
    }
    assert!(long.iter().all(|&byte| byte == 7));
    say(at, PARENT, [PULLED, 0], 0)
}

fn main() -> Result<(), AnyError> {
    if let Some(number) = std::env::args().nth(1) {
        let number = number.parse();
        let number = number.map_err(
            |_| "the argument is the number of the descriptor that the parent hands down",
        )?;
        let memory = Mapped::inherited(number, "the parent's segment")?;
        return child(&mut Endpoint::join(memory, CHILD, Options::default())?);
    }
    let memory = Mapped::create(Geometry::new(2)?)?;
    let mut again = Command::new(std::env::current_exe()?);
    let file = memory.inheritable()?;
    let mut process = again.arg(file.as_raw_fd().to_string()).spawn()?;
    drop(file);
    let mut at = Endpoint::join(memory, PARENT, Options::default())?;
    parent(&mut at, &vec![7; 3_000_000])?;
    assert!(process.wait()?.success());
    at.check_peers();
    let how = at.gone(CHILD).ok_or("its end is not seen")?;
    println!("the child has read 3000000 bytes, and {how}");
    Ok(())
}
