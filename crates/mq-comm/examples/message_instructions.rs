//! Sends and receives messages of 8 bytes between two processes that are this thread, for counting instructions:
//! `valgrind --tool=callgrind target/release/examples/message_instructions`;
//! `ci/comm-instructions.sh` does.

use mq_comm::{Error, Options, World};

fn main() -> Result<(), Error> {
    let rounds: u64 = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1000);
    let (options, complaints) = Options::default().with_environment(|name| std::env::var_os(name));
    assert!(complaints.is_empty(), "{complaints:?}");
    let mut seats = World::seats(2, &options)?.into_iter();
    let (Some(first), Some(second)) = (seats.next(), seats.next()) else {
        unreachable!("there are two");
    };
    let (alice, bob) = (first.take()?, second.take()?);
    let mut sum = 0;
    for round in 0..100 + rounds {
        alice.send(&[round], 1, 7)?;
        let mut word = [0_u64];
        let status = bob.recv(&mut word, 0, 7)?;
        sum += word[0] + status.bytes();
    }
    println!("{sum}");
    Ok(())
}
