//! Shared buffers: sent from and received into like any memory, and nothing more than that can be
//! done with them.

mod common;

use std::sync::Barrier;

use common::watchdog;
use mq_comm::{Error, Gone, Options, Process, SharedBuffer, Source, TagSelector, World};
use mq_shm::ShmError;

/// Below the eager limit, above it by a little, by much, and not a whole number of lines or pages.
const LENGTHS: [usize; 8] = [0, 1, 1000, 20_416, 20_417, 65_536, 1_000_003, 5 << 20];

fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ number.wrapping_mul(97)) as u8)
        .collect()
}

fn filled(world: &World, number: usize, bytes: usize) -> Result<SharedBuffer<u8>, Error> {
    let mut buffer = world.shared_buffer(bytes)?;
    assert!(buffer.iter().all(|&byte| byte == 0));
    buffer.copy_from_slice(&content(number, bytes));
    Ok(buffer)
}

/// Both ways, with and without the kernel's leave to read each other, and with them switched off.
#[test]
fn messages_of_all_lengths_come_whole() {
    let _dog = watchdog("all lengths");
    for (shared_copy, single_copy_from) in [
        (true, 0),
        (true, usize::MAX),
        (false, 0),
        (false, usize::MAX),
    ] {
        let options = Options::default().with(|o| {
            o.shared_copy = shared_copy;
            o.single_copy_from = Some(single_copy_from);
        });
        let profiles = World::threads_with(2, &options, |world| {
            let other = 1 - world.rank();
            for (number, bytes) in LENGTHS.into_iter().enumerate() {
                let out = filled(world, number + world.rank() as usize, bytes)?;
                let mut into = vec![0; bytes];
                world.sendrecv(&out, other, 1, &mut into, other, 1)?;
                assert!(
                    into == content(number + other as usize, bytes),
                    "{bytes} bytes"
                );
                // Into one, and from a part of one.
                let mut shared = filled(world, 9, bytes)?;
                world.sendrecv(&out[bytes / 3..], other, 2, &mut shared, other, 2)?;
                let expected = content(number + other as usize, bytes);
                let count = bytes - bytes / 3;
                assert!(shared[..count] == expected[bytes / 3..], "{bytes} bytes");
                assert!(shared[count..] == content(9, bytes)[count..]);
            }
            Ok(world.profile())
        });
        for profile in profiles.unwrap() {
            // Four lengths are announced, or go ahead, and of three of them two thirds as well.
            assert_eq!(profile.rendezvous + profile.ahead, 7);
            assert_eq!(profile.shared_copy, if shared_copy { 7 } else { 0 });
            assert_eq!(profile.single_copy + profile.ring, 7 - profile.shared_copy);
        }
    }
}

#[test]
fn a_message_to_oneself_is_no_other() {
    let _dog = watchdog("to oneself");
    let world = World::alone().unwrap();
    let out = filled(&world, 1, 300_000).unwrap();
    let into = world.shared_buffer::<u8>(300_000).unwrap();
    let receiving = world.irecv(into, 0, 3).unwrap();
    let sending = world.isend(out, 0, 3).unwrap();
    let (into, status) = receiving.wait().unwrap();
    assert_eq!(status.bytes(), 300_000);
    assert!(into[..] == content(1, 300_000));
    assert!(sending.wait().unwrap().0[..] == into[..]);
    assert_eq!(world.profile().shared_copy, 1);
}

#[test]
fn a_message_that_is_too_long_is_cut() {
    let _dog = watchdog("cut");
    World::threads(2, |world| {
        if world.rank() == 0 {
            let out = filled(world, 1, 400_000)?;
            world.send(&out, 1, 0)?;
            world.send(&out, 1, 0)?;
            world.send(&[7_u8], 1, 0)?;
        } else {
            let mut short = vec![0; 100_000];
            let error = world.recv(&mut short, 0, 0).unwrap_err().to_string();
            assert_eq!(
                error,
                "the message from rank 0 with tag 0 has 400000 bytes but the buffer holds 100000: \
                 message truncated"
            );
            assert!(short == content(1, 400_000)[..100_000]);
            let error = world.recv(&mut [0_u8; 0], 0, 0).unwrap_err().to_string();
            assert!(error.contains("the buffer holds 0"), "{error}");
            let mut next = [0_u8; 9];
            assert_eq!(world.recv(&mut next, 0, 0)?.bytes(), 1);
            assert_eq!(next[0], 7);
        }
        Ok(())
    })
    .unwrap();
}

/// From any source with any tag, probed and extracted, unexpected and posted, in their order.
#[test]
fn wildcards_and_probes_find_them() {
    let _dog = watchdog("wildcards");
    // Or the ring has its turn, too.
    let options = Options::default().with(|o| o.single_copy_from = Some(usize::MAX));
    World::threads_with(4, &options, |world| {
        let me = world.rank();
        if me > 0 {
            let mut out = world.shared_buffer::<u32>(50_000)?;
            for number in 0..6 {
                out.fill(me * 100 + number);
                world.send(&out, 0, number as i32)?;
            }
            return world.barrier();
        }
        let mut next = [0; 4];
        let mut into = vec![0_u32; 50_000];
        for turn in 0..18 {
            let status = match turn % 3 {
                0 => world.recv(&mut into, Source::Any, TagSelector::Any)?,
                1 => {
                    let found = world.probe(Source::Any, TagSelector::Any)?;
                    assert_eq!(found.bytes(), 200_000);
                    world.recv(&mut into, found.source(), found.tag())?
                }
                _ => {
                    let matched = world.mprobe(Source::Any, TagSelector::Any)?;
                    let status = matched.status();
                    matched.recv(&mut into)?;
                    status
                }
            };
            let from = status.source();
            assert_eq!(status.tag(), next[from as usize]);
            let expected = from * 100 + next[from as usize].cast_unsigned();
            assert!(into.iter().all(|&word| word == expected));
            next[from as usize] += 1;
        }
        assert_eq!(world.profile().shared_copy, 18);
        world.barrier()
    })
    .unwrap();
}

/// A dropped handle lets the request go on; the buffer is given back when the receiver has it, and
/// not before.
#[test]
fn what_was_handed_over_goes_on_without_its_handle() {
    let _dog = watchdog("handed over");
    World::threads(2, |world| {
        for round in 0..20 {
            if world.rank() == 0 {
                let out = filled(world, round, 700_000)?;
                drop(world.isend(out, 1, 0)?);
                // Another is made immediately, in other pages.
                let mut other = world.shared_buffer::<u8>(700_000)?;
                other.fill(0xee);
                world.barrier()?;
            } else {
                let mut into = vec![0; 700_000];
                world.barrier()?;
                world.recv(&mut into, 0, 0)?;
                assert!(into == content(round, 700_000), "round {round}");
            }
        }
        Ok(())
    })
    .unwrap();
}

/// The world is left before the request is complete, and the buffer outlives the world's own
/// handle. The process goes with it, and not with its thread.
#[test]
fn a_process_leaves_with_its_last_buffer() {
    let _dog = watchdog("leaves");
    let mut seats = World::seats(2, &Options::default()).unwrap().into_iter();
    let (first, second) = (seats.next().unwrap(), seats.next().unwrap());
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let world = first.take().unwrap();
            let kept = filled(&world, 1, 500_000).unwrap();
            drop(
                world
                    .isend(filled(&world, 2, 500_000).unwrap(), 1, 0)
                    .unwrap(),
            );
            drop(world);
            assert!(kept[..] == content(1, 500_000));
            drop(kept);
            both.wait();
        });
        scope.spawn(|| {
            let world = second.take().unwrap();
            let mut into = vec![0; 500_000];
            world.recv(&mut into, 0, 0).unwrap();
            assert!(into == content(2, 500_000));
            let gone = world.recv(&mut into, 0, 0);
            let Err(Error::Gone {
                process: Process(0),
                how,
                ..
            }) = gone
            else {
                panic!("{gone:?}");
            };
            assert_eq!(how, Gone::Left);
            both.wait();
        });
    });
}

/// A part of the program that fails withdraws its message before its buffer goes.
#[test]
fn a_scope_that_fails_withdraws_its_message() {
    let _dog = watchdog("withdrawn");
    World::threads(2, |world| {
        if world.rank() == 0 {
            let out = filled(world, 1, 200_000)?;
            let failed = world.scope(|s| {
                s.isend(&out, 1, 5)?;
                Err::<(), _>(Error::Cancelled)
            });
            assert!(matches!(failed, Err(Error::Cancelled)));
            drop(out);
            world.send(&[1_u8], 1, 6)?;
        } else {
            world.recv(&mut [0_u8], 0, 6)?;
            assert!(world.iprobe(0, 5)?.is_none());
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_set_gives_them_back() {
    let _dog = watchdog("set");
    let world = World::alone().unwrap();
    let mut set = world.request_set();
    let mut sent = Vec::new();
    for tag in 0..3 {
        set.add(world.irecv(vec![0_u8; 100_000], 0, tag).unwrap());
        let out = filled(&world, tag as usize, 100_000).unwrap();
        sent.push(set.add(world.isend(out, 0, tag).unwrap()));
    }
    for completion in set.wait_all().unwrap() {
        let number = completion.result().unwrap().tag() as usize;
        if sent.contains(&completion.id()) {
            let completion = completion.into_shared_parts::<u16>().unwrap_err();
            let (result, buffer) = completion.into_shared_parts::<u8>().unwrap();
            assert_eq!(result.unwrap().bytes(), 100_000);
            assert!(buffer[..] == content(number, 100_000));
        } else {
            let vector = completion.into_vec::<u8>().unwrap();
            assert!(vector == content(number, 100_000));
        }
    }
    drop(set);
    // A completion that outlives the world no longer has a buffer of anything.
    let mut set = world.request_set();
    set.add(
        world
            .isend(world.shared_buffer::<u8>(10).unwrap(), 0, 1)
            .unwrap(),
    );
    let other = world
        .isend(world.shared_buffer::<u16>(10).unwrap(), 0, 1)
        .unwrap();
    let all = set.wait_all().unwrap();
    assert_eq!(other.wait().unwrap().0.len(), 10);
    drop((set, world));
    for completion in all {
        assert!(completion.into_shared_buffer::<u8>().is_err());
    }
}

#[test]
fn a_full_region_is_an_error_that_says_what_to_do() {
    let _dog = watchdog("full");
    let options = Options::default().with(|o| o.shared_buffers = 1 << 20);
    World::threads_with(2, &options, |world| {
        let all = world.shared_buffer::<u8>(1 << 20)?;
        let error = world.shared_buffer::<u8>(1).unwrap_err();
        let Error::NoBuffer(cause) = &error else {
            panic!("{error}")
        };
        assert!(matches!(**cause, ShmError::NoBuffer { .. }));
        assert_eq!(
            error.to_string(),
            "no room for a shared buffer of 1 bytes: the largest free range is 0 of 1048576 bytes per process; \
             drop other buffers, or start the processes with more bytes for each (MQ_SHARED_BUFFERS)"
        );
        drop(all);
        let half = world.shared_buffer::<u64>(1 << 16)?;
        assert!(world.shared_buffer::<u64>(1 << 17).is_err());
        assert!(world.shared_buffer::<u64>(usize::MAX / 2).is_err());
        // Nothing needs no room.
        assert_eq!(world.shared_buffer::<u64>(0)?.len(), 0);
        // The other has as much.
        world.barrier()?;
        drop(half);
        Ok(())
    })
    .unwrap();
}

/// Broadcasts and other operations take them as they take any slice.
#[test]
fn collectives_take_them() {
    let _dog = watchdog("collectives");
    World::threads(4, |world| {
        let mut field = world.shared_buffer::<f64>(40_000)?;
        for root in 0..4 {
            if world.rank() == root {
                field.fill(f64::from(root) + 0.5);
            }
            world.broadcast(&mut field, root)?;
            assert!(field.iter().all(|&value| value == f64::from(root) + 0.5));
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_buffer_of_another_world_is_refused() {
    let _dog = watchdog("a buffer of another world is refused");
    let (one, other) = (World::alone().unwrap(), World::alone().unwrap());
    let refused = "the shared buffer and the communicator belong to different worlds";
    let field = other.shared_buffer::<u8>(100_000).unwrap();
    let back = one.isend(field, 0, 0).unwrap_err();
    assert_eq!(back.to_string(), refused);
    let back = one.irecv(back.buffer, 0, 0).unwrap_err();
    assert_eq!(
        (back.to_string().as_str(), back.buffer.len()),
        (refused, 100_000)
    );
    one.send(&[1_u8], 0, 0).unwrap();
    let message = one.mprobe(0, 0).unwrap();
    let back = message.irecv(back.buffer).unwrap_err();
    assert_eq!(back.to_string(), refused);
    // The message can still be received.
    let (message, field) = back.buffer;
    assert_eq!(
        (message.recv_vec::<u8>().unwrap(), field.len()),
        (vec![1], 100_000)
    );
    // A buffer without bytes belongs to no world.
    let empty = other.shared_buffer::<u8>(0).unwrap();
    one.isend(empty, 0, 1).unwrap().wait().unwrap();
}
