//! The one rounding of the ranking.

/// Rounds to 1e-6, halves up. The pure rule takes the same three steps, so the last bit agrees.
pub fn rounded(number: f64) -> f64 {
    (number * 1e6 + 0.5).floor() / 1e6
}
