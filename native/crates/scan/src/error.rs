//! What can be wrong with the input of a scan; the wording is shared with `satchel.ranking.pure`.

use thiserror::Error;

/// Why a scan was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScanError {
    /// A vector has at least one number.
    #[error("`dims` must be 1 or more, got 0")]
    DimsZero,
    /// The query is no vector of `dims` numbers.
    #[error("`query` holds {bytes} bytes, but {dims} float32 numbers were expected")]
    QuerySize {
        /// Length of the query given.
        bytes: usize,
        /// Numbers in a vector.
        dims: usize,
    },
    /// A number of the query is infinite or not a number.
    #[error("`query` number {index} is not finite")]
    QueryNotFinite {
        /// Position of the first such number.
        index: usize,
    },
    /// The matrix does not end at the end of a row.
    #[error(
        "`matrix` holds {bytes} bytes, which is no whole number of rows of {dims} float32 numbers"
    )]
    MatrixSize {
        /// Length of the matrix given.
        bytes: usize,
        /// Numbers in a row.
        dims: usize,
    },
    /// A number of a row is infinite or not a number.
    #[error("`matrix` row {row} holds a number that is not finite")]
    RowNotFinite {
        /// The first such row.
        row: usize,
    },
    /// A buffer of rows does not end at the end of a row.
    #[error(
        "`{name}` holds {bytes} bytes, which is no whole number of rows of {dims} {number} numbers"
    )]
    RowsSize {
        /// The argument.
        name: &'static str,
        /// Length of the buffer given.
        bytes: usize,
        /// Numbers in a row.
        dims: usize,
        /// What a number is.
        number: &'static str,
    },
    /// A buffer has another size than the rows demand.
    #[error("`{name}` holds {bytes} bytes, but {expected} were expected")]
    Size {
        /// The argument.
        name: &'static str,
        /// Length of the buffer given.
        bytes: usize,
        /// Length that fits the rows.
        expected: usize,
    },
    /// A margin is a distance.
    #[error("`margin` must be 0 or more, got {margin}")]
    Margin {
        /// What was given.
        margin: String,
    },
}
