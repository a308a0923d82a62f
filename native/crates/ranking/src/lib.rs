//! The scoring rule: keyword evidence, signals to scores, scores to an order with diversity.
//!
//! The rule is the one of `satchel.ranking.pure`, number for number: both add in the same order and
//! round in the same way.

#![forbid(unsafe_code)]

mod cosine;
mod error;
mod fuse;
mod keyword;
mod packed;
mod rounding;
mod select;

pub use error::RankingError;
pub use fuse::{Adjacency, Around, Fused, Table, fuse};
pub use keyword::keyword;
pub use select::{Pool, select};
