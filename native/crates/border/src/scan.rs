//! The scans over packed vectors.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffer::{bytes_of, count};

/// Find the `k` rows of `matrix` most similar to `query` by cosine: `(row, score)`, best first.
#[pyfunction]
pub fn cosine_top_k(
    py: Python<'_>,
    matrix: PyBuffer<u8>,
    dims: i64,
    query: PyBuffer<u8>,
    k: i64,
) -> PyResult<Vec<(usize, f64)>> {
    let dims = count("dims", dims, 1)?;
    let k = count("k", k, 0)?;
    let matrix = bytes_of("matrix", &matrix)?;
    let query = bytes_of("query", &query)?;
    py.detach(|| satchel_scan::cosine_top_k(matrix, dims, query, k))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
