//! Messages of a process to itself.

mod common;

use common::watchdog;
use mq_comm::{Error, Options, Process, Source, TagSelector, World};

/// Longer than any eager message.
const LONG: usize = 100_000;

/// Once with, once without the ways past the queues.
fn both_ways(program: impl Fn(&World, bool) -> Result<(), Error> + Sync) {
    for bypass in [true, false] {
        let options = Options::default().with(|o| o.bypass = bypass);
        World::threads_with(1, &options, |world| program(world, bypass)).unwrap();
    }
}

/// Of `len` bytes, each told from its number.
fn content(number: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| number.wrapping_add(at as u8)).collect()
}

#[test]
fn short_and_long_ones_come_in_their_order_before_and_after_receives() {
    let _dog = watchdog("order");
    both_ways(|world, _| {
        for receives_first in [false, true] {
            // Every third one is long, and each has its own content.
            let lens = (0..30_u8).map(|number| if number % 3 == 0 { LONG } else { 10 });
            let out: Vec<_> = (0..).zip(lens).map(|(n, len)| content(n, len)).collect();
            let mut into = vec![vec![0; LONG]; out.len()];
            world.scope(|s| {
                let mut receives = Vec::new();
                if receives_first {
                    for (at, into) in into.iter_mut().enumerate() {
                        let source = if at % 2 == 0 { 0.into() } else { Source::Any };
                        receives.push(s.irecv(into, source, TagSelector::Any)?);
                    }
                    out.iter()
                        .try_for_each(|out| s.isend(out, 0, 4).map(drop))?;
                } else {
                    out.iter()
                        .try_for_each(|out| s.isend(out, 0, 4).map(drop))?;
                    for into in &mut into {
                        receives.push(s.irecv(into, 0, 4)?);
                    }
                }
                for (receive, out) in receives.into_iter().zip(&out) {
                    let (into, status) = receive.wait()?;
                    assert_eq!((status.source(), status.tag()), (0, 4));
                    assert!(into[..status.bytes() as usize] == out[..]);
                }
                s.wait_all()
            })?;
        }
        let profile = world.profile();
        assert_eq!((profile.eager, profile.rendezvous), (40, 20), "{profile:?}");
        assert_eq!((profile.single_copy, profile.ring), (20, 0), "{profile:?}");
        Ok(())
    });
}

#[test]
fn one_that_is_sent_and_received_at_once_is_behind_those_before_it() {
    let _dog = watchdog("at once");
    both_ways(|world, bypass| {
        let mut into = vec![0; LONG];
        for (bypassed, len) in (1..).zip([10, LONG]) {
            let (before, out) = (content(1, len), content(2, len));
            let status = world.sendrecv(&out, 0, 7, &mut into, Source::Any, TagSelector::Any)?;
            assert_eq!((status.source(), status.tag()), (0, 7));
            assert!(into[..len] == out[..]);
            let expected = if bypass { bypassed } else { 0 };
            assert_eq!(
                world.profile().bypassed,
                expected,
                "straight from one to the other"
            );
            // A message that waits is the first; what was sent then comes next.
            let waits = world.isend(before.clone(), 0, 7)?;
            world.sendrecv(&out, 0, 7, &mut into, 0, 7)?;
            assert!(into[..len] == before[..]);
            world.recv(&mut into, 0, 7)?;
            assert!(into[..len] == out[..]);
            waits.wait()?;
            // A receive that waits is the first; what this one gets is sent before.
            let other = world.isend(before.clone(), 0, 8)?;
            let waits = world.irecv(vec![0; len], 0, 7)?;
            world.sendrecv(&out, 0, 7, &mut into, 0, 8)?;
            assert!(into[..len] == before[..]);
            assert!(waits.wait()?.0 == out);
            other.wait()?;
        }
        Ok(())
    });
}

#[test]
fn one_that_is_too_long_is_cut() {
    let _dog = watchdog("cut");
    both_ways(|world, _| {
        for len in [10, LONG] {
            let out = content(3, len);
            for room in [0, 4] {
                let mut into = vec![0; room];
                let error = world.sendrecv(&out, 0, 1, &mut into, 0, 1).unwrap_err();
                let hint = match room {
                    0 => {
                        " (a vector has room for its length, not its capacity; `recv_vec` makes room for any message)"
                    }
                    _ => "",
                };
                let expected = format!(
                    "the message from rank 0 with tag 1 has {len} bytes but the buffer holds {room}: \
                     message truncated{hint}"
                );
                assert_eq!(error.to_string(), expected);
                assert!(into[..] == out[..room]);
                let waits = world.isend(out.clone(), 0, 1)?;
                assert_eq!(
                    world.recv(&mut into, 0, 1).unwrap_err().to_string(),
                    expected
                );
                assert!(into[..] == out[..room]);
                waits.wait()?;
            }
        }
        Ok(())
    });
}

/// A scope ends with a long message that nobody has received, a probe has shown one, and a communicator ends
/// with one: nothing is left, and nobody waits.
#[test]
fn one_that_is_given_up_is_gone() {
    let _dog = watchdog("given up");
    both_ways(|world, _| {
        let out = content(5, LONG);
        let given_up = world.scope(|s| {
            s.isend(&out, 0, 1)?;
            assert_eq!(world.iprobe(0, 1)?.expect("announced").bytes(), LONG as u64);
            Err::<(), _>(Error::Cancelled)
        });
        assert!(matches!(given_up, Err(Error::Cancelled)));
        // Its handle may be forgotten.
        let forgotten = world.scope(|s| {
            core::mem::forget(s.isend(&out, 0, 3)?);
            Err::<(), _>(Error::Cancelled)
        });
        assert!(matches!(forgotten, Err(Error::Cancelled)));
        assert!(world.iprobe(0, 3)?.is_none());
        // One that a matched probe has taken out, too.
        let mut matched = None;
        let given_up = world.scope(|s| {
            s.isend(&out, 0, 4)?;
            matched = Some(world.mprobe(0, 4)?);
            Err::<(), _>(Error::Cancelled)
        });
        assert!(matches!(given_up, Err(Error::Cancelled)));
        let received = matched.expect("it was found").recv_vec::<u8>();
        assert!(received.is_err(), "{received:?}");
        // What a probe has shown is received, and says that it has been withdrawn.
        let received = world.recv(&mut [0_u8; 1], 0, 1);
        assert!(
            matches!(received, Err(Error::Withdrawn { .. })),
            "{received:?}"
        );
        let given_up = world.scope(|s| {
            s.isend(&out, 0, 1)?;
            Err::<(), _>(Error::Cancelled)
        });
        assert!(matches!(given_up, Err(Error::Cancelled)));
        assert!(world.iprobe(0, 1)?.is_none());

        let other = world.dup()?;
        // Their buffers go with them.
        drop((
            other.isend(out.clone(), 0, 1)?,
            other.isend(vec![1_u8], 0, 1)?,
        ));
        drop(other);
        // The world ends with another.
        drop(world.isend(out.clone(), 0, 2)?);
        Ok(())
    });
}

#[test]
fn a_blocking_send_of_any_length_waits_for_no_receive() {
    let _dog = watchdog("blocking");
    both_ways(|world, _| {
        for len in [0, 10, LONG] {
            let out = content(7, len);
            world.send(&out, 0, 1)?;
            let mut into = vec![0; len];
            assert_eq!(world.recv(&mut into, 0, 1)?.bytes(), len as u64);
            assert!(into == out);
            let waits = world.irecv(into, Source::Any, 1)?;
            world.send(&content(8, len), 0, 1)?;
            assert!(waits.test()?, "its receive was posted");
            assert!(waits.wait()?.0 == content(8, len));
        }
        Ok(())
    });
}

#[test]
fn a_matched_probe_takes_a_long_one_out() {
    let _dog = watchdog("matched");
    both_ways(|world, _| {
        let out = content(6, LONG);
        let sending = world.isend(out.clone(), 0, 1)?;
        let message = world.mprobe(Source::Any, 1)?;
        assert!(world.iprobe(Source::Any, 1)?.is_none());
        assert!(message.recv_vec::<u8>()? == out);
        sending.wait().map(drop)
    });
}

/// Others are heard of by who only talks to itself.
#[test]
fn who_only_sends_to_itself_hears_of_others_too() {
    let _dog = watchdog("others");
    World::threads(2, |world| {
        if world.rank() == 1 {
            return world.send(&[9_u8], 0, 1);
        }
        let mut byte = [0_u8];
        world.send(&[0_u8], 0, 1)?;
        while world.recv(&mut byte, Source::Any, 1)?.source() == 0 {
            world.send(&byte, 0, 1)?;
        }
        assert_eq!(byte, [9]);
        world.recv(&mut byte, 0, 1).map(drop)
    })
    .unwrap();
}

/// A process has died, so that nothing goes past the queues any more.
#[test]
fn they_come_after_a_death_as_before() {
    let _dog = watchdog("death");
    let died = World::threads(2, |world| {
        if world.rank() == 1 {
            world.send(&[0_u8], 0, 5)?;
            return Err(Error::Cancelled);
        }
        world.recv(&mut [0_u8], 1, 5)?;
        while world.ended().is_empty() {
            world.progress()?;
        }
        world.acknowledge_deaths();
        for len in [10, LONG] {
            let (out, mut into) = (content(1, len), vec![0; len]);
            world.sendrecv(&out, 0, 1, &mut into, Source::Any, 1)?;
            assert!(into == out);
            world.send(&out, 0, 2)?;
            world.recv(&mut into, 0, 2)?;
        }
        // To the dead and from oneself: what has come is received, and the death told.
        world.send(&[4_u8], 0, 3)?;
        let mut byte = [0_u8];
        let gone = world.sendrecv(&[1_u8], 1, 3, &mut byte, 0, 3);
        assert!(
            matches!(
                gone,
                Err(Error::Gone {
                    process: Process(1),
                    ..
                })
            ),
            "{gone:?}"
        );
        assert_eq!(byte, [4]);
        Ok(())
    });
    assert!(matches!(died, Err(Error::Cancelled)), "{died:?}");
}
