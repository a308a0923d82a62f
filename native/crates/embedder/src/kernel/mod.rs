//! The arithmetic: one set of rules, compiled for each instruction set, chosen at run time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_pairs;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod detect;
mod lanes;
mod math;
mod matmul;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "no kernel has pairs"))]
mod pairs;
mod panels;
mod portable;
mod rows;
#[cfg(target_arch = "x86_64")]
mod vnni;

pub(crate) use matmul::Finish;
use matmul::{Floats, Product};
use pairs::Pairs;
pub(crate) use pairs::{PairPanels, PairRows};
pub(crate) use panels::Panels;

/// The rules for one instruction set that this processor has; `all` is the only source of one.
pub(crate) struct Kernel {
    /// Its name, for benchmarks and `doctor`.
    pub name: &'static str,
    floats: FloatRules,
    pairs: Option<PairRules>,
}

/// The rules in `f32`.
struct FloatRules {
    panel_width: usize,
    rows_at_once: usize,
    matmul: unsafe fn(&Product<'_, Floats<'_>>),
    softmax: unsafe fn(&mut [f32], usize, usize, f32),
    normalise: unsafe fn(&mut [f32], &[f32], &[f32], f32),
}

/// The rules in pairs of 16 bits, where those are faster.
struct PairRules {
    matmul: unsafe fn(&Product<'_, Pairs<'_>>),
    round: unsafe fn(&[f32], usize, &mut PairRows),
}

impl Kernel {
    /// Rows of `a` that fill a tile; work is best cut at multiples of it.
    pub fn rows_at_once(&self) -> usize {
        self.floats.rows_at_once
    }

    /// `columns` rounded up to whole panels.
    pub fn whole_panels(&self, columns: usize) -> usize {
        columns.next_multiple_of(self.floats.panel_width)
    }

    /// Empty panels of this kernel's width.
    pub fn panels(&self) -> Panels<f32> {
        Panels::new(self.floats.panel_width)
    }

    /// `out = finish(a * panels)` for `rows` rows that start `stride` numbers apart.
    ///
    /// # Panics
    /// When a slice is too short: a mistake of the caller that must not become a wild read.
    pub fn matmul(
        &self,
        (a, a_stride): (&[f32], usize),
        rows: usize,
        panels: &Panels<f32>,
        (out, out_stride): (&mut [f32], usize),
        finish: Finish<'_>,
    ) {
        if rows == 0 {
            return;
        }
        assert_eq!(panels.width(), self.floats.panel_width, "panels of another kernel");
        assert!(a_stride >= panels.depth(), "rows overlap");
        assert!(a.len() >= (rows - 1) * a_stride + panels.depth(), "`a` is too short");
        let sides = Floats { a: a.as_ptr(), a_stride, panels };
        let product = product(sides, rows, panels.columns(), (out, out_stride), finish);
        // SAFETY: sizes are checked; `all` has handed this kernel out after detection.
        unsafe { (self.floats.matmul)(&product) };
    }

    /// Softmax of `scale` times the first `columns` numbers of each row of `stride` numbers.
    pub fn softmax(&self, numbers: &mut [f32], stride: usize, columns: usize, scale: f32) {
        assert!(0 < columns && columns <= stride, "rows overlap");
        // SAFETY: `all` has handed this kernel out after detection.
        unsafe { (self.floats.softmax)(numbers, stride, columns, scale) };
    }

    /// Layer normalisation of each row; a row is as long as `gain`.
    pub fn normalise(&self, numbers: &mut [f32], gain: &[f32], shift: &[f32], epsilon: f32) {
        assert_eq!(gain.len(), shift.len(), "one shift a gain");
        // SAFETY: sizes are checked; `all` has handed this kernel out after detection.
        unsafe { (self.floats.normalise)(numbers, gain, shift, epsilon) };
    }

    /// Packs a matrix for products in pairs; `None` where this processor is not faster with them.
    ///
    /// `column(c)` gives column `c` as a run of `depth` numbers.
    pub fn pack_pairs<'a>(
        &self,
        (depth, columns): (usize, usize),
        column: impl Fn(usize) -> &'a [f32],
    ) -> Option<PairPanels> {
        self.pairs.as_ref()?;
        Some(PairPanels::pack(self, (depth, columns), column))
    }

    /// Whether products in pairs are what to use.
    pub fn has_pairs(&self) -> bool {
        self.pairs.is_some()
    }

    /// Rounds each row of `width` numbers for a product in pairs.
    ///
    /// # Panics
    /// When this kernel has no such product.
    pub fn round(&self, numbers: &[f32], width: usize, to: &mut PairRows) {
        to.reshape(numbers.len() / width, width);
        for (index, row) in numbers.chunks_exact(width).enumerate() {
            self.round_row(row, index, to);
        }
    }

    /// Rounds one row; there must be room for it.
    fn round_row(&self, row: &[f32], index: usize, to: &mut PairRows) {
        let rules = self.pairs.as_ref().expect("a kernel with pairs");
        // SAFETY: `all` has handed this kernel out after detection.
        unsafe { (rules.round)(row, index, to) };
    }

    /// `out = finish(rows * panels)`, in pairs.
    ///
    /// # Panics
    /// When the sizes do not fit, or this kernel has no such product.
    pub fn matmul_pairs(
        &self,
        rows: &PairRows,
        panels: &PairPanels,
        (out, out_stride): (&mut [f32], usize),
        finish: Finish<'_>,
    ) {
        let rules = self.pairs.as_ref().expect("a kernel with pairs");
        if rows.count() == 0 {
            return;
        }
        assert_eq!(rows.stride(), panels.depth(), "rows and columns of different lengths");
        let sides = Pairs { rows, panels };
        let to = (out, out_stride);
        let product = product(sides, rows.count(), panels.columns(), to, finish);
        // SAFETY: sizes are checked; `all` has handed this kernel out after detection.
        unsafe { (rules.matmul)(&product) };
    }
}

/// A product after a look at the side that is written.
fn product<'a, S>(
    sides: S,
    rows: usize,
    columns: usize,
    (out, out_stride): (&mut [f32], usize),
    finish: Finish<'a>,
) -> Product<'a, S> {
    assert!(out_stride >= columns, "rows overlap");
    assert!(out.len() >= (rows - 1) * out_stride + columns, "`out` is too short");
    assert!(finish.bias().is_none_or(|bias| bias.len() == columns), "one bias a column");
    Product { sides, rows, out: out.as_mut_ptr(), out_stride, finish }
}

#[cfg(test)]
mod tests;
