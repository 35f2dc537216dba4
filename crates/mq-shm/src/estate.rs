//! What a process leaves behind when it ends, and which process gives that back to the system.
//!
//! The cells, fastboxes and rings of a process that has ended may hold messages that others have yet to read.
//! Before it puts a first cell into another's queue, it therefore notes in its table of *holders* that the
//! other may have something of it from now on. The other strikes out its note when it knows of the end and has
//! received everything. A process that strikes out a note, leaves, or reports a death then looks through the
//! tables of all that have ended. If all holders of one of these have struck out their notes, or have ended
//! too, nobody reads or writes its memory any more. The first process to put its name there, the heir, gives
//! the memory back; if the heir dies meanwhile, another takes its place. A holder that is killed reports
//! nothing, and perhaps none of the living has dealings with it. So those that have struck out their own notes
//! ask, whenever they look for deaths, about those that have not.
//!
//! | whose | noted by | struck out by | given back by |
//! | --- | --- | --- | --- |
//! | a note that `other` may have something of `owner`'s | `owner`, before its first cell to `other` | `other`, after the last message; nobody, if it ends | |
//! | cells, fastboxes from it, rings, shared buffers | | | one of those that find no holder left |
//!
//! A place in a segment is not used twice, so nobody needs the memory; but a job of which many processes die
//! takes no more memory than its survivors need.

use crate::ids::Process;
use crate::liveness;
use crate::place::Place;
use crate::segment::{Memory, Part};
use crate::steps::{Step, step};
use crate::sync::{AtomicU64, Ordering, fence};

/// Processes that a word of a table of holders has a bit for.
pub(crate) const HOLDERS: u32 = if cfg!(mq_loom) { 1 } else { 64 };

/// A word of a table of holders. A type of its own, so that nobody outside this crate can change one.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Holders(AtomicU64);

/// The word of a table, and the bit in it, for a process.
const fn bit_of(other: Process) -> (u32, u64) {
    (other.0 / HOLDERS, 1 << (other.0 % HOLDERS))
}

/// Notes that `other` may have something of `owner`'s from now on.
pub(crate) fn note<M: Memory>(memory: &M, owner: Process, other: Process) {
    let (word, bit) = bit_of(other);
    // Relaxed: others read it when they know that the owner has ended (JOIN).
    memory
        .holders(owner, word)
        .0
        .fetch_or(bit, Ordering::Relaxed);
}

/// Whether `other` may have something of `owner`'s.
pub(crate) fn is_noted<M: Memory>(memory: &M, owner: Process, other: Process) -> bool {
    let (word, bit) = bit_of(other);
    memory.holders(owner, word).0.load(Ordering::Relaxed) & bit != 0
}

/// `other` has received everything from a process that has ended.
pub(crate) fn strike_out<M: Memory>(memory: &M, owner: Process, other: Process) {
    let (word, bit) = bit_of(other);
    // ESTATE (release): the reads come before another gives the memory back.
    memory
        .holders(owner, word)
        .0
        .fetch_and(!bit, Ordering::Release);
}

/// No process is giving the memory back yet.
const NO_HEIR: u32 = 0;
/// The memory has been given back.
const DONE: u32 = u32::MAX;

/// The heir that gives memory back, as written in an entry: a process, or the launcher, which is not a
/// process of the segment.
fn name_of(heir: Option<Process>) -> u32 {
    heir.map_or(DONE - 1, |process| process.0 + 1)
}

/// Whether the memory of a process has been given back.
pub(crate) fn is_given_back(place: &Place) -> bool {
    place.heir.load(Ordering::Relaxed) == DONE
}

/// Gives back what nobody holds any more of those that have ended. A process, or its launcher, calls this after
/// each note struck out, and after each end that was reported or found.
///
/// # Cost
/// A load for each process, and up to eight system calls for each from which something is given back.
pub(crate) fn settle<M: Memory>(memory: &M, me: Option<Process>) {
    // LAST: the own strike or end, then the look at the others'.
    fence(Ordering::SeqCst);
    let processes = memory.geometry().processes();
    for owner in (0..processes).map(Process) {
        let place = memory.place(owner);
        let heir = place.heir.load(Ordering::Relaxed);
        if !is_free(memory, heir) || !liveness::has_ended(place) || is_held(memory, owner) {
            continue;
        }
        let first = place
            .heir
            .compare_exchange(heir, name_of(me), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if first {
            step(Step::Inherited);
            let parts = [
                Part::Cells {
                    owner,
                    first: 0,
                    count: memory.geometry().cells(),
                },
                Part::FastBoxes(owner),
                Part::Rings(owner),
                Part::Buffers(owner),
            ];
            let all = parts.map(|part| memory.discard(part)) == [true; 4];
            step(Step::GivenBack);
            if all {
                place.heir.store(DONE, Ordering::Relaxed);
            } else {
                // A process that has lost its descriptor leaves this to the next, which may have put its name
                // there by now if this one has left meanwhile.
                let name = name_of(me);
                let order = Ordering::Relaxed;
                let _ = place.heir.compare_exchange(name, NO_HEIR, order, order);
            }
        }
    }
}

/// Whether there is no heir, or only a dead one.
fn is_free<M: Memory>(memory: &M, heir: u32) -> bool {
    match heir {
        NO_HEIR => true,
        DONE => false,
        // Another may join an heir that gives memory back while it leaves, or a launcher at any time, as nobody
        // can say whether the launcher lives: nobody wants the memory any more, and giving it back twice does
        // no harm.
        name if name > memory.geometry().processes() => true,
        name => liveness::has_ended(memory.place(Process(name - 1))),
    }
}

/// Whether a process that has not ended may have something of `owner`'s.
fn is_held<M: Memory>(memory: &M, owner: Process) -> bool {
    holders(memory, owner).next().is_some()
}

/// The processes that have not ended and may have something of `owner`'s.
fn holders<M: Memory>(memory: &M, owner: Process) -> impl Iterator<Item = Process> {
    let processes = memory.geometry().processes();
    let noted = (0..processes.div_ceil(HOLDERS)).flat_map(move |word| {
        // ESTATE (acquire).
        let mut bits = memory.holders(owner, word).0.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            let other = Process(word * HOLDERS + bits.trailing_zeros());
            bits &= bits - 1;
            Some(other)
        })
    });
    // A bit for a process that does not exist comes from a stray write.
    noted.filter(move |&other| other.0 < processes && !liveness::has_ended(memory.place(other)))
}

/// The processes that the memory of any of these ended processes waits for: those that may have
/// something of theirs, and heirs. Also whether some of it waits for nobody any more.
pub(crate) fn awaited<M: Memory>(
    memory: &M,
    ended: impl Iterator<Item = Process>,
) -> (Vec<Process>, bool) {
    let (mut awaited, mut is_due) = (Vec::new(), false);
    for owner in ended {
        let heir = memory.place(owner).heir.load(Ordering::Relaxed);
        if heir == DONE {
            continue;
        }
        let before = awaited.len();
        awaited.extend(holders(memory, owner));
        if !is_free(memory, heir) {
            awaited.push(Process(heir - 1));
        }
        is_due |= awaited.len() == before;
    }
    (awaited, is_due)
}
