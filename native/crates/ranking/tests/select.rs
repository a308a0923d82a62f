//! The lazy selection against one that looks at every candidate in every step.

use proptest::prelude::*;
use satchel_ranking::{Pool, RankingError, select};

const DIMS: usize = 11;

#[derive(Debug, Clone)]
struct Candidate {
    score: f64,
    key: String,
    eligible: bool,
    vector: Vec<f32>,
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let score = prop_oneof![Just(0.0), Just(-0.0), Just(1.0), -3.0..3.0f64];
    let whole = prop_oneof![Just(0.0f32), Just(1.0), Just(-1.0), Just(2.0)];
    let vector = prop_oneof![
        Just(vec![0.0; DIMS]),
        Just(vec![1.0; DIMS]),
        prop::collection::vec(whole, DIMS),
        prop::collection::vec(-1e30..1e30f32, DIMS),
    ];
    (score, "[a-cé文]{0,2}", prop::bool::weighted(0.8), vector)
        .prop_map(|(score, key, eligible, vector)| Candidate { score, key, eligible, vector })
}

fn chosen(pool: &[Candidate], k: usize, diversity: f64) -> Result<Vec<usize>, RankingError> {
    let scores: Vec<f64> = pool.iter().map(|one| one.score).collect();
    let keys: Vec<&str> = pool.iter().map(|one| one.key.as_str()).collect();
    let eligible: Vec<u8> = pool.iter().map(|one| one.eligible.into()).collect();
    let vectors: Vec<u8> =
        pool.iter().flat_map(|one| &one.vector).flat_map(|number| number.to_le_bytes()).collect();
    let pool =
        Pool { scores: &scores, keys: &keys, eligible: &eligible, vectors: &vectors, dims: DIMS };
    select(&pool, k, diversity)
}

fn dot(left: &[f32], right: &[f32]) -> f64 {
    let mut lanes = [0.0; 8];
    for (index, (one, other)) in left.iter().zip(right).enumerate() {
        lanes[index % 8] += f64::from(*one) * f64::from(*other);
    }
    lanes.iter().sum()
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let norms = dot(left, left).sqrt() * dot(right, right).sqrt();
    if norms == 0.0 { 0.0 } else { (dot(left, right) / norms * 1e6 + 0.5).floor() / 1e6 }
}

fn naive(pool: &[Candidate], k: usize, diversity: f64) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < k {
        let value = |one: &Candidate| {
            let likeness = chosen
                .iter()
                .map(|other| cosine(&one.vector, &pool[*other].vector))
                .fold(0.0, f64::max);
            (1.0 - diversity) * one.score - diversity * likeness
        };
        let waiting =
            (0..pool.len()).filter(|index| pool[*index].eligible && !chosen.contains(index));
        let best = waiting.min_by(|left, right| {
            let (one, other) = (&pool[*left], &pool[*right]);
            (value(other).partial_cmp(&value(one)).unwrap())
                .then(other.score.partial_cmp(&one.score).unwrap())
                .then(one.key.cmp(&other.key))
        });
        let Some(best) = best else { break };
        chosen.push(best);
    }
    chosen
}

proptest! {
    #[test]
    fn it_chooses_what_a_look_at_everyone_chooses(
        pool in prop::collection::vec(candidate(), 0..24),
        k in 0..30usize,
        diversity in prop_oneof![Just(0.0), Just(1.0), Just(0.05), 0.0..=1.0f64],
    ) {
        prop_assert_eq!(chosen(&pool, k, diversity), Ok(naive(&pool, k, diversity)));
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    let whole = Candidate { score: 1.0, key: "a".into(), eligible: true, vector: vec![0.0; DIMS] };
    let mut bad_vector = whole.clone();
    bad_vector.vector[3] = f32::NAN;
    let refused = RankingError::NotFinite { name: "vectors", index: DIMS + 3 };
    assert_eq!(chosen(&[whole.clone(), bad_vector], 1, 0.1), Err(refused));
    let bad_score = Candidate { score: f64::INFINITY, ..whole.clone() };
    let refused = RankingError::NotFinite { name: "scores", index: 0 };
    assert_eq!(chosen(&[bad_score], 1, 0.1), Err(refused));
    assert_eq!(chosen(&[whole], 1, f64::NAN), Err(RankingError::Diversity));
}
