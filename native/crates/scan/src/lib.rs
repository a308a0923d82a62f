//! Search over packed vectors: exact cosines of float32 rows, and candidates among float16 rows.
//!
//! `cosine_top_k`, `to_halves` and `to_codes` keep the rule of `satchel.ranking.pure`, number for
//! number: both add in the same order. `scan_halves` adds as suits the processor.

#![deny(unsafe_code)]

mod best;
mod candidates;
mod cosine;
mod error;
mod halves;
#[allow(unsafe_code)] // the intrinsics of each processor
mod kernel;
mod labels;
mod top_k;

pub use candidates::{Matrix, RESCORED_EACH, RESCORED_MIN, TWO_STAGES_FROM, scan_halves};
pub use error::ScanError;
pub use halves::{to_codes, to_halves};

/// Finds the `k` rows of `matrix` most similar to `query` by cosine.
///
/// `matrix` holds rows of `dims` little-endian `f32` numbers back to back, `query` holds one such
/// row. Returns `(row, score)`, best first, equal scores by lower row; at most `k` pairs. A score
/// is rounded to 1e-6 and is 0 where either vector is all zeros.
///
/// # Errors
/// When `dims` is 0, a buffer has the wrong size, or a number is not finite.
pub fn cosine_top_k(
    matrix: &[u8],
    dims: usize,
    query: &[u8],
    k: usize,
) -> Result<Vec<(usize, f64)>, ScanError> {
    let query = cosine::Query::read(query, dims)?;
    let scores = query.score_rows(matrix)?;
    Ok(top_k::top_k(&scores, k))
}
