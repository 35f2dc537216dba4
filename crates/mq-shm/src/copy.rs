//! Copying into and out of shared memory.
#![allow(unsafe_code, reason = "copies between addresses")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one proof covers the accesses of a block"
)]

use core::ptr;

/// Copies `len` bytes; a few without a call.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    match len {
        0 => {}
        // SAFETY: both words lie within `len` bytes, which the caller vouches for; also in the next two
        // arms.
        8..=16 => unsafe { copy_ends::<u64>(from, to, len) },
        // SAFETY: as above.
        4..=7 => unsafe { copy_ends::<u32>(from, to, len) },
        // SAFETY: as above.
        1..=3 => unsafe { copy_ends::<u8>(from, to, len) },
        // SAFETY: the caller's.
        LINE_BY_LINE.. => unsafe { copy_long(from, to, len) },
        // SAFETY: the caller's.
        _ => unsafe { ptr::copy_nonoverlapping(from, to, len) },
    }
}

/// From this many bytes on, lines are copied one by one. The instruction for long copies, which libc uses
/// at such lengths, is slow if another core has the lines in its caches: see `docs/design.md`.
const LINE_BY_LINE: usize = 4096;

/// How a long message is copied into shared memory, and out of it; [`pace`](crate::large::pace) finds out
/// which way is the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Way {
    /// Line by line, into the caches.
    #[default]
    Lines,
    /// With the processor's instruction for long copies, which need not fetch the lines first.
    Instruction,
    /// With non-temporal stores, past the caches.
    PastCaches,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Lines, Self::Instruction, Self::PastCaches];

    /// Past the caches from this many bytes on.
    #[inline]
    pub(crate) const fn by_length(message: usize, from: usize) -> Self {
        if message >= from {
            Self::PastCaches
        } else {
            Self::Lines
        }
    }

    /// Copies `len` bytes in this way. Stores made after the copy become visible only after it.
    ///
    /// # Safety
    /// As for [`copy`].
    #[inline]
    pub(crate) unsafe fn copy(self, from: *const u8, to: *mut u8, len: usize) {
        match self {
            // SAFETY: the caller's.
            Self::Lines => unsafe { copy(from, to, len) },
            // SAFETY: as above.
            Self::Instruction => unsafe { copy_by_instruction(from, to, len) },
            // SAFETY: as above.
            Self::PastCaches => unsafe { copy_past_caches(from, to, len) },
        }
    }
}

/// Begins to fetch a line for reading, if there is an instruction for it.
#[inline(always)]
pub(crate) fn fetch_line(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(mq_loom)))]
    // SAFETY: it is a hint, whatever the address, and only affects where lines are.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(mq_loom))))]
    let _ = line;
}

/// Begins to take a line from the other caches for writing, if there is an instruction for it.
#[inline(always)]
pub(crate) fn take_line(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(mq_loom)))]
    // SAFETY: it is a hint, whatever the address, and only affects where lines are; processors without the
    // instruction treat it as a no-op.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(mq_loom))))]
    let _ = line;
}

/// Copies a first and a last word and, if these are bytes, the middle one.
///
/// # Safety
/// `from` and `to` are valid for reads and writes of `len` bytes, which do not overlap; a word has at most `len`.
#[inline]
unsafe fn copy_ends<W: Copy>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - size_of::<W>();
    // SAFETY: the caller's.
    let (first_word, last_word, middle) = unsafe {
        (
            from.cast::<W>().read_unaligned(),
            from.add(last).cast::<W>().read_unaligned(),
            from.add(len / 2).read(),
        )
    };
    // SAFETY: the caller's.
    unsafe {
        to.cast::<W>().write_unaligned(first_word);
        to.add(last).cast::<W>().write_unaligned(last_word);
    }
    if size_of::<W>() == 1 {
        // SAFETY: the caller's.
        unsafe { to.add(len / 2).write(middle) };
    }
}

/// Copies `len` bytes past the writer's caches, as Nemesis does with long messages: the lines need not be
/// fetched before they are written, and evict nothing. Stores made after the copy become visible only after it.
///
/// # Safety
/// As for [`copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { copy_lines::<true>(from, to, len) };
    // Such stores are not ordered by a release.
    // SAFETY: every processor of this architecture has it.
    unsafe { core::arch::x86_64::_mm_sfence() };
}

/// Copies with the dedicated instruction, if the processor is fast at it. It writes whole lines, and knows
/// that it does.
///
/// # Safety
/// As for [`copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn copy_by_instruction(from: *const u8, to: *mut u8, len: usize) {
    if !std::is_x86_feature_detected!("ermsb") {
        // SAFETY: the caller's.
        return unsafe { copy(from, to, len) };
    }
    // SAFETY: it reads and writes `len` bytes, for which the caller vouches, upwards, as the direction
    // flag is clear between instructions of Rust. Its stores may become visible in any order, but before
    // those that come after it.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
}

/// [`copy`]: there is no other way on this architecture.
///
/// # Safety
/// As for [`copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_by_instruction(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { copy(from, to, len) }
}

/// Copies from [`LINE_BY_LINE`] bytes on, into the caches of the writer.
///
/// # Safety
/// As for [`copy`].
#[inline]
unsafe fn copy_long(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instructions, there is more than a line, and the rest is the
        // caller's.
        return unsafe { copy_half_lines(from, to, len) };
    }
    // SAFETY: the caller's.
    unsafe { copy_lines::<false>(from, to, len) }
}

/// Copies line by line, each as two half-line words, not four: a processor does one or two stores per
/// cycle, however long they are.
///
/// # Safety
/// As for [`copy`]. The processor has AVX, and `len` is at least a line.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline(never)]
unsafe fn copy_half_lines(from: *const u8, to: *mut u8, len: usize) {
    use core::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_store_si256, _mm256_storeu_si256,
    };

    const LINE: usize = 64;
    debug_assert!(len >= LINE);
    // The first and the last line are copied at any alignment; what lies between them in whole lines of
    // `to`. SAFETY: both lie within `len` bytes, which the caller vouches for.
    let ends = unsafe {
        let first = from.cast::<__m256i>();
        let last = from.add(len - LINE).cast::<__m256i>();
        [
            _mm256_loadu_si256(first),
            _mm256_loadu_si256(first.add(1)),
            _mm256_loadu_si256(last),
            _mm256_loadu_si256(last.add(1)),
        ]
    };
    let mut at = LINE - to.addr() % LINE;
    while at + LINE <= len {
        // SAFETY: the line lies within `len` bytes, and begins at a multiple of 64 in `to`.
        unsafe {
            let from = from.add(at).cast::<__m256i>();
            let to = to.add(at).cast::<__m256i>();
            let words = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            _mm256_store_si256(to, words.0);
            _mm256_store_si256(to.add(1), words.1);
        }
        at += LINE;
    }
    // SAFETY: as for their loads.
    unsafe {
        let first = to.cast::<__m256i>();
        let last = to.add(len - LINE).cast::<__m256i>();
        _mm256_storeu_si256(first, ends[0]);
        _mm256_storeu_si256(first.add(1), ends[1]);
        _mm256_storeu_si256(last, ends[2]);
        _mm256_storeu_si256(last.add(1), ends[3]);
    }
}

/// Copies line by line: past the writer's caches, or into them.
///
/// # Safety
/// As for [`copy`].
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn copy_lines<const PAST_CACHES: bool>(from: *const u8, to: *mut u8, len: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_store_si128, _mm_stream_si128};

    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: `head` and what comes after `tail` lie within `len` bytes, which the caller vouches
    // for.
    unsafe {
        ptr::copy_nonoverlapping(from, to, head);
        ptr::copy_nonoverlapping(from.add(tail), to.add(tail), len - tail);
    }
    for line in 0..lines {
        let at = head + line * LINE;
        // SAFETY: the whole line lies within `len` bytes, and begins at a multiple of 64 in `to`. Every
        // processor of this architecture has these instructions.
        unsafe {
            let from = from.add(at).cast::<__m128i>();
            let to = to.add(at).cast::<__m128i>();
            let words = [
                _mm_loadu_si128(from),
                _mm_loadu_si128(from.add(1)),
                _mm_loadu_si128(from.add(2)),
                _mm_loadu_si128(from.add(3)),
            ];
            for (at, word) in words.into_iter().enumerate() {
                if PAST_CACHES {
                    _mm_stream_si128(to.add(at), word);
                } else {
                    _mm_store_si128(to.add(at), word);
                }
            }
        }
    }
}

/// As libc does it: there is no other way on this architecture.
///
/// # Safety
/// As for [`copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_lines<const PAST_CACHES: bool>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { ptr::copy_nonoverlapping(from, to, len) }
}

/// [`copy`]: there is no other way on this architecture.
///
/// # Safety
/// As for [`copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { copy(from, to, len) }
}

#[cfg(test)]
mod tests {
    use super::{Way, copy};

    #[test]
    fn every_length_is_copied_in_every_way_to_every_place() {
        let from: Vec<u8> = (0..600).map(|at| (at * 13 + 1) as u8).collect();
        for way in Way::ALL {
            for at in 0..66 {
                for len in (0..400).step_by(if at < 2 { 1 } else { 37 }) {
                    let mut to = [0_u8; 600];
                    // SAFETY: both are longer.
                    unsafe { way.copy(from.as_ptr(), to.as_mut_ptr().add(at), len) };
                    assert_eq!(&to[at..at + len], &from[..len], "{way:?}");
                    let mut others = to[..at].iter().chain(&to[at + len..]);
                    assert!(others.all(|&byte| byte == 0), "{way:?}");
                }
            }
        }
    }

    #[test]
    fn long_copies_begin_and_end_anywhere() {
        let from: Vec<u8> = (0..10_000).map(|at| (at * 7 + at / 256) as u8).collect();
        for at in 0..66 {
            for len in [4096, 4097, 4159, 4160, 8192 + at] {
                let mut to = vec![0_u8; 10_000];
                // SAFETY: both are longer.
                unsafe { copy(from.as_ptr().add(at / 3), to.as_mut_ptr().add(at), len) };
                assert_eq!(&to[at..at + len], &from[at / 3..at / 3 + len]);
                assert!(
                    to[..at]
                        .iter()
                        .chain(&to[at + len..])
                        .all(|&byte| byte == 0)
                );
            }
        }
    }

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
