//! x86-64 with AVX-512 VNNI: 32 products of 16 bits in one instruction.

use std::arch::x86_64::*;

use super::avx512::Avx512;
use super::pairs::PairLanes;

/// 16 lanes of two numbers.
#[derive(Clone, Copy)]
pub(super) struct Vnni(__m512i);

// SAFETY of every block below: the trait's promise, the processor has AVX-512F and AVX-512 VNNI
// and pointers are valid for what is read and written.
impl PairLanes for Vnni {
    type Float = Avx512;

    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_set1_epi32(value) })
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }
    #[inline(always)]
    unsafe fn add_products(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_dpwssd_epi32(self.0, a.0, b.0) })
    }
    #[inline(always)]
    unsafe fn to_float(self) -> Avx512 {
        // SAFETY: see above.
        Avx512(unsafe { _mm512_cvtepi32_ps(self.0) })
    }
    #[inline(always)]
    unsafe fn store_rounded(from: Avx512, to: *mut i16) {
        // SAFETY: see above.
        unsafe {
            let narrow = _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(from.0));
            _mm256_storeu_si256(to.cast(), narrow);
        }
    }
}
