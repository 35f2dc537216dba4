//! Sends and receives messages of 8 bytes between two processes that both run in this thread, for
//! counting instructions:
//! `valgrind --tool=callgrind target/release/examples/message_instructions 1000 [window]`;
//! `ci/comm-instructions.sh` does.
//!
//! Without `window` by blocking operations; with it by windows of non-blocking ones, as `mq rate`
//! does.

use mq_comm::{Error, Options, World};

/// Messages of a window: no more than a fastbox has room for, as nobody receives meanwhile.
const WINDOW: usize = 30;
const TAG: i32 = 7;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let rounds: u64 = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1000);
    let windows = arguments.next().is_some_and(|what| what == "window");
    let (options, complaints) = Options::default().with_environment(|name| std::env::var_os(name));
    assert!(complaints.is_empty(), "{complaints:?}");
    let mut seats = World::seats(2, &options)?.into_iter();
    let (Some(first), Some(second)) = (seats.next(), seats.next()) else {
        unreachable!("there are two");
    };
    let (alice, bob) = (first.take()?, second.take()?);
    // Long enough for the pair to get its fastbox.
    let sum = blocking(&alice, &bob, 100)?
        + if windows {
            (0..10 + rounds).try_fold(0, |sum, round| {
                Ok::<_, Error>(sum + window(&alice, &bob, round)?)
            })?
        } else {
            blocking(&alice, &bob, rounds)?
        };
    println!("{sum}");
    Ok(())
}

fn blocking(alice: &World, bob: &World, rounds: u64) -> Result<u64, Error> {
    let mut sum = 0;
    for round in 0..rounds {
        alice.send(&[round], 1, TAG)?;
        let mut word = [0_u64];
        let status = bob.recv(&mut word, 0, TAG)?;
        sum += word[0] + status.bytes();
    }
    Ok(sum)
}

/// Receives are posted first, then everything is sent, then everything has arrived.
fn window(alice: &World, bob: &World, round: u64) -> Result<u64, Error> {
    let words = [[round]; WINDOW];
    let mut into = [[0_u64]; WINDOW];
    bob.scope(|receiving| {
        for word in &mut into {
            receiving.irecv(word, 0, TAG)?;
        }
        alice.scope(|sending| {
            for word in &words {
                sending.isend(word, 1, TAG)?;
            }
            sending.wait_all()
        })?;
        receiving.wait_all()
    })?;
    Ok(into.iter().map(|word| word[0]).sum())
}
