//! The best `k` of a list of scores, in a total order: higher score first, then lower index.

use std::cmp::Ordering;

/// Returns `(index, score)` of the best `k`; `scores` must hold no NaN.
pub fn top_k(scores: &[f64], k: usize) -> Vec<(usize, f64)> {
    let mut ranked: Vec<(usize, f64)> = scores.iter().copied().enumerate().collect();
    if k == 0 {
        return Vec::new();
    }
    if k < ranked.len() {
        ranked.select_nth_unstable_by(k - 1, better_first);
        ranked.truncate(k);
    }
    ranked.sort_unstable_by(better_first);
    ranked
}

fn better_first(a: &(usize, f64), b: &(usize, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::top_k;

    #[test]
    fn equal_scores_come_by_lower_index() {
        assert_eq!(top_k(&[0.5, 0.9, 0.5, 0.9], 3), [(1, 0.9), (3, 0.9), (0, 0.5)]);
    }

    #[test]
    fn more_than_there_are_gives_all_and_none_gives_none() {
        assert_eq!(top_k(&[0.1], 5), [(0, 0.1)]);
        assert_eq!(top_k(&[], 5), []);
        assert_eq!(top_k(&[0.1], 0), []);
    }
}
