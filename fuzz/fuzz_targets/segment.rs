#![no_main]
//! Two endpoints that go on sending and receiving while somebody writes into their segment: wrong messages and errors
//! are allowed, and nothing else.

use std::fs::File;
use std::os::unix::fs::FileExt;

use libfuzzer_sys::arbitrary::{self, Unstructured};
use libfuzzer_sys::fuzz_target;
use mq_shm::{Arrival, Endpoint, Geometry, Mapped, Options, Policy, Process, RingId, Stretch};

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok(policy) = input.choose(&Policy::ALL) else { return };
    let geometry = Geometry::with_cells(3, 3).expect("it is a small one");
    let segment = Mapped::create(geometry).expect("there is memory");
    let file = File::from(segment.file().try_clone_to_owned().expect("one more descriptor"));
    let options = Options { policy: *policy, ..Options::default() };
    let mut members: Vec<_> = (0..2)
        .map(|me| {
            let copy = segment.file().try_clone_to_owned().expect("one more descriptor");
            let memory = Mapped::open(copy, "a copy").expect("it is as it was made");
            Endpoint::join(memory, Process(me), options).expect("it is the first")
        })
        .collect();
    let mut buffer = vec![0; 40_000];
    while !input.is_empty() {
        let Ok(step) = input.arbitrary::<u8>() else { return };
        let at = usize::from(step & 1);
        if take_step(step >> 1, &mut members, at, &file, geometry, &mut input, &mut buffer).is_err() {
            return;
        }
    }
});

fn take_step(
    step: u8,
    members: &mut [Endpoint],
    at: usize,
    file: &File,
    geometry: Geometry,
    input: &mut Unstructured<'_>,
    buffer: &mut [u8],
) -> arbitrary::Result<()> {
    match step % 6 {
        0 => {
            let len = usize::from(input.arbitrary::<u16>()?).min(buffer.len());
            let to = Process(u32::from(input.arbitrary::<u8>()? % 4));
            let _ = members[at].try_send(to, [1, 2], &buffer[..len], 0);
        }
        1 => {
            if let Ok(Some(Arrival::Message(message))) = members[at].poll() {
                message.copy_to(buffer);
            }
        }
        2 => {
            let bytes: [u8; 8] = input.arbitrary()?;
            let len = 1 + usize::from(input.arbitrary::<u8>()? % 8);
            let to = u64::from(input.arbitrary::<u32>()?) % (geometry.bytes() as u64 - 8);
            let _ = file.write_all_at(&bytes[..len], to);
        }
        // The entries, and the heads of the first cells.
        3 => {
            let word: [u8; 4] = input.arbitrary()?;
            let to = 4096 + u64::from(input.arbitrary::<u16>()? & !3);
            let _ = file.write_all_at(&word, to);
        }
        4 => {
            let ring = RingId(u32::from(input.arbitrary::<u8>()? % 8));
            let first = input.arbitrary()?;
            let stretch = Stretch {
                ring,
                first,
                skipped: 0,
            };
            let _ = members[1].pull(Process(0), stretch, buffer, 0);
        }
        _ => {
            let _ = members[at].check_peers();
            let _ = members[at].cells_out();
        }
    }
    Ok(())
}
