//! All that has been sent was received, or left: the profiles of all ranks together.

use mq_comm::{Error, World};

use crate::plan::Fate;
use crate::rank::Rank;
use crate::record::Outcome;

/// Messages to a rank, and their bytes.
#[derive(Default)]
pub(crate) struct Sums {
    /// Those that the program has not received.
    left: [u64; 2],
    /// Of these, those that may have been received for a receive that was dropped.
    unsure: [u64; 2],
}

impl Rank<'_> {
    pub(crate) fn sums(&self) -> Sums {
        let mut sums = Sums {
            left: self.lost,
            unsure: [0; 2],
        };
        let mut count = |to: fn(&mut Sums) -> &mut [u64; 2], by: i64, bytes: u64| {
            let to = to(&mut sums);
            to[0] = to[0].wrapping_add_signed(by);
            to[1] = to[1].wrapping_add_signed(by * bytes as i64);
        };
        for its in &self.expected.0 {
            count(|sums| &mut sums.left, 1, its.message.bytes as u64);
        }
        let mut drops = false;
        for receive in &self.record.receives {
            match &receive.outcome {
                Outcome::Took(envelope, _) => count(|sums| &mut sums.left, -1, envelope.bytes),
                outcome => drops |= matches!(outcome, Outcome::Dropped),
            }
        }
        let loose = (self.expected.0.iter()).filter(|its| its.message.fate == Fate::Loose);
        for its in loose.filter(|_| drops) {
            count(|sums| &mut sums.unsure, 1, its.message.bytes as u64);
        }
        sums
    }
}

/// To be called by all ranks.
pub(crate) fn check(world: &World, sums: &Sums) -> Result<(), Error> {
    let profile = world.profile();
    let mut all = [
        [profile.sent(), profile.sent_bytes()],
        [
            profile.received + sums.left[0],
            profile.received_bytes + sums.left[1],
        ],
        sums.unsure,
    ]
    .concat();
    if world.rank() > 0 {
        return world.send(&all, 0, 0);
    }
    for rank in 1..world.size() {
        let mut its = [0; 6];
        world.recv(&mut its, rank, 0)?;
        all.iter_mut().zip(its).for_each(|(sum, its)| *sum += its);
    }
    for at in 0..2 {
        let (sent, ended, unsure) = (all[at], all[2 + at], all[4 + at]);
        assert!(
            (sent..=sent + unsure).contains(&ended),
            "sent, and received or left: {all:?}"
        );
    }
    Ok(())
}
