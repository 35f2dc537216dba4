//! A process that waits for one sender while another floods it: what that takes of its memory.
//!
//! Three processes: rank 1 sends MESSAGES messages of BYTES bytes to rank 0, which first waits for a message that
//! rank 2 sends after some seconds, and then receives all. Rank 0 prints a line of JSON. `benches/node/flood.c` does
//! the same with MPI; `benches/node/flood.py` runs both.

use std::time::{Duration, Instant};

use mq_comm::{Error, World};

const FLOOD: i32 = 1;
const OTHER: i32 = 2;

fn main() -> Result<(), Error> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map_while(|text| text.parse().ok())
        .collect();
    let (&[messages, bytes, seconds], 3) = (&numbers[..], World::launched_size()?) else {
        eprintln!("usage, with 3 processes: flood MESSAGES BYTES SECONDS");
        std::process::exit(2);
    };
    World::run(|world| {
        let mut buffer = vec![0_u8; bytes as usize];
        let number = buffer.len().min(size_of::<u64>());
        world.barrier()?;
        let before = memory("VmRSS:");
        match world.rank() {
            2 => {
                std::thread::sleep(Duration::from_secs(seconds));
                world.send::<u8>(&[], 0, OTHER)?;
            }
            1 => {
                for n in 0..messages {
                    buffer[..number].copy_from_slice(&n.to_ne_bytes()[..number]);
                    world.send(&buffer, 0, FLOOD)?;
                }
            }
            _ => {
                world.recv::<u8>(&mut [], 2, OTHER)?;
                let waiting = memory("VmRSS:");
                let start = Instant::now();
                for n in 0..messages {
                    world.recv(&mut buffer, 1, FLOOD)?;
                    assert_eq!(buffer[..number], n.to_ne_bytes()[..number], "message {n}");
                }
                println!(
                    "{{\"waiting\": {:.1}, \"peak\": {:.1}, \"after\": {:.1}, \"received_in\": {:.3}}}",
                    waiting - before,
                    memory("VmHWM:") - before,
                    memory("VmRSS:") - before,
                    start.elapsed().as_secs_f64()
                );
            }
        }
        Ok(())
    })
}

/// A line of `/proc/self/status`, in MiB.
fn memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|value| value.trim().strip_suffix(" kB"));
    let kib: f64 = value.expect("it has every line").parse().expect("a number");
    kib / 1024.0
}
