//! How the ranks of a program send and receive.

use std::time::Duration;

use mq_comm::{Channel, Kind, Options, Patience, Policy};

use crate::common;
use crate::draw::Draw;

/// Any structure, policy and way, with limits that programs of this size reach.
pub(crate) fn options(draw: &mut Draw) -> Options {
    Options::default().with(|o| {
        // Long before the program hangs.
        o.say_waits = Some(Duration::from_secs(5 * common::slower()));
        if draw.chance(60) {
            o.structure = draw.pick(Kind::ALL).into();
        }
        o.channel = Channel::from(draw.pick(Policy::ALL));
        if draw.chance(70) {
            let tuning = &mut o.channel.tuning;
            tuning.box_after = draw.below(4) as u32;
            tuning.credits = 1 + draw.below(5) as u32;
            tuning.grow = 1 + draw.below(8) as u32;
            tuning.low_water = draw.below(3) as u32;
        }
        o.bypass = draw.chance(85);
        if draw.chance(40) {
            o.eager_limit = draw.pick(&[0, 1, 41, 300, 585, 4096, 20_415, 41_000, 1 << 20]);
        }
        if draw.chance(10) {
            o.unexpected_limit = draw.pick(&[0, 300, 2000, 10_000, 100_000]);
        }
        if draw.chance(40) {
            o.ahead_limit = draw.pick(&[0, 1000, 21_000, 100_000, 256 << 10]);
        }
        o.single_copy = draw.chance(70);
        if draw.chance(60) {
            o.single_copy_from = Some(draw.pick(&[0, 300, 20_417, 65_536, 1 << 21]));
        }
        o.cooperative_copy = draw.chance(70);
        o.shared_copy = draw.chance(70);
        if draw.chance(40) {
            o.nontemporal_from = Some(draw.pick(&[0, 600, 50_000]));
        }
        if draw.chance(15) {
            o.shared_buffers = draw.pick(&[0, 4096, 100_000]);
        }
        o.fastbox = draw.chance(90);
        if draw.chance(40) {
            let (spins, yields) = draw.pick(&[(0, 0), (1, 0), (2, 40), (20, 2), (2000, 200)]);
            let patience = Patience::YIELDING.with(|p| (p.spins, p.yields) = (spins, yields));
            o.patience = Some(patience);
        }
    })
}
