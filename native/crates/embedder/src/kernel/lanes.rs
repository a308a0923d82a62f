//! One vector register as the rules need it; an instruction set is an implementation of this.

/// A register of `COUNT` numbers of `f32`.
///
/// # Safety of the methods
/// The processor must have the instruction set of the implementation, and pointers must be valid
/// for `COUNT` numbers. They are called from functions of `rules` only, which are inlined into
/// entry points that `kernel::detect` hands out after it has asked the processor.
pub(super) trait Lanes: Copy {
    /// Numbers in a register.
    const COUNT: usize;

    /// All lanes equal.
    unsafe fn splat(value: f32) -> Self;
    /// Reads `COUNT` numbers; no alignment is needed.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes `COUNT` numbers; no alignment is needed.
    unsafe fn store(self, to: *mut f32);
    /// `self + other`
    unsafe fn add(self, other: Self) -> Self;
    /// `self - other`
    unsafe fn sub(self, other: Self) -> Self;
    /// `self * other`
    unsafe fn mul(self, other: Self) -> Self;
    /// `self / other`
    unsafe fn div(self, other: Self) -> Self;
    /// `self * factor + term`, rounded once where the processor can.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The smaller of each pair; a NaN in `other` stays.
    unsafe fn min(self, other: Self) -> Self;
    /// The larger of each pair; a NaN in `other` stays.
    unsafe fn max(self, other: Self) -> Self;
    /// Has the line of this address brought near; any address will do.
    unsafe fn prefetch(from: *const f32);
    /// `2^self` for lanes that are whole numbers from -126 to 127.
    unsafe fn two_to(self) -> Self;

    /// The lanes as an array, in the first `COUNT` places.
    #[inline(always)]
    unsafe fn lanes(self) -> [f32; 16] {
        let mut lanes = [0.0; 16];
        // SAFETY: no implementation has more than 16 lanes.
        unsafe { self.store(lanes.as_mut_ptr()) };
        lanes
    }

    /// The lanes added from left to right.
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: as the caller promises.
        let lanes = unsafe { self.lanes() };
        lanes[..Self::COUNT].iter().fold(0.0, |sum, lane| sum + lane)
    }

    /// The largest lane.
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        // SAFETY: as the caller promises.
        let lanes = unsafe { self.lanes() };
        lanes[..Self::COUNT].iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }
}
