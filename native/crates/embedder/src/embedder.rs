//! The engine as others see it: open a folder, count tokens, embed texts.

use std::path::Path;

use crate::EmbedderError;
use crate::batch;
use crate::config::Config;
use crate::folder::{Folder, damaged};
use crate::kernel::Kernel;
use crate::model::Model;
use crate::tokenizer::Tokenizer;

/// Texts are tokenized in slices of this size, between which the caller is asked whether to go on.
const TOKENIZED_AT_ONCE: usize = 256;
/// Tokens that are used at most where no file says so, as in sentence-transformers.
const TOKENS_MAX_DEFAULT: usize = 512;
/// A window that holds no word besides the tokens around it is of no use.
const WINDOW_MIN: usize = 3;

/// A model with its tokenizer. The same text gives the same vector in any batch and on any number
/// of threads.
pub struct Embedder {
    tokenizer: Tokenizer,
    model: Model,
    window: usize,
}

impl Embedder {
    /// Opens a folder in the layout of sentence-transformers, with a model of BERT's or
    /// XLM-RoBERTa's family. Weights are mapped, not read.
    ///
    /// # Errors
    /// When a file is missing or damaged, or the model is of another kind.
    pub fn open(root: &Path) -> Result<Self, EmbedderError> {
        Self::open_with(root, Kernel::all()[0])
    }

    /// The same on a certain kernel.
    pub(crate) fn open_with(root: &Path, kernel: &'static Kernel) -> Result<Self, EmbedderError> {
        let folder = Folder::read(root)?;
        let path = folder.transformer.join("config.json");
        let config = Config::read(&path)?;
        if let Some(dims) = folder.dims.filter(|dims| *dims != config.width) {
            return Err(damaged(
                &path,
                format!("`hidden_size` is {}, but the pooling has {dims}", config.width),
            ));
        }
        let said = folder.tokens_max.unwrap_or(TOKENS_MAX_DEFAULT);
        let window = said.min(config.tokens_max());
        if window < WINDOW_MIN {
            return Err(damaged(
                &folder.transformer.join("sentence_bert_config.json"),
                format!("`max_seq_length` is {window}"),
            ));
        }
        let path = folder.transformer.join("tokenizer.json");
        let tokenizer = Tokenizer::open(&path, folder.lowercase, config.vocabulary)?;
        let path = folder.transformer.join("model.safetensors");
        let model = Model::open(&path, config, (folder.pooling, folder.normalise), kernel)?;
        Ok(Self { tokenizer, model, window })
    }

    /// Numbers in a vector.
    pub fn dims(&self) -> usize {
        self.model.dims()
    }

    /// Tokens that one vector covers; those behind are cut off.
    pub fn window(&self) -> usize {
        self.window
    }

    /// The instruction set in use.
    pub fn kernel(&self) -> &'static str {
        self.model.kernel_name()
    }

    /// The ids of all tokens of a text, beginning and end included.
    ///
    /// # Errors
    /// When tokenizer.json, which is read whole when the first text needs it, is damaged.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, EmbedderError> {
        self.tokenizer.ids(text)
    }

    /// The vectors of texts, one behind the other.
    ///
    /// `threads` 0 means one a core. `observe(done, total)` is called on this thread between
    /// slices of the work and ends it by returning false.
    ///
    /// # Errors
    /// When the work was ended, the tokenizer is damaged, or the weights give no finite numbers.
    pub fn encode(
        &self,
        texts: &[impl AsRef<str>],
        threads: usize,
        observe: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Vec<f32>, EmbedderError> {
        let total = texts.len();
        let mut ids = Vec::with_capacity(total);
        for slice in texts.chunks(TOKENIZED_AT_ONCE) {
            if !ids.is_empty() && !observe(0, total) {
                return Err(EmbedderError::Interrupted { done: 0, total });
            }
            for text in slice {
                ids.push(self.tokenizer.ids_within(text.as_ref(), self.window)?);
            }
        }
        batch::embed(&self.model, &ids, threads, &mut |done| observe(done, total))
    }
}
