//! The traffic: few enough contexts, senders and tags that each is used all the time.

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::{Handle, MessageHandle, Rank, Source, Tag, TrafficClass};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

pub(crate) const CONTEXTS: usize = 6;
/// Senders of a context; their ranks are consecutive, starting anywhere below 2^20.
pub(crate) const SENDERS: usize = 24;
pub(crate) const TAGS: [i32; 6] = [0, 1, 2, i32::MAX, -12, -13];
pub(crate) const SELECTORS: [TagSelector; 10] = [
    TagSelector::Exact(Tag(TAGS[0])),
    TagSelector::Exact(Tag(TAGS[1])),
    TagSelector::Exact(Tag(TAGS[2])),
    TagSelector::Exact(Tag(TAGS[3])),
    TagSelector::Exact(Tag(TAGS[4])),
    TagSelector::Exact(Tag(TAGS[5])),
    TagSelector::Any,
    masked(0, 1),
    masked(-12, 7),
    masked(0, !0),
];

/// The most receives that are posted.
pub(crate) const MOST_POSTED: usize = 512;

const fn masked(wanted: i32, ignore: u32) -> TagSelector {
    TagSelector::Masked {
        wanted: Tag(wanted),
        ignore,
    }
}

/// The tag rule, written independently.
pub(crate) fn selects(selector: TagSelector, tag: i32) -> bool {
    match selector {
        TagSelector::Exact(wanted) => tag == wanted.0,
        TagSelector::Any => tag >= 0,
        TagSelector::Masked { wanted, ignore } => (tag ^ wanted.0).cast_unsigned() & !ignore == 0,
    }
}

/// A message's context, sender and tag, by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried {
    pub(crate) context: usize,
    pub(crate) sender: usize,
    pub(crate) tag: usize,
}

/// What a receive asks for, by index; no sender for any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) context: usize,
    pub(crate) sender: Option<usize>,
    pub(crate) selector: usize,
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("few")
}

impl Carried {
    pub(crate) fn envelope(self, first_rank: u32) -> MpiEnvelope {
        let tag = TAGS[self.tag];
        let class = TrafficClass::from_open_mpi_tag(Tag(tag));
        let rank = first_rank + number(self.sender);
        MpiEnvelope::new(number(self.context), rank, tag).with_class(class)
    }
}

impl Wanted {
    pub(crate) fn pattern(self, first_rank: u32) -> MpiPattern {
        let source = self.sender.map_or(Source::Any, |sender| {
            Source::Rank(Rank(first_rank + number(sender)))
        });
        let selector = SELECTORS[self.selector];
        let pattern = MpiPattern::new(number(self.context), source, selector);
        match selector {
            TagSelector::Exact(tag) => pattern.with_class(TrafficClass::from_open_mpi_tag(tag)),
            // The pattern knows itself which classes it can match.
            TagSelector::Any | TagSelector::Masked { .. } => pattern,
        }
    }
}

/// A queued entry's name, which may be stale, its number, and where it was queued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<N, At> {
    pub(crate) name: N,
    pub(crate) number: u64,
    pub(crate) at: At,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Post(Wanted),
    PostHalves(Wanted),
    Arrive(Carried),
    ArriveHalves(Carried),
    Probe(Wanted),
    Extract(Wanted),
    /// Find, then take.
    Take(Wanted),
    Deliver(Carried),
    Cancel(Named<Handle, Wanted>),
    /// Take by a name of some time ago.
    TakeNamed(Named<MessageHandle, Carried>),
    PurgeSender(usize, usize),
    /// A quarter of everything: numbers of this remainder.
    PurgeSome(u64),
    Free(usize),
    /// With ranks from this one.
    Create(usize, u32),
    Announce(usize, usize),
    Clear,
}

/// Names of which some are stale.
#[derive(Debug)]
pub(crate) struct Ring<N, At> {
    names: Vec<Named<N, At>>,
    next: usize,
}

impl<N: Copy, At: Copy> Ring<N, At> {
    const SIZE: usize = 512;

    pub(crate) fn new() -> Self {
        Self {
            names: Vec::with_capacity(Self::SIZE),
            next: 0,
        }
    }

    pub(crate) fn push(&mut self, named: Named<N, At>) {
        if self.names.len() < Self::SIZE {
            self.names.push(named);
        } else {
            self.names[self.next] = named;
        }
        self.next = (self.next + 1) % Self::SIZE;
    }

    fn get(&self, index: usize) -> Option<Named<N, At>> {
        self.names.get(index % Self::SIZE).copied()
    }
}

/// Which operations dominate for a while.
#[derive(Clone, Copy, Debug)]
struct Phase {
    left: u64,
    /// Out of 256 operations.
    arrivals: u8,
    posts: u8,
    /// Three quarters of the messages come from here.
    flood: Option<(usize, usize)>,
}

/// Draws operations.
#[derive(Debug)]
pub(crate) struct Source64 {
    random: StdRng,
    phase: Phase,
}

/// Bits of one draw.
struct Bits(u64);

impl Bits {
    #[expect(clippy::cast_possible_truncation, reason = "less than `choices`")]
    fn below(&mut self, choices: usize) -> usize {
        let drawn = self.0 % choices as u64;
        self.0 /= choices as u64;
        drawn as usize
    }

    fn one_in(&mut self, choices: usize) -> bool {
        self.below(choices) == 0
    }
}

impl Source64 {
    pub(crate) fn new(seed: u64) -> Self {
        let phase = Phase {
            left: 0,
            arrivals: 0,
            posts: 0,
            flood: None,
        };
        let random = StdRng::seed_from_u64(seed);
        Self { random, phase }
    }

    pub(crate) fn first_rank(&mut self) -> u32 {
        self.random.next_u32() >> 12
    }

    fn next_phase(&mut self) {
        let mut bits = Bits(self.random.next_u64());
        let left = 1_000 + bits.below(8_000) as u64;
        let hot = (bits.below(CONTEXTS), bits.below(SENDERS));
        let (arrivals, posts, flood) = match bits.below(5) {
            0 => (180, 24, Some(hot)),
            1 => (180, 24, None),
            2 => (32, 180, None),
            3 => (32, 100, None),
            _ => (96, 96, None),
        };
        self.phase = Phase {
            left,
            arrivals,
            posts,
            flood,
        };
    }

    /// The next operation, given names that it may use.
    pub(crate) fn draw(
        &mut self,
        receives: &Ring<Handle, Wanted>,
        messages: &Ring<MessageHandle, Carried>,
    ) -> Operation {
        if self.phase.left == 0 {
            self.next_phase();
        }
        self.phase.left -= 1;
        let mut bits = Bits(self.random.next_u64());
        if bits.one_in(1_024) {
            return self.rare(bits);
        }
        let choice = bits.below(256);
        let (arrivals, posts) = (self.phase.arrivals.into(), self.phase.posts);
        if choice < arrivals {
            let carried = self.carried(&mut bits);
            return if bits.one_in(2) {
                Operation::Arrive(carried)
            } else {
                Operation::ArriveHalves(carried)
            };
        }
        let wanted = wanted(&mut bits);
        if choice < arrivals + usize::from(posts) {
            return if bits.one_in(2) {
                Operation::Post(wanted)
            } else {
                Operation::PostHalves(wanted)
            };
        }
        match bits.below(8) {
            0 | 1 => Operation::Probe(wanted),
            2 | 3 => Operation::Extract(wanted),
            4 => Operation::Take(wanted),
            5 => Operation::Deliver(self.carried(&mut bits)),
            6 => {
                let named = receives.get(bits.below(512));
                named.map_or(Operation::Probe(wanted), Operation::Cancel)
            }
            _ => {
                let named = messages.get(bits.below(512));
                named.map_or(Operation::Probe(wanted), Operation::TakeNamed)
            }
        }
    }

    fn rare(&mut self, mut bits: Bits) -> Operation {
        let context = bits.below(CONTEXTS);
        match bits.below(64) {
            0..12 => Operation::PurgeSender(context, bits.below(SENDERS)),
            12..16 => Operation::PurgeSome(bits.below(4) as u64),
            16..20 => Operation::Free(context),
            20..28 => Operation::Announce(context, bits.below(TAGS.len())),
            28 => Operation::Clear,
            _ => Operation::Create(context, self.first_rank()),
        }
    }

    fn carried(&self, bits: &mut Bits) -> Carried {
        let (mut context, mut sender) = (bits.below(CONTEXTS), bits.below(SENDERS));
        let tag = bits.below(TAGS.len());
        if let Some(hot) = self.phase.flood
            && !bits.one_in(4)
        {
            (context, sender) = hot;
        }
        Carried {
            context,
            sender,
            tag,
        }
    }
}

fn wanted(bits: &mut Bits) -> Wanted {
    let context = bits.below(CONTEXTS);
    let sender = bits.below(SENDERS);
    let selector = bits.below(16);
    Wanted {
        context,
        sender: (!bits.one_in(16)).then_some(sender),
        // Exact ones more often than the others.
        selector: if selector < SELECTORS.len() {
            selector
        } else {
            selector - SELECTORS.len()
        },
    }
}
