//! Selection: the best of a pool, each as unlike those before it as `diversity` asks.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::RankingError;
use crate::cosine::Vectors;
use crate::packed::{finite_numbers, flags};

/// A candidate is compared with so many of the chosen ones before another may overtake it.
const LOOK: usize = 8;

/// A pool of n candidates with their scores.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    /// One a candidate.
    pub scores: &'a [f64],
    /// One a candidate; of equals the one with the lower key comes first.
    pub keys: &'a [&'a str],
    /// Flags: the others are passed over.
    pub eligible: &'a [u8],
    /// A row of `dims` f32 numbers for each candidate, all zeros where it has none.
    pub vectors: &'a [u8],
    /// Numbers in a vector; 0 when nobody has one.
    pub dims: usize,
}

/// Chooses at most `k` by maximal marginal relevance (Carbonell and Goldstein, 1998).
///
/// The next is always the one with the highest `(1 - diversity) · score - diversity · likeness`,
/// likeness being the highest rounded cosine with those chosen before, 0 at least. Equal values
/// come by higher score, then by lower key, then by lower index.
///
/// # Errors
/// When a size is wrong, a number is not finite, a flag is neither 0 nor 1, or `diversity` is no
/// number from 0 to 1.
pub fn select(pool: &Pool<'_>, k: usize, diversity: f64) -> Result<Vec<usize>, RankingError> {
    let count = pool.keys.len();
    if pool.scores.len() != count {
        return Err(RankingError::Length { name: "scores", found: pool.scores.len(), count });
    }
    if let Some(index) = pool.scores.iter().position(|score| !score.is_finite()) {
        return Err(RankingError::NotFinite { name: "scores", index });
    }
    let eligible = flags("eligible", pool.eligible, count)?;
    let packed = finite_numbers("vectors", pool.vectors, count.saturating_mul(pool.dims))?;
    if !(0.0..=1.0).contains(&diversity) {
        return Err(RankingError::Diversity);
    }
    let relevance = 1.0 - diversity;
    let waiting = (0..count).filter(|index| eligible[*index]).map(|index| Candidate {
        value: relevance * pool.scores[index],
        score: pool.scores[index],
        key: pool.keys[index],
        index,
        likeness: 0.0,
        compared: 0,
    });
    let vectors = Vectors::new(packed, pool.dims, count);
    Ok(diverse(waiting.collect(), vectors, k, diversity))
}

/// Evaluates lazily: a value only falls as more are chosen, so the best of the heap, once it is up
/// to date, is the best of all, and the others need no look.
fn diverse(
    mut waiting: BinaryHeap<Candidate<'_>>,
    mut vectors: Vectors<'_>,
    k: usize,
    diversity: f64,
) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < k {
        let Some(mut best) = waiting.peek_mut() else { break };
        if diversity == 0.0 || best.compared == chosen.len() {
            chosen.push(PeekMut::pop(best).index);
            continue;
        }
        let seen = chosen.len().min(best.compared + LOOK);
        let unseen = &chosen[best.compared..seen];
        best.likeness = vectors.likeness(best.index, unseen, best.likeness);
        best.compared = seen;
        best.value = (1.0 - diversity) * best.score - diversity * best.likeness;
    }
    chosen
}

/// One that is not chosen yet; its value is that of the first `compared` chosen ones.
struct Candidate<'a> {
    value: f64,
    score: f64,
    key: &'a str,
    index: usize,
    likeness: f64,
    compared: usize,
}

impl Ord for Candidate<'_> {
    /// The greater is the one to choose first.
    fn cmp(&self, other: &Self) -> Ordering {
        // Not `total_cmp`, to which -0 is less than 0; all are finite, so each has an order.
        let numbers = |one: f64, other: f64| one.partial_cmp(&other).unwrap_or(Ordering::Equal);
        numbers(self.value, other.value)
            .then_with(|| numbers(self.score, other.score))
            .then_with(|| other.key.cmp(self.key))
            .then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate<'_> {}
