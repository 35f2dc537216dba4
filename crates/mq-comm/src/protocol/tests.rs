//! What receives and messages leave behind that end early. As long as a receive is posted, or a message unexpected, no
//! later receive takes the quick ways.

use std::rc::Rc;
use std::time::Duration;

use mq_core::Source;
use mq_shm::Process;

use super::Number;
use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::options::Options;
use crate::request::NONE;
use crate::world::World;

/// More than there are runs in front.
const MANY: i32 = 20;

/// Runs in front, receives in the engine, and unexpected messages.
fn queued(world: &World) -> [usize; 3] {
    world.inner.core().state.matching.lengths()
}

/// Posts receives from anyone for which nobody has a handle: that would keep the communicator, as a program's do.
fn post_without_handles(communicator: &Communicator) {
    for tag in 0..MANY {
        let (process, pattern) = communicator.incoming(Source::Any, tag.into()).unwrap();
        let mut core = communicator.inner.core();
        let buffer = Buffer::owned(vec![0_u8]);
        let (name, begun) = core.start_receive(pattern, process, buffer, NONE);
        begun.unwrap();
        core.state.requests.drop_handle(name.slot());
    }
}

#[test]
fn cancelled_receives_are_in_no_queue() {
    let world = World::alone().unwrap();
    let post = |tag: i32| world.irecv(vec![0_u8], Source::Any, tag).unwrap();
    let receiving: Vec<_> = (0..MANY).map(post).collect();
    let [front, posted, unexpected] = queued(&world);
    assert!(front > 0 && posted > 0 && unexpected == 0);
    for request in receiving {
        assert!(request.cancel().is_ok());
    }
    assert_eq!(queued(&world), [0; 3]);
}

#[test]
fn a_communicator_that_is_over_leaves_nothing_in_the_queues() {
    let world = World::alone().unwrap();
    let part = world.dup().unwrap();
    post_without_handles(&part);
    part.send(&[1_u8], 0, MANY).unwrap();
    let [front, posted, unexpected] = queued(&world);
    assert!(front > 0 && posted > 0 && unexpected == 1);
    drop(part);
    assert_eq!(queued(&world), [0; 3]);
    assert_eq!(world.inner.core().state.requests.all().count(), 0);
}

/// Two worlds; the second has sent two messages to the first with tag 1, of which one is received, and the other lies
/// in its box, which is only looked into for what is wanted.
fn world_and_sender() -> [World; 2] {
    let options = Options::default().with(|o| o.channel.tuning.box_after = 0);
    let seats = World::seats(2, &options).unwrap().into_iter();
    let worlds: Vec<World> = seats.map(|seat| seat.take().unwrap()).collect();
    let Ok([world, other]) = <[World; 2]>::try_from(worlds) else {
        unreachable!("two seats")
    };
    // The first opens the box.
    for _ in 0..2 {
        other.send(&[1_u8], 0, 1).unwrap();
    }
    world.recv(&mut [0_u8], 1, 1).unwrap();
    [world, other]
}

#[test]
fn a_communicator_that_is_over_wants_no_messages() {
    let [world, _other] = world_and_sender();
    let is_wanted = || world.inner.core().transport.peek_wanted().is_some();
    let group: Rc<[Process]> = Rc::from([Process(0)]);
    let part = Communicator::new(world.inner.core.clone(), Number(1), 0, group);
    post_without_handles(&part);
    assert!(is_wanted());
    drop(part);
    assert!(!is_wanted());
}

#[test]
fn what_a_probe_has_shown_is_received_though_its_sender_is_then_found_to_have_ended() {
    let [world, sender] = world_and_sender();
    drop(sender);
    // The next round calls the roll.
    while !world.inner.core().roll_call.tick() {}
    std::thread::sleep(Duration::from_millis(25));
    assert!(!world.inner.core().roll_call.tick_by(63));
    let shown = world.iprobe(Source::Any, 1).unwrap();
    assert_eq!(shown.map(|shown| shown.source()), Some(1));
    let received = world.irecv(vec![0_u8], Source::Any, 1).unwrap().wait();
    assert_eq!(received.unwrap().0, [1]);
    assert!(world.inner.core().transport.peek_wanted().is_none());
    let end = world.inner.core().state.how_ended(Process(1));
    assert!(end.is_some(), "the round has noticed the end");
}

#[test]
fn a_withdrawn_message_is_in_no_queue() {
    let world = World::alone().unwrap();
    let long = vec![1_u8; 100_000];
    let withdrawn = world.scope(|s| {
        s.isend(&long, 0, 1)?;
        assert_eq!(queued(&world), [0, 0, 1]);
        Err::<(), _>(Error::Cancelled)
    });
    assert!(matches!(withdrawn, Err(Error::Cancelled)));
    assert_eq!(queued(&world), [0; 3]);
}
