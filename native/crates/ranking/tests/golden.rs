//! The ranking against golden vectors, shared with pytest.

use std::fmt::Debug;

use satchel_ranking::{Around, Fused, Pool, Table, fuse, keyword, select};
use serde::Deserialize;
use serde::de::DeserializeOwned;

const KEYWORD: &str = include_str!("../../../../tests/vectors/ranking/keyword.json");
const FUSE: &str = include_str!("../../../../tests/vectors/ranking/fuse.json");
const SELECT: &str = include_str!("../../../../tests/vectors/ranking/select.json");

#[derive(Deserialize)]
struct Golden<Case> {
    cases: Vec<Case>,
}

fn cases<Case: DeserializeOwned>(text: &str) -> Vec<Case> {
    let golden: Golden<Case> = serde_json::from_str(text).unwrap();
    assert!(!golden.cases.is_empty());
    golden.cases
}

fn packed<Number, const BYTES: usize>(
    numbers: impl IntoIterator<Item = Number>,
    to_bytes: impl Fn(Number) -> [u8; BYTES],
) -> Vec<u8> {
    numbers.into_iter().flat_map(to_bytes).collect()
}

fn flags(flags: &[bool]) -> Vec<u8> {
    flags.iter().copied().map(u8::from).collect()
}

/// Bit for bit: -0 is not 0.
fn assert_same(found: &impl Debug, expected: &impl Debug, name: &str) {
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}");
}

#[derive(Deserialize)]
struct KeywordCase {
    name: String,
    counts: Vec<Vec<u32>>,
    idf: Vec<f64>,
    k1: f64,
    expected: Vec<f64>,
}

#[test]
fn keyword_keeps_its_golden_vectors() {
    for case in cases::<KeywordCase>(KEYWORD) {
        let counts = packed(case.counts.concat(), u32::to_le_bytes);
        let idf = packed(case.idf, f64::to_le_bytes);
        let found = keyword(&counts, case.counts.len(), &idf, case.k1).unwrap();
        assert_same(&found, &case.expected, &case.name);
    }
}

#[derive(Deserialize)]
struct FuseCase {
    name: String,
    signals: Vec<Vec<f64>>,
    weights: Vec<f64>,
    core: Vec<bool>,
    fact: Vec<bool>,
    evidence: Vec<bool>,
    previous: Vec<i32>,
    following: Vec<i32>,
    sessions: Vec<i32>,
    places: Vec<i32>,
    asks: Vec<bool>,
    adjacency: [f64; 4],
    reach: usize,
    expected: ExpectedFused,
}

#[derive(Deserialize)]
struct ExpectedFused {
    scores: Vec<f64>,
    evidence: Vec<f64>,
    parts: Vec<Vec<f64>>,
}

#[test]
fn fuse_keeps_its_golden_vectors() {
    for case in cases::<FuseCase>(FUSE) {
        let table = Table {
            signals: &packed(case.signals.concat(), f64::to_le_bytes),
            weights: &packed(case.weights, f64::to_le_bytes),
            core: &flags(&case.core),
            fact: &flags(&case.fact),
            evidence: &flags(&case.evidence),
        };
        let around = Around {
            previous: &packed(case.previous, i32::to_le_bytes),
            following: &packed(case.following, i32::to_le_bytes),
            sessions: &packed(case.sessions, i32::to_le_bytes),
            places: &packed(case.places, i32::to_le_bytes),
            asks: &flags(&case.asks),
        };
        let ExpectedFused { scores, evidence, parts } = case.expected;
        let expected = Fused { scores, evidence, parts: parts.concat() };
        let found = fuse(&table, &around, case.adjacency, case.reach).unwrap();
        assert_same(&found, &expected, &case.name);
    }
}

#[derive(Deserialize)]
struct SelectCase {
    name: String,
    scores: Vec<f64>,
    keys: Vec<String>,
    eligible: Vec<bool>,
    vectors: Vec<Vec<f32>>,
    dims: usize,
    k: usize,
    diversity: f64,
    expected: Vec<usize>,
}

#[test]
fn select_keeps_its_golden_vectors() {
    for case in cases::<SelectCase>(SELECT) {
        let keys: Vec<&str> = case.keys.iter().map(String::as_str).collect();
        let pool = Pool {
            scores: &case.scores,
            keys: &keys,
            eligible: &flags(&case.eligible),
            vectors: &packed(case.vectors.concat(), f32::to_le_bytes),
            dims: case.dims,
        };
        let found = select(&pool, case.k, case.diversity).unwrap();
        assert_same(&found, &case.expected, &case.name);
    }
}
