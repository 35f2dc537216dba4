//! A transport that refuses to send for a while: what somebody waits for is sent afterwards.
#![allow(unsafe_code, reason = "another transport")]

mod common;

use std::cell::Cell;
use std::rc::Rc;

use common::watchdog;
use mq_comm::transport::{Event, Transport};
use mq_comm::{Error, Options, World};
use mq_shm::wait::Idle;
use mq_shm::{
    Copied, Endpoint, Geometry, Mapped, Process, Pulled, Pushed, Remote, RingId, Sent, ShmError,
    Stretch,
};

/// An endpoint that has no memory for cells as long as it is told so.
struct Refusing {
    endpoint: Endpoint,
    refuses: Rc<Cell<bool>>,
}

// SAFETY: all is the endpoint's, but for what is refused; it allocates nothing.
unsafe impl Transport for Refusing {
    type Arrived<'a> = <Endpoint as Transport>::Arrived<'a>;
    type Short<'a> = <Endpoint as Transport>::Short<'a>;

    fn me(&self) -> Process {
        self.endpoint.me()
    }
    fn processes(&self) -> u32 {
        self.endpoint.processes()
    }
    fn try_send(
        &mut self,
        to: Process,
        header: [u64; 2],
        message: &[u8],
        done: usize,
    ) -> Result<Sent, ShmError> {
        if self.refuses.get() {
            return Err(ShmError::NoMemory {
                what: "message cells",
                bytes: 1,
                source: std::io::Error::from(std::io::ErrorKind::StorageFull),
            });
        }
        self.endpoint.try_send(to, header, message, done)
    }
    fn poll(&mut self, waiting: bool) -> Result<Option<Event<Self::Arrived<'_>>>, ShmError> {
        Transport::poll(&mut self.endpoint, waiting)
    }
    fn rest(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        self.endpoint.rest(idle)
    }
    fn rest_briefly(&mut self, idle: &mut Idle) -> Result<(), ShmError> {
        self.endpoint.rest_briefly(idle)
    }
    fn want(&mut self, process: Option<Process>) -> Result<(), ShmError> {
        self.endpoint.want(process)
    }
    fn unwant(&mut self, process: Option<Process>) {
        self.endpoint.unwant(process);
    }
    fn check_peers(&mut self) -> Result<usize, ShmError> {
        self.endpoint.check_peers()
    }
    fn expose(&self, bytes: &[u8]) -> Remote {
        self.endpoint.expose(bytes)
    }
    fn read(&mut self, from: Process, remote: Remote, into: &mut [u8]) -> Result<Copied, ShmError> {
        self.endpoint.read(from, remote, into)
    }
    fn take_ring(&mut self, to: Process, bytes: usize) -> Result<Option<(RingId, u64)>, ShmError> {
        self.endpoint.take_ring(to, bytes)
    }
    fn push(&mut self, stretch: Stretch, message: &[u8], done: usize) -> Result<Pushed, ShmError> {
        self.endpoint.push(stretch, message, done)
    }
    fn free_ring(&mut self, ring: RingId) -> bool {
        self.endpoint.free_ring(ring)
    }
    fn pull(
        &mut self,
        from: Process,
        stretch: Stretch,
        into: &mut [u8],
        done: usize,
    ) -> Result<Pulled, ShmError> {
        self.endpoint.pull(from, stretch, into, done)
    }
}

/// A world of one of two processes, and the switch of its transport.
fn join(memory: Mapped, rank: u32, options: &Options) -> (World<Refusing>, Rc<Cell<bool>>) {
    let refuses = Rc::new(Cell::new(false));
    let transport = Refusing {
        endpoint: Endpoint::join(memory, Process(rank), mq_shm::Options::default()).unwrap(),
        refuses: refuses.clone(),
    };
    (World::over(transport, options), refuses)
}

/// How a message is received.
#[derive(Clone, Copy)]
enum Way {
    Blocking,
    Request,
    Matched,
    Scope,
}

/// A large message is announced; the answer, that it was read or that it is to come another way, is
/// refused when it should be sent.
fn answers_are_sent_later(way: Way, options: Options) {
    const BYTES: usize = 700_000;
    let memory = Mapped::create(Geometry::new(2).unwrap()).unwrap();
    let file = memory.file().try_clone_to_owned().unwrap();
    let sender = std::thread::spawn(move || {
        let (world, _) = join(Mapped::open(file, "it").unwrap(), 0, &options);
        let sending = world.isend(vec![5_u8; BYTES], 1, 1).unwrap();
        world.send(&[1_u8], 1, 2).unwrap();
        let (_, status) = sending.wait().unwrap();
        assert_eq!(status.bytes(), BYTES as u64);
        world.recv(&mut [0_u8], 1, 3).unwrap();
    });
    let (world, refuses) = join(memory, 1, &options);
    // Behind the announcement.
    world.recv(&mut [0_u8], 0, 2).unwrap();
    let mut into = vec![0_u8; BYTES];
    refuses.set(true);
    match way {
        // Of messages that are read at once it is through, and the answer is all that fails.
        Way::Blocking => match world.recv(&mut into, 0, 1) {
            Ok(status) => assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5)),
            Err(error) => assert!(matches!(error, Error::Transport(_)), "{error}"),
        },
        // It has its message, whatever becomes of the answer.
        Way::Request => {
            let receiving = world.irecv(into, 0, 1).unwrap();
            refuses.set(false);
            let (into, status) = receiving.wait().unwrap();
            assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5));
        }
        Way::Matched => {
            let message = world.mprobe(0, 1).unwrap();
            let receiving = message.irecv(into).unwrap();
            refuses.set(false);
            let (into, status) = receiving.wait().unwrap();
            assert_eq!((status.bytes(), into[BYTES - 1]), (BYTES as u64, 5));
        }
        Way::Scope => {
            let status = world.scope(|scope| {
                let receiving = scope.irecv(&mut into, 0, 1).unwrap();
                refuses.set(false);
                receiving.wait().map(|(_, status)| status)
            });
            let bytes = status.unwrap().bytes();
            assert_eq!((bytes, into[BYTES - 1]), (BYTES as u64, 5));
        }
    }
    refuses.set(false);
    world.send(&[1_u8], 0, 3).unwrap();
    sender.join().unwrap();
}

#[test]
fn that_a_message_was_read_is_said_later() {
    let _dog = watchdog("that_a_message_was_read_is_said_later");
    for way in [Way::Blocking, Way::Request, Way::Matched, Way::Scope] {
        answers_are_sent_later(
            way,
            Options {
                single_copy_from: Some(1),
                ..Options::default()
            },
        );
    }
}

#[test]
fn the_way_of_a_message_is_asked_for_later() {
    let _dog = watchdog("the_way_of_a_message_is_asked_for_later");
    for way in [Way::Blocking, Way::Request, Way::Matched, Way::Scope] {
        answers_are_sent_later(
            way,
            Options {
                single_copy: false,
                ..Options::default()
            },
        );
    }
}
