use super::*;
use crate::matches;

#[test]
fn any_tag_admits_zero_and_positive_tags_only() {
    let any = MpiPattern::new(1, 4, TagSelector::Any);
    for tag in [0, 1, i32::MAX] {
        assert!(matches(&any, &MpiEnvelope::new(1, 4, tag)), "tag {tag}");
    }
    for tag in [-1, -12, i32::MIN] {
        assert!(!matches(&any, &MpiEnvelope::new(1, 4, tag)), "tag {tag}");
    }
}

#[test]
fn any_source_still_compares_the_tag() {
    let any = MpiPattern::new(1, Source::Any, 7);
    assert!(matches(&any, &MpiEnvelope::new(1, u32::MAX, 7)));
    assert!(!matches(&any, &MpiEnvelope::new(1, 0, 8)));
}

#[test]
fn masked_tag_ignores_only_the_masked_bits() {
    let tag = TagSelector::Masked {
        wanted: Tag(0x120),
        ignore: 0x0f,
    };
    let pattern = MpiPattern::new(0, 0, tag);
    assert!(matches(&pattern, &MpiEnvelope::new(0, 0, 0x12f)));
    assert!(!matches(&pattern, &MpiEnvelope::new(0, 0, 0x130)));
    assert_eq!(pattern.tag(), tag);
}

#[test]
fn a_masked_pattern_knows_whether_it_can_match_collective_traffic() {
    for (wanted, ignore, class) in [
        (4, 3, TrafficClass::PointToPoint),
        (-16, 0xf, TrafficClass::Unknown),
        (4, 0x8000_0000, TrafficClass::Unknown),
        (4, u32::MAX, TrafficClass::Unknown),
        (0, 0x7fff_ffff, TrafficClass::PointToPoint),
        (-1, 0x7fff_ffff, TrafficClass::Unknown),
    ] {
        let tag = TagSelector::Masked {
            wanted: Tag(wanted),
            ignore,
        };
        assert_eq!(MpiPattern::new(0, 0, tag).class(), class, "{tag:?}");
    }
}

#[test]
fn fields_survive_packing() {
    let pattern = MpiPattern::new(9, u32::MAX, i32::MIN);
    assert_eq!(pattern.source(), Source::Rank(Rank(u32::MAX)));
    assert_eq!(pattern.tag(), TagSelector::Exact(Tag(i32::MIN)));
    assert_eq!(MpiEnvelope::new(9, u32::MAX, -5).tag(), Tag(-5));
    assert_eq!(size_of::<MpiEnvelope>(), 16);
    assert_eq!(size_of::<MpiPattern>(), 24);
    #[expect(clippy::clone_on_copy, reason = "it is not the same code")]
    let clone = pattern.clone();
    assert_eq!(clone, pattern);
}
