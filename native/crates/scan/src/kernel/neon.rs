//! NEON with float16 conversion: 4 float32 or 16 int8 numbers at once.

use std::arch::aarch64::*;

use super::{HALF_BYTES, Kernel, portable};

const FLOATS: usize = 4;
/// Sums that do not wait for each other.
const SUMS: usize = 4;
const BYTES: usize = 16;

pub static KERNEL: Kernel = Kernel { name: "neon", halves: score_halves, codes: score_codes };

pub fn is_here() -> bool {
    std::arch::is_aarch64_feature_detected!("neon")
}

/// # Safety
/// See `super::Score`.
#[target_feature(enable = "neon")]
unsafe fn score_halves(matrix: &[u8], query: &[f32], wanted: &[usize], scores: &mut [f32]) {
    let row_bytes = query.len() * HALF_BYTES;
    let blocks = query.len() / (FLOATS * SUMS);
    let rest = blocks * FLOATS * SUMS;
    for (row, score) in wanted.iter().zip(scores) {
        let row = &matrix[row * row_bytes..][..row_bytes];
        let mut sums = [vdupq_n_f32(0.0); SUMS];
        for block in 0..blocks {
            for (part, sum) in sums.iter_mut().enumerate() {
                let at = (block * SUMS + part) * FLOATS;
                // SAFETY: a block is whole, so 8 bytes of the row and 16 of the query are there.
                let (own, other) = unsafe {
                    let own = widened(row.as_ptr().add(at * HALF_BYTES));
                    (own, vld1q_f32(query.as_ptr().add(at)))
                };
                *sum = vfmaq_f32(*sum, own, other);
            }
        }
        let sum = vaddq_f32(vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3]));
        *score = vaddvq_f32(sum) + portable::halves(&row[rest * HALF_BYTES..], &query[rest..]);
    }
}

/// Four float16 numbers as float32: the conversion has no intrinsic in stable Rust.
///
/// # Safety
/// There are 8 bytes to read.
#[target_feature(enable = "neon")]
unsafe fn widened(numbers: *const u8) -> float32x4_t {
    let wide: float32x4_t;
    // SAFETY: reads 8 bytes, which the caller promises; the instructions are part of NEON.
    unsafe {
        std::arch::asm!(
            "ldr {half:d}, [{numbers}]",
            "fcvtl {wide:v}.4s, {half:v}.4h",
            numbers = in(reg) numbers,
            half = out(vreg) _,
            wide = out(vreg) wide,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    wide
}

/// # Safety
/// See `super::Score`.
#[target_feature(enable = "neon")]
unsafe fn score_codes(matrix: &[u8], query: &[i8], wanted: &[usize], scores: &mut [i32]) {
    let blocks = query.len() / BYTES;
    let rest = blocks * BYTES;
    for (row, score) in wanted.iter().zip(scores) {
        let row = &matrix[row * query.len()..][..query.len()];
        let mut sums = vdupq_n_s32(0);
        for block in 0..blocks {
            let at = block * BYTES;
            // SAFETY: a block is whole, so 16 bytes of both are there.
            let (own, other) = unsafe {
                (vld1q_s8(row.as_ptr().add(at).cast()), vld1q_s8(query.as_ptr().add(at)))
            };
            sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(own), vget_low_s8(other)));
            sums = vpadalq_s16(sums, vmull_high_s8(own, other));
        }
        *score = vaddvq_s32(sums) + portable::codes(&row[rest..], &query[rest..]);
    }
}
