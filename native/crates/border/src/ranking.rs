//! The scoring rule.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use satchel_ranking::{Around, Pool, RankingError, Table};

use crate::buffer::{bytes_of, count};

type Fused<'py> = (Vec<f64>, Vec<f64>, Bound<'py, PyBytes>);

/// Weigh how often each term is in each candidate: BM25 without length normalisation.
#[pyfunction]
pub fn keyword(
    py: Python<'_>,
    counts: PyBuffer<u8>,
    candidates: i64,
    idf: PyBuffer<u8>,
    k1: f64,
) -> PyResult<Vec<f64>> {
    let counts = bytes_of("counts", &counts)?;
    let idf = bytes_of("idf", &idf)?;
    let candidates = count("candidates", candidates, 0)?;
    py.detach(|| satchel_ranking::keyword(counts, candidates, idf, k1)).map_err(refused)
}

/// Score a pool by its signals and by what stands around: scores, evidence, packed parts.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the columns and rows of the contract, all flat")]
pub fn fuse<'py>(
    py: Python<'py>,
    signals: PyBuffer<u8>,
    weights: PyBuffer<u8>,
    core: PyBuffer<u8>,
    fact: PyBuffer<u8>,
    evidence: PyBuffer<u8>,
    previous: PyBuffer<u8>,
    following: PyBuffer<u8>,
    sessions: PyBuffer<u8>,
    places: PyBuffer<u8>,
    asks: PyBuffer<u8>,
    adjacency: (f64, f64, f64, f64),
    reach: i64,
) -> PyResult<Fused<'py>> {
    let table = Table {
        signals: bytes_of("signals", &signals)?,
        weights: bytes_of("weights", &weights)?,
        core: bytes_of("core", &core)?,
        fact: bytes_of("fact", &fact)?,
        evidence: bytes_of("evidence", &evidence)?,
    };
    let around = Around {
        previous: bytes_of("previous", &previous)?,
        following: bytes_of("following", &following)?,
        sessions: bytes_of("sessions", &sessions)?,
        places: bytes_of("places", &places)?,
        asks: bytes_of("asks", &asks)?,
    };
    let reach = count("reach", reach, 0)?;
    let fused = py
        .detach(|| satchel_ranking::fuse(&table, &around, adjacency.into(), reach))
        .map_err(refused)?;
    let parts: Vec<u8> = fused.parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    Ok((fused.scores, fused.evidence, PyBytes::new(py, &parts)))
}

/// Choose at most `k` of a pool, best first, no two too much alike: indexes of the pool.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a pool and two numbers, all flat")]
pub fn select(
    py: Python<'_>,
    scores: Vec<f64>,
    keys: Vec<PyBackedStr>,
    eligible: PyBuffer<u8>,
    vectors: PyBuffer<u8>,
    dims: i64,
    k: i64,
    diversity: f64,
) -> PyResult<Vec<usize>> {
    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
    let pool = Pool {
        scores: &scores,
        keys: &keys,
        eligible: bytes_of("eligible", &eligible)?,
        vectors: bytes_of("vectors", &vectors)?,
        dims: count("dims", dims, 0)?,
    };
    let k = count("k", k, 0)?;
    py.detach(|| satchel_ranking::select(&pool, k, diversity)).map_err(refused)
}

fn refused(error: RankingError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
