//! Exact search over a packed matrix of vectors: every row is scored, the best `k` are returned.
//!
//! The rule is the one of `satchel.ranking.pure`, number for number: both add in the same order.

#![forbid(unsafe_code)]

mod cosine;
mod error;
mod top_k;

pub use error::ScanError;

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
