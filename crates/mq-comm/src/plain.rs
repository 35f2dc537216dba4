//! What a message is made of: elements that are their bytes and nothing else.
#![allow(unsafe_code, reason = "shows elements as bytes")]

/// An element of a message: a type without padding for which any bytes are a value.
///
/// Implemented for the integers, `f32` and `f64`, and arrays of these.
pub trait Plain: sealed::Sealed + Copy + 'static {}

mod sealed {
    /// # Safety
    /// The type has no padding and no destructor, and any bytes are a value of it.
    pub unsafe trait Sealed {}
}

macro_rules! plain {
    ($($type:ty)*) => {
        $(
            // SAFETY: a number: all its bytes count, and any are a value.
            unsafe impl sealed::Sealed for $type {}
            impl Plain for $type {}
        )*
    };
}
plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

// SAFETY: elements without padding follow each other without padding.
unsafe impl<T: Plain, const N: usize> sealed::Sealed for [T; N] {}
impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The bytes of some elements.
#[inline]
pub(crate) fn bytes<T: Plain>(elements: &[T]) -> &[u8] {
    // SAFETY: the same memory for the same time; elements have no padding, so that all bytes are set.
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of some elements, to be written.
#[inline]
pub(crate) fn bytes_mut<T: Plain>(elements: &mut [T]) -> &mut [u8] {
    let bytes = size_of_val(elements);
    // SAFETY: as above; any bytes that are written are values.
    unsafe { core::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_their_bytes() {
        let mut pairs = [[1_u16, 2], [3, 4]];
        assert_eq!(bytes(&pairs).len(), 8);
        bytes_mut(&mut pairs)[2..4].copy_from_slice(&9_u16.to_ne_bytes());
        assert_eq!(pairs, [[1, 9], [3, 4]]);
        assert_eq!(bytes::<u64>(&[]), [0_u8; 0]);
    }
}
