//! Products in whole numbers of 16 bits, two at a time, for processors that do that faster.
//!
//! A row of `a` and a column of `b` are each multiplied by a factor, rounded, and multiplied
//! exactly: `out = (sum of products) / (factor of the row * factor of the column)`. A factor makes
//! the vector's length (square root of the sum of squares) `LENGTH_MAX` at most. By Cauchy and
//! Schwarz no sum, nor a part of one, is then larger than `LENGTH_MAX^2 < 2^31`: nothing can
//! overflow, whatever the numbers are. The sums are exact, so their order does not matter.

use super::Kernel;
use super::lanes::Lanes;
use super::matmul::{AHEAD, Sides};
use super::panels::Panels;

/// `46340^2 < 2^31`, and some room for the rounding of the length itself.
const LENGTH_MAX: f32 = 46_300.0;
/// The largest number of 16 bits; its negative is the least that is used.
const NUMBER_MAX: f32 = 32_767.0;
/// A shorter vector is taken for zeros: its squares are too small to be added.
const SQUARES_MIN: f32 = 1e-30;

/// A register of `i32`, each of which may be taken as two numbers of 16 bits.
///
/// # Safety of the methods
/// As for [`Lanes`].
pub(super) trait PairLanes: Copy {
    /// The same number of lanes in `f32`.
    type Float: Lanes;

    /// All lanes equal.
    unsafe fn splat(value: i32) -> Self;
    /// Reads a register; no alignment is needed.
    unsafe fn load(from: *const i32) -> Self;
    /// `self + a.first * b.first + a.second * b.second`, lane by lane.
    unsafe fn add_products(self, a: Self, b: Self) -> Self;
    /// The lanes as `f32`.
    unsafe fn to_float(self) -> Self::Float;
    /// Rounds to the nearest and writes numbers of 16 bits, one a lane, to half a register.
    unsafe fn store_rounded(from: Self::Float, to: *mut i16);
}

/// Rows of pairs, with the factor that leads back to `f32`.
#[derive(Default)]
pub(crate) struct PairRows {
    pairs: Vec<i32>,
    factors: Vec<f32>,
    stride: usize,
}

impl PairRows {
    /// Rows.
    pub(super) fn count(&self) -> usize {
        self.factors.len()
    }

    /// Pairs in a row.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Room for so many rows of `width` numbers; what is in it is left over.
    pub(super) fn reshape(&mut self, rows: usize, width: usize) {
        self.stride = width.div_ceil(2);
        self.pairs.resize(rows * self.stride, 0);
        self.factors.resize(rows, 0.0);
    }

    fn row(&self, row: usize) -> &[i32] {
        &self.pairs[row * self.stride..][..self.stride]
    }
}

/// A matrix packed for `matmul` in pairs, with a factor for each column.
pub(crate) struct PairPanels {
    panels: Panels<i32>,
    factors: Vec<f32>,
}

impl PairPanels {
    /// Packs the columns that `column` gives, each a run of `depth` numbers.
    pub(super) fn pack<'a>(
        kernel: &Kernel,
        (depth, columns): (usize, usize),
        column: impl Fn(usize) -> &'a [f32],
    ) -> Self {
        let mut panels = Panels::new(kernel.floats.panel_width);
        panels.reshape(depth.div_ceil(2), columns);
        let mut factors = vec![0.0; kernel.whole_panels(columns)];
        // One panel is rounded at a time, so that it is still in the cache when it is packed.
        let mut rounded = PairRows::default();
        for panel in 0..panels.count() {
            let own = panels.columns_of(panel);
            rounded.reshape(own.len(), depth);
            own.clone()
                .for_each(|index| kernel.round_row(column(index), index - own.start, &mut rounded));
            factors[own.clone()].copy_from_slice(&rounded.factors);
            panels.fill_panel(panel, |index| rounded.row(index - own.start));
        }
        Self { panels, factors }
    }

    /// Columns of the matrix.
    pub(super) fn columns(&self) -> usize {
        self.panels.columns()
    }

    /// Pairs in a column.
    pub(super) fn depth(&self) -> usize {
        self.panels.depth()
    }
}

/// Both sides in pairs.
pub(super) struct Pairs<'a> {
    pub rows: &'a PairRows,
    pub panels: &'a PairPanels,
}

/// `Pairs` for the registers of `P`.
pub(super) struct PairsIn<'a, P>(pub &'a Pairs<'a>, pub std::marker::PhantomData<P>);

impl<P: PairLanes> Sides<P::Float> for PairsIn<'_, P> {
    #[inline(always)]
    fn columns(&self) -> usize {
        self.0.panels.columns()
    }

    #[inline(always)]
    unsafe fn tile<const ROWS: usize, const VECTORS: usize>(
        &self,
        row: usize,
        panel: usize,
    ) -> [[P::Float; VECTORS]; ROWS] {
        let count = P::Float::COUNT;
        let Pairs { rows, panels } = self.0;
        // SAFETY: there are ROWS rows of `depth` pairs, the panel has `depth` rows of VECTORS
        // registers, and there is a factor for each of its columns.
        unsafe {
            let a = rows.pairs.as_ptr().add(row * rows.stride);
            let mut b = panels.panels.panel(panel);
            let mut sums = [[P::splat(0); VECTORS]; ROWS];
            for k in 0..panels.depth() {
                let mut line = [P::splat(0); VECTORS];
                for (v, vector) in line.iter_mut().enumerate() {
                    *vector = P::load(b.add(v * count));
                    let ahead = b.wrapping_add((AHEAD * VECTORS + v) * count);
                    P::Float::prefetch(ahead.cast());
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let pair = P::splat(*a.add(r * rows.stride + k));
                    for (sum, vector) in sums.iter_mut().zip(line) {
                        *sum = sum.add_products(pair, vector);
                    }
                }
                b = b.add(count * VECTORS);
            }
            let mut found = [[P::Float::splat(0.0); VECTORS]; ROWS];
            for v in 0..VECTORS {
                let column = (panel * VECTORS + v) * count;
                let factors = P::Float::load(panels.factors.as_ptr().add(column));
                for r in 0..ROWS {
                    let factor = P::Float::splat(*rows.factors.as_ptr().add(row + r));
                    found[r][v] = sums[r][v].to_float().mul(factor).mul(factors);
                }
            }
            found
        }
    }
}

/// Rounds a row. One that holds NaN, or numbers whose squares are infinite, gets the factor NaN, so
/// that whatever is made of it shows.
///
/// # Safety
/// See [`Lanes`].
#[inline(always)]
pub(super) unsafe fn round<P: PairLanes>(row: &[f32], index: usize, to: &mut PairRows) {
    let count = P::Float::COUNT;
    let width = row.len();
    let whole = width / count * count;
    let limit = LENGTH_MAX - (width as f32).sqrt(); // each rounding may add a half
    let pairs = to.pairs[index * to.stride..][..to.stride].as_mut_ptr().cast::<i16>();
    assert_eq!(width.div_ceil(2), to.stride, "a row of another width");
    // SAFETY: loops read and write whole registers below `whole`, which is inside both rows.
    unsafe {
        let mut squares = P::Float::splat(0.0);
        let mut largest = P::Float::splat(0.0);
        for at in (0..whole).step_by(count) {
            let x = P::Float::load(row.as_ptr().add(at));
            squares = x.mul_add(x, squares);
            largest = largest.max(x).max(P::Float::splat(0.0).sub(x));
        }
        let rest = &row[whole..];
        let squares = rest.iter().fold(squares.sum(), |sum, x| sum + x * x);
        let largest = rest.iter().fold(largest.largest(), |most, x| most.max(x.abs()));
        let factor = match squares < SQUARES_MIN {
            true => 0.0,
            false => (limit / squares.sqrt()).min(NUMBER_MAX / largest),
        };
        for at in (0..whole).step_by(count) {
            let x = P::Float::load(row.as_ptr().add(at));
            P::store_rounded(x.mul(P::Float::splat(factor)), pairs.add(at));
        }
        for (at, x) in rest.iter().enumerate() {
            pairs.add(whole + at).write((x * factor).round_ties_even() as i16);
        }
        if width % 2 == 1 {
            pairs.add(width).write(0);
        }
        to.factors[index] = match factor {
            _ if !squares.is_finite() => f32::NAN,
            0.0 => 0.0,
            _ => 1.0 / factor,
        };
    }
}
