//! Fusion: weighted signals and what stands around a candidate become its score.

use crate::RankingError;
use crate::packed::{check_small, flags, indexes, integers, small_numbers};
use crate::rounding::rounded;

/// What the question before is worth, and the best of session, neighbours and window.
pub type Adjacency = [f64; 4];

/// Signals of a pool, packed: n rows of S f64 numbers, S weights, and S flags each.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    /// A row for each candidate.
    pub signals: &'a [u8],
    /// What each column is worth.
    pub weights: &'a [u8],
    /// Columns that are what the text itself says.
    pub core: &'a [u8],
    /// Columns that join them before sessions are compared.
    pub fact: &'a [u8],
    /// Columns that are summed as evidence.
    pub evidence: &'a [u8],
}

/// What stands around each of n candidates, packed: i32 numbers, and flags.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// Index of what was said before; -1 for nothing.
    pub previous: &'a [u8],
    /// Index of what was said after; -1 for nothing.
    pub following: &'a [u8],
    /// Number of the session, from 0 to n - 1; -1 for none.
    pub sessions: &'a [u8],
    /// Place in its session.
    pub places: &'a [u8],
    /// Whether it asks something.
    pub asks: &'a [u8],
}

/// What fusion gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// One a candidate.
    pub scores: Vec<f64>,
    /// One a candidate.
    pub evidence: Vec<f64>,
    /// A row of S + 4 for each candidate: its columns, asked, session, neighbour, window.
    pub parts: Vec<f64>,
}

/// Scores every candidate: the formula stands in `satchel.ranking.contract`.
///
/// A window reaches `reach` places to either side.
///
/// # Errors
/// When a size is wrong, an index points outside the pool, a flag is neither 0 nor 1, a number is
/// huge or none, or a column is both core and fact.
pub fn fuse(
    table: &Table<'_>,
    around: &Around<'_>,
    adjacency: Adjacency,
    reach: usize,
) -> Result<Fused, RankingError> {
    let candidates = around.asks.len();
    let columns = Columns::read(table, candidates)?;
    let previous = indexes("previous", around.previous, candidates)?;
    let following = indexes("following", around.following, candidates)?;
    let sessions = indexes("sessions", around.sessions, candidates)?;
    let places = integers("places", around.places, candidates)?;
    let asks = flags("asks", around.asks, candidates)?;
    check_small("adjacency", &adjacency)?;
    let [asked_weight, session_weight, neighbour_weight, window_weight] = adjacency;

    let own: Vec<f64> =
        (0..candidates).map(|index| columns.sum(0.0, index, &columns.core)).collect();
    let asked: Vec<f64> = previous
        .iter()
        .map(|before| match before {
            Some(before) if asks[*before] => rounded(asked_weight * own[*before]),
            _ => 0.0,
        })
        .collect();
    let facts: Vec<f64> = (0..candidates)
        .map(|index| columns.sum(own[index], index, &columns.fact) + asked[index])
        .collect();
    let session = best_of_sessions(&sessions, &facts);
    let window = best_within(&sessions, &places, &facts, reach);

    let mut fused = Fused {
        scores: Vec::with_capacity(candidates),
        evidence: Vec::with_capacity(candidates),
        parts: Vec::with_capacity(candidates * (columns.width + 4)),
    };
    for index in 0..candidates {
        let first = fused.parts.len();
        let beside = [previous[index], following[index]].into_iter().flatten();
        let neighbour = beside.fold(own[index], |most, other| most.max(own[other]));
        fused.parts.extend_from_slice(columns.row(index));
        fused.parts.extend([
            asked[index],
            rounded(session_weight * session[index]),
            rounded(neighbour_weight * neighbour),
            rounded(window_weight * window[index]),
        ]);
        let score = fused.parts[first..].iter().fold(0.0, |sum, part| sum + part);
        fused.scores.push(rounded(score));
        fused.evidence.push(rounded(columns.sum(0.0, index, &columns.evidence)));
    }
    Ok(fused)
}

/// Contributions of the signals, row by row, and which columns count for what.
struct Columns {
    width: usize,
    contributions: Vec<f64>,
    core: Vec<usize>,
    fact: Vec<usize>,
    evidence: Vec<usize>,
}

impl Columns {
    fn read(table: &Table<'_>, candidates: usize) -> Result<Self, RankingError> {
        let width = table.core.len();
        let mut numbers =
            small_numbers("signals", table.signals, candidates.saturating_mul(width))?;
        let weights = small_numbers("weights", table.weights, width)?;
        let core = flags("core", table.core, width)?;
        let fact = flags("fact", table.fact, width)?;
        let evidence = flags("evidence", table.evidence, width)?;
        if let Some(column) = (0..width).find(|column| core[*column] && fact[*column]) {
            return Err(RankingError::CoreAndFact { column });
        }
        if width > 0 {
            for row in numbers.chunks_exact_mut(width) {
                for (number, weight) in row.iter_mut().zip(&weights) {
                    *number = rounded(*number * weight);
                }
            }
        }
        let [core, fact, evidence] = [core, fact, evidence].map(marked);
        Ok(Self { width, contributions: numbers, core, fact, evidence })
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.contributions[index * self.width..][..self.width]
    }

    /// Adds the columns, from left to right, to `start`.
    fn sum(&self, start: f64, index: usize, columns: &[usize]) -> f64 {
        let row = self.row(index);
        columns.iter().fold(start, |sum, column| sum + row[*column])
    }
}

fn marked(flags: Vec<bool>) -> Vec<usize> {
    flags.iter().enumerate().filter_map(|(index, flag)| flag.then_some(index)).collect()
}

/// The best of each one's session; its own where it has none.
fn best_of_sessions(sessions: &[Option<usize>], facts: &[f64]) -> Vec<f64> {
    let mut best = vec![f64::NEG_INFINITY; facts.len()];
    for (session, found) in sessions.iter().zip(facts) {
        if let Some(session) = session {
            best[*session] = best[*session].max(*found);
        }
    }
    let best_of = |(session, found): (&Option<usize>, &f64)| session.map_or(*found, |of| best[of]);
    sessions.iter().zip(facts).map(best_of).collect()
}

/// The best of those of one session that are at most `reach` places away, itself included.
fn best_within(
    sessions: &[Option<usize>],
    places: &[i32],
    facts: &[f64],
    reach: usize,
) -> Vec<f64> {
    let mut best = facts.to_vec();
    let mut at: Vec<(usize, i32, usize)> = (0..facts.len())
        .filter_map(|index| sessions[index].map(|session| (session, places[index], index)))
        .collect();
    at.sort_unstable();
    for (nth, &(session, place, index)) in at.iter().enumerate() {
        let near = at[nth + 1..].iter().take_while(|(other_session, other_place, _)| {
            *other_session == session && other_place.abs_diff(place) as usize <= reach
        });
        for &(_, _, other) in near {
            best[index] = best[index].max(facts[other]);
            best[other] = best[other].max(facts[index]);
        }
    }
    best
}
