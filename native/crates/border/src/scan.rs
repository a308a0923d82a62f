//! The scans over packed vectors.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

/// Bring rows of `dims` float32 numbers to length one and round them to float16: rows and flags.
#[pyfunction]
pub fn to_halves<'py>(
    py: Python<'py>,
    vectors: PyBuffer<u8>,
    dims: i64,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let dims = count("dims", dims, 1)?;
    let vectors = bytes_of("vectors", &vectors)?;
    let found = py.detach(|| satchel_scan::to_halves(vectors, dims));
    pair_of_bytes(py, found)
}

/// Write rows of `dims` float16 numbers as int8: codes, and a float32 scale for each row.
#[pyfunction]
pub fn to_codes<'py>(
    py: Python<'py>,
    halves: PyBuffer<u8>,
    dims: i64,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let dims = count("dims", dims, 1)?;
    let halves = bytes_of("halves", &halves)?;
    let found = py.detach(|| satchel_scan::to_codes(halves, dims));
    pair_of_bytes(py, found)
}

/// Find candidates for the rows most similar to `query` by cosine: `(row, score)`, best first.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the contract's, all flat
pub fn scan_halves(
    py: Python<'_>,
    halves: PyBuffer<u8>,
    dims: i64,
    query: PyBuffer<u8>,
    labels: PyBuffer<u8>,
    allowed: PyBuffer<u8>,
    k: i64,
    margin: f64,
    codes: PyBuffer<u8>,
    scales: PyBuffer<u8>,
) -> PyResult<Vec<(usize, f32)>> {
    let dims = count("dims", dims, 1)?;
    let k = count("k", k, 0)?;
    let matrix = satchel_scan::Matrix {
        halves: bytes_of("halves", &halves)?,
        dims,
        labels: bytes_of("labels", &labels)?,
        allowed: bytes_of("allowed", &allowed)?,
        codes: bytes_of("codes", &codes)?,
        scales: bytes_of("scales", &scales)?,
    };
    let query = bytes_of("query", &query)?;
    py.detach(|| satchel_scan::scan_halves(&matrix, query, k, margin))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn pair_of_bytes(
    py: Python<'_>,
    found: Result<(Vec<u8>, Vec<u8>), satchel_scan::ScanError>,
) -> PyResult<Pair<'_>> {
    let (first, second) = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((PyBytes::new(py, &first), PyBytes::new(py, &second)))
}
