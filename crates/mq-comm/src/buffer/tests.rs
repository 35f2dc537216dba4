use std::rc::Rc;
use std::sync::Arc;

use super::*;

#[test]
fn a_vector_comes_back_as_what_it_was() {
    let mut vector = Vec::with_capacity(10);
    vector.extend([1_u32, 2, 3]);
    let at = vector.as_ptr();
    let mut buffer = Buffer::owned(vector);
    buffer.bytes_mut()[..4].copy_from_slice(&7_u32.to_ne_bytes());
    let vector = buffer.into_vec::<u32>().unwrap();
    assert_eq!((vector.as_ptr(), vector.capacity()), (at, 10));
    assert_eq!(vector, [7, 2, 3]);
}

#[test]
fn a_vector_of_another_type_does_not() {
    assert!(Buffer::owned(vec![1_u32]).into_vec::<i32>().is_none());
    assert_eq!(Buffer::EMPTY.len(), 0);
}

#[test]
fn a_loan_for_reading_is_not_written_to() {
    let elements = [1_u8, 2];
    // SAFETY: dropped before the elements.
    let mut buffer = unsafe { Buffer::shared(&elements) };
    assert!(buffer.bytes_mut().is_empty());
    assert_eq!(buffer.bytes(), [1, 2]);
    buffer.detach();
    buffer.bytes_mut()[0] = 9;
    assert_eq!(elements, [1, 2]);
}

#[test]
fn elements_with_other_owners_are_not_written_to() {
    let elements = Rc::new(vec![1_u32, 2]);
    // SAFETY: see `counted`.
    let mut buffer = unsafe { Buffer::counted(elements.clone(), |it| &it[..]) };
    assert!(buffer.bytes_mut().is_empty());
    buffer.detach();
    assert_eq!(buffer.bytes().len(), 8);
    assert_eq!(buffer.bytes().as_ptr(), elements.as_ptr().cast());
    // As what it was, and as nothing else.
    assert!(buffer.into_counted::<Arc<Vec<u32>>>().is_none());
    assert_eq!(Rc::strong_count(&elements), 1);
    // SAFETY: as above.
    let buffer = unsafe { Buffer::counted(elements.clone(), |it| &it[..]) };
    assert_eq!(buffer.into_counted::<Rc<Vec<u32>>>(), Some(elements));
}
