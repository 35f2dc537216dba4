//! The elements of messages: values that are their bytes and nothing else.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An element of a message: a type without padding for which all bytes are valid.
///
/// Integers, `f32`, `f64` and arrays of these are. A program's own types are with the derive macros of the
/// `zerocopy` crate, which refuse padding, pointers and types with invalid byte values. The crate must be
/// version 0.8; [`mq_comm::zerocopy`](crate::zerocopy) is. If the compiler "could not find `zerocopy` in the list of
/// imported crates", tell the macros where it is: add `#[zerocopy(crate = "mq_comm::zerocopy")]` below `derive`.
///
/// ```
/// use mq_comm::zerocopy::{FromBytes, Immutable, IntoBytes};
/// use mq_comm::{Error, World};
///
/// #[derive(Debug, Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable)]
/// #[zerocopy(crate = "mq_comm::zerocopy")]
/// #[repr(C)]
/// struct Particle {
///     at: [f64; 3],
///     charge: i32,
///     cell: u32,
/// }
///
/// let world = World::alone()?;
/// let sent = Particle { at: [0.5, 1.0, 2.0], charge: -1, cell: 7 };
/// world.send(&[sent], 0, 0)?;
/// let mut received = [Particle { at: [0.0; 3], charge: 0, cell: 0 }];
/// assert_eq!(world.recv(&mut received, 0, 0)?.count::<Particle>()?, 1);
/// assert_eq!(received, [sent]);
/// # Ok::<(), Error>(())
/// ```
///
/// Types of other crates that do not derive these, complex numbers for instance, cannot be made elements from here. If
/// such a type is laid out as an array of numbers, send that: many crates give it out as a slice (by `bytemuck`'s
/// `cast_slice`, say). Otherwise, copy into a type of your own.
///
/// Elements without a size cannot be sent either, because a message could not say how many there are:
///
/// ```compile_fail
/// # let world = mq_comm::World::alone().unwrap();
/// world.send(&[(); 3], 0, 0).unwrap();
/// ```
///
/// A type with padding is refused:
///
/// ```compile_fail
/// use mq_comm::zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
/// #[zerocopy(crate = "mq_comm::zerocopy")]
/// #[repr(C)]
/// struct Padded {
///     short: u8,
///     long: u64,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent or received as its bytes",
    note = "for a struct of your own: `#[repr(C)]`, `#[zerocopy(crate = \"mq_comm::zerocopy\")]`, and derive \
            `mq_comm::zerocopy`'s `FromBytes`, `IntoBytes` and `Immutable`, and `Clone` and `Copy`",
    note = "`bool`, `char`, `String`, tuples and references cannot be sent as their bytes: send integers \
            or such a struct"
)]
pub trait Plain: FromBytes + IntoBytes + Immutable + Copy + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + 'static> Plain for T {}

/// Does not compile for elements without a size, because a message could not say how many there are.
#[inline(always)]
pub(crate) const fn has_size<T>() {
    const { assert!(size_of::<T>() > 0, "elements of a message have a size") }
}

/// The bytes of some elements.
#[inline]
pub(crate) fn bytes<T: Plain>(elements: &[T]) -> &[u8] {
    has_size::<T>();
    elements.as_bytes()
}

/// The bytes of some elements, for writing.
#[inline]
pub(crate) fn bytes_mut<T: Plain>(elements: &mut [T]) -> &mut [u8] {
    has_size::<T>();
    elements.as_mut_bytes()
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

    /// Aligned to more than any number, and with bytes in an odd order.
    #[derive(Debug, Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable)]
    #[repr(C, align(32))]
    struct Wide {
        words: [u64; 3],
        rest: [u8; 8],
    }

    #[test]
    fn types_of_a_users_own_are_sent_as_they_are() {
        let wide = |seed: u64| Wide {
            words: [seed, !seed, seed << 40],
            rest: [seed as u8; 8],
        };
        crate::World::threads(2, |world| {
            let mine: Vec<Wide> = (0..500)
                .map(|at| wide(at + u64::from(world.rank())))
                .collect();
            let other = 1 - world.rank();
            let sending = world.isend(mine.clone(), other, 0)?;
            let receiving = world.irecv(vec![wide(0); 500], other, 0)?;
            let (theirs, status) = receiving.wait()?;
            assert_eq!(status.count::<Wide>()?, 500);
            assert!(
                theirs
                    .iter()
                    .zip(0..)
                    .all(|(got, at)| *got == wide(at + u64::from(other)))
            );
            assert_eq!(sending.wait()?.0, mine);
            Ok(())
        })
        .unwrap();
    }
}
