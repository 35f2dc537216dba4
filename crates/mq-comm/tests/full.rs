//! Many short messages to one receiver, more than its fastbox has room for: they come in the order in which they
//! were sent, whoever waits for what meanwhile.

mod common;

use std::sync::{Barrier, Mutex};

use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Patience, World};

/// Ten times what a fastbox takes.
const MANY: u32 = 300;

/// A process that waits for room, and one that goes through the queue at once.
fn patiences() -> [Options; 2] {
    [Patience::SPINNING, Patience::YIELDING]
        .map(|patience| Options::default().with(|o| o.patience = Some(patience)))
}

fn receive_all(world: &World, from: u32, count: u32) -> Result<(), Error> {
    for number in 0..count {
        let mut word = [0];
        world.recv(&mut word, from, 1)?;
        assert_eq!(word, [number]);
    }
    Ok(())
}

#[test]
fn two_that_send_before_they_receive_do_not_wait_for_each_other() {
    let _dog = watchdog("two_that_send_before_they_receive");
    for options in patiences() {
        let profiles = World::threads_with(2, &options, |world: &World| {
            let other = 1 - world.rank();
            for number in 0..MANY {
                world.send(&[number], other, 1)?;
            }
            receive_all(world, other, MANY)?;
            Ok(world.profile())
        });
        let profiles = profiles.unwrap();
        assert!(
            profiles
                .iter()
                .all(|profile| profile.eager == u64::from(MANY))
        );
        // The first to finish its sends could do so only since the other one received meanwhile.
        assert!(
            profiles.iter().any(|profile| profile.unexpected > 0),
            "{profiles:?}"
        );
    }
}

#[test]
fn sends_of_all_kinds_keep_their_order_and_leaving_sees_them_through() {
    let _dog = watchdog("sends_of_all_kinds_keep_their_order");
    for options in patiences() {
        World::threads_with(2, &options, |world: &World| {
            if world.rank() == 1 {
                return receive_all(world, 0, MANY);
            }
            for number in 0..MANY {
                match number % 7 {
                    0 => world.send(&[number], 1, 1)?,
                    // Nobody waits for these.
                    _ => drop(world.isend(vec![number], 1, 1)?),
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

/// From the last of these sends on, the sender only sends to a third process, until the receiver has them all.
#[test]
fn what_waits_for_one_receiver_goes_on_while_others_are_sent_to() {
    let _dog = watchdog("what_waits_for_one_receiver_goes_on");
    for options in patiences() {
        let has_all = Mutex::new(false);
        let program = |world: &World| match world.rank() {
            0 => {
                let mut waiting = Vec::new();
                for number in 0..MANY {
                    waiting.push(world.isend(vec![number], 1, 1)?);
                }
                while !*has_all.lock().unwrap() {
                    world.send(&[1_u32], 2, 1)?;
                }
                for request in waiting {
                    request.wait()?;
                }
                world.send(&[0_u32], 2, 1)
            }
            1 => {
                receive_all(world, 0, MANY)?;
                *has_all.lock().unwrap() = true;
                Ok(())
            }
            _ => loop {
                let mut word = [0_u32];
                world.recv(&mut word, 0, 1)?;
                if word == [0] {
                    return Ok(());
                }
            },
        };
        World::threads_with(3, &options, program).unwrap();
    }
}

/// Messages to both wait for room, those to the one that does not look before the others.
#[test]
fn what_waits_for_one_that_does_not_look_holds_up_nothing_that_is_for_another() {
    let _dog = watchdog("what_waits_for_one_that_does_not_look");
    for options in patiences() {
        let (all_begun, has_all) = (Barrier::new(2), Barrier::new(2));
        let program = |world: &World| match world.rank() {
            0 => {
                let (mut to_first, mut to_second) = (Vec::new(), Vec::new());
                for number in 0..MANY {
                    to_first.push(world.isend(vec![number], 1, 1)?);
                }
                for number in 0..MANY {
                    to_second.push(world.isend(vec![number], 2, 1)?);
                }
                all_begun.wait();
                for request in to_second.into_iter().chain(to_first) {
                    request.wait()?;
                }
                Ok(())
            }
            1 => {
                has_all.wait();
                receive_all(world, 0, MANY)
            }
            _ => {
                all_begun.wait();
                receive_all(world, 0, MANY)?;
                has_all.wait();
                Ok(())
            }
        };
        World::threads_with(3, &options, program).unwrap();
    }
}

#[test]
fn who_waits_for_room_is_told_that_the_receiver_has_left() {
    let _dog = watchdog("who_waits_for_room_is_told");
    for options in patiences() {
        World::threads_with(2, &options, |world: &World| {
            if world.rank() == 1 {
                // The box is full when it leaves, or nearly.
                return receive_all(world, 0, 20);
            }
            let refused = (0..u32::MAX).find_map(|number| {
                let sent = world.send(&[number], 1, 1);
                sent.is_err().then_some(sent)
            });
            assert!(is_gone(&refused.unwrap(), 1, "left"));
            Ok(())
        })
        .unwrap();
    }
}
