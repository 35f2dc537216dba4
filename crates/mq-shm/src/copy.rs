//! Copying into and out of shared memory.
#![allow(unsafe_code, reason = "copies between addresses")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::ptr;

/// Copies `len` bytes; few of them without a call.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    match len {
        0 => {}
        // SAFETY: both words lie within `len` bytes, which the caller vouches for; so in the next two arms.
        8..=16 => unsafe { copy_ends::<u64>(from, to, len) },
        // SAFETY: as above.
        4..=7 => unsafe { copy_ends::<u32>(from, to, len) },
        // SAFETY: as above.
        1..=3 => unsafe { copy_ends::<u8>(from, to, len) },
        // SAFETY: the caller's.
        _ => unsafe { ptr::copy_nonoverlapping(from, to, len) },
    }
}

/// Copies a first and a last word, and for bytes the one in the middle.
#[inline]
unsafe fn copy_ends<W: Copy>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - size_of::<W>();
    // SAFETY: as the caller's.
    let (first_word, last_word, middle) = unsafe {
        (
            from.cast::<W>().read_unaligned(),
            from.add(last).cast::<W>().read_unaligned(),
            from.add(len / 2).read(),
        )
    };
    // SAFETY: as the caller's.
    unsafe {
        to.cast::<W>().write_unaligned(first_word);
        to.add(last).cast::<W>().write_unaligned(last_word);
    }
    if size_of::<W>() == 1 {
        // SAFETY: as the caller's.
        unsafe { to.add(len / 2).write(middle) };
    }
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn every_length_is_copied_and_no_more() {
        let from: Vec<u8> = (1..=255).collect();
        for len in 0..200 {
            let mut to = [0_u8; 202];
            // SAFETY: both are longer.
            unsafe { copy(from.as_ptr(), to.as_mut_ptr().add(1), len) };
            assert_eq!(&to[1..=len], &from[..len]);
            assert_eq!((to[0], to[len + 1]), (0, 0), "{len}");
        }
    }
}
