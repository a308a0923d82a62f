//! Plain Rust, for any processor; also what is left of a row behind its last full register.

use half::f16;

use super::{HALF_BYTES, Kernel};

/// Partial sums: they let a compiler use vector registers.
const LANES: usize = 8;

pub static KERNEL: Kernel = Kernel { name: "portable", halves: score_halves, codes: score_codes };

/// # Safety
/// None is needed: slices check themselves.
unsafe fn score_halves(matrix: &[u8], query: &[f32], wanted: &[usize], scores: &mut [f32]) {
    let row_bytes = query.len() * HALF_BYTES;
    for (row, score) in wanted.iter().zip(scores) {
        *score = halves(&matrix[row * row_bytes..][..row_bytes], query);
    }
}

/// # Safety
/// None is needed: slices check themselves.
unsafe fn score_codes(matrix: &[u8], query: &[i8], wanted: &[usize], scores: &mut [i32]) {
    for (row, score) in wanted.iter().zip(scores) {
        *score = codes(&matrix[row * query.len()..][..query.len()], query);
    }
}

/// Scalar product of a float16 row with a query of as many numbers.
#[inline]
pub fn halves(row: &[u8], query: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (block, wanted) in row.chunks(LANES * HALF_BYTES).zip(query.chunks(LANES)) {
        for ((sum, number), other) in
            sums.iter_mut().zip(block.chunks_exact(HALF_BYTES)).zip(wanted)
        {
            *sum += f16::from_le_bytes([number[0], number[1]]).to_f32_const() * other;
        }
    }
    sums.iter().sum()
}

/// Scalar product of an int8 row with a query of as many numbers.
#[inline]
pub fn codes(row: &[u8], query: &[i8]) -> i32 {
    row.iter().zip(query).map(|(code, other)| i32::from(*code as i8) * i32::from(*other)).sum()
}
