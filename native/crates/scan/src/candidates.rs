//! The scan of a vector file: rows that a filter allows are scored, the best are candidates.

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::ScanError;
use crate::best::{Best, Scored};
use crate::halves::{code, rows};
use crate::kernel::{HALF_BYTES, Kernel};
use crate::labels::Labels;

/// From so many rows on, those that count are first scored by their codes, a half of the bytes:
/// what is behind the best few of them is not looked at. Below, all are scored exactly.
pub const TWO_STAGES_FROM: usize = 200_000;
/// So many rows of the first stage are scored exactly at least.
pub const RESCORED_MIN: usize = 1_000;
/// And so many for each row that is wanted.
pub const RESCORED_EACH: usize = 4;
/// Codes of longer vectors could overflow an i32.
const CODED_DIMS_MAX: usize = 65_536;
/// Rows that a thread takes at once.
const BLOCK_ROWS: usize = 1_024;
/// Another thread is started for so many bytes: below, starting it and waiting for a core to run it
/// on costs more than it saves.
const BYTES_PER_THREAD_MIN: usize = 1 << 24;

/// Rows of a vector file.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    /// Float16 rows of length one, `dims` numbers each.
    pub halves: &'a [u8],
    /// Numbers in a row.
    pub dims: usize,
    /// An int64 number for each row.
    pub labels: &'a [u8],
    /// Bits: which numbers count.
    pub allowed: &'a [u8],
    /// What `to_codes` makes of `halves`, or empty.
    pub codes: &'a [u8],
    /// The scales of the codes, or empty.
    pub scales: &'a [u8],
}

/// Finds candidates for the rows most similar to `query` by cosine.
///
/// Returns `(row, score)`, best first, equal scores by lower row: the best `k`, and of the next `k`
/// those that are at most `margin` worse than the last of them.
///
/// # Errors
/// When a size is wrong, `margin` negative or no number, or a number of `query` not finite.
pub fn scan_halves(
    matrix: &Matrix<'_>,
    query: &[u8],
    k: usize,
    margin: f64,
) -> Result<Vec<Scored>, ScanError> {
    let count = matrix.check(margin)?;
    let query = crate::cosine::Query::read(query, matrix.dims)?.of_length_one();
    let mut found = match matrix.far_ones_left_out(count, &query, k) {
        Some(near) => matrix.rescored(&near, &query, 2 * k),
        None => matrix.scored(count, &query, 2 * k),
    };
    if found.len() > k {
        let least = if k == 0 { 0.0 } else { f64::from(found[k - 1].1) - margin };
        let near = found[k..].iter().take_while(|(_, score)| f64::from(*score) >= least).count();
        found.truncate(k + near);
    }
    Ok(found)
}

impl Matrix<'_> {
    fn check(&self, margin: f64) -> Result<usize, ScanError> {
        let row_bytes = rows(self.halves, "halves", self.dims, HALF_BYTES, "float16")?;
        if !(margin.is_finite() && margin >= 0.0) {
            return Err(ScanError::Margin { margin: margin.to_string() });
        }
        let count = self.halves.len() / row_bytes;
        let size = |name, bytes: usize, expected| match bytes == expected {
            true => Ok(()),
            false => Err(ScanError::Size { name, bytes, expected }),
        };
        size("labels", self.labels.len(), Labels::bytes_of(count))?;
        if !self.codes.is_empty() {
            size("codes", self.codes.len(), count * self.dims)?;
            size("scales", self.scales.len(), count * size_of::<f32>())?;
        }
        Ok(count)
    }

    fn filter(&self) -> Labels<'_> {
        Labels::new(self.labels, self.allowed)
    }

    /// Every row that counts, exactly.
    fn scored(&self, count: usize, query: &[f32], most: usize) -> Vec<Scored> {
        let kernel = Kernel::best();
        in_blocks(count, self.dims * HALF_BYTES, most, |first, end, work, best| {
            self.filter().pick(first, end, &mut work.picked);
            work.scores.resize(work.picked.len(), 0.0);
            kernel.score_halves(self.halves, query, &work.picked, &mut work.scores);
            for (row, score) in work.picked.iter().zip(&work.scores) {
                best.offer(*row, *score);
            }
        })
    }

    /// The rows that their codes say are nearest, where there are so many that it pays.
    fn far_ones_left_out(&self, count: usize, query: &[f32], k: usize) -> Option<Vec<usize>> {
        let near = RESCORED_MIN.max(RESCORED_EACH * k);
        let coded = !self.codes.is_empty() && self.dims <= CODED_DIMS_MAX;
        if !coded || count < TWO_STAGES_FROM.max(4 * near) {
            return None;
        }
        if self.filter().count(count) < TWO_STAGES_FROM.max(4 * near) {
            return None;
        }
        let largest = query.iter().fold(0.0_f64, |largest, n| largest.max(f64::from(n.abs())));
        let query: Vec<i8> = query.iter().map(|n| code(f64::from(*n), largest) as i8).collect();
        let kernel = Kernel::best();
        let found = in_blocks(count, self.dims, near, |first, end, work, best| {
            self.filter().pick(first, end, &mut work.picked);
            work.counts.resize(work.picked.len(), 0);
            kernel.score_codes(self.codes, &query, &work.picked, &mut work.counts);
            for (row, score) in work.picked.iter().zip(&work.counts) {
                let scale = &self.scales[row * 4..][..4];
                let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
                best.offer(*row, *score as f32 * scale);
            }
        });
        let mut near: Vec<usize> = found.into_iter().map(|(row, _)| row).collect();
        near.sort_unstable();
        Some(near)
    }

    /// These rows, exactly.
    fn rescored(&self, near: &[usize], query: &[f32], most: usize) -> Vec<Scored> {
        let mut scores = vec![0.0; near.len()];
        Kernel::best().score_halves(self.halves, query, near, &mut scores);
        let mut best = Best::new(most);
        near.iter().zip(&scores).for_each(|(row, score)| best.offer(*row, *score));
        Best::of_all([best], most)
    }
}

/// What a thread writes into again and again.
#[derive(Default)]
struct Work {
    picked: Vec<usize>,
    scores: Vec<f32>,
    counts: Vec<i32>,
}

/// Runs over `count` rows in blocks, on several threads where there is much to read.
///
/// Threads are started for this call only: a lasting pool would not survive a `fork`.
fn in_blocks(
    count: usize,
    row_bytes: usize,
    most: usize,
    block: impl Fn(usize, usize, &mut Work, &mut Best) + Sync,
) -> Vec<Scored> {
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut work, mut best) = (Work::default(), Best::new(most));
        loop {
            let first = next.fetch_add(BLOCK_ROWS, Ordering::Relaxed);
            if first >= count {
                return best;
            }
            block(first, count.min(first + BLOCK_ROWS), &mut work, &mut best);
        }
    };
    let threads = (count.saturating_mul(row_bytes) / BYTES_PER_THREAD_MIN).clamp(1, cores());
    let found = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        // This thread works too.
        let mut found = vec![run()];
        for other in others {
            match other.join() {
                Ok(best) => found.push(best),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    Best::of_all(found, most)
}

/// Asked once: the answer is read from several files.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}
