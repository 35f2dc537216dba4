use mq_core::mpi::TagSelector;
use mq_core::{Source, Tag, TrafficClass};
use proptest::prelude::*;

use super::*;

/// What may happen to the front.
#[derive(Debug, Clone)]
enum Change {
    Post(u32, Source, TagSelector),
    /// From this sender with this tag, in this context.
    Arrive(u32, u32, i32),
    /// The one at this place, of those that are there.
    Remove(usize),
    FreeContext(u32),
}

fn change() -> impl Strategy<Value = Change> {
    let context = 0..2_u32;
    let source = prop_oneof![4 => (0..3_u32).prop_map(Source::from), 1 => Just(Source::Any)];
    let tag = prop_oneof![
        4 => (0..3_i32).prop_map(|tag| TagSelector::Exact(Tag(tag))),
        1 => Just(TagSelector::Any),
    ];
    prop_oneof![
        12 => (context.clone(), source, tag).prop_map(|(context, source, tag)| Change::Post(context, source, tag)),
        9 => (context.clone(), 0..3_u32, 0..3_i32)
            .prop_map(|(context, source, tag)| Change::Arrive(context, source, tag)),
        2 => (0..100_usize).prop_map(Change::Remove),
        1 => context.prop_map(Change::FreeContext),
    ]
}

/// A front and a plain list of what should be in it.
#[derive(Default)]
struct Both {
    front: Front,
    receives: Vec<(MpiPattern, u32)>,
    next: u32,
    /// How often messages from a process are wanted.
    wanted: [u32; 4],
}

/// The process that a receive waits for: one for each rank, and one that stands for any.
fn peer_of(source: Source) -> Process {
    match source {
        Source::Rank(rank) => Process(rank.0),
        Source::Any => Process(3),
    }
}

impl Both {
    fn post(&mut self, context: u32, source: Source, tag: TagSelector) {
        let pattern = MpiPattern::new(context, source, tag);
        match self.front.run_for(&pattern) {
            None => return,
            Some(RunFor::Existing(run)) => self.front.push(run, self.next),
            Some(RunFor::New) => {
                let peer = peer_of(source);
                self.front.begin_run(pattern, peer, self.next);
                self.wanted[peer.index()] += 1;
            }
        }
        self.receives.push((pattern, self.next));
        self.next += 1;
    }

    fn arrive(&mut self, context: u32, source: u32, tag: i32) {
        let bits = header::bits(source, tag);
        let word = Word::new(context, TrafficClass::PointToPoint, Kind::Eager);
        let mut receives = self.receives.iter();
        let expected = receives.position(|(pattern, _)| header::takes(pattern, bits, word));
        let taken = self.front.matched(bits, word);
        self.left(expected, taken);
    }

    fn left(&mut self, expected: Option<usize>, taken: Option<Taken>) {
        let expected = expected.map(|at| self.receives.remove(at).1);
        assert_eq!(taken.map(|taken| taken.receive), expected);
        if let Some(process) = taken.and_then(|taken| taken.unwanted) {
            self.wanted[process.index()] -= 1;
        }
    }

    fn change(&mut self, change: &Change) {
        match *change {
            Change::Post(context, source, tag) => self.post(context, source, tag),
            Change::Arrive(context, source, tag) => self.arrive(context, source, tag),
            Change::Remove(at) => {
                assert!(self.front.remove(u32::MAX).is_none());
                if let Some(at) = at.checked_rem(self.receives.len()) {
                    let taken = self.front.remove(self.receives[at].1);
                    self.left(Some(at), taken);
                }
            }
            Change::FreeContext(context) => {
                while let Some(taken) = self.front.remove_of_context(context) {
                    let mut receives = self.receives.iter();
                    let at = receives.position(|&(_, receive)| receive == taken.receive);
                    assert!(at.is_some_and(|at| self.receives[at].0.context().0 == context));
                    self.left(at, Some(taken));
                }
                let mut left = self.receives.iter();
                assert!(left.all(|(pattern, _)| pattern.context().0 != context));
            }
        }
        assert_eq!(self.front.is_empty(), self.receives.is_empty());
        // Every run wants its peer once.
        let runs = u32::try_from(self.front.runs()).unwrap_or(u32::MAX);
        assert_eq!(self.wanted.iter().sum::<u32>(), runs);
        for (pattern, _) in &self.receives {
            assert!(self.wanted[peer_of(pattern.source()).index()] > 0);
        }
    }
}

proptest! {
    #[test]
    fn receives_leave_as_from_a_list(changes in prop::collection::vec(change(), 0..600)) {
        let mut both = Both::default();
        for change in &changes {
            both.change(change);
        }
    }
}

#[test]
fn a_front_is_full_with_so_many_receives_or_runs() {
    let mut both = Both::default();
    for _ in 0..2 * MOST_RECEIVES {
        both.post(0, Source::from(1), TagSelector::Any);
    }
    assert_eq!(both.receives.len(), MOST_RECEIVES);
    // As many nodes as leave, where the first run has left them.
    for left in 1..=MOST_RECEIVES {
        both.arrive(0, 1, 5);
        both.post(0, Source::from(2), TagSelector::Any);
        both.post(0, Source::from(2), TagSelector::Any);
        assert_eq!(both.receives.len(), MOST_RECEIVES, "{left} have left");
    }
    let mut both = Both::default();
    for tag in 0..20 {
        both.post(0, Source::Any, TagSelector::Exact(Tag(tag)));
    }
    assert_eq!(both.receives.len(), RUNS);
    // One that is over makes room for another, wherever it was.
    both.arrive(0, 1, 3);
    both.post(0, Source::Any, TagSelector::Exact(Tag(30)));
    assert_eq!(both.receives.len(), RUNS);
    both.arrive(0, 1, 30);
    assert_eq!(both.receives.len(), RUNS - 1);
}
