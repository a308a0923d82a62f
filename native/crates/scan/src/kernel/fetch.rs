//! Rows on their way before they are needed: at the end of a page a processor stops looking ahead.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// How many rows before it is needed a row is fetched; from 8 to 24 the best on the machines tried.
const ROWS_AHEAD: usize = 16;
const LINE_BYTES: usize = 64;

/// Where the row begins that is to be fetched while the one at `place` is scored.
#[inline]
pub fn ahead(matrix: &[u8], row_bytes: usize, wanted: &[usize], place: usize) -> *const u8 {
    let row = wanted[(place + ROWS_AHEAD).min(wanted.len() - 1)];
    matrix.as_ptr().wrapping_add(row * row_bytes)
}

/// Fetches `LINES` lines of memory.
#[inline]
pub fn fetch<const LINES: usize>(begin: *const u8) {
    for line in 0..LINES {
        let address = begin.wrapping_add(line * LINE_BYTES);
        #[allow(unused_unsafe)] // it is safe to call in later versions of Rust
        // SAFETY: a prefetch is a hint, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address.cast());
        }
    }
}
