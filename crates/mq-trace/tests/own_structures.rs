//! Structures written from outside of `mq-core`, each on one of the traits that its guide offers for that, pass the
//! conformance suite: what such structures need is public.

use mq_core::arrangement::{Arrangement, EnvelopeIn, Slabs, SlabsOf};
use mq_core::fifo::Fifo;
use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::structures::{Layered, ListId, Origin, Plan};
use mq_core::{Config, MatchQueues, Meter, Queue, Scope, Tag, matches};
use mq_trace::conformance::{
    Carried, Counted, EnvelopeFamily, Setup, Wanted, compare_all, compare_all_of, random_steps,
};

/// One list for each queue.
struct Plain {
    slabs: Slabs<MpiPattern, Counted, Counted>,
    posted: Fifo,
    unexpected: Fifo,
}

impl Arrangement for Plain {
    type Pattern = MpiPattern;
    type Receive = Counted;
    type Message = Counted;
    type Place = ();

    fn from_config(config: &Config) -> Self {
        Self {
            slabs: Slabs::new(config),
            posted: Fifo::EMPTY,
            unexpected: Fifo::EMPTY,
        }
    }

    fn scope_of(_: &Config) -> Scope {
        Scope::Context
    }

    fn slabs(&self) -> &SlabsOf<Self> {
        &self.slabs
    }

    fn slabs_mut(&mut self) -> &mut SlabsOf<Self> {
        &mut self.slabs
    }

    fn find_posted(&mut self, of: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Result<u32, ()> {
        self.peek_posted(of, meter).ok_or(())
    }

    fn find_unexpected(&mut self, of: &MpiPattern, meter: &mut impl Meter) -> Result<u32, ()> {
        self.peek_unexpected(of, meter).ok_or(())
    }

    fn peek_posted(&mut self, of: &EnvelopeIn<Self>, meter: &mut impl Meter) -> Option<u32> {
        let search = self
            .posted
            .find(&self.slabs.posted, |pattern| matches(pattern, of));
        meter.visited(Queue::Posted, search.visited);
        search.found
    }

    fn peek_unexpected(&mut self, of: &MpiPattern, meter: &mut impl Meter) -> Option<u32> {
        let list = self.unexpected;
        let search = list.find(&self.slabs.unexpected, |envelope| matches(of, envelope));
        meter.visited(Queue::Unexpected, search.visited);
        search.found
    }

    fn place_of_receive(&mut self, _: &MpiPattern) {}

    fn place_of_message(&mut self, _: &MpiEnvelope) {}

    fn link_posted(&mut self, slot: u32, (): ()) {
        self.posted.push_back(&mut self.slabs.posted, slot);
    }

    fn link_unexpected(&mut self, slot: u32, (): ()) {
        self.unexpected.push_back(&mut self.slabs.unexpected, slot);
    }

    fn unlink_posted(&mut self, slot: u32) {
        self.posted.unlink(&mut self.slabs.posted, slot);
    }

    fn unlink_unexpected(&mut self, slot: u32) {
        self.unexpected.unlink(&mut self.slabs.unexpected, slot);
    }

    fn reset(&mut self) {
        self.posted = Fifo::EMPTY;
        self.unexpected = Fifo::EMPTY;
    }
}

/// Every third element goes to a list that all senders share, the others to one of two by their sender.
#[derive(Debug, Default)]
struct ByTurns {
    /// How many elements were linked.
    linked: u32,
}

impl ByTurns {
    const LISTS: ListId = 3;
}

impl Plan for ByTurns {
    const SEPARATES_CLASSES: bool = false;

    fn from_config(_: &Config) -> Self {
        Self::default()
    }

    fn lists(&self) -> usize {
        Self::LISTS as usize
    }

    /// The shared list, and the one that the sender has from time to time.
    fn path(&self, origin: Origin, visitor: &mut impl FnMut(ListId) -> bool) {
        let own = 1 + origin.sender.rank.0 % (Self::LISTS - 1);
        let _ = visitor(0) && visitor(own);
    }

    /// New elements go to either, so that neither has only older ones.
    fn is_ordered(&self, _: Origin) -> bool {
        false
    }

    fn home(&mut self, origin: Origin) -> ListId {
        if self.linked.is_multiple_of(3) {
            return 0;
        }
        1 + origin.sender.rank.0 % (Self::LISTS - 1)
    }

    fn linked(&mut self, _: Origin, _: ListId) -> bool {
        self.linked = self.linked.wrapping_add(1);
        false
    }

    fn unlinked(&mut self, _: Origin, _: ListId) {}

    fn reset(&mut self) {
        self.linked = 0;
    }

    fn bytes(&self) -> usize {
        0
    }
}

fn conforms<Q>()
where
    Q: MatchQueues<Pattern = MpiPattern, Receive = Counted, Message = Counted>,
{
    for seed in 0..100 {
        let steps = random_steps(seed, 300);
        for setup in [Setup::small(), Setup::published()] {
            let compared = compare_all::<Q>(&setup.hashed_from(1), &steps);
            if let Err(divergence) = compared {
                panic!("seed {seed}: {divergence}");
            }
        }
    }
}

#[test]
fn an_arrangement() {
    conforms::<Plain>();
}

#[test]
fn a_plan() {
    conforms::<Layered<ByTurns, MpiPattern, Counted, Counted>>();
}

/// Patterns of another crate, for which that crate implements no family.
struct Upwards;

impl EnvelopeFamily for Upwards {
    type Pattern = MpiPattern;

    fn pattern(wanted: &Wanted) -> MpiPattern {
        let tag = match wanted.tag {
            TagSelector::Exact(Tag(tag)) => TagSelector::Exact(upwards(tag)),
            TagSelector::Any | TagSelector::Masked { .. } => TagSelector::Any,
        };
        MpiPattern::new(wanted.comm, wanted.source, tag)
    }

    fn envelope(carried: &Carried) -> MpiEnvelope {
        MpiEnvelope::new(carried.comm, carried.source, upwards(carried.tag))
    }
}

/// Tags from 0 on.
fn upwards(tag: i32) -> Tag {
    Tag(tag.saturating_abs())
}

#[test]
fn a_family_apart_from_its_pattern() {
    for seed in 0..20 {
        compare_all_of::<Upwards, Plain>(&Setup::small(), &random_steps(seed, 300))
            .unwrap_or_else(|divergence| panic!("seed {seed}: {divergence}"));
    }
}
