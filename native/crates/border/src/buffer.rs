//! Values of Python as the engines take them: counts checked, buffers borrowed.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;

/// Checks a count that Python gave.
pub fn count(name: &str, value: i64, least: usize) -> PyResult<usize> {
    usize::try_from(value).ok().filter(|count| *count >= least).ok_or_else(|| {
        PyValueError::new_err(format!("`{name}` must be {least} or more, got {value}"))
    })
}

/// Borrows the bytes of a buffer without a copy.
pub fn bytes_of<'a>(name: &str, buffer: &'a PyBuffer<u8>) -> PyResult<&'a [u8]> {
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
