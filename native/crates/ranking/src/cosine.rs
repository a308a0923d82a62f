//! Cosines between the candidates of a pool, in float64 and in one fixed order of additions.
//!
//! A product of two `f32` is exact in `f64`, so only the order of the additions matters.
//! The order: number `i` belongs to lane `i % LANES`, a lane adds its products from left to right,
//! then the lanes are added from left to right. Lanes let the compiler use vector registers.

use crate::rounding::rounded;

const LANES: usize = 8;

/// Vectors of a pool. A row is widened to `f64` when it is first looked at: most never are.
pub struct Vectors<'a> {
    packed: &'a [[u8; 4]],
    dims: usize,
    rows: Vec<Option<Row>>,
}

struct Row {
    numbers: Vec<f64>,
    norm: f64,
}

impl<'a> Vectors<'a> {
    pub fn new(packed: &'a [[u8; 4]], dims: usize, count: usize) -> Self {
        Self { packed, dims, rows: std::iter::repeat_with(|| None).take(count).collect() }
    }

    /// Returns the highest rounded cosine of one row with `others`, `start` at least.
    pub fn likeness(&mut self, index: usize, others: &[usize], start: f64) -> f64 {
        self.widen(index);
        for other in others {
            self.widen(*other);
        }
        let row = self.row(index);
        let (pairs, rest) = others.as_chunks::<2>();
        let most = pairs.iter().fold(start, |most, pair| {
            let pair = pair.map(|other| self.row(other));
            let [first, second] = dots(&row.numbers, pair.map(|other| other.numbers.as_slice()));
            most.max(row.cosine(pair[0], first)).max(row.cosine(pair[1], second))
        });
        rest.iter().fold(most, |most, other| {
            let other = self.row(*other);
            let [product] = dots(&row.numbers, [&other.numbers]);
            most.max(row.cosine(other, product))
        })
    }

    fn widen(&mut self, index: usize) {
        if self.rows[index].is_none() {
            let narrow = &self.packed[index * self.dims..][..self.dims];
            let numbers: Vec<f64> =
                narrow.iter().map(|number| f64::from(f32::from_le_bytes(*number))).collect();
            let [square] = dots(&numbers, [&numbers]);
            self.rows[index] = Some(Row { numbers, norm: square.sqrt() });
        }
    }

    fn row(&self, index: usize) -> &Row {
        self.rows[index].as_ref().expect("a row is widened before it is looked at")
    }
}

impl Row {
    /// Zero where either is all zeros: a candidate without a vector is like none.
    fn cosine(&self, other: &Self, product: f64) -> f64 {
        let norms = self.norm * other.norm;
        if norms == 0.0 { 0.0 } else { rounded(product / norms) }
    }
}

/// Multiplies one row with others of its length. Two at a time are nearly as fast as one: the
/// additions of a lane wait for each other, those of two rows do not.
fn dots<const ROWS: usize>(row: &[f64], others: [&[f64]; ROWS]) -> [f64; ROWS] {
    let mut sums = [[0.0; LANES]; ROWS];
    let (blocks, rest) = row.as_chunks::<LANES>();
    let others = others.map(|other| other.as_chunks::<LANES>());
    for (index, block) in blocks.iter().enumerate() {
        for (lanes, (other, _)) in sums.iter_mut().zip(&others) {
            for lane in 0..LANES {
                lanes[lane] += block[lane] * other[index][lane];
            }
        }
    }
    for (lanes, (_, other_rest)) in sums.iter_mut().zip(&others) {
        for (lane, (one, other)) in rest.iter().zip(*other_rest).enumerate() {
            lanes[lane] += one * other;
        }
    }
    sums.map(|lanes| lanes.iter().fold(0.0, |sum, lane| sum + lane))
}
