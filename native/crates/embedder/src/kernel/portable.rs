//! Any processor: four lanes in an array, which compilers turn into what the target always has.

use super::lanes::Lanes;

/// 4 lanes.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 4]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, rule: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| rule(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Portable {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the pointer is valid for 4 numbers, as the trait demands.
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the pointer is valid for 4 numbers, as the trait demands.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |one, two| one + two)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |one, two| one - two)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |one, two| one * two)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.zip(other, |one, two| one / two)
    }
    /// Two roundings: `f32::mul_add` is a slow library call where the processor has no FMA.
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        self.zip(factor, |one, two| one * two).zip(term, |one, two| one + two)
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        self.zip(other, |one, two| if one < two { one } else { two })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |one, two| if one > two { one } else { two })
    }
    #[inline(always)]
    unsafe fn prefetch(_from: *const f32) {}
    #[inline(always)]
    unsafe fn two_to(self) -> Self {
        // The exponent of an f32 is biased by 127 and starts at bit 23.
        Self(self.0.map(|whole| f32::from_bits(((whole as i32 + 127) << 23) as u32)))
    }
}
