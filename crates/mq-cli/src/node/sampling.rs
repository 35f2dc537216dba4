//! Rounds in blocks, led by rank 0.

use std::time::{Duration, Instant};

use mq_comm::{Error, StartCause, World};

use crate::cli::NodeOptions;
use crate::timing::median;

/// The median and the best of some samples, in nanoseconds a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Samples {
    pub(super) median: f64,
    pub(super) best: f64,
}

/// Whose time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// That of rank 0.
    First,
    /// That of the slowest rank.
    Slowest,
}

const TAG: i32 = 1 << 20;

/// Rounds before the block length is determined. An endpoint asks the kernel only after some waits
/// whether it shares its core, and until then each wait takes much longer.
const WARM_UP_ROUNDS: u64 = 64;
/// The time after which the warm-up ends in any case: the rounds themselves are long then.
const WARM_UP_TIME: Duration = Duration::from_millis(200);

/// Runs and times rounds in blocks, whose length rank 0 determines. Only rank 0's figures are
/// meaningful.
pub(super) fn sample(
    world: &World,
    options: &NodeOptions,
    clock: Clock,
    mut round: impl FnMut() -> Result<(), Error>,
) -> Result<Samples, Error> {
    let mut block = |rounds: u64| -> Result<Duration, Error> {
        let mut rounds = [rounds];
        world.broadcast(&mut rounds, 0)?;
        if rounds[0] == 0 {
            return Ok(Duration::ZERO);
        }
        // Untimed, so that nobody is late.
        round()?;
        let start = Instant::now();
        for _ in 0..rounds[0] {
            round()?;
        }
        let time = start.elapsed();
        if clock == Clock::Slowest {
            slowest(world, time)
        } else {
            Ok(time)
        }
        .map(|time| {
            // Never zero, which tells the others that it is the end.
            time.max(Duration::from_nanos(1))
        })
    };
    if world.rank() != 0 {
        while block(0)? > Duration::ZERO {}
        return Ok(Samples {
            median: 0.0,
            best: 0.0,
        });
    }
    warm_up(&mut block)?;
    let mut rounds = 1;
    // A long block may have been held up; then the next one is shorter.
    while rounds < 1 << 40 && (block(rounds)? < options.block() || block(rounds)? < options.block())
    {
        rounds *= 2;
    }
    let mut times = Vec::new();
    for _ in 0..options.samples {
        times.push(block(rounds)?.as_nanos() as f64 / rounds as f64);
    }
    block(0)?;
    times.sort_by(f64::total_cmp);
    Ok(Samples {
        median: median(&times, f64::midpoint).unwrap_or_default(),
        best: times[0],
    })
}

/// Runs rounds that are not counted.
fn warm_up(mut block: impl FnMut(u64) -> Result<Duration, Error>) -> Result<(), Error> {
    let (mut done, mut time) = (0, Duration::ZERO);
    let mut rounds = 1;
    while done < WARM_UP_ROUNDS && time < WARM_UP_TIME {
        time += block(rounds)?;
        done += rounds;
        rounds *= 2;
    }
    Ok(())
}

/// At rank 0 the longest of all times; elsewhere the rank's own.
fn slowest(world: &World, time: Duration) -> Result<Duration, Error> {
    if world.rank() > 0 {
        world.send(&[time.as_nanos() as u64], 0, TAG)?;
        return Ok(time);
    }
    let mut longest = time;
    for rank in 1..world.size() {
        let mut nanoseconds = [0_u64];
        world.recv(&mut nanoseconds, rank, TAG)?;
        longest = longest.max(Duration::from_nanos(nanoseconds[0]));
    }
    Ok(longest)
}

/// Bytes that distinguish a message from every other one of the same size.
pub(super) fn pattern(size: usize, message: usize) -> impl Iterator<Item = u8> {
    (0..size).map(move |at| (at.wrapping_mul(31) ^ (at >> 8) ^ message.wrapping_mul(97)) as u8)
}

/// Compares what was received with what was sent.
pub(super) fn check(received: &[u8], size: usize, message: usize) -> Result<(), Error> {
    match received
        .iter()
        .zip(pattern(size, message))
        .position(|(is, was)| *is != was)
    {
        None if received.len() == size => Ok(()),
        at => Err(Error::Start {
            cause: StartCause::Other,
            message: format!(
                "a message of {size} bytes arrived with {} bytes, wrong from byte {}",
                received.len(),
                at.unwrap_or(size)
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds of a warm-up if each takes this long.
    fn warmed_up(round: Duration) -> u64 {
        let mut done = 0;
        let counted = |rounds: u64| {
            done += rounds;
            Ok(round * rounds as u32)
        };
        warm_up(counted).expect("no block fails");
        done
    }

    #[test]
    fn messages_are_told_apart_and_what_is_wrong_is_found() {
        let all: Vec<Vec<u8>> = (0..100)
            .map(|from| pattern(3, from * 61).collect())
            .collect();
        for (from, message) in all.iter().enumerate() {
            assert!(check(message, 3, from * 61).is_ok());
            assert!(all[..from].iter().all(|other| other != message));
        }
        let wrong = check(&[all[5][0], all[5][1], 0], 3, 5 * 61).unwrap_err();
        assert!(
            wrong
                .to_string()
                .contains("3 bytes arrived with 3 bytes, wrong from byte 2")
        );
        assert!(check(&all[5][..2], 3, 5 * 61).is_err());
    }

    #[test]
    fn short_rounds_are_warmed_up_by_their_number_and_long_ones_by_their_time() {
        assert_eq!(warmed_up(Duration::from_nanos(300)), 127);
        // As slow as on a shared core.
        assert_eq!(warmed_up(Duration::from_millis(1)), 127);
        assert_eq!(warmed_up(Duration::from_millis(40)), 7);
        assert_eq!(warmed_up(Duration::from_secs(1)), 1);
    }
}
