//! Reads packed little-endian arguments, each checked.

use crate::RankingError;

/// Signals and weights are small; below this no sum or product of them can overflow.
pub const LARGEST: i64 = 1_000_000;

/// Reads `count` float64 numbers that are not huge.
pub fn small_numbers(
    name: &'static str,
    bytes: &[u8],
    count: usize,
) -> Result<Vec<f64>, RankingError> {
    let numbers: Vec<f64> = numbers(name, "float64 numbers", bytes, count, f64::from_le_bytes)?;
    check_small(name, &numbers)?;
    Ok(numbers)
}

/// Refuses a number that is huge, or none.
pub fn check_small(name: &'static str, numbers: &[f64]) -> Result<(), RankingError> {
    match numbers.iter().position(|number| !is_small(*number)) {
        None => Ok(()),
        Some(index) => Err(RankingError::NotSmall { name, index }),
    }
}

/// Whether it is a number and not huge.
pub fn is_small(number: f64) -> bool {
    number.abs() <= LARGEST as f64
}

/// Reads `count` uint32 numbers.
pub fn counts(name: &'static str, bytes: &[u8], count: usize) -> Result<Vec<u32>, RankingError> {
    numbers(name, "uint32 numbers", bytes, count, u32::from_le_bytes)
}

/// Reads `count` int32 numbers.
pub fn integers(name: &'static str, bytes: &[u8], count: usize) -> Result<Vec<i32>, RankingError> {
    numbers(name, "int32 numbers", bytes, count, i32::from_le_bytes)
}

/// Checks that there are `count` finite float32 numbers, and leaves them packed.
pub fn finite_numbers<'a>(
    name: &'static str,
    bytes: &'a [u8],
    count: usize,
) -> Result<&'a [[u8; 4]], RankingError> {
    let (packed, rest) = bytes.as_chunks::<4>();
    if packed.len() != count || !rest.is_empty() {
        return Err(RankingError::Size {
            name,
            bytes: bytes.len(),
            count,
            kind: "float32 numbers",
        });
    }
    // Without an early end, many numbers are looked at in one step.
    let bad = |number: &[u8; 4]| !f32::from_le_bytes(*number).is_finite();
    if packed.iter().fold(false, |found, number| found | bad(number)) {
        let index = packed.iter().position(bad).unwrap_or_default();
        return Err(RankingError::NotFinite { name, index });
    }
    Ok(packed)
}

/// Reads `count` indexes of a pool of as many; -1 is none.
pub fn indexes(
    name: &'static str,
    bytes: &[u8],
    count: usize,
) -> Result<Vec<Option<usize>>, RankingError> {
    let found = integers(name, bytes, count)?;
    let read = |(place, index): (usize, i32)| match usize::try_from(index) {
        Ok(within) if within < count => Ok(Some(within)),
        Err(_) if index == -1 => Ok(None),
        _ => Err(RankingError::Index { name, place, index, count }),
    };
    found.into_iter().enumerate().map(read).collect()
}

/// Checks that there are `count` flags, each of one byte, 0 or 1.
pub fn flags(name: &'static str, bytes: &[u8], count: usize) -> Result<Vec<bool>, RankingError> {
    if bytes.len() != count {
        return Err(RankingError::Size { name, bytes: bytes.len(), count, kind: "flags" });
    }
    let read = |(index, flag): (usize, &u8)| match flag {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(RankingError::Flag { name, index, flag: *flag }),
    };
    bytes.iter().enumerate().map(read).collect()
}

fn numbers<Number, const BYTES: usize>(
    name: &'static str,
    kind: &'static str,
    bytes: &[u8],
    count: usize,
    read: impl Fn([u8; BYTES]) -> Number,
) -> Result<Vec<Number>, RankingError> {
    let (chunks, rest) = bytes.as_chunks::<BYTES>();
    if chunks.len() != count || !rest.is_empty() {
        return Err(RankingError::Size { name, bytes: bytes.len(), count, kind });
    }
    Ok(chunks.iter().map(|chunk| read(*chunk)).collect())
}
