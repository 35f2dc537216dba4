//! Messages whose elements have several owners: each send is one of them.

mod common;

use std::rc::Rc;
use std::sync::Arc;

use common::{is_gone, watchdog};
use mq_comm::{Error, Options, Plain, Sendable, World};

/// Sends one block to all others and to this process, by a set and by a handle; all get it, and it is this owner's
/// alone afterwards.
fn give_to_all<B>(world: &World, block: &B, owners: fn(&B) -> usize) -> Result<(), Error>
where
    B: Sendable + Clone + AsRef<[u16]>,
{
    let mut sends = world.request_set();
    for to in 0..world.size() {
        sends.add(world.isend(block.clone(), to, 1)?);
    }
    assert_eq!(owners(block), 1 + world.size() as usize);
    let with_handle = world.isend(block.clone(), world.rank(), 2)?;
    for from in 0..world.size() {
        assert_eq!(world.recv_vec::<u16>(from, 1)?.0, block.as_ref());
    }
    world.recv_vec::<u16>(world.rank(), 2)?;
    sends.wait_all()?.into_results()?;
    let (back, status) = with_handle.wait()?;
    assert_eq!(status.count::<u16>()?, block.as_ref().len());
    assert_eq!(back.as_ref().as_ptr(), block.as_ref().as_ptr());
    drop(back);
    // One that could not begin gives its part back.
    let refused = world.isend(block.clone(), 99, 1).map(drop).unwrap_err();
    assert_eq!(owners(block), 2);
    drop(refused);
    assert_eq!(owners(block), 1);
    world.barrier()
}

#[test]
fn one_block_is_sent_to_all_without_copies() {
    let _dog = watchdog("one block to all");
    for (len, single_copy) in [(0, true), (3, true), (300_000, true), (300_000, false)] {
        let options = Options::default().with(|o| {
            o.single_copy = single_copy;
            o.single_copy_from = Some(0);
        });
        World::threads_with(3, &options, |world| {
            let elements: Vec<u16> = (0..len).map(|at| at as u16).collect();
            give_to_all(world, &Rc::<[u16]>::from(&elements[..]), Rc::strong_count)?;
            give_to_all(world, &Arc::<[u16]>::from(&elements[..]), Arc::strong_count)?;
            // As `AsRef` goes through one pointer only.
            let (rc, arc) = (Rc::new(elements.clone()), Arc::new(elements));
            send_to_itself(world, rc.clone(), &rc)?;
            send_to_itself(world, arc.clone(), &arc)?;
            assert_eq!((Rc::strong_count(&rc), Arc::strong_count(&arc)), (1, 1));
            Ok(())
        })
        .unwrap();
    }
}

fn send_to_itself<B: Sendable>(world: &World, block: B, elements: &[u16]) -> Result<(), Error> {
    let sending = world.isend(block, world.rank(), 3)?;
    assert_eq!(world.recv_vec::<u16>(world.rank(), 3)?.0, elements);
    sending.wait().map(drop)
}

/// Whatever becomes of a send, its part of the block ends with it, and not before.
#[test]
fn a_send_that_nobody_waits_for_drops_its_part() {
    let _dog = watchdog("parts are dropped");
    let block: Arc<[u64]> = vec![7; 100_000].into();
    World::threads(2, |world| {
        if world.rank() == 0 {
            drop(world.isend(block.clone(), 1, 1)?);
            drop(world.isend(block.clone(), 1, 2)?);
            assert!(Arc::strong_count(&block) >= 3, "they go on");
            return world.barrier();
        }
        // It leaves without asking for the second.
        assert_eq!(world.recv_vec::<u64>(0, 1)?.0, *block);
        world.barrier()
    })
    .unwrap();
    assert_eq!(Arc::strong_count(&block), 1);
}

#[test]
fn a_send_to_the_dead_gives_its_part_back() {
    let _dog = watchdog("to the dead");
    let run = World::threads(2, |world| {
        if world.rank() == 1 {
            return Err(Error::Cancelled);
        }
        let block = Rc::new(vec![7_u8; 300_000]);
        let (back, result) = world.isend(block.clone(), 1, 1)?.finish()?;
        assert!(is_gone(&result, 1, "died"), "{result:?}");
        assert!(Rc::ptr_eq(&back, &block));
        Ok(())
    });
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
}

#[test]
fn elements_of_any_size_are_sent_so() {
    fn sent<E: Plain + PartialEq + std::fmt::Debug>(world: &World, elements: &[E]) {
        let sending = world.isend(Arc::new(elements.to_vec()), 0, 1).unwrap();
        assert_eq!(world.recv_vec::<E>(0, 1).unwrap().0, elements);
        assert_eq!(*sending.wait().unwrap().0, elements);
    }
    let world = World::alone().unwrap();
    sent(&world, &[[1_u8; 3]; 5]);
    sent(&world, &[1_u128 << 100; 5000]);
    sent::<f64>(&world, &[]);
}
