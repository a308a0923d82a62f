//! `out = a * b` tile by tile: a tile of `out` stays in registers over the whole depth, so each
//! number of it is made in one order, whatever its tile.

use std::ops::Range;

use super::lanes::Lanes;
use super::math::gelu;
use super::panels::Panels;

/// Rows of a tile at most, for any instruction set: `block` below has a case for each.
const ROWS_MAX: usize = 14;
/// Rows of a panel that are asked for ahead of their use: it lies in the second cache or beyond.
pub(super) const AHEAD: usize = 32;
/// Columns of a panel at most.
const WIDTH_MAX: usize = 64;

/// What happens to a tile before it is written.
#[derive(Clone, Copy)]
pub(crate) enum Finish<'a> {
    /// `out = product`
    Plain,
    /// `out = product + bias`
    Bias(&'a [f32]),
    /// `out = GELU(product + bias)`
    BiasGelu(&'a [f32]),
    /// `out = out + product + bias`: the residual is in `out` already.
    BiasAdd(&'a [f32]),
}

/// The two sides of a product: what a tile of it is, before the finish.
pub(super) trait Sides<V: Lanes> {
    /// Columns of the product.
    fn columns(&self) -> usize;

    /// The tile that starts at `row` in the columns of `panel`.
    ///
    /// # Safety
    /// See [`Lanes`]; there are ROWS rows from `row` on, and panels are of VECTORS registers.
    unsafe fn tile<const ROWS: usize, const VECTORS: usize>(
        &self,
        row: usize,
        panel: usize,
    ) -> [[V; VECTORS]; ROWS];
}

/// A product with its sizes checked: row `r` of `out` starts at `out[r * out_stride]`.
pub(super) struct Product<'a, S> {
    pub sides: S,
    pub rows: usize,
    pub out: *mut f32,
    pub out_stride: usize,
    pub finish: Finish<'a>,
}

/// Computes all tiles, panel after panel, so that a panel stays in the cache for all rows.
///
/// # Safety
/// See [`Lanes`]; `out` is valid for the rows and columns of the product.
#[inline(always)]
pub(super) unsafe fn matmul<V: Lanes, S: Sides<V>, const ROWS: usize, const VECTORS: usize>(
    product: &Product<'_, S>,
) {
    const { assert!(ROWS <= ROWS_MAX && V::COUNT * VECTORS <= WIDTH_MAX) };
    // Tiles of nearly the same height: a last one of few rows would waste most of its loads.
    let tiles = product.rows.div_ceil(ROWS);
    for panel in 0..product.sides.columns().div_ceil(V::COUNT * VECTORS) {
        let mut row = 0;
        for tile in 0..tiles {
            let rows = (product.rows - row).div_ceil(tiles - tile);
            // SAFETY: as the caller promises; `row + rows <= product.rows`.
            unsafe { block::<V, S, ROWS, VECTORS>(product, panel, row, rows) };
            row += rows;
        }
    }
}

#[inline(always)]
unsafe fn block<V: Lanes, S: Sides<V>, const ROWS: usize, const VECTORS: usize>(
    product: &Product<'_, S>,
    panel: usize,
    row: usize,
    rows: usize,
) {
    macro_rules! heights {
        ($($height:literal)*) => {
            match rows {
                // SAFETY: as the caller promises.
                $($height if ROWS >= $height => unsafe {
                    tile::<V, S, $height, VECTORS>(product, panel, row)
                },)*
                _ => unreachable!("a tile has 1 to {ROWS} rows"),
            }
        };
    }
    heights!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}

#[inline(always)]
unsafe fn tile<V: Lanes, S: Sides<V>, const ROWS: usize, const VECTORS: usize>(
    product: &Product<'_, S>,
    panel: usize,
    row: usize,
) {
    let width = V::COUNT * VECTORS;
    let column = panel * width;
    let columns = (product.sides.columns() - column).min(width);
    // SAFETY: `row` and `column` lie inside `out`; a tile that sticks out at the right goes
    // through `edge`, which has room for it.
    unsafe {
        let sums = product.sides.tile::<ROWS, VECTORS>(row, panel);
        let out = product.out.add(row * product.out_stride + column);
        if columns == width {
            finish(product.finish, &sums, out, product.out_stride, column);
            return;
        }
        let mut edge = [[0.0_f32; WIDTH_MAX]; ROWS];
        let mut bias = [0.0_f32; WIDTH_MAX];
        for (r, line) in edge.iter_mut().enumerate() {
            out.add(r * product.out_stride).copy_to_nonoverlapping(line.as_mut_ptr(), columns);
        }
        if let Some(given) = product.finish.bias() {
            bias[..columns].copy_from_slice(&given[column..column + columns]);
        }
        finish(product.finish.with_bias(&bias), &sums, edge.as_mut_ptr().cast(), WIDTH_MAX, 0);
        for (r, line) in edge.iter().enumerate() {
            out.add(r * product.out_stride).copy_from_nonoverlapping(line.as_ptr(), columns);
        }
    }
}

#[inline(always)]
unsafe fn finish<V: Lanes, const ROWS: usize, const VECTORS: usize>(
    finish: Finish<'_>,
    sums: &[[V; VECTORS]; ROWS],
    out: *mut f32,
    stride: usize,
    column: usize,
) {
    // SAFETY: `out` has ROWS rows and the bias numbers for VECTORS registers from `column` on.
    unsafe {
        for v in 0..VECTORS {
            let lane = v * V::COUNT;
            let bias = match finish.bias() {
                None => V::splat(0.0),
                Some(bias) => V::load(bias.as_ptr().add(column + lane)),
            };
            for (r, sums) in sums.iter().enumerate() {
                let to = out.add(r * stride + lane);
                let found = match finish {
                    Finish::Plain => sums[v],
                    Finish::Bias(_) => sums[v].add(bias),
                    Finish::BiasGelu(_) => gelu(sums[v].add(bias)),
                    Finish::BiasAdd(_) => V::load(to).add(sums[v].add(bias)),
                };
                found.store(to);
            }
        }
    }
}

impl<'a> Finish<'a> {
    /// What is added to each column.
    pub(super) fn bias(self) -> Option<&'a [f32]> {
        match self {
            Finish::Plain => None,
            Finish::Bias(bias) | Finish::BiasGelu(bias) | Finish::BiasAdd(bias) => Some(bias),
        }
    }

    /// The same for some of the columns.
    pub fn narrowed(self, columns: Range<usize>) -> Self {
        match self.bias() {
            None => self,
            Some(bias) => self.with_bias(&bias[columns]),
        }
    }

    fn with_bias(self, bias: &'a [f32]) -> Self {
        match self {
            Finish::Plain => Finish::Plain,
            Finish::Bias(_) => Finish::Bias(bias),
            Finish::BiasGelu(_) => Finish::BiasGelu(bias),
            Finish::BiasAdd(_) => Finish::BiasAdd(bias),
        }
    }
}

/// Both sides in `f32`: row `r` of `a` starts at `a[r * a_stride]`.
pub(super) struct Floats<'a> {
    pub a: *const f32,
    pub a_stride: usize,
    pub panels: &'a Panels<f32>,
}

impl<V: Lanes> Sides<V> for Floats<'_> {
    #[inline(always)]
    fn columns(&self) -> usize {
        self.panels.columns()
    }

    #[inline(always)]
    unsafe fn tile<const ROWS: usize, const VECTORS: usize>(
        &self,
        row: usize,
        panel: usize,
    ) -> [[V; VECTORS]; ROWS] {
        // SAFETY: `a` has ROWS rows of `depth` numbers, the panel `depth` rows of VECTORS
        // registers.
        unsafe {
            let a = self.a.add(row * self.a_stride);
            let mut b = self.panels.panel(panel);
            let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
            for k in 0..self.panels.depth() {
                let mut line = [V::splat(0.0); VECTORS];
                for (v, vector) in line.iter_mut().enumerate() {
                    *vector = V::load(b.add(v * V::COUNT));
                    V::prefetch(b.wrapping_add((AHEAD * VECTORS + v) * V::COUNT));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let factor = V::splat(*a.add(r * self.a_stride + k));
                    for (sum, vector) in sums.iter_mut().zip(line) {
                        *sum = factor.mul_add(vector, *sum);
                    }
                }
                b = b.add(V::COUNT * VECTORS);
            }
            sums
        }
    }
}
