//! Texts to vectors with BERT and XLM-RoBERTa models, on the CPU.
//!
//! Start with `embedder.rs`, then `model.rs`; the arithmetic is in `kernel`.

mod attention;
mod batch;
mod config;
mod embedder;
mod error;
mod folder;
mod kernel;
mod layer;
mod linear;
mod model;
mod table;
mod tokenizer;
mod weights;
mod wordpiece;

pub use embedder::Embedder;
pub use error::EmbedderError;

#[cfg(test)]
mod tests;
