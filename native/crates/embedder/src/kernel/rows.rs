//! Softmax and layer normalisation, row by row.

use super::lanes::Lanes;
use super::math::exp;

/// `row = softmax(row * scale)`: exp of the distance to the largest, divided by their sum.
///
/// # Safety
/// See [`Lanes`].
#[inline(always)]
pub(super) unsafe fn softmax<V: Lanes>(row: &mut [f32], scale: f32) {
    let whole = row.len() / V::COUNT * V::COUNT;
    let (body, tail) = row.split_at_mut(whole);
    // SAFETY: `body` is a whole number of registers; `padded` is one.
    unsafe {
        let mut top = V::splat(f32::NEG_INFINITY);
        for part in body.chunks_exact(V::COUNT) {
            top = top.max(V::load(part.as_ptr()));
        }
        let top = tail.iter().copied().fold(top.largest(), f32::max) * scale;
        let mut sums = V::splat(0.0);
        for part in body.chunks_exact_mut(V::COUNT) {
            let power = below(V::load(part.as_ptr()), scale, top);
            sums = sums.add(power);
            power.store(part.as_mut_ptr());
        }
        let mut padded = [0.0; 16];
        padded[..tail.len()].copy_from_slice(tail);
        let powers = below(V::load(padded.as_ptr()), scale, top).lanes();
        tail.copy_from_slice(&powers[..tail.len()]);
        let share = 1.0 / tail.iter().fold(sums.sum(), |sum, power| sum + power);
        for part in body.chunks_exact_mut(V::COUNT) {
            V::load(part.as_ptr()).mul(V::splat(share)).store(part.as_mut_ptr());
        }
        tail.iter_mut().for_each(|power| *power *= share);
    }
}

/// `e^(x * scale - top)`. No closure: that would be compiled without the instruction set.
#[inline(always)]
unsafe fn below<V: Lanes>(x: V, scale: f32, top: f32) -> V {
    // SAFETY: as the caller promises.
    unsafe { exp(x.mul(V::splat(scale)).sub(V::splat(top))) }
}

/// `row = (row - mean) / sqrt(variance + epsilon) * gain + shift` (Ba, Kiros and Hinton, 2016).
///
/// # Safety
/// See [`Lanes`]; the three slices are of one length.
#[inline(always)]
pub(super) unsafe fn normalise<V: Lanes>(
    row: &mut [f32],
    gain: &[f32],
    shift: &[f32],
    epsilon: f32,
) {
    let width = row.len();
    let whole = width / V::COUNT * V::COUNT;
    // SAFETY: the loops read and write whole registers below `whole`, which is inside the slices.
    unsafe {
        let mut sums = V::splat(0.0);
        for at in (0..whole).step_by(V::COUNT) {
            sums = sums.add(V::load(row.as_ptr().add(at)));
        }
        let mean = row[whole..].iter().fold(sums.sum(), |sum, x| sum + x) / width as f32;
        let mut squares = V::splat(0.0);
        for at in (0..whole).step_by(V::COUNT) {
            let distance = V::load(row.as_ptr().add(at)).sub(V::splat(mean));
            squares = distance.mul_add(distance, squares);
        }
        let rest = row[whole..].iter().map(|x| (x - mean) * (x - mean));
        let variance = rest.fold(squares.sum(), |sum, square| sum + square) / width as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for at in (0..whole).step_by(V::COUNT) {
            let distance = V::load(row.as_ptr().add(at)).sub(V::splat(mean));
            let gained = distance.mul(V::splat(factor)).mul(V::load(gain.as_ptr().add(at)));
            gained.add(V::load(shift.as_ptr().add(at))).store(row.as_mut_ptr().add(at));
        }
        for at in whole..width {
            row[at] = (row[at] - mean) * factor * gain[at] + shift[at];
        }
    }
}
