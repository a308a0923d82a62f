//! The border to Python: converts values, releases the GIL, maps errors. No rule lives here.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;

/// Raised when a signature or the meaning of a function changes; `satchel.ranking` refuses others.
const CONTRACT: u32 = 1;

#[pymodule(name = "_core")]
mod core {
    use super::{CONTRACT, PyModule, PyModuleMethods, PyResult};
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::cosine_top_k;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("CONTRACT", CONTRACT)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Find the `k` rows of `matrix` most similar to `query` by cosine: `(row, score)`, best first.
#[pyfunction]
fn cosine_top_k(
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

fn count(name: &str, value: i64, least: usize) -> PyResult<usize> {
    usize::try_from(value).ok().filter(|count| *count >= least).ok_or_else(|| {
        PyValueError::new_err(format!("`{name}` must be {least} or more, got {value}"))
    })
}

/// Borrows the bytes of a buffer without a copy.
fn bytes_of<'a>(name: &str, buffer: &'a PyBuffer<u8>) -> PyResult<&'a [u8]> {
    if buffer.item_count() == 0 {
        return Ok(&[]);
    }
    let bytes = buffer.as_slice_ptr().ok_or_else(|| {
        PyBufferError::new_err(format!("`{name}` must be one contiguous run of bytes"))
    })?;
    // SAFETY: the buffer is held for as long as the slice, so its memory stays where it is. The
    // Python contract forbids writing to it during the call; the usual sources (bytes, a read-only
    // mmap) can't be written to at all.
    Ok(unsafe { bytes.as_ref() })
}
