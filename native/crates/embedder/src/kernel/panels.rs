//! A matrix packed for `matmul`: panels of a few columns, each row of a panel back to back.

use std::ops::Range;

/// Numbers in a cache line; panels start at one.
const LINE: usize = 16;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line<T>([T; LINE]);

/// `depth` rows by `columns` columns, the last panel filled up with zeros.
///
/// A number has four bytes: an `f32`, or in an `i32` two neighbours of 16 bits.
pub(crate) struct Panels<T> {
    lines: Vec<Line<T>>,
    depth: usize,
    columns: usize,
    width: usize,
}

impl<T: Copy + Default + 'static> Panels<T> {
    /// Room for nothing yet; `width` is the columns of a panel.
    pub(super) fn new(width: usize) -> Self {
        Self { lines: Vec::new(), depth: 0, columns: 0, width }
    }

    /// Takes another shape. What was packed is lost; memory that is there is used again.
    pub fn reshape(&mut self, depth: usize, columns: usize) {
        (self.depth, self.columns) = (depth, columns);
        let numbers = self.count() * depth * self.width;
        self.lines.resize(numbers.div_ceil(LINE), Line([T::default(); LINE]));
    }

    /// Panels.
    pub(super) fn count(&self) -> usize {
        self.columns.div_ceil(self.width)
    }

    /// Columns in all panels, without the filling.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Columns of a panel.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Where a panel starts. It holds `depth * width` numbers.
    pub(super) fn panel(&self, panel: usize) -> *const T {
        self.numbers()[panel * self.depth * self.width..].as_ptr()
    }

    fn numbers(&self) -> &[T] {
        const { assert!(size_of::<T>() * LINE == 64) };
        // SAFETY: `Line` is nothing but LINE numbers, aligned more strictly.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }

    fn numbers_mut(&mut self) -> &mut [T] {
        const { assert!(size_of::<T>() * LINE == 64) };
        // SAFETY: `Line` is nothing but LINE numbers, aligned more strictly.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LINE)
        }
    }

    /// Packs the transpose: `column(c)` gives column `c` as a run of `depth` numbers.
    pub fn fill_columns<'a>(&mut self, column: impl Fn(usize) -> &'a [T]) {
        for panel in 0..self.count() {
            self.fill_panel(panel, &column);
        }
    }

    /// Packs the columns of one panel.
    pub fn fill_panel<'a>(&mut self, panel: usize, column: impl Fn(usize) -> &'a [T]) {
        let (depth, width) = (self.depth, self.width);
        let columns = self.columns_of(panel);
        let to = &mut self.numbers_mut()[panel * depth * width..][..depth * width];
        for lane in columns.len()..width {
            to[lane..].iter_mut().step_by(width).for_each(|number| *number = T::default());
        }
        // Blocks of a cache line's depth: what is written stays in the first cache meanwhile.
        for from in (0..depth).step_by(LINE) {
            let until = (from + LINE).min(depth);
            for (lane, index) in columns.clone().enumerate() {
                let run = &column(index)[from..until];
                for (k, number) in run.iter().enumerate() {
                    to[(from + k) * width + lane] = *number;
                }
            }
        }
    }

    /// The columns of a panel.
    pub fn columns_of(&self, panel: usize) -> Range<usize> {
        let first = panel * self.width;
        first..self.columns.min(first + self.width)
    }

    /// Packs as it lies: `row(k)` gives row `k` as a run of `columns` numbers.
    pub fn fill_rows<'a>(&mut self, row: impl Fn(usize) -> &'a [T]) {
        let (depth, width) = (self.depth, self.width);
        for panel in 0..self.count() {
            let Range { start: first, end } = self.columns_of(panel);
            let used = end - first;
            let to = &mut self.numbers_mut()[panel * depth * width..][..depth * width];
            for (k, to) in to.chunks_exact_mut(width).enumerate() {
                to[..used].copy_from_slice(&row(k)[first..first + used]);
                to[used..].fill(T::default());
            }
        }
    }
}
