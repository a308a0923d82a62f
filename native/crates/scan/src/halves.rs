//! Vectors in few bytes: float16 of length one, and int8 codes of those.

use half::f16;

use crate::ScanError;
use crate::cosine::products_of;
use crate::kernel::HALF_BYTES;

const SINGLE_BYTES: usize = size_of::<f32>();
const CODE_MAX: f64 = 127.0;

/// Brings rows of `dims` float32 numbers to length one and rounds them to float16.
///
/// Returns the float16 rows and a flag for each: 0 where a number is not finite, and then, as for a
/// row of zeros, all are zeros. A number is divided in float64, then rounded to float32, then to
/// float16.
///
/// # Errors
/// When `dims` is 0 or the last row is cut short.
pub fn to_halves(vectors: &[u8], dims: usize) -> Result<(Vec<u8>, Vec<u8>), ScanError> {
    let row_bytes = rows(vectors, "vectors", dims, SINGLE_BYTES, "float32")?;
    let mut halves = Vec::with_capacity(vectors.len() / 2);
    let mut flags = Vec::with_capacity(vectors.len() / row_bytes);
    for row in vectors.chunks_exact(row_bytes) {
        let numbers = row.chunks_exact(SINGLE_BYTES).map(single);
        let wide: Vec<f64> = numbers.map(f64::from).collect();
        let squares = products_of(row, &wide);
        flags.push(u8::from(squares.is_finite()));
        let norm = if squares.is_finite() { squares.sqrt() } else { 0.0 };
        halves.extend(wide.iter().flat_map(|number| {
            let scaled = if norm == 0.0 { 0.0 } else { number / norm };
            f16::from_f32(scaled as f32).to_le_bytes()
        }));
    }
    Ok((halves, flags))
}

/// Writes rows of `dims` float16 numbers as int8 codes with a float32 scale for each row.
///
/// # Errors
/// When `dims` is 0 or the last row is cut short.
pub fn to_codes(halves: &[u8], dims: usize) -> Result<(Vec<u8>, Vec<u8>), ScanError> {
    let row_bytes = rows(halves, "halves", dims, HALF_BYTES, "float16")?;
    let mut codes = Vec::with_capacity(halves.len() / 2);
    let mut scales = Vec::with_capacity(halves.len() / row_bytes * SINGLE_BYTES);
    for row in halves.chunks_exact(row_bytes) {
        let numbers = row.chunks_exact(HALF_BYTES).map(|b| f16::from_le_bytes([b[0], b[1]]));
        let wide: Vec<f64> = numbers.map(f64::from).collect();
        let largest = wide.iter().fold(0.0_f64, |largest, number| largest.max(number.abs()));
        scales.extend(((largest / CODE_MAX) as f32).to_le_bytes());
        codes.extend(wide.iter().map(|number| code(*number, largest)));
    }
    Ok((codes, scales))
}

/// The int8 code of a number in a row whose largest is this.
pub fn code(number: f64, largest: f64) -> u8 {
    if largest == 0.0 { 0 } else { (number * CODE_MAX / largest + 0.5).floor() as i8 as u8 }
}

/// Checks that a buffer is a whole number of rows; returns the bytes of one.
pub fn rows(
    packed: &[u8],
    name: &'static str,
    dims: usize,
    number_bytes: usize,
    number: &'static str,
) -> Result<usize, ScanError> {
    let row_bytes = dims.saturating_mul(number_bytes);
    if dims == 0 {
        return Err(ScanError::DimsZero);
    }
    if !packed.len().is_multiple_of(row_bytes) {
        return Err(ScanError::RowsSize { name, bytes: packed.len(), dims, number });
    }
    Ok(row_bytes)
}

fn single(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
