//! exp and GELU on whole registers.

use super::lanes::Lanes;

/// `e^x`, relative error below 3e-7 for x from -87 to 88; x outside is clamped to that. NaN stays.
///
/// Cephes' `expf` (Moshier, *Methods and Programs for Mathematical Functions*, 1989):
/// `e^x = 2^n * e^r` with `n = round(x / ln 2)`, and a polynomial of degree 6 for `e^r`.
///
/// # Safety
/// See [`Lanes`].
#[inline(always)]
pub(super) unsafe fn exp<V: Lanes>(x: V) -> V {
    // Added and taken away again it rounds to a whole number: 1.5 * 2^23.
    const ROUNDER: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    const POLYNOMIAL: [f32; 6] =
        [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    // SAFETY: as the caller promises.
    unsafe {
        let x = V::splat(88.0).min(V::splat(-87.0).max(x));
        let rounder = V::splat(ROUNDER);
        let n = x.mul_add(V::splat(std::f32::consts::LOG2_E), rounder).sub(rounder);
        let r = n.mul_add(V::splat(-LN_2_HIGH), x);
        let r = n.mul_add(V::splat(-LN_2_LOW), r);
        let mut p = V::splat(POLYNOMIAL[0]);
        for coefficient in &POLYNOMIAL[1..] {
            p = p.mul_add(r, V::splat(*coefficient));
        }
        p.mul_add(r.mul(r), r.add(V::splat(1.0))).mul(n.two_to())
    }
}

/// `GELU(x) = x/2 * (1 + erf(x / sqrt 2))` (Hendrycks and Gimpel, 2016), the exact form.
///
/// `erf` is the rational function `x P(x^2) / Q(x^2)` on [-4, 4] that Eigen uses for `f32`;
/// absolute error below 1e-6, and beyond 4 the true value rounds to 1.
///
/// # Safety
/// See [`Lanes`].
#[inline(always)]
pub(super) unsafe fn gelu<V: Lanes>(x: V) -> V {
    const P: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    const Q: [f32; 5] =
        [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2];
    // SAFETY: as the caller promises.
    unsafe {
        let z = x.mul(V::splat(std::f32::consts::FRAC_1_SQRT_2));
        let z = z.max(V::splat(-4.0)).min(V::splat(4.0));
        let square = z.mul(z);
        let mut p = V::splat(P[0]);
        for coefficient in &P[1..] {
            p = p.mul_add(square, V::splat(*coefficient));
        }
        let mut q = V::splat(Q[0]);
        for coefficient in &Q[1..] {
            q = q.mul_add(square, V::splat(*coefficient));
        }
        let half = x.mul(V::splat(0.5));
        half.mul_add(z.mul(p).div(q), half)
    }
}
