//! A segment of worlds is joined by worlds only.

use mq_comm::{Options, World};
use mq_shm::{Endpoint, Mapped, Process, ShmError};

#[test]
fn no_other_endpoint_joins_worlds() {
    let seats = World::seats(2, &Options::default()).unwrap();
    let memory_files = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = memory_files.filter_map(|entry| {
        let entry = entry.unwrap();
        let target = std::fs::read_link(entry.path()).ok()?;
        let is_segment = target.to_string_lossy().contains("mq-segment");
        is_segment.then(|| entry.file_name().to_str().unwrap().parse().unwrap())
    });
    let numbers: Vec<u32> = numbers.collect();
    assert!(!numbers.is_empty(), "of {seats:?}");
    for number in numbers {
        let open = || Mapped::inherited(number, "the worlds' segment").unwrap();
        let joined = Endpoint::join(open(), Process(1), mq_shm::Options::default());
        assert!(matches!(joined, Err(ShmError::ForWorlds)), "{number}");
        let joined = Endpoint::join_any(open(), mq_shm::Options::default());
        assert!(matches!(joined, Err(ShmError::ForWorlds)), "{number}");
    }
    let memory = Mapped::create(Options::default().geometry(1).unwrap()).unwrap();
    Endpoint::join(memory, Process(0), mq_shm::Options::default()).unwrap();
}
