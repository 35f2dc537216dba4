//! Messages of which a part has come when their receiver does something with them.

use mq_comm::{Error, World};
use mq_shm::{Geometry, Mapped};

use super::common::hindered::{self, Hindered};
use super::common::watchdog;
use super::{BYTES, content, permit, rings};

/// What a receiver does; the second is to be called for the sender to go on.
type Receiving = fn(&World<Hindered>, &dyn Fn()) -> Result<(), Error>;

/// A message goes ahead whose sender stops after the first bytes; the receiver does something with
/// it, and then another one comes whole.
fn while_it_is_on_its_way(receive: Receiving) {
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let sender = std::thread::spawn(move || -> Result<(), Error> {
        let memory = Mapped::open(file, "it").unwrap();
        let (world, hindrance) = hindered::join(memory, 0, &rings());
        permit(&world)?;
        hindrance.stalls.set(true);
        let sending = world.isend(content(1, BYTES), 1, 1)?;
        world.send(&[1_u8], 1, 2)?;
        world.recv(&mut [0_u8], 1, 3)?;
        hindrance.stalls.set(false);
        sending.wait()?;
        world.send(&content(4, 1_000), 1, 4)?;
        world.send(&content(5, BYTES), 1, 5)?;
        assert_eq!(world.profile().ahead, 1);
        world.recv(&mut [0_u8], 1, 3)?;
        Ok(())
    });
    let (world, _) = hindered::join(memory, 1, &rings());
    let run = || -> Result<(), Error> {
        permit(&world)?;
        world.recv(&mut [0_u8], 0, 2)?;
        receive(&world, &|| world.send(&[0_u8], 0, 3).unwrap())?;
        // In the memory of the one before, if that was given back with something in it.
        world.probe(0, 4)?;
        for (number, bytes) in [(5, BYTES), (4, 1_000)] {
            let mut into = vec![0_u8; bytes];
            world.recv(&mut into, 0, number as i32)?;
            assert!(into == content(number, bytes), "{number}");
        }
        world.send(&[0_u8], 0, 3)
    };
    run().unwrap();
    sender.join().unwrap().unwrap();
}

#[test]
fn one_on_its_way_is_received() {
    let _dog = watchdog("one_on_its_way_is_received");
    while_it_is_on_its_way(|world, go_on| {
        assert_eq!(world.probe(0, 1)?.bytes(), BYTES as u64);
        let receiving = world.irecv(vec![0_u8; BYTES], 0, 1)?;
        go_on();
        assert!(receiving.wait()?.0 == content(1, BYTES));
        Ok(())
    });
}

#[test]
fn one_on_its_way_is_cut() {
    let _dog = watchdog("one_on_its_way_is_cut");
    // Less than has come, and more.
    const ROOMS: [usize; 2] = [5_000, 30_000];
    fn receive<const ROOM: usize>(world: &World<Hindered>, go_on: &dyn Fn()) -> Result<(), Error> {
        let room = ROOMS[ROOM];
        let mut into = vec![0_u8; room];
        let heard = world.scope(|scope| {
            let receiving = scope.irecv(&mut into, 0, 1)?;
            go_on();
            receiving.wait().map(|_| ())
        });
        assert!(
            matches!(heard, Err(Error::Truncated { sent, room: its, .. })
                if (sent, its) == (BYTES as u64, room as u64)),
            "{heard:?}"
        );
        assert!(into == content(1, BYTES)[..room]);
        Ok(())
    }
    while_it_is_on_its_way(receive::<0>);
    while_it_is_on_its_way(receive::<1>);
}

#[test]
fn one_on_its_way_is_taken_out_and_dropped() {
    let _dog = watchdog("one_on_its_way_is_taken_out_and_dropped");
    while_it_is_on_its_way(|world, go_on| {
        drop(world.mprobe(0, 1)?);
        go_on();
        Ok(())
    });
}
