//! Cosine of one query with every row, in float64 and in one fixed order of additions.
//!
//! A product of two `f32` is exact in `f64`, so a score depends on the order of the additions only.
//! The order: number `i` belongs to lane `i % LANES`, a lane adds its products from left to right,
//! then the lanes are added from left to right. Lanes let the compiler use vector registers.

use std::num::NonZero;
use std::thread;

use crate::ScanError;

const LANES: usize = 8;
const NUMBER_BYTES: usize = size_of::<f32>();

/// Rows are shared among threads when there are more numbers than this: below it, starting a
/// thread costs more than it saves.
const NUMBERS_PER_THREAD_MIN: usize = 1 << 20;

/// A query vector, read once.
pub struct Query {
    numbers: Vec<f64>,
    norm: f64,
}

impl Query {
    /// Reads `dims` little-endian `f32` numbers.
    pub fn read(bytes: &[u8], dims: usize) -> Result<Self, ScanError> {
        if dims == 0 {
            return Err(ScanError::DimsZero);
        }
        if Some(bytes.len()) != dims.checked_mul(NUMBER_BYTES) {
            return Err(ScanError::QuerySize { bytes: bytes.len(), dims });
        }
        let numbers: Vec<f64> = bytes.chunks_exact(NUMBER_BYTES).map(number).collect();
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(ScanError::QueryNotFinite { index });
        }
        let norm = products(bytes, &numbers).of_row_with_itself.sqrt();
        Ok(Self { numbers, norm })
    }

    /// The query as float32 numbers of length one, all zeros for a query of zeros.
    pub fn of_length_one(&self) -> Vec<f32> {
        let scale = |number: &f64| if self.norm == 0.0 { 0.0 } else { number / self.norm };
        self.numbers.iter().map(|number| scale(number) as f32).collect()
    }

    /// Scores every row of `matrix`, on several threads where it is large.
    ///
    /// Threads are started for this call only: a lasting pool would not survive a `fork`.
    pub fn score_rows(&self, matrix: &[u8]) -> Result<Vec<f64>, ScanError> {
        let dims = self.numbers.len();
        let row_bytes = dims * NUMBER_BYTES;
        if !matrix.len().is_multiple_of(row_bytes) {
            return Err(ScanError::MatrixSize { bytes: matrix.len(), dims });
        }
        let rows = matrix.len() / row_bytes;
        let rows_per_part = rows.div_ceil(threads_for(rows * dims)).max(1);
        let mut scores = vec![0.0; rows];
        let parts = scores.chunks_mut(rows_per_part).zip(matrix.chunks(rows_per_part * row_bytes));
        thread::scope(|scope| {
            let mut parts = parts.enumerate();
            let first = parts.next();
            let others: Vec<_> = parts
                .map(|(part, (scores, rows))| {
                    scope.spawn(move || self.score_part(rows, part * rows_per_part, scores))
                })
                .collect();
            // This thread works too. Parts are joined in order, so the lowest bad row is named.
            if let Some((_, (scores, rows))) = first {
                self.score_part(rows, 0, scores)?;
            }
            others.into_iter().try_for_each(|other| match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(scores)
    }

    fn score_part(
        &self,
        part: &[u8],
        first_row: usize,
        scores: &mut [f64],
    ) -> Result<(), ScanError> {
        let row_bytes = self.numbers.len() * NUMBER_BYTES;
        for (index, (row, score)) in part.chunks_exact(row_bytes).zip(scores).enumerate() {
            *score = self.score(row).ok_or(ScanError::RowNotFinite { row: first_row + index })?;
        }
        Ok(())
    }

    /// Returns the rounded cosine, or nothing where a number of the row is not finite.
    fn score(&self, row: &[u8]) -> Option<f64> {
        let products = products(row, &self.numbers);
        // Squares of finite f32 numbers can't overflow an f64, so this sees every bad number.
        if !products.of_row_with_itself.is_finite() {
            return None;
        }
        let norms = self.norm * products.of_row_with_itself.sqrt();
        Some(if norms == 0.0 { 0.0 } else { rounded(products.of_row_with_query / norms) })
    }
}

/// The square of a row's length, in the order of additions of all scores.
pub fn products_of(row: &[u8], numbers: &[f64]) -> f64 {
    products(row, numbers).of_row_with_itself
}

struct Products {
    of_row_with_query: f64,
    of_row_with_itself: f64,
}

fn products(row: &[u8], query: &[f64]) -> Products {
    let mut with_query = [0.0; LANES];
    let mut with_itself = [0.0; LANES];
    let mut blocks = row.chunks_exact(LANES * NUMBER_BYTES);
    let mut query_blocks = query.chunks_exact(LANES);
    for (block, query_block) in blocks.by_ref().zip(query_blocks.by_ref()) {
        for lane in 0..LANES {
            let own = number(&block[lane * NUMBER_BYTES..][..NUMBER_BYTES]);
            with_query[lane] += own * query_block[lane];
            with_itself[lane] += own * own;
        }
    }
    let rest = blocks.remainder().chunks_exact(NUMBER_BYTES).map(number);
    for (lane, (own, theirs)) in rest.zip(query_blocks.remainder()).enumerate() {
        with_query[lane] += own * theirs;
        with_itself[lane] += own * own;
    }
    Products {
        of_row_with_query: with_query.iter().fold(0.0, |sum, lane| sum + lane),
        of_row_with_itself: with_itself.iter().fold(0.0, |sum, lane| sum + lane),
    }
}

fn number(bytes: &[u8]) -> f64 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into()
}

/// Rounds to 1e-6, halves up. The pure rule takes the same three steps, so the last bit agrees.
fn rounded(score: f64) -> f64 {
    (score * 1e6 + 0.5).floor() / 1e6
}

fn threads_for(numbers: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    (numbers / NUMBERS_PER_THREAD_MIN).clamp(1, cores)
}
