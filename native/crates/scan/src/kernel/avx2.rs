//! AVX2 with FMA and F16C: 8 numbers at once.

use std::arch::x86_64::*;

use super::fetch::{ahead, fetch};
use super::{HALF_BYTES, Kernel, portable};

const FLOATS: usize = 8;
/// Sums that do not wait for each other.
const SUMS: usize = 4;
const WORDS: usize = 16;

pub static KERNEL: Kernel = Kernel { name: "avx2", halves: score_halves, codes: score_codes };

pub fn is_here() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}

/// # Safety
/// See `super::Score`.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn score_halves(matrix: &[u8], query: &[f32], wanted: &[usize], scores: &mut [f32]) {
    let row_bytes = query.len() * HALF_BYTES;
    for (place, (row, score)) in wanted.iter().zip(scores).enumerate() {
        let next = ahead(matrix, row_bytes, wanted, place);
        let row = &matrix[row * row_bytes..][..row_bytes];
        let mut sums = [_mm256_setzero_ps(); SUMS];
        let blocks = query.len() / (FLOATS * SUMS);
        for block in 0..blocks {
            fetch::<1>(next.wrapping_add(block * SUMS * FLOATS * HALF_BYTES));
            for (part, sum) in sums.iter_mut().enumerate() {
                let at = (block * SUMS + part) * FLOATS;
                // SAFETY: a block is whole, so 16 bytes of the row and 32 of the query are there.
                let (own, other) = unsafe {
                    let own = _mm_loadu_si128(row.as_ptr().add(at * HALF_BYTES).cast());
                    (_mm256_cvtph_ps(own), _mm256_loadu_ps(query.as_ptr().add(at)))
                };
                *sum = _mm256_fmadd_ps(own, other, *sum);
            }
        }
        let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
        let mut lanes = [0.0; FLOATS];
        // SAFETY: there is room for 8 numbers.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), sum) };
        let rest = blocks * FLOATS * SUMS;
        *score =
            lanes.iter().sum::<f32>() + portable::halves(&row[rest * HALF_BYTES..], &query[rest..]);
    }
}

/// # Safety
/// See `super::Score`.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn score_codes(matrix: &[u8], query: &[i8], wanted: &[usize], scores: &mut [i32]) {
    for (place, (row, score)) in wanted.iter().zip(scores).enumerate() {
        let next = ahead(matrix, query.len(), wanted, place);
        let row = &matrix[row * query.len()..][..query.len()];
        let mut sums = _mm256_setzero_si256();
        let blocks = query.len() / WORDS;
        for block in 0..blocks {
            let at = block * WORDS;
            if block % 4 == 0 {
                fetch::<1>(next.wrapping_add(at));
            }
            // SAFETY: a block is whole, so 16 bytes of both are there.
            let (own, other) = unsafe {
                (
                    _mm_loadu_si128(row.as_ptr().add(at).cast()),
                    _mm_loadu_si128(query.as_ptr().add(at).cast()),
                )
            };
            let products =
                _mm256_madd_epi16(_mm256_cvtepi8_epi16(own), _mm256_cvtepi8_epi16(other));
            sums = _mm256_add_epi32(sums, products);
        }
        let mut lanes = [0_i32; 8];
        // SAFETY: there is room for 8 numbers.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums) };
        let rest = blocks * WORDS;
        *score = lanes.iter().sum::<i32>() + portable::codes(&row[rest..], &query[rest..]);
    }
}
