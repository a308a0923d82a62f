//! The best of a stream of scored rows: higher score first, then lower row.

use std::cmp::Ordering;

/// A row and its score.
pub type Scored = (usize, f32);

/// Keeps the best `most` of what it is given, by a cut now and then.
pub struct Best {
    most: usize,
    kept: Vec<Scored>,
    /// Nothing that is not above this is among the best.
    threshold: f32,
}

impl Best {
    /// Keeps nothing yet.
    pub fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), threshold: f32::NEG_INFINITY }
    }

    /// Offers a row; rows must come in order, for equal scores.
    pub fn offer(&mut self, row: usize, score: f32) {
        if score > self.threshold || self.kept.len() < self.most {
            self.kept.push((row, score));
            if self.kept.len() >= 2 * self.most + 256 {
                self.cut();
            }
        }
    }

    /// The best of all that was offered to any of these, best first.
    pub fn of_all(all: impl IntoIterator<Item = Self>, most: usize) -> Vec<Scored> {
        let mut whole = Self::new(most);
        whole.kept = all.into_iter().flat_map(|best| best.kept).collect();
        whole.cut();
        whole.kept.sort_unstable_by(better_first);
        whole.kept
    }

    fn cut(&mut self) {
        if self.most < self.kept.len() {
            if self.most > 0 {
                self.kept.select_nth_unstable_by(self.most - 1, better_first);
                self.threshold = self.kept[self.most - 1].1;
            }
            self.kept.truncate(self.most);
        }
    }
}

fn better_first(a: &Scored, b: &Scored) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::Best;

    #[test]
    fn the_best_of_many_are_kept_and_equal_ones_by_lower_row() {
        let mut best = Best::new(3);
        for row in 0..10_000 {
            best.offer(row, (row % 100) as f32);
        }
        assert_eq!(Best::of_all([best], 3), [(99, 99.0), (199, 99.0), (299, 99.0)]);
    }

    #[test]
    fn none_and_fewer_than_wanted() {
        let mut best = Best::new(0);
        best.offer(1, 1.0);
        assert_eq!(Best::of_all([best], 0), []);
        let mut best = Best::new(9);
        best.offer(1, -1.0);
        best.offer(2, 1.0);
        assert_eq!(Best::of_all([best], 9), [(2, 1.0), (1, -1.0)]);
    }
}
