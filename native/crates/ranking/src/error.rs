//! What can be wrong with the input of the ranking; the wording is that of `satchel.ranking.pure`.

use thiserror::Error;

use crate::packed::LARGEST;

/// Why an argument was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RankingError {
    /// A buffer is too short or too long.
    #[error("`{name}` holds {bytes} bytes, but {count} {kind} were expected")]
    Size {
        /// The argument.
        name: &'static str,
        /// Its length.
        bytes: usize,
        /// How many numbers or flags it must hold.
        count: usize,
        /// What it must hold.
        kind: &'static str,
    },
    /// A number is huge, or none.
    #[error("`{name}` number {index} is not a number from -{LARGEST} to {LARGEST}")]
    NotSmall {
        /// The argument.
        name: &'static str,
        /// The first such number.
        index: usize,
    },
    /// A number is infinite or none.
    #[error("`{name}` number {index} is not finite")]
    NotFinite {
        /// The argument.
        name: &'static str,
        /// The first such number.
        index: usize,
    },
    /// An index points outside the pool.
    #[error("`{name}` number {place} is {index}, which is neither -1 nor below {count}")]
    Index {
        /// The argument.
        name: &'static str,
        /// Where the index stands.
        place: usize,
        /// The index.
        index: i32,
        /// Candidates in the pool.
        count: usize,
    },
    /// A flag is no flag.
    #[error("`{name}` flag {index} is {flag}, which is neither 0 nor 1")]
    Flag {
        /// The argument.
        name: &'static str,
        /// The first such flag.
        index: usize,
        /// The byte there.
        flag: u8,
    },
    /// A column can't be both, it would count twice.
    #[error("column {column} is both core and fact")]
    CoreAndFact {
        /// The first such column.
        column: usize,
    },
    /// A list is too short or too long.
    #[error("`{name}` holds {found} numbers, but {count} were expected")]
    Length {
        /// The argument.
        name: &'static str,
        /// Its length.
        found: usize,
        /// What it must be.
        count: usize,
    },
    /// The saturation of keywords is no such number.
    #[error("`k1` is not a number above 0 and up to {LARGEST}")]
    Saturation,
    /// The share of diversity is no share.
    #[error("`diversity` is not a number from 0 to 1")]
    Diversity,
}
