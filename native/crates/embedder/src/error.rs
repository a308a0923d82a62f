//! What can be wrong with a model folder or with a call; nothing here is ever a panic.

use std::path::PathBuf;

use thiserror::Error;

/// Why a model could not be opened, or texts could not be embedded.
#[derive(Debug, Error)]
pub enum EmbedderError {
    /// A file of the folder is not there.
    #[error("`{}` is missing", path.display())]
    FileMissing {
        /// The file.
        path: PathBuf,
    },
    /// A file of the folder can't be read.
    #[error("`{}` can't be read: {source}", path.display())]
    FileUnreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is not JSON of the expected form.
    #[error("`{}` is damaged: {reason}", path.display())]
    FileDamaged {
        /// The file.
        path: PathBuf,
        /// What a reader stumbled over.
        reason: String,
    },
    /// The model is of a kind that is not built in.
    #[error("this engine can't run the model: {reason}")]
    Unsupported {
        /// What it would have to know, with the file that asks for it.
        reason: String,
    },
    /// A weight that the model needs is not in the file.
    #[error("the weights have no tensor `{name}`")]
    TensorMissing {
        /// Its name.
        name: String,
    },
    /// A weight has another shape than `config.json` says.
    #[error("tensor `{name}` has the shape {found:?}, but config.json asks for {expected:?}")]
    TensorShape {
        /// Its name.
        name: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape that the sizes of `config.json` make.
        expected: Vec<usize>,
    },
    /// The tokenizer has tokens that the weights have no row for.
    #[error("the tokenizer has a token {token}, but the weights have rows for {rows} only")]
    VocabularyTooLarge {
        /// The largest id of a token.
        token: u32,
        /// Rows of the word embeddings.
        rows: usize,
    },
    /// The weights made a vector with infinite numbers, with NaN, or, where it should have been
    /// brought to length 1, of zeros.
    #[error("text {index} got a vector that is no direction: the weights are damaged")]
    VectorNotFinite {
        /// Position of the text in the call.
        index: usize,
    },
    /// The observer of the call said to stop.
    #[error("interrupted after {done} of {total} texts")]
    Interrupted {
        /// Texts embedded until then.
        done: usize,
        /// Texts of the call.
        total: usize,
    },
}

impl EmbedderError {
    /// A word for programs, stable over releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FileMissing { .. } => "file_missing",
            Self::FileUnreadable { .. } => "file_unreadable",
            Self::FileDamaged { .. } => "file_damaged",
            Self::Unsupported { .. } => "unsupported",
            Self::TensorMissing { .. } => "tensor_missing",
            Self::TensorShape { .. } => "tensor_shape",
            Self::VocabularyTooLarge { .. } => "vocabulary_too_large",
            Self::VectorNotFinite { .. } => "vector_not_finite",
            Self::Interrupted { .. } => "interrupted",
        }
    }
}
