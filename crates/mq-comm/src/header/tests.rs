use super::*;
use mq_core::Source;
use mq_core::mpi::TagSelector;

#[test]
fn words_are_read_as_they_are_written() {
    let word = Word::new(u32::MAX, TrafficClass::Barrier, Kind::Announce);
    assert_eq!(word.context(), u32::MAX);
    assert_eq!(word.class(), Some(TrafficClass::Barrier));
    assert_eq!(word.kind(), Some(Kind::Announce));
    assert_eq!(word.with_kind(Kind::Eager).kind(), Some(Kind::Eager));
    assert_eq!(Word(0).kind(), None);
    assert_eq!(Word(0xff00).class(), None);
}

#[test]
fn a_receive_takes_what_the_engine_would_give_it() {
    let patterns = [
        MpiPattern::new(4, 2, 7),
        MpiPattern::new(4, Source::Any, 7),
        MpiPattern::new(4, 2, TagSelector::Any),
        MpiPattern::new(4, Source::Any, TagSelector::Any),
        MpiPattern::new(5, 2, -16),
    ];
    for pattern in patterns {
        for (context, source, tag) in [(4, 2, 7), (4, 3, 7), (4, 2, 8), (5, 2, -16), (4, 2, -16)] {
            let class = TrafficClass::PointToPoint;
            let word = Word::new(context, class, Kind::Eager);
            let bits = bits(source, tag);
            assert_eq!((source_of(bits), tag_of(bits)), (source, tag));
            let kept = envelope(bits, context, class);
            assert_eq!(
                takes(&pattern, bits, word),
                mq_core::matches(&pattern, &kept)
            );
        }
    }
}

#[test]
fn payloads_of_a_wrong_length_are_none() {
    let given = RingGiven {
        ring: 1,
        first: u64::MAX,
    };
    assert_eq!(RingGiven::from_bytes(given.to_bytes().bytes()), Some(given));
    assert_eq!(RingWanted::from_bytes(given.to_bytes().bytes()), None);
    assert_eq!(RingGiven::from_bytes(&[0; 11]), None);
}
