//! x86-64 with AVX2: 16 products of 16 bits in one instruction, added in another.

use std::arch::x86_64::*;

use super::avx2::Avx2;
use super::pairs::PairLanes;

/// 8 lanes of two numbers.
#[derive(Clone, Copy)]
pub(super) struct Avx2Pairs(__m256i);

// SAFETY of every block below: the trait's promise, the processor has AVX2 and pointers are valid
// for what is read and written.
impl PairLanes for Avx2Pairs {
    type Float = Avx2;

    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_set1_epi32(value) })
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn add_products(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_add_epi32(self.0, _mm256_madd_epi16(a.0, b.0)) })
    }
    #[inline(always)]
    unsafe fn to_float(self) -> Avx2 {
        // SAFETY: see above.
        Avx2(unsafe { _mm256_cvtepi32_ps(self.0) })
    }
    #[inline(always)]
    unsafe fn store_rounded(from: Avx2, to: *mut i16) {
        // SAFETY: see above.
        unsafe {
            let whole = _mm256_cvtps_epi32(from.0);
            let (low, high) = (_mm256_castsi256_si128(whole), _mm256_extracti128_si256::<1>(whole));
            _mm_storeu_si128(to.cast(), _mm_packs_epi32(low, high));
        }
    }
}
