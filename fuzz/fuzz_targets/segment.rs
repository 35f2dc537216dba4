#![no_main]
//! Two endpoints keep sending and receiving while someone writes into their segment: wrong messages and
//! errors are allowed, and nothing else.

use std::fs::File;
use std::os::unix::fs::FileExt;

use libfuzzer_sys::arbitrary::{self, Unstructured};
use libfuzzer_sys::fuzz_target;
use mq_shm::{
    Arrival, Block, Endpoint, Geometry, Mapped, Options, Policy, Process, Remote, RingId, Stretch,
};

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok(policy) = input.choose(&Policy::ALL) else {
        return;
    };
    let geometry = Geometry::with_cells(3, 3).expect("it is a small one");
    let geometry = geometry.with_buffers(BUFFERS).expect("they are few");
    let segment = Mapped::create(geometry).expect("there is memory");
    let file = File::from(
        segment
            .file()
            .try_clone_to_owned()
            .expect("one more descriptor"),
    );
    let options = Options::default().with(|o| o.policy = *policy);
    let mut members: Vec<_> = (0..2)
        .map(|me| {
            let copy = segment
                .file()
                .try_clone_to_owned()
                .expect("one more descriptor");
            let memory = Mapped::open(copy, "a copy").expect("it is as it was made");
            Endpoint::join(memory, Process(me), options).expect("it is the first")
        })
        .collect();
    let mut buffer = vec![0; 200_000];
    let mut blocks = Vec::new();
    while !input.is_empty() {
        let Ok(step) = input.arbitrary::<u8>() else {
            return;
        };
        let (at, step) = (usize::from(step & 1), step >> 1);
        // The highest steps, so that the others are what they are in the saved corpus.
        let taken = if step >= 120 {
            share(
                step,
                &mut members,
                at,
                &file,
                geometry,
                &mut input,
                &mut buffer,
                &mut blocks,
            )
        } else if step >= 112 {
            wait_for(step, &mut members[at], &mut input, &mut buffer)
        } else {
            take_step(
                step,
                &mut members,
                at,
                &file,
                geometry,
                &mut input,
                &mut buffer,
            )
        };
        if taken.is_err() {
            return;
        }
    }
});

/// Bytes of the shared buffers of each process.
const BUFFERS: u64 = 1 << 18;

/// Shared buffers are allocated, freed, and read at valid and invalid places.
#[allow(clippy::too_many_arguments)]
fn share(
    step: u8,
    members: &mut [Endpoint],
    at: usize,
    file: &File,
    geometry: Geometry,
    input: &mut Unstructured<'_>,
    buffer: &mut [u8],
    blocks: &mut Vec<Block>,
) -> arbitrary::Result<()> {
    match step % 4 {
        0 => {
            // Sizes that fit and sizes that do not.
            let fewer = if step & 4 == 0 { 16 } else { 0 };
            let bytes = usize::try_from(input.arbitrary::<u32>()? >> fewer).unwrap_or(0);
            blocks.extend(members[at].allocate(bytes).ok());
        }
        1 if !blocks.is_empty() => {
            let which = usize::from(input.arbitrary::<u8>()?) % blocks.len();
            drop(blocks.swap_remove(which));
        }
        // Bytes of a region of any process.
        2 => {
            let word: [u8; 8] = input.arbitrary()?;
            let into = u64::from(input.arbitrary::<u32>()?) % (BUFFERS * 3 - 8);
            let _ = file.write_all_at(&word, geometry.bytes() as u64 + into);
        }
        _ => {
            let from = Process(u32::from(input.arbitrary::<u8>()? % 4));
            let there = Remote {
                address: 0,
                bytes: input.arbitrary::<u64>()? >> (input.arbitrary::<u8>()? % 64),
                shared: Some(input.arbitrary::<u64>()? >> (input.arbitrary::<u8>()? % 64)),
            };
            let room = (4 * usize::from(input.arbitrary::<u16>()?)).min(buffer.len());
            // SAFETY: both ends are of one thread.
            let _ = unsafe { members[at].read_together(from, there, &mut buffer[..room], [3, 4]) };
            // Nobody has an offer at this point, whatever the segment says.
            let helped = members[at].help(from, buffer, input.arbitrary()?);
            assert!(matches!(helped, Ok(0) | Err(_)));
        }
    }
    Ok(())
}

/// What an endpoint looks for is wanted, and found through the fastest paths.
fn wait_for(
    step: u8,
    member: &mut Endpoint,
    input: &mut Unstructured<'_>,
    buffer: &mut [u8],
) -> arbitrary::Result<()> {
    let choice = input.arbitrary::<u8>()?;
    let process = Process(u32::from(choice % 4));
    let room = usize::from(choice) * 4;
    match step % 4 {
        0 => {
            let wanted = (choice & 4 == 0).then_some(process);
            if choice & 8 == 0 {
                let _ = member.want(wanted);
            } else {
                member.unwant(wanted);
            }
        }
        1 => {
            if let Some(message) = member.poll_wanted() {
                let _ = (message.source(), message.header());
                message.copy_to(&mut buffer[..room]);
            }
        }
        2 => {
            if let Some(message) = member.poll_short_from(process) {
                message.copy_to(&mut buffer[..room]);
            }
        }
        _ => {
            if let Ok(Some(Arrival::Message(mut message))) = member.poll_waiting() {
                let _ = (message.source(), message.header(), message.total());
                let mut kept = Vec::new();
                message.append_to(&mut kept);
            }
        }
    }
    Ok(())
}

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
            if let Ok(Some(Arrival::Message(mut message))) = members[at].poll() {
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
            // SAFETY: both ends are of one thread.
            let stretch = unsafe { Stretch::new(Process(0), ring, first, 0) };
            let _ = members[1].pull(Process(0), stretch, buffer, 0);
            // Lent, and filled by its holder.
            if at == 0 {
                let _ = members[0].take_ring(Process(1), buffer.len());
                let _ = members[0].lend_ring(Process(1), buffer.len());
                let _ = members[0].take_ring_with_room(Process(1), buffer.len());
                let _ = members[1].pass(Process(0), stretch, buffer.len(), usize::from(step));
                let _ = members[1].push(stretch, buffer, 0);
                let _ = members[0].pull(Process(1), stretch, buffer, 0);
                let _ = members[0].free_ring(ring);
            }
        }
        _ => {
            members[at].check_peers();
            let _ = members[at].cells_out();
        }
    }
    Ok(())
}
