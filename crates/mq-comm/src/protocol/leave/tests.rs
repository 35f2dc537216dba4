use super::Failures;
use crate::error::Error;

#[test]
fn failures_are_borne_until_there_are_too_many_in_a_row() {
    let mut failures = Failures::default();
    for begins_anew in [true, false] {
        for _ in 0..Failures::MOST {
            failures.tolerate(Err(Error::Cancelled)).unwrap();
        }
        if begins_anew {
            failures.tolerate(Ok(())).unwrap();
        }
    }
    let last = failures.tolerate(Err(Error::InUse));
    assert!(matches!(last, Err(Error::InUse)), "{last:?}");
}
