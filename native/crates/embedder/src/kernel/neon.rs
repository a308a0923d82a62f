//! AArch64 with NEON: 4 lanes, 32 registers.

use std::arch::aarch64::*;

use super::lanes::Lanes;

/// 4 lanes.
#[derive(Clone, Copy)]
pub(super) struct Neon(float32x4_t);

// SAFETY of every block below: the trait's promise, the processor has NEON and pointers are valid
// for 4 numbers.
impl Lanes for Neon {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: see above.
        Self(unsafe { vdupq_n_f32(value) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: see above.
        Self(unsafe { vld1q_f32(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: see above.
        unsafe { vst1q_f32(to, self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vaddq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vsubq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vmulq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vdivq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vfmaq_f32(term.0, self.0, factor.0) })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vminq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { vmaxq_f32(self.0, other.0) })
    }
    /// Nothing: these processors follow a panel by themselves, and Rust has no stable way to ask.
    #[inline(always)]
    unsafe fn prefetch(_from: *const f32) {}
    #[inline(always)]
    unsafe fn two_to(self) -> Self {
        // SAFETY: see above. The exponent of an f32 is biased by 127 and starts at bit 23.
        Self(unsafe {
            let exponent = vaddq_s32(vcvtnq_s32_f32(self.0), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(exponent))
        })
    }
}
