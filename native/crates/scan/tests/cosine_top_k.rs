//! The scan against golden vectors (shared with pytest) and against a naive version of itself.

use proptest::prelude::*;
use satchel_scan::{ScanError, cosine_top_k};
use serde::Deserialize;

const GOLDEN: &str = include_str!("../../../../tests/vectors/ranking/cosine_top_k.json");

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    dims: usize,
    matrix: Vec<Vec<f32>>,
    query: Vec<f32>,
    k: usize,
    expected: Vec<(usize, f64)>,
}

#[derive(Deserialize)]
struct Refused {
    name: String,
    dims: usize,
    matrix_bytes: usize,
    query_bytes: usize,
    error: String,
}

fn packed(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn golden_vectors_hold() {
    let golden: Golden = serde_json::from_str(GOLDEN).unwrap();
    assert!(!golden.cases.is_empty() && !golden.refused.is_empty());
    for case in golden.cases {
        let found =
            cosine_top_k(&packed(&case.matrix.concat()), case.dims, &packed(&case.query), case.k);
        assert_eq!(found, Ok(case.expected), "{}", case.name);
    }
    for case in golden.refused {
        let (matrix, query) = (vec![0; case.matrix_bytes], vec![0; case.query_bytes]);
        let refusal = cosine_top_k(&matrix, case.dims, &query, 1).unwrap_err();
        assert_eq!(refusal.to_string(), case.error, "{}", case.name);
    }
}

#[test]
fn a_number_that_is_not_finite_is_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let good = packed(&[1.0, 1.0]);
        assert_eq!(
            cosine_top_k(&good, 2, &packed(&[1.0, bad]), 1),
            Err(ScanError::QueryNotFinite { index: 1 })
        );
        assert_eq!(
            cosine_top_k(&packed(&[1.0, 1.0, bad, 1.0, 1.0, bad]), 2, &good, 1),
            Err(ScanError::RowNotFinite { row: 1 })
        );
    }
}

#[test]
fn a_matrix_large_enough_for_threads_is_scored_whole() {
    let (dims, rows) = (64, 50_000);
    let query: Vec<f32> = (0..dims).map(|i| (i as f32).sin()).collect();
    let mut matrix = vec![0.0; rows * dims];
    for row in [0, 1, rows / 2, rows - 1] {
        matrix[row * dims..][..dims].copy_from_slice(&query);
    }
    let found = cosine_top_k(&packed(&matrix), dims, &packed(&query), 5).unwrap();
    assert_eq!(found, [(0, 1.0), (1, 1.0), (rows / 2, 1.0), (rows - 1, 1.0), (2, 0.0)]);
    matrix[(rows - 1) * dims] = f32::NAN;
    matrix[(rows / 2) * dims] = f32::NAN;
    assert_eq!(
        cosine_top_k(&packed(&matrix), dims, &packed(&query), 5),
        Err(ScanError::RowNotFinite { row: rows / 2 })
    );
}

fn naive(matrix: &[Vec<f32>], query: &[f32]) -> Vec<f64> {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let cosine = |row: &Vec<f32>| {
        let norms = (dot(row, row) * dot(query, query)).sqrt();
        if norms == 0.0 { 0.0 } else { dot(row, query) / norms }
    };
    matrix.iter().map(cosine).collect()
}

prop_compose! {
    fn scans()(dims in 1_usize..40)(
        matrix in prop::collection::vec(prop::collection::vec(-1e3_f32..1e3, dims), 0..30),
        query in prop::collection::vec(-1e3_f32..1e3, dims),
        k in 0_usize..35,
    ) -> (Vec<Vec<f32>>, Vec<f32>, usize) {
        (matrix, query, k)
    }
}

proptest! {
    #[test]
    fn agrees_with_the_naive_version((matrix, query, k) in scans()) {
        let packed_matrix = packed(&matrix.concat());
        let found = cosine_top_k(&packed_matrix, query.len(), &packed(&query), k).unwrap();
        let scores = naive(&matrix, &query);
        prop_assert_eq!(found.len(), k.min(matrix.len()));
        for (row, score) in &found {
            prop_assert!((score - scores[*row]).abs() < 1e-6);
        }
        for pair in found.windows(2) {
            let ((row, score), (next_row, next_score)) = (pair[0], pair[1]);
            prop_assert!(score > next_score || (score == next_score && row < next_row));
        }
        let returned: std::collections::HashSet<_> = found.iter().map(|(row, _)| *row).collect();
        if let Some((_, worst)) = found.last() {
            for (row, score) in scores.iter().enumerate() {
                prop_assert!(returned.contains(&row) || *score < worst + 1e-6);
            }
        }
    }
}
