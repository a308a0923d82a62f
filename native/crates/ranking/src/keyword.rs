//! Keyword evidence: BM25 without length normalisation, for short, bounded texts.

use crate::RankingError;
use crate::packed::{counts, is_small, small_numbers};

/// Sums `idf · c · (k1 + 1) / (c + k1)` over the terms, for each candidate.
///
/// `found` has a row of u32 counts for each candidate, `idf` an f64 number for each term.
///
/// # Errors
/// When a size is wrong, an idf is huge, or `k1` is not above 0.
pub fn keyword(
    found: &[u8],
    candidates: usize,
    idf: &[u8],
    k1: f64,
) -> Result<Vec<f64>, RankingError> {
    let rarity = small_numbers("idf", idf, idf.len() / size_of::<f64>())?;
    let found = counts("counts", found, candidates.saturating_mul(rarity.len()))?;
    if !(k1 > 0.0 && is_small(k1)) {
        return Err(RankingError::Saturation);
    }
    if rarity.is_empty() {
        return Ok(vec![0.0; candidates]);
    }
    let weighed = |row: &[u32]| {
        let terms = rarity.iter().zip(row);
        terms.fold(0.0, |sum, (idf, count)| {
            let count = f64::from(*count);
            sum + idf * count * (k1 + 1.0) / (count + k1)
        })
    };
    Ok(found.chunks_exact(rarity.len()).map(weighed).collect())
}
