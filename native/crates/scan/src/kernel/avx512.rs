//! AVX-512 with VNNI: 16 float32 or 64 int8 numbers at once.

use std::arch::x86_64::*;

use super::fetch::{ahead, fetch};
use super::{HALF_BYTES, Kernel, portable};

const FLOATS: usize = 16;
/// Sums that do not wait for each other.
const SUMS: usize = 4;
const BYTES: usize = 64;

pub static KERNEL: Kernel = Kernel { name: "avx512", halves: score_halves, codes: score_codes };

pub fn is_here() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
}

/// # Safety
/// See `super::Score`.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn score_halves(matrix: &[u8], query: &[f32], wanted: &[usize], scores: &mut [f32]) {
    let row_bytes = query.len() * HALF_BYTES;
    let blocks = query.len() / (FLOATS * SUMS);
    let rest = blocks * FLOATS * SUMS;
    for (place, (row, score)) in wanted.iter().zip(scores).enumerate() {
        let next = ahead(matrix, row_bytes, wanted, place);
        let row = &matrix[row * row_bytes..][..row_bytes];
        let mut sums = [_mm512_setzero_ps(); SUMS];
        for block in 0..blocks {
            fetch::<2>(next.wrapping_add(block * SUMS * FLOATS * HALF_BYTES));
            for (part, sum) in sums.iter_mut().enumerate() {
                let at = (block * SUMS + part) * FLOATS;
                // SAFETY: a block is whole, so 32 bytes of the row and 64 of the query are there.
                let (own, other) = unsafe {
                    let own = _mm256_loadu_si256(row.as_ptr().add(at * HALF_BYTES).cast());
                    (_mm512_cvtph_ps(own), _mm512_loadu_ps(query.as_ptr().add(at)))
                };
                *sum = _mm512_fmadd_ps(own, other, *sum);
            }
        }
        let sum = _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]));
        *score =
            _mm512_reduce_add_ps(sum) + portable::halves(&row[rest * HALF_BYTES..], &query[rest..]);
    }
}

/// # Safety
/// See `super::Score`.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn score_codes(matrix: &[u8], query: &[i8], wanted: &[usize], scores: &mut [i32]) {
    let blocks = query.len() / BYTES;
    let rest = blocks * BYTES;
    // The instruction wants one side without a sign: a code moves up by 128, which adds as many
    // times the sum of the query.
    let high = _mm512_set1_epi8(-128);
    let moved = 128 * query[..rest].iter().map(|number| i32::from(*number)).sum::<i32>();
    for (place, (row, score)) in wanted.iter().zip(scores).enumerate() {
        let next = ahead(matrix, query.len(), wanted, place);
        let row = &matrix[row * query.len()..][..query.len()];
        let mut sum = _mm512_setzero_si512();
        for block in 0..blocks {
            let at = block * BYTES;
            fetch::<1>(next.wrapping_add(at));
            // SAFETY: a block is whole, so 64 bytes of both are there.
            let (own, other) = unsafe {
                (
                    _mm512_loadu_si512(row.as_ptr().add(at).cast()),
                    _mm512_loadu_si512(query.as_ptr().add(at).cast()),
                )
            };
            let own = _mm512_xor_si512(own, high);
            sum = _mm512_dpbusd_epi32(sum, own, other);
        }
        *score =
            _mm512_reduce_add_epi32(sum) - moved + portable::codes(&row[rest..], &query[rest..]);
    }
}
